"""The lock files and docs/dependencies.md agree with pyproject.toml."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = [
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-gpu.lock",
    "requirements-gpu-dev.lock",
    "requirements-api.lock",
    "requirements-bootstrap.lock",
]


def locked(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def locked_here(name: str) -> dict[str, str]:
    """Without the entries for other systems."""
    lines = re.findall(r"^[a-z0-9._-]+==.*(?= \\)", (ROOT / name).read_text(), re.MULTILINE)
    found = [one for one in map(Requirement, lines) if not one.marker or one.marker.evaluate()]
    return {one.name: str(one.specifier) for one in found}


def wanted() -> list[str]:
    extras = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
    return names(PROJECT["project"]["dependencies"] + extras + PROJECT["dependency-groups"]["bootstrap"])


def names(lines: list[str]) -> list[str]:
    return [re.split(r"[ \[<>=;]", line)[0] for line in lines]


def overridden(name: str) -> list[str]:
    return names([line for line in (ROOT / name).read_text().splitlines() if line])


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_contains_no_host_and_no_path_of_this_machine(name: str) -> None:
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


def test_a_gpu_box_gets_the_development_tools_and_cuda_at_the_same_versions() -> None:
    both = locked("requirements-gpu-dev.lock")
    assert both == locked("requirements-dev.lock") | locked("requirements-gpu.lock")


@pytest.mark.parametrize("name", ["requirements-gpu.lock", "requirements-gpu-dev.lock"])
def test_cudnn_still_has_code_for_cards_before_turing(name: str) -> None:
    assert Version("9.3") <= Version(locked(name)["nvidia-cudnn-cu12"]) < Version("9.11")


def test_exact_pins_equal_the_locked_versions() -> None:
    pins = dict(line.split("==") for line in PROJECT["project"]["dependencies"] if "==" in line)
    assert pins
    assert pins.items() <= locked("requirements.lock").items()


@pytest.mark.parametrize("name", LOCKS)
def test_every_python_gets_the_same_versions(name: str) -> None:
    entries = re.findall(r"^([a-z0-9._-]+)==", (ROOT / name).read_text(), re.MULTILINE)
    assert len(entries) == len(set(entries))


def test_the_installed_versions_are_the_locked_ones() -> None:
    [stamp] = (ROOT / ".venv").glob(".installed-*")
    versions = locked_here(stamp.name.removeprefix(".installed-"))
    assert {name: f"=={importlib.metadata.version(name)}" for name in versions} == versions


def test_nothing_was_compiled_on_this_machine() -> None:
    """A published Linux wheel names the C library that it needs; one that was built here does not."""
    wheels = {one.name: one.read_text("WHEEL") or "" for one in importlib.metadata.distributions()}
    assert [name for name, text in wheels.items() if re.search(r"^Tag: .*-linux_", text, re.MULTILINE)] == []


def test_every_direct_dependency_and_override_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert [name for name in wanted() + overridden("overrides.txt") if f"`{name}`" not in page] == []


def test_the_api_lock_is_a_subset_of_the_base_without_training_libraries() -> None:
    api = locked("requirements-api.lock").keys()
    assert set(names(PROJECT["dependency-groups"]["api"])) <= api <= locked("requirements.lock").keys()
    assert [name for name in api if re.search(r"tensorflow|keras|torch|nvidia|tf-slim|tf-models-official", name)] == []


def test_in_the_api_lock_only_the_object_detection_api_lacks_dependencies() -> None:
    """An override applies to the whole lock: it must not remove what another package needs."""
    api, missing = locked_here("requirements-api.lock"), {}
    for name in api:
        demanded = map(Requirement, importlib.metadata.requires(name) or [])
        asked = {canonicalize_name(one.name) for one in demanded if not one.marker or one.marker.evaluate()}
        if asked - api.keys():
            missing[name] = asked - api.keys()
    assert missing == {"tf-models-research-object-detection": set(overridden("overrides-api.txt"))}
