"""Which browser the dashboard's tests use, when it is installed, and what the script prints without one."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "find-chromium"


class Machine:
    """A PATH with only the programs that a test adds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.apt_calls = folder / "apt-calls.txt"
        self.add("id", "echo 1000")

    def add(self, name: str, code: str = "true") -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{code}\n")
        path.chmod(0o755)
        return path

    def add_apt(self, installs: str) -> None:
        self.add("id", "echo 0")
        made = self.folder / installs
        self.add(
            "apt-get",
            f'echo "$*" >> {self.apt_calls}; [[ " $* " != *" install "* ]] || {{ > {made}; {self.chmod} +x {made}; }}',
        )

    @property
    def chmod(self) -> str:
        return "/bin/chmod" if os.path.exists("/bin/chmod") else "/usr/bin/chmod"

    def find(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": str(self.folder), **variables}
        return subprocess.run(
            ["/bin/bash", SCRIPT, *arguments], env=environment, capture_output=True, text=True, timeout=60
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_an_installed_browser_is_used_and_nothing_is_installed(machine: Machine, name: str) -> None:
    machine.add_apt(installs="chromium")
    browser = machine.add(name)

    found = machine.find("--install")

    assert (found.returncode, found.stdout, found.stderr) == (0, f"{browser}\n", "")
    assert not machine.apt_calls.exists()


def test_the_browser_of_the_variable_is_preferred_to_the_path(machine: Machine) -> None:
    machine.add("chromium")
    named = machine.add("mine")
    assert machine.find(CHROMIUM=str(named)).stdout == f"{named}\n"


def test_a_wrong_path_in_the_variable_is_an_error_even_if_another_browser_exists(machine: Machine) -> None:
    machine.add_apt(installs="chromium")
    machine.add("chromium")

    found = machine.find("--install", CHROMIUM="/nowhere/chrome")

    assert (found.returncode, found.stdout) == (1, "")
    assert "CHROMIUM=/nowhere/chrome is not a program" in found.stderr


def test_as_root_debians_package_is_installed(machine: Machine) -> None:
    machine.add_apt(installs="chromium")

    found = machine.find("--install")

    assert (found.returncode, found.stdout) == (0, f"{machine.folder / 'chromium'}\n")
    assert "install -y --no-install-recommends chromium" in machine.apt_calls.read_text()


def test_without_the_option_nothing_is_installed(machine: Machine) -> None:
    machine.add_apt(installs="chromium")
    assert machine.find().returncode == 1
    assert not machine.apt_calls.exists()


def test_without_root_the_error_says_what_to_install(machine: Machine) -> None:
    machine.add_apt(installs="chromium")
    machine.add("id", "echo 1000")

    found = machine.find("--install")

    assert (found.returncode, found.stdout) == (1, "")
    assert "apt-get install chromium" in found.stderr
    assert not machine.apt_calls.exists()


def test_after_a_failed_installation_the_error_says_what_to_install(machine: Machine) -> None:
    machine.add_apt(installs="something-else")
    machine.add("apt-get", "exit 100")

    found = machine.find("--install")

    assert found.returncode == 1
    assert "apt-get install chromium" in found.stderr
