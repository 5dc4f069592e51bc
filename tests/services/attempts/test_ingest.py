"""A trainer's reports become rows: each line once, whatever the file contains."""

import dataclasses
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from services.attempts import ingest
from services.domain.contract import Reason
from services.domain.memory.gpu_limit import limit_of_free
from services.jobs import views
from services.scheduling.claim import Claim
from services.store import training_series as metric_rows
from services.store.engine import StoreUnavailable
from services.store.models import Attempt, Event, Metric
from services.store.training_series import Value
from tests.support.desk import GB, MB, Desk, Events, gpu


@pytest.fixture
def running(desk: Desk) -> Claim:
    desk.slots(4000)
    return desk.claimed()


@pytest.fixture
def events(desk: Desk, running: Claim) -> Events:
    return Events(desk.folder(running))


def take_in(desk: Desk, claim: Claim, token: str | None = None) -> int:
    return ingest.ingest(desk.store, claim.job_id, claim.attempt, token or claim.token, desk.folder(claim))


def metrics(desk: Desk, name: str = "Loss/total_loss") -> dict[int, float]:
    return {row.step: row.value for row in desk.rows(Metric) if row.name == name}


def kinds(desk: Desk, claim: Claim) -> list[str]:
    return [event.kind for event in desk.rows(Event) if event.attempt == claim.attempt and event.kind != "state"]


def test_steps_become_series_and_progress(desk: Desk, running: Claim, events: Events) -> None:
    events.write("phase", phase="training", step=0, steps=10)
    events.step(1, loss=2.0, peak=300 * MB)
    events.step(2, loss=1.5, peak=200 * MB)
    events.write("checkpoint", step=2)
    events.write("eval", step=2, metrics={"DetectionBoxes_Precision/mAP": 0.25})
    events.write("phase", phase="evaluating", step=2)
    assert take_in(desk, running) == events.path.stat().st_size
    assert metrics(desk) == {1: 2.0, 2: 1.5}
    assert metrics(desk, "device_memory_peak") == {1: 300 * MB, 2: 200 * MB}
    assert metrics(desk, "DetectionBoxes_Precision/mAP") == {2: 0.25}
    attempt = desk.attempt(running)
    assert (attempt.step, attempt.saved_step, attempt.phase, attempt.step_s) == (2, 2, "evaluating", 0.5)
    assert attempt.peak_bytes == 300 * MB
    assert desk.job(running.job_id).step == 2
    assert kinds(desk, running) == ["phase", "checkpoint", "eval", "phase"]


def test_what_tensorflow_gives_its_allocator_replaces_the_planned_limit(desk: Desk) -> None:
    desk.report(dataclasses.replace(gpu(0, 8 * GB, 7 * GB), capability="8.6", driver="560.1"))
    claim = desk.claimed()
    planned = desk.attempt(claim)
    assert (planned.limit_bytes, planned.free_bytes) == (limit_of_free(7 * GB, (8, 6)), 7 * GB)

    writer = Events(desk.folder(claim))
    writer.write("device", limit=5 * GB, versions={"cudnn": "9.3.0", "driver": "not yours to say", "odd": 7})
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    attempt = desk.attempt(claim)
    assert attempt.limit_bytes == 5 * GB
    assert attempt.versions == {"cudnn": "9.3.0", "driver": "560.1", "capability": "8.6"}

    writer.write("device", limit=9 * GB, versions={})  # more than was free
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    assert desk.attempt(claim).limit_bytes == 5 * GB


def test_the_wait_for_images_is_a_series_and_a_sentence_when_it_lasts(
    desk: Desk, running: Claim, events: Events
) -> None:
    desk.change(Attempt, (running.job_id, running.attempt), host_cores=16, host_devices=4)
    events.step(1, input_wait=0.1)
    take_in(desk, running)
    assert views.attempt_view(desk.attempt(running))["input_wait"] == {"share": 0.1, "sentence": None}
    for step in range(2, 20):
        events.step(step, input_wait=0.45)
    events.step(20, input_wait="much")
    events.step(21, input_wait=7.0)
    take_in(desk, running)
    assert metrics(desk, "input_wait")[19] == 0.45
    shown = views.attempt_view(desk.attempt(running))["input_wait"]
    assert shown["share"] == pytest.approx(0.45, abs=0.01)
    assert shown["sentence"].startswith("The device waits for images 45 % of the time: ")


