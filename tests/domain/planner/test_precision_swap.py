import pytest

from services.domain.plan.policy import Lever
from services.domain.planner.precision_swap import computed_on, swapped
from services.domain.precision import Precision
from tests.support.plans import D0, GB, LAW, but

BFLOAT16 = but(D0, precision=Precision.BFLOAT16)
FLOAT16 = but(D0, precision=Precision.FLOAT16)


@pytest.mark.parametrize(
    ("plan", "half", "suited"),
    [
        (BFLOAT16, Precision.FLOAT16, FLOAT16),
        (FLOAT16, Precision.BFLOAT16, BFLOAT16),
        (BFLOAT16, Precision.BFLOAT16, BFLOAT16),
        (BFLOAT16, None, D0),
        (D0, Precision.FLOAT16, D0),
    ],
)
def test_a_precision_that_the_lever_chose_follows_the_device(plan, half, suited):
    assert computed_on(plan, D0, half) == suited


def test_a_precision_that_was_asked_for_stays():
    assert computed_on(BFLOAT16, BFLOAT16, Precision.FLOAT16) == BFLOAT16


def test_a_swap_is_explained():
    decision = swapped(BFLOAT16, D0, Precision.FLOAT16, LAW, 8 * GB)
    assert decision is not None
    assert decision.plan == FLOAT16
    (change,) = decision.changes
    assert (change.lever, change.before, change.after) == (Lever.PRECISION, "bfloat16", "float16")
    assert "the device is not fast in bfloat16" in change.reason
    assert swapped(FLOAT16, D0, Precision.FLOAT16, LAW, 8 * GB) is None
