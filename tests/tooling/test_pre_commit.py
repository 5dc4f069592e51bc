"""The pre-commit hooks: what `make check` runs, with the tools of this checkout."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_only_hook_is_make_check_and_nothing_is_downloaded() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (repository,) = config["repos"]
    (hook,) = repository["hooks"]
    assert (repository["repo"], hook["language"], hook["pass_filenames"]) == ("local", "system", False)
    command, *options, target = hook["entry"].split()
    assert (command, target) == ("make", "check")
    assert all(option.startswith("--") for option in options)
    assert re.search(r"^check:", (ROOT / "Makefile").read_text(), re.MULTILINE)
