"""`python -m launcher demo`: train a job that is too large for its device to the end without help; then a second one,
planned from the first one's measurements, that does not run out of memory.

The training is real: EfficientDet-D0 on a CPU slot, which is TensorFlow's GPU allocator with a hard limit.
"""

import contextlib
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from launcher import addresses
from launcher.demo import home as demo_home
from launcher.demo import report
from launcher.demo.progress import ProgressLine
from launcher.demo.service import LOG_FILE, Api, DemoFailed, serving
from services import setup
from services.attempt_paths import job_dir
from services.settings import Settings

__all__ = ["SLOT_MB", "demo"]

SLOT_MB = 768
_JOB: dict[str, Any] = {
    "name": "demo",
    "dataset": setup.SAMPLE,
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 8, "batch_size": 8},
    "policy": {"plan_ahead": False},  # start exactly as asked, whatever the prediction says
}
_NEXT_JOB = {**_JOB, "name": "demo, planned ahead", "train": {"steps": 4, "batch_size": 8}, "policy": {}}
_TIMEOUT_S = 480.0  # for each job
_POLL_S = 0.5
_CANCEL_S = 60.0
_FINAL = ("succeeded", "failed", "cancelled")
_MAP = "DetectionBoxes_Precision/mAP"


def demo(home: Path, trainer: str, keep: bool | None) -> None:
    """Run the demo. Returns if the first job succeeded after a re-plan and the second at its first attempt.

    `trainer` as in Settings. `keep`: leave the service running until told to stop; None: only in a terminal.
    Raises DemoFailed, DemoHomeError, SettingsError or KeyboardInterrupt. In any case the jobs and the service have
    ended afterwards.
    """
    progress = ProgressLine(sys.stdout)
    started = time.monotonic()
    demo_home.make_fresh(home)
    bind = addresses.free_bind(("127.0.0.1", 0))
    settings = Settings(home=home, devices=f"cpu:{SLOT_MB}", bind=bind, trainer=trainer)
    with _signals_as_interrupts():
        try:
            progress.say("A detector that is too large for its device trains to the end without help.")
            progress.say()
            progress.show("starting the service")
            with serving(settings) as api:
                try:
                    _run_both_jobs(api, settings, progress, started)
                    if _is_in_terminal() if keep is None else keep:
                        _keep_running(api, progress)
                finally:
                    progress.show("stopping the service")
        finally:
            is_stopped = demo_home.wait_until_unused(home, _CANCEL_S)
            progress.say("The service is stopped." if is_stopped else f"Something still runs in {home}.")
            progress.say(f"To see it all again: DOWNSHIFT_HOME={shlex.quote(str(home))} make run")


def _run_both_jobs(api: Api, settings: Settings, progress: ProgressLine, started: float) -> None:
    progress.say(f"service  {api.url}, its log in {settings.home / LOG_FILE}")
    progress.say(f"log in   at that address in a browser, with the token in {settings.admin_token_file}")
    progress.say(f"device   one CPU slot: TensorFlow's GPU allocator with a hard limit of {SLOT_MB} MB")
    job, attempts = _submit_and_wait(api, _JOB, "as asked (plan_ahead: false)", progress)
    _show_first(api, settings, job, attempts, progress)
    _check_first(api, job, attempts)
    progress.say()
    progress.say("The same model again, planned from the first job's measurements.")
    job, attempts = _submit_and_wait(api, _NEXT_JOB, "planned ahead", progress)
    _show_second(job, attempts, progress)
    progress.say(f"It took {report.duration(time.monotonic() - started)}.")
    _check_second(api, job, attempts)


def _submit_and_wait(
    api: Api, request: Mapping[str, Any], how: str, progress: ProgressLine
) -> tuple[Any, Sequence[Any]]:
    """Submit the job and watch it until it ends. Cancels it if that fails or is interrupted."""
    try:
        job = _submit(api, request)
        progress.say(f"job {job['id']}    {report.plan(job['asked'])}, {how}")
        progress.say()
        return _watch(api, job["id"], progress)
    except BaseException:
        _cancel(api, request, progress)
        raise


def _submit(api: Api, request: Mapping[str, Any]) -> Any:
    """Submit the job. Its name is the idempotency key, so a second call returns the same job."""
    return api.post("/v1/jobs", request, key=request["name"])


