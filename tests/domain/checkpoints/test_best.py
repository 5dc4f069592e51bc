"""Which evaluation is the best, and when training ends early: over all short sequences, and by example."""

import itertools
import math

import pytest

from services.domain.checkpoints.best import SERIES, Evaluated, History, evaluations_without_gain, is_of_masks, value_of
from services.domain.contract import BestMetric, EarlyStopping

SCALE = (0.0, 0.1, 0.1005, 0.101, 0.2)
SEQUENCES = [values for length in range(1, 6) for values in itertools.product(SCALE, repeat=length)]
EVERY = 10
BATCH = 4


def history_of(*values: float) -> History:
    history = History(BestMetric.MAP)
    for number, value in enumerate(values, start=1):
        history = history.after(Evaluated(EVERY * number, BATCH, value))
    return history


def test_the_best_is_the_first_of_the_highest_values_and_the_last_where_all_are_zero() -> None:
    for values in SEQUENCES:
        best = history_of(*values).best
        position = values.index(max(values)) if max(values) > 0 else len(values) - 1
        assert best == Evaluated(EVERY * (position + 1), BATCH, max(values)), values


@pytest.mark.parametrize("min_gain", [0.0, 0.001, 0.1])
def test_evaluations_without_gain_are_those_since_the_last_gain(min_gain: float) -> None:
    """Written in another way: walk from gain to gain, in whole ten-thousandths."""
    for values in SEQUENCES:
        whole, least = [round(value * 10_000) for value in values], max(1, round(min_gain * 10_000))
        gains: list[int] = []
        while after := [at for at in range(gains[-1] + 1 if gains else 0, len(whole))
                        if whole[at] >= (whole[gains[-1]] + least if gains else 1)]:  # fmt: skip
            gains.append(after[0])
        expected = len(values) - 1 - gains[-1] if gains else 0
        assert evaluations_without_gain(values, min_gain) == expected, (values, gains)


@pytest.mark.parametrize(
    ("values", "min_gain", "idle"),
    [
        ((0.1, 0.101), 0.001, 0),  # in binary, a little less
        ((0.1, 0.1005, 0.101), 0.001, 0),  # small gains add up
        ((0.1, 0.1005, 0.1009), 0.001, 2),
        ((0.5, 0.1, 0.2, 0.3), 0.001, 3),  # better than before is no gain
        ((0.0, 0.0, 0.0, 0.0), 0.0, 0),  # it has detected nothing yet
        ((0.0, 0.0, 0.3, 0.3), 0.0, 1),
        ((0.02, 0.03, 0.04), 0.5, 2),  # the first value is where gains are counted from
        ((), 0.001, 0),
    ],
)
def test_evaluations_without_gain_by_example(values: tuple[float, ...], min_gain: float, idle: int) -> None:
    assert evaluations_without_gain(values, min_gain) == idle


def test_training_ends_after_as_many_evaluations_without_gain_as_the_patience() -> None:
    rule = EarlyStopping(patience=2, min_gain=0.01)
    values = (0.0, 0.2, 0.205, 0.21, 0.1, 0.2)
    ends = [history_of(*values[:count]).ends_training(rule) for count in range(len(values) + 1)]

    assert ends == [False, False, False, False, False, False, True]
    assert not history_of(*values).ends_training(None)
    assert history_of(*values).why_it_ended(rule, 60, 200) == (
        "stopped early at step 60 of 200: mAP has not gained 0.01 in 2 evaluations; best 0.21 at step 40"
    )


def test_an_evaluation_that_is_repeated_counts_once_and_the_best_stays() -> None:
    """A later checkpoint could not be read: training went on from an earlier one."""
    rule = EarlyStopping(patience=2)
    history = history_of(0.3, 0.4, 0.35).after(Evaluated(20, BATCH, 0.36))

    assert history.best == Evaluated(20, BATCH, 0.4)
    assert [one.value for one in history.evaluations] == [0.3, 0.36]
    assert history.without_gain(rule) == 0


def test_images_order_evaluations_when_the_batch_size_has_changed() -> None:
    history = history_of(0.3, 0.4).after(Evaluated(45, BATCH // 2, 0.35))

    assert [one.value for one in history.evaluations] == [0.3, 0.4, 0.35]


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, -1.0, None, "0.5", True])
def test_what_is_no_real_value_is_none(value: object) -> None:
    assert value_of({SERIES[BestMetric.MAP]: value}, BestMetric.MAP) is None
    assert value_of({}, BestMetric.MAP) is None
    assert value_of({SERIES[BestMetric.MAP]: 0}, BestMetric.MAP) == 0.0


def test_every_metric_has_its_name_in_the_results() -> None:
    assert set(SERIES) == set(BestMetric)
    assert {metric for metric in BestMetric if is_of_masks(metric)} == {
        metric for metric in BestMetric if metric.startswith("mask_")
    }
