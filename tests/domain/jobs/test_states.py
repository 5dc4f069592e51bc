"""Every state with every verb: the table has all transitions, and no others are possible."""

import itertools

import pytest

from services.domain.jobs.states import ACTIVE, FINAL, TRANSITIONS, State, Verb, WrongState, advance

# Written by hand a second time: the table is a promise, so a change must be made twice.
PROMISED = {
    State.QUEUED: {"claim": "running", "fail": "failed", "cancel": "cancelled", "pause": "paused"},
    State.RUNNING: {
        "succeed": "succeeded",
        "fail": "failed",
        "requeue": "queued",
        "cancel": "cancelled",
        "pause": "paused",
    },
    State.PAUSED: {"resume": "queued", "cancel": "cancelled"},
    State.SUCCEEDED: {},
    State.FAILED: {},
    State.CANCELLED: {},
}


@pytest.mark.parametrize(("state", "verb"), itertools.product(State, Verb))
def test_a_verb_leads_where_the_table_says_or_is_refused(state: State, verb: Verb) -> None:
    following = PROMISED[state].get(verb)
    if following is not None:
        assert advance(state, verb) == State(following)
        return
    with pytest.raises(WrongState) as refused:
        advance(state, verb)
    assert refused.value.code == "wrong_state"
    assert f"cannot {verb} a {state} job" in str(refused.value)


@pytest.mark.parametrize("verb", Verb)
def test_a_refusal_names_the_states_in_which_the_verb_is_possible(verb: Verb) -> None:
    with pytest.raises(WrongState) as refused:
        advance(State.SUCCEEDED, verb)
    for state in State:
        assert (str(state) in str(refused.value).partition(", only")[2]) == (verb in PROMISED[state])


def test_only_a_running_job_succeeds() -> None:
    assert [state for state, verb in TRANSITIONS if verb is Verb.SUCCEED] == [State.RUNNING]


def test_nothing_leads_out_of_a_final_state_and_something_out_of_every_other() -> None:
    assert {state for state, _ in TRANSITIONS} == set(ACTIVE)
    assert set(State) == FINAL | ACTIVE
    assert not FINAL & ACTIVE


def test_every_state_can_be_reached_from_the_queue() -> None:
    reached = {State.QUEUED}
    for _ in State:
        reached |= {after for (before, _), after in TRANSITIONS.items() if before in reached}
    assert reached == set(State)