def _watch(api: Api, job_id: int, progress: ProgressLine) -> tuple[Any, Sequence[Any]]:
    """The job and its attempts, once it has ended. Prints each attempt that ends."""
    started, printed = time.monotonic(), 0
    while True:
        job = api.get(f"/v1/jobs/{job_id}")  # before its attempts: if the job has ended, they are complete
        attempts = _items(api.get(f"/v1/jobs/{job_id}/attempts"))
        for attempt in attempts[printed:]:
            if attempt["ended_at"]:
                printed += 1
                progress.say(report.wrapped(f"attempt {attempt['number']} ended: {attempt['message']}"))
                progress.say(report.wrapped(f"  what follows: {attempt['followed_by']}"))
        if job["state"] in _FINAL:
            return job, attempts
        if time.monotonic() - started >= _TIMEOUT_S:
            raise DemoFailed(f"the job has not ended within {report.duration(_TIMEOUT_S)}")
        progress.show(report.progress(job, attempts, time.monotonic() - started))
        time.sleep(_POLL_S)


def _show_first(api: Api, settings: Settings, job: Any, attempts: Sequence[Any], progress: ProgressLine) -> None:
    progress.say()
    progress.say(report.attempts_table(attempts))
    progress.say()
    progress.say(report.changes(attempts))
    for attempt in attempts[1:]:
        number = attempt["number"]
        diff = api.get(f"/v1/jobs/{job['id']}/attempts/{number}/diff")
        progress.say()
        progress.say(f"The configuration, attempt {number - 1} -> {number}:")
        progress.say(report.diff_table(diff["changes"]))
    progress.say()
    progress.say(f"Job {job['id']} {job['state']}" + (f": {job['reason']}" if job["reason"] else "."))
    evidence = attempts[-1]["evidence"] or {} if attempts else {}
    if job["state"] == "succeeded":
        found, steps = evidence["metrics"].get(_MAP, float("nan")), job["progress"]["steps"]
        progress.say(
            f"mAP after {steps} steps: {found:.3f} (too few steps to learn: they only show that training works)"
        )
        progress.say(f"exported model: {job_dir(settings, job['id']) / evidence['export']}")


def _show_second(job: Any, attempts: Sequence[Any], progress: ProgressLine) -> None:
    progress.say()
    progress.say(report.attempts_table(attempts))
    progress.say()
    progress.say(report.changes(attempts, first="Before its first attempt:"))
    for attempt in attempts:
        progress.say(report.wrapped(f"Attempt {attempt['number']}: {report.prediction(attempt)}."))
    progress.say()
    progress.say(f"Job {job['id']} {job['state']}" + (f": {job['reason']}" if job["reason"] else "."))


def _check_first(api: Api, job: Any, attempts: Sequence[Any]) -> None:
    """Raises DemoFailed unless the job succeeded after running out of memory and being re-planned."""
    _check_success(api, job)
    replanned = [attempt for attempt in attempts[1:] if attempt["changes"]]
    if attempts[0]["diagnosis"] != "too_large" or not replanned:
        raise DemoFailed("the job did not run out of memory, so there was nothing to show")


def _check_second(api: Api, job: Any, attempts: Sequence[Any]) -> None:
    """Raises DemoFailed unless the job was made smaller before its first attempt, and that succeeded."""
    _check_success(api, job)
    if len(attempts) != 1 or not attempts[0]["changes"]:
        raise DemoFailed(f"the second job took {len(attempts)} attempts instead of 1")


def _check_success(api: Api, job: Any) -> None:
    if job["state"] != "succeeded":
        log = api.text(f"/v1/jobs/{job['id']}/logs?tail=20")
        raise DemoFailed(f"the job has {job['state']}: {job['reason']}\nthe end of its log:\n{log}")


def _cancel(api: Api, request: Mapping[str, Any], progress: ProgressLine) -> None:
    """Cancel the job, so that no training goes on after the demo. A second interrupt ends the wait."""
    progress.show("cancelling the job")
    deadline = time.monotonic() + _CANCEL_S
    with contextlib.suppress(DemoFailed):  # the caller raises the first error
        job_id = _submit(api, request)["id"]  # the interrupt may have come before the answer
        api.post(f"/v1/jobs/{job_id}/cancel")
        while api.get(f"/v1/jobs/{job_id}")["state"] not in _FINAL and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def _is_in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _keep_running(api: Api, progress: ProgressLine) -> None:
    progress.say()
    if sys.stdin.isatty():
        # Not Ctrl-C: make would report a failure.
        progress.say(f"The service stays up at {api.url} until you press Enter.")
        sys.stdin.readline()
        return
    progress.say(f"The service stays up at {api.url} until it gets a signal to stop.")
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


def _items(answer: Any) -> Sequence[Any]:
    items: Sequence[Any] = answer["items"]
    return items


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that they too stop everything in order."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    former = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
