"""What the host observes about a trainer: OOM kills, in files that the tests write, and neighbours on its GPU."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.domain.contract import AttemptSpec
from worker import notes
from worker.devices.gpu.nvml import Gpu, NvmlUnavailable
from worker.devices.neighbours import NeighbourWatch
from worker.devices.oom_kills import OomKills, kills_since
from worker.supervisor.observer import Observer, read_saved_evidence

MB = 2**20
TRAINER = 77


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def events(kills: int) -> str:
    return f"low 0\nhigh 3\nmax 9\noom {kills}\noom_kill {kills}\noom_group_kill 0\n"


# OOM kills


def test_kills_in_the_trainers_own_group_count_from_its_first_poll(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/box/job"
    write(
        tmp_path,
        {
            f"proc/{TRAINER}/cgroup": "0::/box/job\n",
            f"{group}/memory.events": events(2),
            "sys/fs/cgroup/box/memory.events": events(5),
        },
    )
    kills = OomKills(TRAINER, tmp_path)
    assert kills_since(kills.before) == 0
    write(tmp_path, {"sys/fs/cgroup/box/memory.events": events(6)})  # a process of others
    assert kills_since(kills.before) == 0
    write(tmp_path, {f"{group}/memory.events": events(3)})
    assert kills_since(kills.before) == 1


def test_version_1_control_groups_count_too(tmp_path: Path) -> None:
    control = "sys/fs/cgroup/memory/job/memory.oom_control"
    write(
        tmp_path,
        {
            f"proc/{TRAINER}/cgroup": "5:cpu:/\n4:memory:/job\n0::/\n",
            control: "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
        },
    )
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {control: "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"})
    assert kills_since(kills.before) == 2


def test_in_a_container_the_counter_is_at_the_mount(tmp_path: Path) -> None:
    counter = "sys/fs/cgroup/memory.events"
    write(tmp_path, {f"proc/{TRAINER}/cgroup": "0::/docker/0123\n", counter: events(0)})
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {counter: events(1)})
    assert kills_since(kills.before) == 1


def test_without_a_group_the_hosts_counter_is_read(tmp_path: Path) -> None:
    write(tmp_path, {f"proc/{TRAINER}/cgroup": "0::/\n", "proc/vmstat": "pgfault 7\noom_kill 4\n"})
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {"proc/vmstat": "pgfault 7\noom_kill 5\n"})
    assert kills_since(kills.before) == 1


def test_a_trainer_that_moves_to_another_group_is_followed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            f"proc/{TRAINER}/cgroup": "0::/first\n",
            "sys/fs/cgroup/first/memory.events": events(0),
            "sys/fs/cgroup/second/memory.events": events(7),
        },
    )
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {f"proc/{TRAINER}/cgroup": "0::/second\n"})
    kills.update()
    write(tmp_path, {"sys/fs/cgroup/second/memory.events": events(8)})
    assert kills_since(kills.before) == 1


def test_without_any_counter_the_number_of_kills_is_unknown(tmp_path: Path) -> None:
    assert kills_since(OomKills(TRAINER, tmp_path).before) is None


# Neighbours


class Driver:
    """Returns the GPUs that the test sets; None raises NvmlUnavailable."""

    def __init__(self, *gpus: Gpu) -> None:
        self.gpus: list[Gpu] | None = list(gpus)

    def read(self) -> tuple[str | None, list[Gpu]]:
        if self.gpus is None:
            raise NvmlUnavailable("the driver does not answer")
        return "550", self.gpus


@pytest.fixture
def neighbour() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "60"])
    yield process.pid
    process.kill()
    process.wait()


def card(*processes: tuple[int, int | None], uuid: str = "GPU-a", index: int = 0, free_mb: int = 1000) -> Gpu:
    held = tuple((pid, None if mb is None else mb * MB) for pid, mb in processes)
    return Gpu(index, uuid=uuid, total_bytes=8000 * MB, free_bytes=free_mb * MB, processes=held)


def test_the_memory_of_the_trainer_and_its_children_does_not_count(neighbour: int) -> None:
    driver = Driver(card((os.getpid(), 3000), (neighbour, 2000)))
    watch = NeighbourWatch(0, None, os.getpid(), driver)
    watch.poll()
    assert watch.most() is not None
    assert watch.most().processes == (), "the neighbour is this process's child here"  # type: ignore[union-attr]

    watch = NeighbourWatch(0, None, neighbour, driver)
    watch.poll()
    others = watch.most()
    assert others is not None
    assert (others.used_bytes, [one.pid for one in others.processes]) == (3000 * MB, [os.getpid()])


def test_a_neighbour_is_remembered_for_a_minute_after_it_has_ended(neighbour: int) -> None:
    now = 0.0
    driver = Driver(card((os.getpid(), 6000)))
    watch = NeighbourWatch(0, None, neighbour, driver, clock=lambda: now)
    watch.poll()
    driver.gpus = [card()]
    now = 30.0
    watch.poll()
    assert watch.most().used_bytes == 6000 * MB  # type: ignore[union-attr]
    now = 61.0
    watch.stop()
    assert watch.most().used_bytes == 0  # type: ignore[union-attr]


def test_a_process_without_a_name_counts_only_after_the_trainer_has_ended(neighbour: int) -> None:
    unknown = 2**22 + 1
    watch = NeighbourWatch(0, None, neighbour, Driver(card((unknown, 5000))))
    watch.poll()
    assert watch.most().used_bytes == 0  # type: ignore[union-attr]
    watch.stop()
    assert watch.most().used_bytes == 5000 * MB  # type: ignore[union-attr]


def test_if_the_driver_reports_no_sizes_all_memory_in_use_at_the_end_counts(neighbour: int) -> None:
    watch = NeighbourWatch(0, None, neighbour, Driver(card((os.getpid(), None), free_mb=2000)))
    watch.stop()
    assert watch.most().used_bytes == 6000 * MB  # type: ignore[union-attr]


def test_the_card_is_identified_by_its_uuid_if_there_is_one(neighbour: int) -> None:
    cards = [card((os.getpid(), 10), uuid="GPU-b"), card((os.getpid(), 20), uuid="GPU-a", index=1)]
    watch = NeighbourWatch(0, "GPU-a", neighbour, Driver(*cards))
    watch.poll()
    assert watch.most().used_bytes == 20 * MB  # type: ignore[union-attr]


def test_without_an_answer_of_the_driver_nothing_is_known(neighbour: int) -> None:
    driver = Driver()
    watch = NeighbourWatch(0, None, neighbour, driver)
    watch.poll()
    driver.gpus = None
    watch.stop()
    assert watch.most() is None


# Saved for the reaper


def test_observations_are_saved_for_the_reaper(tmp_path: Path) -> None:
    (tmp_path / "attempt.json").write_text(AttemptSpec(job_dir=str(tmp_path), architecture="x").to_json())
    observer = Observer(tmp_path, os.getpid())
    observer.poll(0.0)
    assert read_saved_evidence(tmp_path) == observer.finish()
    noted = notes.read_observations(tmp_path)
    notes.note_observations(
        tmp_path, {**noted, "held_by_others": 5, "others": [{"pid": 1, "name": "x", "used_bytes": 5}]}
    )
    saved = read_saved_evidence(tmp_path)
    assert (saved.held_by_others, saved.others[0]["name"]) == (5, "x")


def test_processes_in_a_damaged_note_are_cleaned_or_left_out(tmp_path: Path) -> None:
    good = {"pid": 1, "name": "x", "used_bytes": 5}
    damaged: list[Any] = [{"pid": "x"}, {"pid": [1]}, 7, {"pid": 2, "name": 3, "used_bytes": -1, "more": 1}]
    notes.note_observations(tmp_path, {"others": [good, *damaged]})
    assert read_saved_evidence(tmp_path).others == (good, {"pid": 2, "name": None, "used_bytes": None})


def test_an_attempt_without_notes_has_no_evidence(tmp_path: Path) -> None:
    saved = read_saved_evidence(tmp_path)
    assert (saved.held_by_others, saved.others, saved.oom_kills) == (None, (), None)
