"""Check a job's request as a whole before anything is written. Names every wrong field."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from services.datasets import library
from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from services.domain.checkpoints import fit
from services.domain.checkpoints.index import UnreadableIndex, read_shapes
from services.domain.pipeline_config import Config, ConfigError
from services.domain.pipeline_config.problems import clipped
from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.plan.plan import Plan, PlanError
from services.domain.plan.policy import Policy, PolicyError
from services.domain.suggestions import close_names, shortened
from services.domain.tfrecord import DatasetError
from services.errors import Fault, Invalid
from services.jobs.check_evaluation import evaluation_faults
from services.library.checkpoint_files import checkpoint_names, checkpoint_path, index_file
from services.planning import attempt_config
from services.settings import Settings

__all__ = ["ANY_HOST_MEMORY_MB", "CheckedRequest", "check_request", "steps_per_epoch"]

_MB = 2**20
# Only to check that input readers can be set; the worker sizes them for its own host.
ANY_HOST_MEMORY_MB = 4096


@dataclass(frozen=True)
class CheckedRequest:
    """A request without faults, with the configuration and the plan that it asks for."""

    request: Mapping[str, Any]
    base_config: str
    asked: Plan
    policy: Policy
    min_memory_bytes: int
    waits: bool  # for a device that can hold it, if none is known


def check_request(settings: Settings, request: Mapping[str, Any]) -> CheckedRequest:
    """Raises Invalid with every fault that can be found."""
    dataset, policy = _references(settings, request)
    faults: list[Fault] = []
    is_own = bool(request.get("pipeline_config"))
    with _collecting(faults, "pipeline_config" if is_own else "train"):
        base, asked = _requested_plan(request, dataset)
        attempt_config.compose(base, asked, dataset, host_memory_mb=ANY_HOST_MEMORY_MB, is_own=is_own)
        pipeline_config.parse(pipeline_config.to_text(base))  # the stored text is longer than the sent one
        faults.extend(_too_long(settings, request, asked))
    if not faults:
        faults.extend(_misfit(settings, request, base, asked))
        with _collecting(faults):
            policy.check(catalogue.get(asked.model))
            faults.extend(_lower_limit_faults(asked, policy))
        faults.extend(evaluation_faults(request, base, asked))
    if faults:
        raise Invalid(faults)
    device = request.get("device") or {}
    min_memory = int(device.get("min_memory_mb") or 0) * _MB
    return CheckedRequest(request, pipeline_config.to_text(base), asked, policy, min_memory, bool(device.get("wait")))


def _references(settings: Settings, request: Mapping[str, Any]) -> tuple[Dataset, Policy]:
    """What the request refers to by name must exist, or nothing else can be checked. Raises Invalid."""
    faults: list[Fault] = []
    with _collecting(faults):
        dataset = library.find(settings.datasets_dir, request["dataset"])
    with _collecting(faults):
        policy = Policy.from_dict(request.get("policy") or {})
    if request.get("checkpoint") and not checkpoint_path(settings.checkpoints_dir, request["checkpoint"]):
        faults.append(_no_checkpoint(settings, request["checkpoint"]))
    if not request.get("model") and not request.get("pipeline_config"):
        faults.append(Fault("model", "is missing: name one, or send a pipeline_config"))
    if faults:
        raise Invalid(faults)
    return dataset, policy


def _no_checkpoint(settings: Settings, name: str) -> Fault:
    known = checkpoint_names(settings.checkpoints_dir)
    if name in known:
        return Fault("checkpoint", f"{name!r} has no .index file: upload it again with POST /v1/checkpoints")
    close = close_names(name, known)
    hint = f"did you mean {close[0]}?" if close else "upload one with POST /v1/checkpoints"
    return Fault("checkpoint", f"there is no checkpoint called {shortened(name)!r}; {hint}")


def _misfit(settings: Settings, request: Mapping[str, Any], base: Config, asked: Plan) -> Iterator[Fault]:
    """A fault if the checkpoint is of another model, which the trainer would only notice after a minute."""
    model = catalogue.get(asked.model)
    if not request.get("checkpoint") or not pipeline_config.has_features_of(base, model):
        return
    path = checkpoint_path(settings.checkpoints_dir, request["checkpoint"])
    if path is None:
        return
    try:
        why = fit.misfit(read_shapes(index_file(path)), model)
    except (UnreadableIndex, OSError) as error:
        why = f"its index cannot be read ({error})"
    if why:
        remedy = f"choose a checkpoint of {fit.network_name(model)}, or none"
        yield Fault("checkpoint", f"{request['checkpoint']!r} does not fit {model.name}: {why}; {remedy}")


def steps_per_epoch(settings: Settings, request: Mapping[str, Any]) -> int | None:
    """For a request that may have other faults; None if its dataset or batch size is unknown."""
    train = request.get("train")
    batch = train.get("batch_size") if isinstance(train, Mapping) else None
    try:
        if batch is None:
            batch = catalogue.get(str(request.get("model"))).batch_size
        dataset = library.find(settings.datasets_dir, str(request.get("dataset")))
    except (DatasetError, catalogue.UnknownModel):
        return None
    return _steps({"epochs": 1}, dataset, batch) if isinstance(batch, int) and batch > 0 else None


def _steps(train: Mapping[str, Any], dataset: Dataset, batch_size: int) -> int | None:
    """The job's number of steps; None if the request does not set it."""
    epochs: float | None = train.get("epochs")
    return train.get("steps") if epochs is None else max(1, math.ceil(epochs * dataset.records / batch_size))


