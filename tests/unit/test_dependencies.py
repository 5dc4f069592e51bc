"""The lock files, and the page that explains them, agree with pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-gpu.lock", "requirements-bootstrap.lock"]


def locked(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def wanted() -> list[str]:
    extras = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
    lines = PROJECT["project"]["dependencies"] + extras + PROJECT["dependency-groups"]["bootstrap"]
    return [re.split(r"[\[<>=;]", line)[0] for line in lines]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_host_and_no_place_on_this_machine(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"://|^-|index-url|find-links|@ |/(tmp|home|root|work)\b", text, re.MULTILINE)


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_its_hashes(name: str) -> None:
    entries = re.split(r"^(?=[a-z0-9])", (ROOT / name).read_text(), flags=re.MULTILINE)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("name", LOCKS[1:])
def test_the_variants_agree_on_every_version_they_share(name: str) -> None:
    base, other = locked("requirements.lock"), locked(name)
    assert {key: other[key] for key in base.keys() & other.keys()} == {
        key: base[key] for key in base.keys() & other.keys()
    }


def test_development_and_gpu_only_add_to_the_base() -> None:
    base = locked("requirements.lock").keys()
    assert base <= locked("requirements-dev.lock").keys()
    assert base <= locked("requirements-gpu.lock").keys()


def test_exact_pins_are_what_is_locked() -> None:
    pins = dict(line.split("==") for line in PROJECT["project"]["dependencies"] if "==" in line)
    assert pins
    assert pins.items() <= locked("requirements.lock").items()


def test_every_direct_dependency_and_override_is_explained() -> None:
    overrides = [re.split(r"[ ;]", line)[0] for line in (ROOT / "overrides.txt").read_text().splitlines() if line]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert [name for name in wanted() + overrides if f"`{name}`" not in page] == []
