"""Save and resume the checkpoints of one architecture. A kill at any moment leaves a loadable checkpoint."""

import re
import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from services.domain.contract import Reason, Resume, resumed_step
from services.durable_file import sync
from worker.trainer.failures import AttemptEnd, mismatch, read_exception
from worker.trainer.report import Reporter
from worker.trainer.step import TrainStep

_NUMBER = re.compile(r"ckpt-(\d+)$")
_VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
_BATCH = f"batch/{_VALUE}"
_LOSS_SCALE = f"loss_scale/scale/{_VALUE}"
# What TensorFlow raises for a damaged checkpoint depends on which part is damaged.
_UNREADABLE = (tf.errors.OpError, LookupError, TypeError, ValueError, RuntimeError)


class Checkpoints:
    """TensorFlow writes the data under a temporary name, renames it, and writes the index last.

    So a checkpoint with an index is complete unless the disk lost data; if it does not load, the one before is tried.
    Each checkpoint stores its batch size: an attempt with another batch size resumes after the same number of images.
    It also stores the loss scale, whatever the precision: attempts in float16 and in float32 resume from each other.
    """

    def __init__(self, folder: Path, step: TrainStep, *, keep: int, reporter: Reporter) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        self._folder = folder
        self._step = step
        self._reporter = reporter
        self._batch = tf.Variable(step.batch, trainable=False, dtype=tf.int64, name="batch")
        self._checkpoint = tf.train.Checkpoint(**self._parts)
        self.path: str | None = None  # of the checkpoint that was saved or restored last
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(folder), max_to_keep=keep, checkpoint_name="ckpt"
        )

    def resume(self, how: Resume) -> int | None:
        """Restore the newest loadable checkpoint; returns the step to continue from, or None without checkpoints.

        If the batch size has changed, that is the step at which as many images have been seen; the learning rate
        schedule continues from there. The step's variables must exist. If the checkpoint is of another model, raises an
        AttemptEnd and changes nothing on disk.
        """
        paths = self._most_images_first()
        if not paths:
            return None
        if how is Resume.NEVER:
            raise AttemptEnd(
                Reason.BAD_CHECKPOINT,
                f"a fresh start was asked for, but {self._folder} holds checkpoints up to {Path(paths[0]).name}: "
                f"resume, or use another job directory",
            )
        for path in paths:
            if self._is_readable(path):
                self.path = path
                return self._restore(path)
        raise AttemptEnd(Reason.BAD_CHECKPOINT, f"none of the {len(paths)} checkpoints in {self._folder} can be read")

    def save(self) -> int:
        step = int(self._step.global_step)
        path = self._manager.save(checkpoint_number=step)
        for file in self._folder.glob(f"{Path(path).name}.*"):
            sync(file)
        self.path = str(path)
        return step

    def load(self, path: str) -> bool:
        """Replace all variables by those of a checkpoint of this model; False, with nothing changed, if it is damaged.

        For the end of an attempt: the step is that of the checkpoint, whatever its batch size was.
        """
        if not self._is_readable(path):
            return False
        tf.train.Checkpoint(**self._parts_in(path)).restore(path).assert_consumed()
        return True

    @property
    def _parts(self) -> dict[str, Any]:
        step = self._step
        trained = {"step": step.global_step, "model": step.model, "optimizer": step.optimizer}
        return {**trained, "batch": self._batch, "loss_scale": step.loss_scale.variables}

    def _parts_in(self, path: str) -> dict[str, Any]:
        """Those of a checkpoint, which an earlier version may have written without its batch size or loss scale."""
        reader = tf.train.load_checkpoint(path)
        missing = [name.split("/")[0] for name in (_BATCH, _LOSS_SCALE) if not reader.has_tensor(name)]
        return {name: part for name, part in self._parts.items() if name not in missing}

    def _most_images_first(self) -> list[str]:
        """Sort by images, not by step: with a larger batch, a later checkpoint can have a lower step."""
        return sorted(
            _newest_first(self._folder),
            key=lambda path: _number(path) * (_batch_of(path) or self._step.batch),
            reverse=True,
        )

    def _is_readable(self, path: str) -> bool:
        try:
            reader = tf.train.load_checkpoint(path)
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)
            return True
        except _UNREADABLE as error:
            self._reporter.warning(f"checkpoint {Path(path).name} cannot be read and is skipped: {error}"[:500])
            return False

    def _restore(self, path: str) -> int:
        saved_batch = _batch_of(path)  # if it was not stored, assume that it is the same
        try:
            tf.train.Checkpoint(**self._parts_in(path)).restore(path).assert_consumed()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            if read_exception(error).reason is Reason.DEVICE_MEMORY:
                raise
            raise AttemptEnd(
                Reason.BAD_CHECKPOINT,
                f"checkpoint {Path(path).name} is of another model or optimizer and cannot be resumed "
                f"({mismatch(error)}): warm-start from it instead, or start in another folder",
            ) from None
        return self._continue_schedule(int(self._step.global_step), saved_batch or self._step.batch)

    def _continue_schedule(self, saved: int, saved_batch: int) -> int:
        step = resumed_step(saved, saved_batch, self._step.batch)
        self._step.global_step.assign(step)
        self._batch.assign(self._step.batch)
        if saved_batch != self._step.batch:
            self._reporter.warning(
                f"resumes at step {step} with batch {self._step.batch}: "
                f"as many images as the {saved} saved steps with batch {saved_batch}"
            )
        return step


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint by its file name; 0 without checkpoints."""
    paths = _newest_first(folder)
    return _number(paths[0]) if paths else 0


def _newest_first(folder: Path) -> list[str]:
    """List index files, which TensorFlow writes last: after a kill, the `checkpoint` state file may be out of date."""
    found = [str(index.with_suffix("")) for index in folder.glob("ckpt-*.index")]
    return sorted(found, key=_number, reverse=True)


def _batch_of(path: str) -> int | None:
    """The batch size of a checkpoint's steps; None where it is not stored or cannot be read."""
    try:
        reader = tf.train.load_checkpoint(path)
        return int(reader.get_tensor(_BATCH)) if reader.has_tensor(_BATCH) else None
    except _UNREADABLE:
        return None


def _number(path: str) -> int:
    match = _NUMBER.search(path)
    return int(match[1]) if match else 0


def _remove_leftovers(folder: Path) -> None:
    """Delete the incomplete files of a save that was killed."""
    for leftover in folder.glob("*_temp*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    for data in folder.glob("ckpt-*.data-*"):
        if not data.with_name(data.name.split(".data-")[0] + ".index").exists():
            data.unlink()