def test_the_loss_scale_and_skipped_updates_of_float16_become_series(
    desk: Desk, running: Claim, events: Events
) -> None:
    events.step(1)
    events.write("step", step=2, losses={}, loss_scale=2.0**14, skipped_updates=1)
    take_in(desk, running)
    assert metrics(desk, "loss_scale") == {2: 2.0**14}
    assert metrics(desk, "skipped_updates") == {2: 1}
    assert metrics(desk) == {1: 1.0}
    assert desk.job(running.job_id).step == 2


def test_reading_again_stores_nothing_twice(desk: Desk, running: Claim, events: Events) -> None:
    events.write("warning", message="one")
    events.step(1)
    assert take_in(desk, running) > 0
    assert take_in(desk, running) == 0
    events.step(2)
    take_in(desk, running)
    assert kinds(desk, running) == ["warning"]
    assert list(metrics(desk)) == [1, 2]


def test_an_incomplete_line_is_read_when_it_ends(desk: Desk, running: Claim, events: Events) -> None:
    line = events.line("warning", message="torn")
    for cut in (1, len(line) // 2, len(line) - 1):
        events.path.write_bytes(line[:cut])
        assert take_in(desk, running) == 0
    events.path.write_bytes(line)
    assert take_in(desk, running) == len(line)
    assert kinds(desk, running) == ["warning"]


def test_two_readers_at_once_store_each_line_once(desk: Desk, running: Claim, events: Events) -> None:
    """The supervisor and the reaper: the second one finds that the position has changed."""
    events.write("warning", message="one")
    first = ingest._read_from

    def and_meanwhile_another(path: Path, position: int) -> bytes:
        text = first(path, position)
        ingest._read_from = first
        assert take_in(desk, running) > 0
        return text

    ingest._read_from = and_meanwhile_another
    assert take_in(desk, running) == 0
    assert kinds(desk, running) == ["warning"]


def test_a_stale_token_writes_nothing(desk: Desk, running: Claim, events: Events) -> None:
    events.step(1)
    assert take_in(desk, running, token="somebody else's") == 0
    assert metrics(desk) == {}
    assert desk.attempt(running).ingested == 0


def test_a_missing_file_is_read_as_empty(desk: Desk, running: Claim) -> None:
    assert take_in(desk, running) == 0


def test_an_unreadable_file_is_read_as_empty(desk: Desk, running: Claim, events: Events) -> None:
    events.path.mkdir()
    assert take_in(desk, running) == 0


GARBAGE: list[bytes] = [
    b"",
    b"\0\0\0\0",
    b"\xff\xfe\x80",
    b"not json",
    b"[1, 2]",
    b"7",
    b'"text"',
    b"null",
    b"{}",
    b'{"kind": "step"}',
    b'{"time": 1}',
    b'{"kind": "step", "time": "noon"}',
    b'{"kind": "step", "time": NaN}',
    b'{"kind": "step", "time": 1e30}',
    b'{"kind": "step", "time": -1e12}',
    b'{"kind": ["step"], "time": 1}',
    b'{"kind": "no such kind", "time": 1}',
    b'{"kind": "' + b"x" * 100 + b'", "time": 1}',
    b"[" * 100_000,
    b'{"a":' * 5000,
    b'{"kind": "step", "time": 1' + b"0" * 5000 + b"}",
]


def test_a_line_that_is_not_an_event_is_skipped(desk: Desk, running: Claim, events: Events) -> None:
    for step, line in enumerate(GARBAGE):
        events.step(step)
        events.append(line + b"\n")
    while take_in(desk, running):
        pass
    assert desk.attempt(running).ingested == events.path.stat().st_size
    assert list(metrics(desk)) == list(range(len(GARBAGE)))
    [warning] = desk.events(running.job_id, "warning")
    assert (
        f"ignored {len(GARBAGE) - 1} lines of events.jsonl" in warning["message"]
    )  # an empty line is skipped silently


ODD: list[Any] = [math.nan, math.inf, -math.inf, 10**30, 10**400, -1, True, None, "7", [1], {"a": 1}, 2**63, 1e308]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_a_value_of_the_wrong_type_does_not_stop_the_reading(
    desk: Desk, running: Claim, events: Events, value: Any
) -> None:
    odd = {"losses": {"odd": value}, "device": {"peak": value}, "step_s": value, "learning_rate": value}
    events.write("step", step=1, **odd)
    events.write("step", step=value, losses={"odd step": 1.0}, device=value, host=value)
    events.write("eval", step=1, metrics={"odd": value}, images=value)
    events.write("checkpoint", step=value)
    events.write("phase", phase=value, step=value)
    events.write("warning", message=value, inner=[{"deep": value}])
    events.step(2)
    assert take_in(desk, running) == events.path.stat().st_size
    assert metrics(desk) == {2: 1.0}
    kept = [event.data for event in desk.rows(Event) if event.kind in ("eval", "warning")]
    assert len([data for data in kept if "ignored" not in str(data.get("message"))]) == 2
    json.dumps(kept, allow_nan=False)  # as the API does
    attempt = desk.attempt(running)
    assert attempt.step == 2
    assert attempt.step_s is not None
    assert 0 < attempt.step_s < math.inf


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "é" * 200, "", "\u2028"], ids=ascii)
def test_a_text_that_a_database_refuses_does_not_stop_the_reading(
    desk: Desk, running: Claim, events: Events, text: str
) -> None:
    events.write("step", step=1, losses={text: 1.0})
    events.write("phase", phase=text)
    events.write("warning", message=text, **{text or "x": text})
    assert take_in(desk, running) == events.path.stat().st_size
    assert len(desk.attempt(running).phase) <= 32
    assert kinds(desk, running) == ["phase", "warning"]


