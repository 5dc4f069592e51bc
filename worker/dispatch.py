"""Start every job that can start: claim it, write its attempt directory, start a detached supervisor."""

import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

from services.attempt_paths import attempt_dir, job_dir
from services.attempts import finish
from services.attempts.finish import AttemptResults
from services.datasets import library
from services.domain import pipeline_config
from services.domain.contract import CHECKPOINTS_DIR, AttemptSpec, Device, HostCores
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.domain.pipeline_config import Config
from services.library.checkpoint_files import checkpoint_path
from services.planning import attempt_config
from services.scheduling import claim as scheduling
from services.scheduling.claim import Claim
from services.settings import Settings
from services.store import attempts
from services.store.engine import Store, StoreUnavailable
from worker import notes
from worker.attempt_dir import available_memory_mb, write_attempt
from worker.devices import DeviceReading, contract_device, trainer_environment
from worker.devices.host_cores import usable_cores
from worker.process_locks import boot_id

__all__ = ["dispatch"]

_ROOT = Path(__file__).parents[1]
_log = logging.getLogger(__name__)


def dispatch(store: Store, settings: Settings, readings: list[DeviceReading]) -> "list[subprocess.Popen[bytes]]":
    """Start every job that can start on these devices; returns the supervisors. Safe to call concurrently."""
    by_key = {reading.key: reading for reading in readings}
    host = HostCores(usable_cores(), max(1, sum(reading.problem is None for reading in readings)))
    started = []
    while (claim := scheduling.claim(store, settings, boot_id())) is not None:
        reading = by_key.get(claim.device_key)
        if reading is None:  # reported, but gone since then; the next report will say so
            _return_claim(store, claim, Ending(Diagnosis.INTERRUPTED, f"{claim.device_id} is gone", None))
            break
        supervisor = _start(store, settings, claim, reading, host)
        if supervisor is not None:
            started.append(supervisor)
    return started


def _start(
    store: Store, settings: Settings, claim: Claim, reading: DeviceReading, host: HostCores
) -> "subprocess.Popen[bytes] | None":
    folder = attempt_dir(settings, claim.job_id, claim.attempt)
    try:
        config = _build_config(settings, claim, host)
        device = contract_device(reading, claim.adjustments.async_allocator)
        write_attempt(folder, _spec(settings, claim, device, host), config)
        (folder / notes.ENVIRONMENT_FILE).write_text(json.dumps(trainer_environment(reading)))
        _store_start(store, claim, pipeline_config.to_text(config), host)
        return _start_supervisor(settings, claim, folder)
    except StoreUnavailable:
        raise
    except Exception as error:  # it would happen again, and must not prevent other jobs from starting
        _log.exception("job %s, attempt %s cannot start", claim.job_id, claim.attempt)
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        message = f"the attempt could not be started: {error or type(error).__name__}"
        _return_claim(store, claim, Ending(Diagnosis.DISK if full else Diagnosis.BUG, message, None))
        return None


def _return_claim(store: Store, claim: Claim, ending: Ending) -> None:
    finish.record_end(store, claim.job_id, claim.attempt, claim.token, AttemptResults(None, None, ending))


def _build_config(settings: Settings, claim: Claim, host: HostCores) -> Config:
    checkpoint = checkpoint_path(settings.checkpoints_dir, claim.checkpoint) if claim.checkpoint else None
    own = job_dir(settings, claim.job_id) / CHECKPOINTS_DIR / claim.model
    if claim.checkpoint and checkpoint is None and not any(own.glob("*.index")):
        # Training from random weights instead would not be what the owner asked for.
        advice = "upload it again with POST /v1/checkpoints, then clone the job"
        raise FileNotFoundError(f"the checkpoint {claim.checkpoint!r} is gone: {advice}")
    return attempt_config.compose(
        pipeline_config.parse(claim.base_config),
        claim.plan,
        library.find(settings.datasets_dir, claim.dataset),
        checkpoint=str(checkpoint) if checkpoint else None,
        host_memory_mb=available_memory_mb(),
        threads=host.threads,
        adjustments=claim.adjustments,
        is_own=claim.owns_config,
    )


def _spec(settings: Settings, claim: Claim, device: Device, host: HostCores) -> AttemptSpec:
    return AttemptSpec(
        job_dir=str(job_dir(settings, claim.job_id)),
        architecture=claim.model,
        micro_batch=claim.plan.micro_batch,
        precision=claim.plan.precision,
        probe=claim.probe,
        device=device,
        host=host,
        evaluate_every_steps=claim.plan.evaluate_every(claim.evaluations.count),
        best_metric=claim.evaluations.best_metric,
        early_stopping=claim.evaluations.early_stopping,
        export_checkpoint=claim.evaluations.export,
    )


def _store_start(store: Store, claim: Claim, config: str, host: HostCores) -> None:
    with store.transaction() as session:
        attempt = attempts.get(session, claim.job_id, claim.attempt)
        if attempt is not None:
            attempt.config, attempt.host_cores, attempt.host_devices = config, host.cores, host.devices


def _start_supervisor(settings: Settings, claim: Claim, folder: Path) -> "subprocess.Popen[bytes]":
    arguments = [str(claim.job_id), str(claim.attempt), claim.token, claim.device_key]
    with (folder / notes.SUPERVISOR_LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "worker.supervisor", *arguments],
            cwd=_ROOT,
            env={**os.environ, **settings.to_environment()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # training goes on after the worker ends, also after Ctrl-C in its terminal
        )
