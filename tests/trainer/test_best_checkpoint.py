"""The best checkpoint's files: whatever is killed when, the old or the new one is there, complete. No TensorFlow."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from services.domain.checkpoints.best import Evaluated
from services.domain.contract import BestMetric
from tests.support.training.trainings import read_events
from worker.trainer.best_checkpoint import BEST_FILE, BestCheckpoint, best_of_others
from worker.trainer.report import Reporter

DATA = "data-00000-of-00001"
WATCHED = ("link", "unlink", "replace", "rename", "fsync", "mkdir", "open")  # of os


class Killed(BaseException): ...


def write_checkpoint(folder: Path, step: int, content: str = "") -> str:
    """As TensorFlow does: new data files, and the index in place."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / "temporary"
    temporary.write_text(f"data {step} {content}")
    temporary.replace(folder / f"ckpt-{step}.{DATA}")
    (folder / f"ckpt-{step}.index").write_text(f"index {step} {content}")
    return str(folder / f"ckpt-{step}")


def opened(folder: Path, metric: BestMetric = BestMetric.MAP) -> BestCheckpoint:
    return BestCheckpoint(folder / "best", metric, Reporter(folder.parent))


def content_of(best: BestCheckpoint) -> tuple[str, str] | None:
    if best.path is None:
        return None
    return Path(f"{best.path}.index").read_text(), Path(f"{best.path}.{DATA}").read_text()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "best").iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "efficientdet_d0"


def test_only_the_best_is_kept_and_it_outlives_the_original(folder: Path) -> None:
    best = opened(folder)
    for step, value in ((10, 0.2), (20, 0.5), (30, 0.4)):
        best.record(Evaluated(step, 4, value), write_checkpoint(folder, step))
    for original in folder.glob("ckpt-*"):
        original.unlink()

    again = opened(folder)
    assert again.history == best.history
    assert content_of(again) == ("index 20 ", "data 20 ")
    assert files(folder) == [BEST_FILE, f"ckpt-20.{DATA}", "ckpt-20.index"]
    assert again.report() == {
        "step": 20,
        "metric": "mAP",
        "value": 0.5,
        "checkpoint": "efficientdet_d0/best/ckpt-20",
    }
    described = json.loads((folder / "best" / BEST_FILE).read_text())
    assert (described["step"], described["metric"], described["value"]) == (20, "mAP", 0.5)


def test_the_data_takes_no_disk_space_while_the_original_is_there(folder: Path) -> None:
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))

    assert (folder / "best" / f"ckpt-10.{DATA}").samefile(folder / f"ckpt-10.{DATA}")


def test_a_checkpoint_that_is_saved_again_under_its_number_does_not_change_the_best(folder: Path) -> None:
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))
    write_checkpoint(folder, 10, "of other weights")

    assert content_of(opened(folder)) == ("index 10 ", "data 10 ")


def test_a_better_one_with_the_same_number_replaces_the_best(folder: Path) -> None:
    for number in range(4):
        best = opened(folder)
        path = write_checkpoint(folder, 10, str(number))
        best.record(Evaluated(10, 4, 0.2 + 0.1 * number), path)
        assert content_of(opened(folder)) == (f"index 10 {number}", f"data 10 {number}")
        assert len(files(folder)) == 3


def test_without_hard_links_the_files_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))

    assert content_of(opened(folder)) == ("index 10 ", "data 10 ")


@contextmanager
def killed_before(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every call of the operating system from the one with this number on raises: nothing more happens to the disk."""
    calls: list[str] = []

    def watch(name: str, original: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) > number:
                raise Killed
            return original(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        for name in WATCHED:
            patched.setattr(os, name, watch(name, getattr(os, name)))
        yield calls


@pytest.mark.parametrize("step", [20, 10], ids=["another name", "the same name"])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_best(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = ("index 10 old", "data 10 old"), (f"index {step} new", f"data {step} new")
    found = []
    for number in range(100):
        folder = tmp_path / str(number) / "efficientdet_d0"
        best = opened_with(folder, 10, "old", 0.2)
        path = write_checkpoint(folder, step, "new")
        with killed_before(number, monkeypatch) as calls, suppress(Killed):
            best.record(Evaluated(step, 4, 0.3), path)
        after = opened(folder)
        assert content_of(after) in (old, new), calls
        is_new = content_of(after) == new
        assert [one.value for one in after.history.evaluations][-1] == (0.3 if is_new else 0.2)
        found.append(is_new)
        # The next attempt goes on from either, and leaves no file of the killed one.
        after.record(Evaluated(step + 10, 4, 0.4), write_checkpoint(folder, step + 10))
        assert files(folder) == [BEST_FILE, f"ckpt-{step + 10}.{DATA}", f"ckpt-{step + 10}.index"]
        if len(calls) <= number:
            break
    assert found == sorted(found), "the new one was there, and then no longer"
    assert set(found) == {False, True}
    assert number > 8


def opened_with(folder: Path, step: int, content: str, value: float) -> BestCheckpoint:
    folder.mkdir(parents=True)
    best = opened(folder)
    best.record(Evaluated(step, 4, value), write_checkpoint(folder, step, content))
    return best


def test_a_kill_during_the_first_one_leaves_none_or_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for number in range(100):
        folder = tmp_path / str(number) / "efficientdet_d0"
        folder.mkdir(parents=True)
        best, path = opened(folder), write_checkpoint(folder, 10)
        with killed_before(number, monkeypatch) as calls, suppress(Killed):
            best.record(Evaluated(10, 4, 0.2), path)
        found.add(content_of(opened(folder)))
        if len(calls) <= number:
            break
    assert found == {None, ("index 10 ", "data 10 ")}


@pytest.mark.parametrize("damage", ["not JSON", "[]", '{"step": 1}', '{"step": "x", "batch": 1, "value": 2}'])
def test_a_damaged_file_starts_anew_and_says_so(damage: str, folder: Path) -> None:
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))
    (folder / "best" / BEST_FILE).write_text(damage)

    best = opened(folder)
    assert best.report() is None
    assert "cannot be read, so the best checkpoint starts anew" in warnings(folder)[-1]
    best.record(Evaluated(20, 4, 0.1), write_checkpoint(folder, 20))
    assert content_of(opened(folder)) == ("index 20 ", "data 20 ")


def warnings(folder: Path) -> list[str]:
    return [event["message"] for event in read_events(folder.parent) if event["kind"] == "warning"]


def test_another_metric_and_missing_files_start_anew_and_say_so(folder: Path) -> None:
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))

    assert opened(folder, BestMetric.AR_100).report() is None
    (folder / "best" / "ckpt-10.index").unlink()
    assert opened(folder).report() is None
    assert warnings(folder) == [
        "the best checkpoint was chosen by mAP, now by AR100: it starts anew",
        f"the best checkpoint ckpt-10 is gone from {folder / 'best'}: it starts anew",
    ]


def test_the_best_of_other_architectures_is_named(folder: Path) -> None:
    opened(folder).record(Evaluated(10, 4, 0.2), write_checkpoint(folder, 10))

    assert list(best_of_others(folder)) == []
    assert list(best_of_others(folder.parent / "efficientdet_d1")) == [
        "the best checkpoint of efficientdet_d0 (mAP 0.2 at step 10) is kept"
    ]
