"""Replay the archive of a `make gpu-check`: read each attempt's end again, by the code of today."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.domain.contract import LOG_FILE, OUTCOME_FILE, DeviceKind, Outcome
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.ending import Ending, read_ending
from services.domain.memory.gpu_limit import parse_capability


@dataclass(frozen=True)
class Replayed:
    attempt: dict[str, Any]  # as the API showed it
    ending: Ending


def results(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as opened:
        found: dict[str, Any] = json.loads(_read(opened, "results.json"))
        return found


def replay(archive: Path) -> Iterator[Replayed]:
    with tarfile.open(archive) as opened:
        for job in json.loads(_read(opened, "results.json"))["jobs"]:
            for attempt in job["attempts"]:
                folder = f"{job['device']}/job-{attempt['job']}/attempt-{attempt['number']}"
                outcome = Outcome.from_json(_read(opened, f"{folder}/{OUTCOME_FILE}"), passed_over=[])
                log = _read(opened, f"{folder}/{LOG_FILE}").encode()
                known = _case(attempt, DeviceKind(job["device"].partition("-")[0]))
                yield Replayed(attempt, read_ending(attempt["exit_status"], outcome, [log], known))


def _case(attempt: dict[str, Any], kind: DeviceKind) -> Case:
    capability = parse_capability((attempt["versions"] or {}).get("capability"))
    limit, free = attempt["limit_bytes"], attempt["free_bytes"]
    return Case(device_kind=kind, limit=limit, free_at_claim=free, capability=capability)


def _read(opened: tarfile.TarFile, name: str) -> str:
    file = opened.extractfile(name)
    assert file is not None, name
    return file.read().decode()
