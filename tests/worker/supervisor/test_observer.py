"""What a host sees around a trainer: kills by the kernel, in files written by hand, and company on its GPU."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.contract import AttemptSpec
from worker import notes
from worker.devices.neighbours import Company
from worker.devices.nvml import Gpu, Nvml, NvmlUnavailable
from worker.devices.oom_kills import OomKills, kills_since
from worker.supervisor.observer import Witness, facts_left

MB = 2**20
TRAINER = 77


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def events(kills: int) -> str:
    return f"low 0\nhigh 3\nmax 9\noom {kills}\noom_kill {kills}\noom_group_kill 0\n"


# Kills


def test_kills_are_counted_in_the_trainers_own_group_from_when_it_was_first_seen(tmp_path: Path) -> None:
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
    write(tmp_path, {"sys/fs/cgroup/box/memory.events": events(6)})  # somebody else's
    assert kills_since(kills.before) == 0
    write(tmp_path, {f"{group}/memory.events": events(3)})
    assert kills_since(kills.before) == 1


def test_version_1_counts_as_well(tmp_path: Path) -> None:
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


def test_in_a_container_the_group_is_at_the_mount(tmp_path: Path) -> None:
    counter = "sys/fs/cgroup/memory.events"
    write(tmp_path, {f"proc/{TRAINER}/cgroup": "0::/docker/0123\n", counter: events(0)})
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {counter: events(1)})
    assert kills_since(kills.before) == 1


def test_without_a_group_the_hosts_own_counter_is_read(tmp_path: Path) -> None:
    write(tmp_path, {f"proc/{TRAINER}/cgroup": "0::/\n", "proc/vmstat": "pgfault 7\noom_kill 4\n"})
    kills = OomKills(TRAINER, tmp_path)
    write(tmp_path, {"proc/vmstat": "pgfault 7\noom_kill 5\n"})
    assert kills_since(kills.before) == 1


def test_a_trainer_that_was_moved_is_followed(tmp_path: Path) -> None:
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
    kills.look()
    write(tmp_path, {"sys/fs/cgroup/second/memory.events": events(8)})
    assert kills_since(kills.before) == 1


def test_where_nothing_counts_nothing_is_claimed(tmp_path: Path) -> None:
    assert kills_since(OomKills(TRAINER, tmp_path).before) is None


# Company


class Driver(Nvml):
    """Says what it is told to say."""

    def __init__(self, *gpus: Gpu) -> None:
        super().__init__()
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


def test_the_trainers_own_memory_is_not_company(neighbour: int) -> None:
    driver = Driver(card((os.getpid(), 3000), (neighbour, 2000)))
    company = Company(0, None, os.getpid(), driver)
    company.look()
    assert company.largest() is not None
    assert company.largest().processes == (), "the neighbour is this process's child here"  # type: ignore[union-attr]

    company = Company(0, None, neighbour, driver)
    company.look()
    crowd = company.largest()
    assert crowd is not None
    assert (crowd.used_bytes, [one.pid for one in crowd.processes]) == (3000 * MB, [os.getpid()])


def test_a_neighbour_that_left_a_moment_ago_is_remembered_and_one_of_long_ago_is_not(neighbour: int) -> None:
    now = 0.0
    driver = Driver(card((os.getpid(), 6000)))
    company = Company(0, None, neighbour, driver, clock=lambda: now)
    company.look()
    driver.gpus = [card()]
    now = 30.0
    company.look()
    assert company.largest().used_bytes == 6000 * MB  # type: ignore[union-attr]
    now = 61.0
    company.end()
    assert company.largest().used_bytes == 0  # type: ignore[union-attr]


def test_a_process_without_a_name_may_be_the_trainer_until_that_has_ended(neighbour: int) -> None:
    nowhere = 2**22 + 1
    company = Company(0, None, neighbour, Driver(card((nowhere, 5000))))
    company.look()
    assert company.largest().used_bytes == 0  # type: ignore[union-attr]
    company.end()
    assert company.largest().used_bytes == 5000 * MB  # type: ignore[union-attr]


def test_where_the_driver_does_not_say_who_holds_what_is_not_free_at_the_end_counts(neighbour: int) -> None:
    company = Company(0, None, neighbour, Driver(card((os.getpid(), None), free_mb=2000)))
    company.end()
    assert company.largest().used_bytes == 6000 * MB  # type: ignore[union-attr]


def test_the_card_is_known_by_its_uuid_where_its_number_may_have_changed(neighbour: int) -> None:
    cards = [card((os.getpid(), 10), uuid="GPU-b"), card((os.getpid(), 20), uuid="GPU-a", index=1)]
    company = Company(0, "GPU-a", neighbour, Driver(*cards))
    company.look()
    assert company.largest().used_bytes == 20 * MB  # type: ignore[union-attr]


def test_a_driver_that_does_not_answer_tells_nothing(neighbour: int) -> None:
    driver = Driver()
    company = Company(0, None, neighbour, driver)
    company.look()
    driver.gpus = None
    company.end()
    assert company.largest() is None


# The reaper's share


def test_what_the_supervisor_saw_is_left_for_the_reaper(tmp_path: Path) -> None:
    (tmp_path / "attempt.json").write_text(AttemptSpec(job_dir=str(tmp_path), architecture="x").to_json())
    witness = Witness(tmp_path, os.getpid())
    witness.look(0.0)
    assert facts_left(tmp_path) == witness.last_look()
    noted = notes.read_facts(tmp_path)
    notes.note_facts(tmp_path, {**noted, "held_by_others": 5, "others": [{"pid": 1, "name": "x", "used_bytes": 5}]})
    left = facts_left(tmp_path)
    assert (left.held_by_others, left.others[0]["name"]) == (5, "x")


def test_an_attempt_without_notes_has_no_facts(tmp_path: Path) -> None:
    left = facts_left(tmp_path)
    assert (left.held_by_others, left.others, left.oom_kills) == (None, (), None)