def _too_long(settings: Settings, request: Mapping[str, Any], asked: Plan) -> Iterator[Fault]:
    if asked.steps <= settings.max_steps:
        return
    epochs = (request.get("train") or {}).get("epochs")
    if epochs is None:
        yield Fault("train.steps", f"must be at most {settings.max_steps:,}, got {asked.steps:,}")
    else:
        batch = f"at a batch size of {asked.batch_size}"
        steps = f"{asked.steps:,} steps {batch}, and at most {settings.max_steps:,} are allowed"
        yield Fault("train.epochs", f"{epochs:,} epochs of {request['dataset']} are {steps}; send fewer")


def _requested_plan(request: Mapping[str, Any], dataset: Dataset) -> tuple[Config, Plan]:
    """The configuration and the plan that the request asks for, before the planner changes anything."""
    train = request.get("train") or {}
    size = tuple(request["image_size"]) if request.get("image_size") else None
    if not request.get("pipeline_config"):
        model = catalogue.get(request["model"])
        batch = train.get("batch_size")
        per_step = batch or model.batch_size
        steps = _steps(train, dataset, per_step) or model.steps_for(per_step, dataset.records)
        config = pipeline_config.build_config(
            model, dataset.num_classes, size, batch, steps, train.get("learning_rate")
        )
        return config, pipeline_config.plan_of(config)
    submitted = pipeline_config.parse(request["pipeline_config"])
    _refuse_missing_weights(request, submitted)
    config, _ = pipeline_config.without_paths(submitted)
    config = attempt_config.with_dataset(config, dataset, ANY_HOST_MEMORY_MB, is_own=True)
    pipeline_config.check(config)
    plan = pipeline_config.plan_of(config)
    if request.get("model") not in (None, plan.model):
        raise Invalid([Fault("model", f"the pipeline_config is a {plan.model}, not a {request['model']}")])
    if train.get("batch_size"):
        plan = rescaled_to_batch(plan, train["batch_size"], train["batch_size"])
    wishes: dict[str, Any] = {
        "steps": _steps(train, dataset, plan.batch_size),
        "learning_rate": train.get("learning_rate"),
        "image_size": size,
    }
    plan = dataclasses.replace(plan, **{name: value for name, value in wishes.items() if value is not None})
    config, _ = pipeline_config.without_paths(pipeline_config.apply(plan, config))
    return config, plan


def _refuse_missing_weights(request: Mapping[str, Any], submitted: Config) -> None:
    """A configuration that names weights is not trained without them, unless the request says so.

    It says so by naming a registered checkpoint, or by a `checkpoint` of null. Leaving `checkpoint` out is not enough.
    """
    named = submitted.train_config.fine_tune_checkpoint
    if named and "checkpoint" not in request:
        advice = "upload it with POST /v1/checkpoints, then name it in `checkpoint`"
        problem = f"is missing: the pipeline_config starts from {clipped(named, 100)!r}, which is not on this service"
        raise Invalid(
            [Fault("checkpoint", f'{problem}: {advice}; or send "checkpoint": null to start from random weights')]
        )


def _lower_limit_faults(asked: Plan, policy: Policy) -> Iterator[Fault]:
    """Faults for lower limits of the policy that are above the requested values."""
    if policy.min_batch_size > asked.batch_size:
        yield Fault("policy.min_batch_size", f"is above the requested batch size of {asked.batch_size}")
    if policy.min_image_size > min(asked.image_size):
        height, width = asked.image_size
        yield Fault("policy.min_image_size", f"is above the requested image size of {height}x{width}")


# The domain's names of settings, and the request's fields.
_FIELDS = {
    "image_size": "image_size",
    "batch_size": "train.batch_size",
    "steps": "train.steps",
    "learning_rate": "train.learning_rate",
}


@contextmanager
def _collecting(faults: list[Fault], field: str = "model") -> Iterator[None]:
    """Turn a domain error into faults of the request's fields; of `field` if the error names no field of its own."""
    try:
        yield
    except ConfigError as error:
        for problem in error.problems:
            known = _FIELDS.get(problem.field)
            faults.append(Fault(known, problem.message) if known else Fault(field, str(problem)))
    except PolicyError as error:
        name, _, message = str(error).partition(": ")
        faults.append(Fault(f"policy.{name}", message))
    except (PlanError, catalogue.UnknownModel) as error:
        name, _, message = str(error).partition(": ")
        faults.append(Fault(_FIELDS.get(name, name), message))
    except DatasetError as error:
        faults.append(Fault("dataset", str(error)))
