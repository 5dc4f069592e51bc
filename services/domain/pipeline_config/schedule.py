"""Reads and changes the steps and the learning rate, for every optimizer and schedule of the schema."""

import math
from collections.abc import Callable
from typing import Any

from services.domain.pipeline_config.counts import count_problem
from services.domain.pipeline_config.problems import refuse
from services.domain.pipeline_config.schema.floats import float32, shortest
from services.domain.pipeline_config.schema.text import Config, copied

_RATE = "train_config.optimizer"
_MOST_STEPS = 2**32 - 1  # in a schedule's own fields, which may exceed num_steps


def steps_of(config: Config) -> int:
    """Steps of training; the cosine's length where num_steps is left out."""
    train = config.train_config
    if train.num_steps:
        return int(train.num_steps)
    kind, schedule = _schedule(config)
    return int(schedule.total_steps) if kind == "cosine_decay_learning_rate" else 0


def peak_learning_rate(config: Config) -> float:
    """The highest learning rate of the schedule."""
    return shortest(_peak(*_schedule(config)))


def set_schedule(config: Config, steps: int, learning_rate: float) -> Config:
    """A copy that trains `steps` steps with that peak; warm-up, decay and boundaries keep their proportions."""
    problem = count_problem(steps)
    if problem:
        raise refuse("train_config.num_steps", problem)
    if not is_rate(learning_rate):
        raise refuse(_RATE, f"the learning rate must be a finite number above 0, got {learning_rate}")
    changed = copied(config)
    kind, schedule = _schedule(changed)
    peak = _peak(kind, schedule)
    if not is_rate(peak):
        raise refuse(_RATE, f"the learning rate reaches {peak} at its highest: set it to a finite number above 0")
    # In the field's 32 bits: otherwise setting the same rate twice would change the other rates by a rounding error.
    rate = float32(learning_rate) / peak
    length = steps / (steps_of(config) or steps)
    _SCALERS[kind](schedule, length, rate)
    _put(changed.train_config, "num_steps", steps)
    return changed


def is_rate(value: float) -> bool:
    """Whether `value` can be a learning rate: positive and finite in 32 bits."""
    return 0 < float32(value) < math.inf


def _schedule(config: Config) -> tuple[str, Any]:
    """Kind and message of the learning rate. Raises ConfigError where one is missing."""
    optimizer = config.train_config.optimizer
    chosen = optimizer.WhichOneof("optimizer")
    if chosen is None:
        raise refuse(_RATE, "is missing: add a momentum_optimizer, adam_optimizer or rms_prop_optimizer")
    rate = getattr(optimizer, chosen).learning_rate
    kind = rate.WhichOneof("learning_rate")
    if kind is None:
        raise refuse(f"{_RATE}.{chosen}.learning_rate", f"is missing: add one of {', '.join(_SCALERS)}")
    return kind, getattr(rate, kind)


def _peak(kind: str, schedule: Any) -> float:
    if kind == "constant_learning_rate":
        return float(schedule.learning_rate)
    if kind == "cosine_decay_learning_rate":
        return float(schedule.learning_rate_base)
    if kind == "manual_step_learning_rate":
        return float(max([schedule.initial_learning_rate, *(stage.learning_rate for stage in schedule.schedule)]))
    burnin = schedule.burnin_learning_rate if schedule.burnin_steps else 0.0
    return float(max(schedule.initial_learning_rate, burnin, schedule.min_learning_rate))


def _scale_constant(schedule: Any, length: float, rate: float) -> None:
    _scale_rates(schedule, rate, "learning_rate")


def _scale_cosine(schedule: Any, length: float, rate: float) -> None:
    _scale_rates(schedule, rate, "learning_rate_base", "warmup_learning_rate")
    _scale_steps(schedule, length, "total_steps", minimum=1)
    # Keep at least one step for the decay: the OD API divides by that number.
    _scale_steps(schedule, length, "warmup_steps", maximum=schedule.total_steps - 1)
    _scale_steps(schedule, length, "hold_base_rate_steps", maximum=schedule.total_steps - 1 - schedule.warmup_steps)


def _scale_exponential(schedule: Any, length: float, rate: float) -> None:
    _scale_rates(schedule, rate, "initial_learning_rate", "burnin_learning_rate", "min_learning_rate")
    _scale_steps(schedule, length, "burnin_steps")
    _scale_steps(schedule, length, "decay_steps", minimum=1)


def _scale_manual(schedule: Any, length: float, rate: float) -> None:
    _scale_rates(schedule, rate, "initial_learning_rate")
    last, after = 0, len(schedule.schedule)
    for stage in schedule.schedule:  # the OD API wants boundaries above 0 that rise
        after -= 1
        _scale_rates(stage, rate, "learning_rate")
        _scale_steps(stage, length, "step", minimum=last + 1, maximum=_MOST_STEPS - after)
        last = stage.step


_SCALERS: dict[str, Callable[[Any, float, float], None]] = {
    "constant_learning_rate": _scale_constant,
    "exponential_decay_learning_rate": _scale_exponential,
    "manual_step_learning_rate": _scale_manual,
    "cosine_decay_learning_rate": _scale_cosine,
}


def _scale_rates(message: Any, factor: float, *names: str) -> None:
    for name in names:
        scaled = getattr(message, name) * factor
        if not math.isfinite(float32(scaled)):
            raise refuse(_RATE, f"{name} would become {scaled}: set it to a finite number")
        _put(message, name, shortest(scaled))


def _scale_steps(message: Any, factor: float, name: str, minimum: int = 0, maximum: int = _MOST_STEPS) -> None:
    _put(message, name, min(max(round(getattr(message, name) * factor), minimum), maximum))


def _put(message: Any, name: str, value: float) -> None:
    """Set a field unless it already has that value, so that defaults are not written out."""
    held = float32(value) if isinstance(value, float) else value
    if getattr(message, name) != held:
        setattr(message, name, value)