def test_an_event_is_stored_to_a_limited_depth(desk: Desk, running: Claim, events: Events) -> None:
    nested: Any = "core"
    for _ in range(500):
        nested = [nested]
    events.write("warning", message="deep", inner=nested)
    assert take_in(desk, running) > 0
    [warning] = desk.events(running.job_id, "warning")
    assert warning["message"] == "deep"
    assert "core" not in json.dumps(warning)


def test_an_endless_line_is_skipped(
    desk: Desk, running: Claim, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BATCH_BYTES", 1000)
    events.append(b'{"kind": "warning", "time": 1, "message": "' + b"x" * 3500 + b'"}\n')
    events.step(1)
    while take_in(desk, running):
        pass
    assert desk.attempt(running).ingested == events.path.stat().st_size
    assert metrics(desk) == {1: 1.0}
    assert desk.events(running.job_id, "warning")


@pytest.mark.parametrize("step", [2**53, 2**63 - 1, 2**63, 10**400, -1])
def test_an_impossible_step_loses_its_own_line_with_a_warning(
    desk: Desk, running: Claim, events: Events, step: int
) -> None:
    events.step(1)
    events.step(step)
    events.write("phase", phase="evaluating", step=step)
    events.step(2)
    assert take_in(desk, running) == events.path.stat().st_size
    assert metrics(desk) == {1: 1.0, 2: 1.0}
    assert (desk.attempt(running).step, desk.job(running.job_id).step) == (2, 2)
    [warning] = desk.events(running.job_id, "warning")
    assert warning["message"].startswith("ignored 2 lines of events.jsonl: not an event (ValueError: step:")


@pytest.mark.lengthy
def test_a_batch_with_very_many_metrics_is_stored(desk: Desk, running: Claim, events: Events) -> None:
    """More metrics than the parameters that either database allows in one statement."""
    names = [f"m{number}" for number in range(40_000)]
    events.write("eval", step=1, metrics=dict.fromkeys(names, 0.5))
    events.write("eval", step=1, metrics=dict.fromkeys([f"n{number}" for number in range(30_000)], 0.5))
    events.step(2)
    assert take_in(desk, running) == events.path.stat().st_size
    with desk.store.reading() as session:
        known = metric_rows.names_of_job(session, running.job_id)
    assert len([name for name in known if name[0] in "mn" and name[1:].isdecimal()]) == 70_000
    assert metrics(desk) == {2: 1.0}


def test_a_line_that_the_database_refuses_loses_only_itself(
    desk: Desk, running: Claim, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any unforeseen value; here one that the real statement refuses."""
    record = metric_rows.record

    def spoil(session: Any, job_id: int, attempt: int, values: list[Value]) -> None:
        spoilt = [dataclasses.replace(value, step=2**70) if value.step in (3, 11) else value for value in values]
        record(session, job_id, attempt, spoilt)

    monkeypatch.setattr(metric_rows, "record", spoil)
    for step in range(1, 14):
        events.step(step)
        events.write("checkpoint", step=step)
    assert take_in(desk, running) == events.path.stat().st_size
    assert list(metrics(desk)) == [1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13]
    assert [event["step"] for event in desk.events(running.job_id, "checkpoint")] == list(range(1, 14))
    assert len(desk.events(running.job_id, "warning")) == 2
    assert desk.attempt(running).ingested == events.path.stat().st_size
    assert take_in(desk, running) == 0


def test_an_unreachable_database_loses_no_line(
    desk: Desk, running: Claim, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("INSERT", {}, Exception("it is locked"))

    with monkeypatch.context() as patched:
        patched.setattr(metric_rows, "record", away)
        events.step(1)
        with pytest.raises(StoreUnavailable):
            take_in(desk, running)
    assert take_in(desk, running) == events.path.stat().st_size
    assert metrics(desk) == {1: 1.0}


def test_a_large_file_is_ingested_in_batches(
    desk: Desk, running: Claim, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BATCH_BYTES", 5000)
    for step in range(1, 301):
        events.step(step)
    batches = []
    while read := take_in(desk, running):
        batches.append(read)
    assert max(batches) <= 5000
    assert len(batches) > 10
    assert sorted(metrics(desk)) == list(range(1, 301))


def test_a_resumed_attempt_continues_after_the_saved_step(desk: Desk, running: Claim, events: Events) -> None:
    """Lost steps are trained again, so the series of both attempts overlap."""
    for step in (1, 2, 3):
        events.step(step, loss=3.0)
    take_in(desk, running)
    desk.end(running, Reason.STOPPED)
    again = desk.claim()
    assert again is not None
    resumed = Events(desk.folder(again))
    resumed.write("phase", phase="training", step=2, resumed=True)
    take_in(desk, again)
    assert desk.job(running.job_id).step == 2
    resumed.step(3, loss=4.0)
    take_in(desk, again)
    assert [(row.attempt, row.step, row.value) for row in desk.rows(Metric) if row.name == "Loss/total_loss"] == [
        (1, 1, 3.0),
        (1, 2, 3.0),
        (1, 3, 3.0),
        (2, 3, 4.0),
    ]


def test_any_bytes_are_read_to_their_end(desk: Desk, running: Claim, events: Events) -> None:
    chance = random.Random(7)
    good = events.line("step", step=5, losses={"a": 1.5}, device={"peak": GB})
    for _ in range(40):
        line = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            line[chance.randrange(len(line) - 1)] = chance.randrange(256)
        events.append(bytes(line))
    events.append(b"\n")
    while take_in(desk, running):
        pass
    assert desk.attempt(running).ingested == events.path.stat().st_size


def test_an_evaluation_of_many_classes_is_stored_without_the_values_of_single_classes(
    desk: Desk, running: Claim, events: Events
) -> None:
    """One line of more than 1 MiB, as trainers wrote it before they put class values in a file."""
    figure = "DetectionBoxes_Precision/mAP (medium) {} ByCategory/a class of the label map {}"
    figures = {figure.format(number, category): 0.5 for category in range(1203) for number in range(12)}
    events.write("eval", step=2, metrics={"DetectionBoxes_Precision/mAP": 0.25} | figures)
    events.step(3)
    assert events.path.stat().st_size > 2**20

    while take_in(desk, running):
        pass

    assert metrics(desk, "DetectionBoxes_Precision/mAP") == {2: 0.25}
    assert list(metrics(desk)) == [3]
    assert not [row for row in desk.rows(Metric) if "ByCategory" in row.name]
    [kept] = [event for event in desk.rows(Event) if event.kind == "eval"]
    assert kept.data["metrics"] == {"DetectionBoxes_Precision/mAP": 0.25}


def test_two_long_names_with_equal_starts_are_two_series(desk: Desk, running: Claim, events: Events) -> None:
    names = [f"DetectionBoxes_PerformanceByCategory/mAP/{'Säugetier ' * 20}{which}" for which in ("A", "B")]
    just = "m" * 96
    for step in (2, 4):
        events.write("eval", step=step, metrics={names[0]: 0.25, names[1]: 0.75, just: 0.5})
        take_in(desk, running)

    series = {row.name: row.value for row in desk.rows(Metric)}
    assert sorted(series.values()) == [0.25, 0.5, 0.75]
    assert series[just] == 0.5
    assert {len(name) for name in series} == {96}
    assert all(name == just or name.startswith(names[0][:80]) for name in series)


def test_an_incomplete_long_line_is_read_when_it_ends(desk: Desk, running: Claim, events: Events) -> None:
    line = events.line("warning", message="m" * (2 * 2**20))
    events.path.write_bytes(line[:-1])
    assert take_in(desk, running) == 0
    events.path.write_bytes(line)
    assert take_in(desk, running) == len(line)


def test_a_line_over_the_limit_is_skipped_in_chunks(
    desk: Desk, running: Claim, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_LONGEST_LINE", 2 * 2**20)
    events.write("warning", message="m" * (3 * 2**20))
    events.step(1)

    while take_in(desk, running):
        pass

    assert list(metrics(desk)) == [1]


def test_the_box_counts_of_an_evaluation_are_kept_within_bounds(desk: Desk, running: Claim, events: Events) -> None:
    """Too many classes, names too long, numbers that are none: a trainer runs other people's code."""
    good: dict[str, Any] = {
        "truths": 40,
        "classes": 1000,
        "predictions": 30,
        "true_classes": [[number, 1] for number in range(1000)],
        "confusions": [[number, 1, 1] for number in range(1000)],
        "names": {str(number): "n" * 1000 for number in range(1000)},
    }
    events.write("eval", step=1, metrics={"Loss/total_loss": 0.75}, boxes=good)
    faults: list[dict[str, Any]] = [{"truths": -1}, {"truths": 1e300}, {"confusions": [[1, 2]]}, {"best_score": "?"}]
    for number, wrong in enumerate(faults, 2):
        events.write("eval", step=number, metrics={}, boxes={**good, **wrong})
    events.write("eval", step=9, metrics={}, boxes="many")
    events.write("eval", step=10, metrics={})  # of an earlier version
    while take_in(desk, running):  # the first event is a batch of its own
        pass

    first, *others = desk.events(running.job_id, "eval")
    assert (len(first["boxes"]["true_classes"]), len(first["boxes"]["confusions"])) == (10, 20)
    assert len(first["boxes"]["names"]) <= 60
    assert {len(name) for name in first["boxes"]["names"].values()} == {64}
    assert [event.get("boxes") for event in others] == [None] * 6
    assert metrics(desk, "validation_loss") == {1: 0.75}


def best_of(desk: Desk, running: Claim) -> Any:
    return (desk.job(running.job_id).results or {}).get("best")


def test_the_best_checkpoint_so_far_is_that_of_the_last_event_that_names_one(
    desk: Desk, running: Claim, events: Events
) -> None:
    best = {"step": 4, "metric": "mAP", "value": 0.5, "checkpoint": "efficientdet_d0/best/ckpt-4"}
    events.write("phase", phase="training", step=0, steps=10, best=None)
    take_in(desk, running)
    assert best_of(desk, running) is None
    events.write("eval", step=4, metrics={}, best=best)
    events.write("phase", phase="training", step=4, steps=10)
    events.write("eval", step=6, metrics={}, best=best)
    take_in(desk, running)
    job = desk.job(running.job_id)
    assert best_of(desk, running) == {**best, "attempt": 1, "checkpoint": "checkpoints/efficientdet_d0/best/ckpt-4"}
    assert views.job_view(job, "owner", None)["best"] == best_of(desk, running)
    events.write("phase", phase="training", step=0, steps=10, best=None)  # of another architecture
    take_in(desk, running)
    assert best_of(desk, running) is None


@pytest.mark.parametrize(
    "odd",
    [
        1,
        [],
        {},
        {"step": -1},
        {"value": "x"},
        {"value": 10**400},
        {"metric": "loss"},
        {"metric": []},
        {"checkpoint": 1},
    ],
    ids=str,
)
def test_a_best_checkpoint_that_is_none_is_not_shown(desk: Desk, running: Claim, events: Events, odd: Any) -> None:
    best = {"step": 4, "metric": "mAP", "value": 0.5, "checkpoint": "efficientdet_d0/best/ckpt-4"}
    events.write("eval", step=4, metrics={"x": 1.0}, best={**best, **odd} if odd and isinstance(odd, dict) else odd)
    take_in(desk, running)
    assert best_of(desk, running) is None
    assert metrics(desk, "x") == {4: 1.0}
