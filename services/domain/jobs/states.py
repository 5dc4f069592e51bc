"""The states of a job and the allowed transitions."""

import enum

__all__ = ["ACTIVE", "FINAL", "TRANSITIONS", "State", "Stop", "Verb", "WrongState", "advance"]


class State(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Verb(enum.StrEnum):
    CLAIM = "claim"
    SUCCEED = "succeed"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"


class Stop(enum.StrEnum):
    """What the owner asked of a running job; its supervisor carries it out."""

    CANCEL = "cancel"
    PAUSE = "pause"


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})
ACTIVE = frozenset(State) - FINAL

TRANSITIONS: dict[tuple[State, Verb], State] = {
    (State.QUEUED, Verb.CLAIM): State.RUNNING,
    (State.QUEUED, Verb.FAIL): State.FAILED,  # no plan within its floors fits any device
    (State.QUEUED, Verb.CANCEL): State.CANCELLED,
    (State.QUEUED, Verb.PAUSE): State.PAUSED,
    (State.RUNNING, Verb.SUCCEED): State.SUCCEEDED,
    (State.RUNNING, Verb.FAIL): State.FAILED,
    (State.RUNNING, Verb.REQUEUE): State.QUEUED,
    (State.RUNNING, Verb.CANCEL): State.CANCELLED,
    (State.RUNNING, Verb.PAUSE): State.PAUSED,
    (State.PAUSED, Verb.RESUME): State.QUEUED,
    (State.PAUSED, Verb.CANCEL): State.CANCELLED,
}


class WrongState(Exception):
    """The table has no such transition."""

    code = "wrong_state"

    def __init__(self, state: State, verb: Verb) -> None:
        possible = [str(known) for known, named in TRANSITIONS if named is verb]
        super().__init__(f"cannot {verb} a {state} job, only one that is {' or '.join(possible)}")
        self.state = state
        self.verb = verb


def advance(state: State, verb: Verb) -> State:
    """The state after `verb`. Raises WrongState for a transition that is not in the table."""
    try:
        return TRANSITIONS[state, verb]
    except KeyError:
        raise WrongState(state, verb) from None
