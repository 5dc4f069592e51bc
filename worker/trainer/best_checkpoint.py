"""Keep the best checkpoint of an architecture, with what all its evaluations came to.

Files only: the folder holds the checkpoint under the name that it had, and `best.json`, which says which files count.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from services.domain.checkpoints.best import Evaluated, History
from services.domain.contract import BEST_DIR, BestMetric
from services.durable_file import sync, write_durably
from worker.trainer.report import Reporter

BEST_FILE = "best.json"


class BestCheckpoint:
    """`best.json` is replaced after the new files are in place, and the old files are removed after that.

    So a kill at any moment leaves the old or the new best checkpoint, complete. The data is a hard link where the file
    system has them: it costs disk space only once newer checkpoints have replaced the original.
    """

    def __init__(self, folder: Path, metric: BestMetric, reporter: Reporter) -> None:
        self._folder = folder
        self._reporter = reporter
        self._name: str | None = None
        self.history = History(metric)
        self._read()

    @property
    def path(self) -> str | None:
        """Of the best checkpoint, as TensorFlow wants it; None if there is none yet."""
        return str(self._folder / self._name) if self._name else None

    def report(self) -> dict[str, Any] | None:
        """The best result so far for the events of an attempt. `checkpoint` is below the folder of all checkpoints."""
        best = self.history.best
        if best is None or self._name is None:
            return None
        place = f"{self._folder.parent.name}/{BEST_DIR}/{self._name}"
        return {"step": best.step, "metric": self.history.metric, "value": best.value, "checkpoint": place}

    def record(self, new: Evaluated, checkpoint: str) -> None:
        """Note an evaluation of `checkpoint`, a complete one, and keep it if it is the best."""
        history = self.history.after(new)
        name = self._name
        if history.best is new:
            name = self._put(Path(checkpoint))
            self._reporter.say(f"step {new.step}: the best checkpoint so far, {history.metric} {new.value:.4g}")
        write_durably(self._folder / BEST_FILE, json.dumps(_to_json(history, name)))
        self.history, self._name = history, name
        self._remove_others()

    def _put(self, checkpoint: Path) -> str:
        """Link or copy the files beside those of the best one so far; returns their name."""
        self._folder.mkdir(exist_ok=True)
        self._remove_others()
        # The best one so far can have this name: steps are counted anew when the batch size changes.
        name = checkpoint.name if checkpoint.name != self._name else f"{checkpoint.name}-again"
        files = list(checkpoint.parent.glob(f"{checkpoint.name}.*"))
        if not files:
            raise FileNotFoundError(f"the checkpoint {checkpoint} is gone")
        for file in files:
            _link(file, self._folder / f"{name}{file.name.removeprefix(checkpoint.name)}")
        sync(self._folder)
        sync(self._folder.parent)
        return name

    def _remove_others(self) -> None:
        """Remove what a killed process left, and the files of what is no longer the best."""
        for file in self._folder.iterdir():
            if file.name != BEST_FILE and not (self._name and file.name.startswith(f"{self._name}.")):
                file.unlink()

    def _read(self) -> None:
        """Start anew where the file cannot be read, or is about another metric: values would not be comparable."""
        path = self._folder / BEST_FILE
        if not path.exists():
            return
        try:
            name, history = _from_json(json.loads(path.read_text()))
        except (OSError, ValueError, LookupError, TypeError) as error:
            self._reporter.warning(f"{path} cannot be read, so the best checkpoint starts anew: {error}"[:500])
            return
        if history.metric is not self.history.metric:
            self._reporter.warning(
                f"the best checkpoint was chosen by {history.metric}, now by {self.history.metric}: it starts anew"
            )
        elif not (self._folder / f"{name}.index").exists():
            self._reporter.warning(f"the best checkpoint {name} is gone from {self._folder}: it starts anew")
        else:
            self.history, self._name = history, name


def best_of_others(folder: Path) -> Iterator[str]:
    """Clauses about the best checkpoints of other architectures, of which `folder` holds the checkpoints of one."""
    for file in sorted(folder.parent.glob(f"*/{BEST_DIR}/{BEST_FILE}")):
        architecture = file.parent.parent.name
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            _, history = _from_json(json.loads(file.read_text()))
            if history.best and architecture != folder.name:
                best = f"{history.metric} {history.best.value:.4g} at step {history.best.step}"
                yield f"the best checkpoint of {architecture} ({best}) is kept"


def _link(file: Path, new: Path) -> None:
    """Copy the index: TensorFlow writes over it in place where it saves under the same number again."""
    if file.suffix != ".index":
        with contextlib.suppress(OSError):  # a file system without hard links
            os.link(file, new)
            return
    shutil.copyfile(file, new)
    sync(new)


def _to_json(history: History, name: str | None) -> dict[str, Any]:
    best = history.best
    assert best is not None  # a history with an evaluation has one
    return {
        "step": best.step,
        "metric": history.metric,
        "value": best.value,
        "batch": best.batch,
        "checkpoint": name,
        "evaluations": [[one.step, one.batch, one.value] for one in history.evaluations],
    }


def _from_json(found: dict[str, Any]) -> tuple[str, History]:
    """Raises ValueError, LookupError or TypeError."""
    best = _evaluated(found["step"], found["batch"], found["value"])
    evaluations = tuple(_evaluated(*one) for one in found["evaluations"])
    return Path(found["checkpoint"]).name, History(BestMetric(found["metric"]), evaluations, best)


def _evaluated(step: Any, batch: Any, value: Any) -> Evaluated:
    return Evaluated(int(step), int(batch), float(value))
