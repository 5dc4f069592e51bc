"""Whatever a trainer writes, its attempt ends, its valid lines are stored, and the API can show everything."""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.attempts import finish, ingest
from services.attempts.finish import HeldAttempt, TrainerEnd, finish_attempt
from services.domain.contract import EventKind, Reason
from services.domain.jobs.states import FINAL, State
from services.jobs import actions, queries
from services.scheduling.claim import Claim
from services.store.models import Event, Job, Metric
from tests.support.desk import Desk, Events, empty

LARGE = [2**31, 2**53, 2**60, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, 10**400]
numbers = (
    st.sampled_from([*LARGE, *(-one for one in LARGE), 0, -1, 1, True, 1e308, -1e308, 5e-324, math.nan, math.inf])
    | st.integers(0, 50)
    | st.floats()
)
texts = st.sampled_from(["", "a\0b", "\ud800", "\udfff\ud800", "x" * 50_000, "\u2028", "../../etc", "step"]) | st.text(
    max_size=5
)
scalars = numbers | texts | st.none()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
FIELDS = [
    *("step", "steps", "phase", "losses", "metrics", "learning_rate", "images_per_s", "step_s", "device", "host"),
    *("loss_scale", "skipped_updates"),
    *("message", "chosen", "points", "limit", "seconds", "images", "file", "reason", "resumed"),
]
parts = st.dictionaries(st.sampled_from(["current", "peak", "limit", "micro_batch", "runs"]), scalars, max_size=5)
fields = st.fixed_dictionaries(
    {},
    optional={
        name: values | parts | st.lists(parts, max_size=3) | st.dictionaries(texts, numbers, max_size=3)
        for name in FIELDS
    },
)
lines = st.builds(
    lambda kind, time, rest: {**rest, "kind": kind, "time": time},
    st.sampled_from(list(EventKind)) | scalars,
    st.integers(1_700_000_000, 1_900_000_000) | numbers,
    fields,
)
outcomes = st.builds(
    lambda reason, message, rest: {"reason": reason, "message": message, **rest},
    st.sampled_from(list(Reason)),
    texts,
    st.fixed_dictionaries(
        {},
        optional={
            "step": numbers,
            "saved_step": numbers,
            "runs": numbers,
            "walked_bytes": numbers,
            "host_peak_bytes": numbers,
            "seconds": numbers,
            "export": texts | st.none(),
            "metrics": st.dictionaries(texts, numbers, max_size=3),
            "allocator": st.fixed_dictionaries(
                {},
                optional={
                    **dict.fromkeys(["limit", "in_use", "peak", "evaluation_peak", "requested"], numbers | st.none()),
                    **dict.fromkeys(["requested_shape", "requested_op", "allocator"], texts | st.none()),
                },
            ),
        },
    ),
)
statuses = st.sampled_from([None, 0, 1, 10, 20, 21, 22, 23, 30, -9, -11, -15])


def finish_with(desk: Desk, claim: Claim, status: int | None) -> None:
    held = HeldAttempt(claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    finish_attempt(desk.store, held, TrainerEnd(status))


def check_shown(desk: Desk, job_id: int) -> None:
    """Show everything as the API does."""
    shown = [
        queries.show_job(desk.store, desk.settings, desk.owner, job_id),
        queries.list_attempts(desk.store, desk.owner, job_id),
        [event.data for event in desk.rows(Event)],
    ]
    json.dumps(shown, allow_nan=False).encode()


@pytest.mark.lengthy
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(said=st.lists(lines, max_size=4), left=outcomes | values, status=statuses)
def test_any_report_of_a_trainer_ends_its_attempt_and_keeps_the_valid_lines(
    desk: Desk, said: list[dict[str, Any]], left: Any, status: int | None
) -> None:
    empty(desk.store)
    desk = Desk(desk.store, desk.settings.home)
    desk.slots(4000)
    claim = desk.claimed()
    folder = desk.folder(claim)
    events = Events(folder)
    events.step(1)
    for line in said:
        events.append(json.dumps(line).encode() + b"\n")
    events.step(2, loss=0.25)
    events.write("checkpoint", step=2)
    assert ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, folder)
    check_shown(desk, claim.job_id)
    (folder / "outcome.json").write_text(json.dumps(left))
    finish_with(desk, claim, status)
    attempt, job = desk.attempt(claim), desk.job(claim.job_id)
    assert attempt.ended_at is not None
    assert job.state in FINAL or job.state == State.QUEUED
    assert desk.leases() == []
    found = {row.step: row.value for row in desk.rows(Metric) if row.job_id == job.id and row.name == "Loss/total_loss"}
    assert found[2] == 0.25
    assert attempt.saved_step is not None
    check_shown(desk, claim.job_id)
    # Its reported memory does not keep other jobs from starting.
    if job.state not in FINAL:
        actions.cancel(desk.store, desk.owner, claim.job_id)
    assert desk.claimed()


def test_results_that_cannot_be_read_are_judged_by_the_exit_status(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.slots(4000)
    for status, state in [(1, State.FAILED), (10, State.QUEUED)]:
        claim = desk.claimed()
        desk.folder(claim)

        def fail(*_: Any, **__: Any) -> None:
            raise OverflowError("a number that nobody has foreseen")

        with monkeypatch.context() as patched:
            patched.setattr(finish, "read_results", fail)
            finish_with(desk, claim, status)
        assert desk.job(claim.job_id).state == state
        assert "a number that nobody has foreseen" in (desk.attempt(claim).message or "")
        desk.change(Job, claim.job_id, state=State.CANCELLED)
