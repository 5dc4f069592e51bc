"""A learning rate far from the model's default, where the results are bad too.

The default is that of the model zoo, in proportion to the batch (`catalogue.Model.learning_rate_for`). People fine-tune
well with much smaller ones, and small batches bear larger ones. So it is said only from a factor of ten on, and only
where the training shows that it does not work.
"""

import math
from collections.abc import Iterator

from services.domain.doctor import losses
from services.domain.doctor.advice import Advice, Code, Severity, figure
from services.domain.doctor.training import Training

__all__ = ["check", "is_high"]

_FACTOR = 10.0
_SLACK = 1.001  # a default that was rounded to six digits is not eleven times another
_POOR = 0.05  # mAP


def check(training: Training) -> Iterator[Advice]:
    usual, rate = training.usual_learning_rate, training.learning_rate
    if not usual or usual <= 0 or not 0 < rate < math.inf:
        return
    if is_high(training) and (training.lost_numbers or losses.has_exploded(training) or _is_poor(training)):
        yield _advice(training, usual, Code.LEARNING_RATE_HIGH, rate / usual, "times")
    elif rate * _FACTOR <= usual * _SLACK and _is_poor(training):
        yield _advice(training, usual, Code.LEARNING_RATE_LOW, usual / rate, "times smaller than")


def is_high(training: Training) -> bool:
    usual = training.usual_learning_rate
    return usual is not None and usual > 0 and training.learning_rate * _SLACK >= _FACTOR * usual


def _is_poor(training: Training) -> bool:
    if losses.is_flat(training):
        return True
    return training.is_half_way and training.newest_map is not None and training.newest_map < _POOR


def _advice(training: Training, usual: float, code: Code, factor: float, compared: str) -> Advice:
    batch = training.batch_size
    return Advice(
        code,
        Severity.WARNING,
        f"The learning rate of {figure(training.learning_rate)} is {figure(factor)} {compared} the model's default of "
        f"{figure(usual)} at a batch of {batch:,}, and the training does not work.",
        f"Train with a learning rate of {figure(usual)}: set train.learning_rate, or leave it out.",
        {"learning_rate": training.learning_rate, "usual_learning_rate": usual, "batch_size": batch},
    )
