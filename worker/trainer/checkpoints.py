"""Checkpoints of one architecture: saved so that a kill at any moment leaves a loadable one, resumed exactly."""

import os
import re
import shutil
from pathlib import Path

import tensorflow as tf

from services.domain.contract import Reason, Resume
from worker.trainer.endings import Ending, mismatch, read_exception
from worker.trainer.report import Reporter
from worker.trainer.step import TrainStep

_NUMBER = re.compile(r"ckpt-(\d+)$")


class Checkpoints:
    """TensorFlow writes the data under a temporary name, renames it, and writes the index last.

    So a checkpoint with an index is whole unless the disk lost it; should it not load, the one before it is tried.
    """

    def __init__(self, folder: Path, step: TrainStep, *, keep: int, reporter: Reporter) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        self._folder = folder
        self._step = step
        self._reporter = reporter
        self._checkpoint = tf.train.Checkpoint(step=step.global_step, model=step.model, optimizer=step.optimizer)
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(folder), max_to_keep=keep, checkpoint_name="ckpt"
        )

    def resume(self, how: Resume) -> int | None:
        """Restore the newest loadable checkpoint; returns its step, or None where there is nothing to resume.

        The step's variables must exist. Variables of another model end the attempt, with nothing changed on disk.
        """
        paths = _newest_first(self._folder)
        if not paths:
            return None
        if how is Resume.NEVER:
            raise Ending(
                Reason.BAD_CHECKPOINT,
                f"a fresh start was asked for, but {self._folder} holds checkpoints up to {Path(paths[0]).name}: "
                f"resume, or use another job directory",
            )
        for path in paths:
            if self._is_readable(path):
                self._restore(path)
                return int(self._step.global_step)
        raise Ending(Reason.BAD_CHECKPOINT, f"none of the {len(paths)} checkpoints in {self._folder} can be read")

    def save(self) -> int:
        step = int(self._step.global_step)
        path = self._manager.save(checkpoint_number=step)
        for file in self._folder.glob(f"{Path(path).name}.*"):
            _fsync(file)
        return step

    def _is_readable(self, path: str) -> bool:
        try:
            reader = tf.train.load_checkpoint(path)
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)
            return True
        except (tf.errors.OpError, LookupError, TypeError, ValueError, RuntimeError) as error:  # by what is damaged
            self._reporter.warning(f"checkpoint {Path(path).name} cannot be read and is passed over: {error}"[:500])
            return False

    def _restore(self, path: str) -> None:
        try:
            self._checkpoint.restore(path).assert_consumed()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            if read_exception(error).reason is Reason.DEVICE_MEMORY:
                raise
            raise Ending(
                Reason.BAD_CHECKPOINT,
                f"checkpoint {Path(path).name} is of another model or optimizer and cannot be resumed "
                f"({mismatch(error)}): warm-start from it instead, or start in another folder",
            ) from None


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint there, 0 where there is none; does not look inside."""
    paths = _newest_first(folder)
    return _number(paths[0]) if paths else 0


def _newest_first(folder: Path) -> list[str]:
    """By their index files, which TensorFlow writes last: the `checkpoint` state file may lag behind a kill."""
    found = [str(index.with_suffix("")) for index in folder.glob("ckpt-*.index")]
    return sorted(found, key=_number, reverse=True)


def _number(path: str) -> int:
    match = _NUMBER.search(path)
    return int(match[1]) if match else 0


def _remove_leftovers(folder: Path) -> None:
    """What a kill in the middle of a save left behind."""
    for leftover in folder.glob("*_temp*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    for data in folder.glob("ckpt-*.data-*"):
        if not data.with_name(data.name.split(".data-")[0] + ".index").exists():
            data.unlink()


def _fsync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
