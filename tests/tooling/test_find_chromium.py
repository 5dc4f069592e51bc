"""Which browser the tests of the dashboard get: what is there, what may be installed, and what is said otherwise."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "find-chromium"


class Machine:
    """A PATH with nothing on it but what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "asked.txt"
        self.put("id", "echo 1000")

    def put(self, name: str, does: str = "true") -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{does}\n")
        path.chmod(0o755)
        return path

    def put_apt(self, brings: str) -> None:
        self.put("id", "echo 0")
        made = self.folder / brings
        self.put(
            "apt-get",
            f'echo "$*" >> {self.asked}; [[ " $* " != *" install "* ]] || {{ > {made}; {self.chmod} +x {made}; }}',
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
def test_the_one_that_is_there_is_used_and_nothing_is_said_or_installed(machine: Machine, name: str) -> None:
    machine.put_apt(brings="chromium")
    there = machine.put(name)

    found = machine.find("--install")

    assert (found.returncode, found.stdout, found.stderr) == (0, f"{there}\n", "")
    assert not machine.asked.exists()


def test_the_one_that_is_named_goes_before_the_one_on_the_path(machine: Machine) -> None:
    machine.put("chromium")
    named = machine.put("mine")
    assert machine.find(CHROMIUM=str(named)).stdout == f"{named}\n"


def test_a_name_that_leads_nowhere_is_an_error_whatever_else_is_there(machine: Machine) -> None:
    machine.put_apt(brings="chromium")
    machine.put("chromium")

    found = machine.find("--install", CHROMIUM="/nowhere/chrome")

    assert (found.returncode, found.stdout) == (1, "")
    assert "CHROMIUM=/nowhere/chrome is not a program" in found.stderr


def test_debians_is_installed_where_we_may(machine: Machine) -> None:
    machine.put_apt(brings="chromium")

    found = machine.find("--install")

    assert (found.returncode, found.stdout) == (0, f"{machine.folder / 'chromium'}\n")
    assert "install -y --no-install-recommends chromium" in machine.asked.read_text()


def test_nothing_is_installed_unless_asked_for(machine: Machine) -> None:
    machine.put_apt(brings="chromium")
    assert machine.find().returncode == 1
    assert not machine.asked.exists()


def test_without_the_right_to_install_it_says_what_to_install(machine: Machine) -> None:
    machine.put_apt(brings="chromium")
    machine.put("id", "echo 1000")

    found = machine.find("--install")

    assert (found.returncode, found.stdout) == (1, "")
    assert "apt-get install chromium" in found.stderr
    assert not machine.asked.exists()


def test_an_installation_that_fails_says_what_to_install(machine: Machine) -> None:
    machine.put_apt(brings="something-else")
    machine.put("apt-get", "exit 100")

    found = machine.find("--install")

    assert found.returncode == 1
    assert "apt-get install chromium" in found.stderr
