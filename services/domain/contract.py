"""The contract between the supervisor and the trainer: the attempt directory's files, the spec, events and endings.

The trainer knows these files and nothing else of Downshift. All of it is plain data for JSON. `from_json` refuses
unknown fields by name. A caller that reads files of other versions passes a list, `passed_over`, which collects the
unknown fields instead.
"""

import dataclasses
import enum
import itertools
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from services.domain.precision import Precision

SPEC_FILE = "attempt.json"
CONFIG_FILE = "pipeline.config"
EVENTS_FILE = "events.jsonl"
LOG_FILE = "train.log"
OUTCOME_FILE = "outcome.json"
SAMPLES_DIR = "samples"
SAMPLE_CLASSES_FILE = "classes.json"  # beside the samples: the names of classes that are drawn as numbers
EVALUATIONS_DIR = "evaluations"  # complete results, where too many or too long-named for series

CHECKPOINTS_DIR = "checkpoints"  # in the job's directory, one folder below it per architecture
BEST_DIR = "best"  # below an architecture's checkpoints: the best of them, and best.json
SUMMARIES_DIR = "tensorboard"  # in the job's directory
EXPORT_DIR = "export"  # in the job's directory

# TensorFlow runs ready operations in any order, so equal micro-batches have different peaks, and the largest of a few
# is lower than that of many. After this many, measurements showed no further growth.
ENOUGH_RUNS = 10

TOTAL_LOSS = "Loss/total_loss"  # as the OD API calls it, in training and in evaluation
VALIDATION_LOSS = "validation_loss"  # the series of the latter

# Each figure of an evaluation becomes a series in the database and in TensorBoard: too many with 10,000 classes.
MOST_CATEGORY_FIGURES = 300
LONGEST_METRIC_NAME = 96  # characters; a longer name is shortened


class ContractError(ValueError):
    """A spec or an outcome that breaks the contract; the message names the field."""


class Reason(enum.StrEnum):
    """Why the trainer ended. Each reason has its own exit status, for when the outcome is missing."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    DEVICE_MEMORY = "device_memory"
    HOST_MEMORY = "host_memory"
    DISK_FULL = "disk_full"
    NAN_LOSS = "nan_loss"
    BAD_SPEC = "bad_spec"
    BAD_CONFIG = "bad_config"
    BAD_DATASET = "bad_dataset"
    BAD_CHECKPOINT = "bad_checkpoint"
    BAD_DEVICE = "bad_device"
    ERROR = "error"


EXIT_CODES: dict[Reason, int] = {
    Reason.COMPLETED: 0,
    Reason.ERROR: 1,
    Reason.STOPPED: 10,
    Reason.DEVICE_MEMORY: 20,
    Reason.HOST_MEMORY: 21,
    Reason.DISK_FULL: 22,
    Reason.NAN_LOSS: 23,
    Reason.BAD_SPEC: 30,
    Reason.BAD_CONFIG: 31,
    Reason.BAD_DATASET: 32,
    Reason.BAD_CHECKPOINT: 33,
    Reason.BAD_DEVICE: 34,
}


class EventKind(enum.StrEnum):
    PHASE = "phase"
    DEVICE = "device"  # the allocator's limit and the versions, once TensorFlow has started
    STEP = "step"
    PROBE = "probe"
    CHECKPOINT = "checkpoint"
    EVAL = "eval"
    IMAGE = "image"
    WARNING = "warning"
    OUTCOME = "outcome"


class Phase(enum.StrEnum):
    CHECKING = "checking"
    IMPORTING = "importing"
    BUILDING = "building"
    TRACING = "tracing"
    PROBING = "probing"
    COMPILING = "compiling"  # a GPU's kernels, at the first step
    TRAINING = "training"
    EVALUATING = "evaluating"
    SAVING = "saving"
    EXPORTING = "exporting"


class DeviceKind(enum.StrEnum):
    GPU = "gpu"
    CPU = "cpu"


class Resume(enum.StrEnum):
    AUTO = "auto"  # continue from the newest checkpoint, or start fresh where there is none
    NEVER = "never"  # start fresh; refused where there are checkpoints, which it would overwrite


class BestMetric(enum.StrEnum):
    """What the best checkpoint is chosen by. More is better in all of them."""

    MAP = "mAP"
    MAP_50 = "mAP50"
    MAP_75 = "mAP75"
    AR_100 = "AR100"
    MASK_MAP = "mask_mAP"
    MASK_MAP_50 = "mask_mAP50"
    MASK_MAP_75 = "mask_mAP75"
    MASK_AR_100 = "mask_AR100"


class Kept(enum.StrEnum):
    """Which of the kept checkpoints."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class EarlyStopping:
    """End the training after `patience` evaluations in a row that gained less than `min_gain`."""

    patience: int = 5
    min_gain: float = 0.001

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise ContractError(f"patience: must be above 0, got {self.patience}")
        if not 0 <= self.min_gain <= 1:
            raise ContractError(f"min_gain: must be from 0 to 1, got {self.min_gain}")


@dataclass(frozen=True)
class Exported:
    """The checkpoint that was exported. `metric`, `value`: None where it was not evaluated, or has no such value."""

    which: Kept
    step: int
    metric: BestMetric | None = None
    value: float | None = None


@dataclass(frozen=True)
class Device:
    kind: DeviceKind = DeviceKind.CPU
    gpu: int = 0  # index among the physical GPUs
    memory_limit_mb: int = 0  # CPU slot: the BFC allocator's hard limit; 0: no limit
    async_allocator: bool = False  # GPU: cuda_malloc_async, the remedy for fragmentation
    reserve_mb: int = 0  # GPU: what TensorFlow keeps back for libraries; 0: its own choice
    workspace_mb: int = 0  # GPU: the most scratch memory of a convolution; 0: TensorFlow's own choice

    def __post_init__(self) -> None:
        for name in ("gpu", "memory_limit_mb", "reserve_mb", "workspace_mb"):
            if getattr(self, name) < 0:
                raise ContractError(f"{name}: must not be negative, got {getattr(self, name)}")
        if self.kind is DeviceKind.GPU and self.memory_limit_mb:
            raise ContractError(f"memory_limit_mb: only for a CPU slot, not for a GPU; got {self.memory_limit_mb}")


@dataclass(frozen=True)
class HostCores:
    """The processor cores of the host, and the devices that share them because they can train at the same time."""

    cores: int = 0  # 0: those that the trainer's process may use
    devices: int = 1

    def __post_init__(self) -> None:
        if self.cores < 0:
            raise ContractError(f"cores: must not be negative, got {self.cores}")
        if self.devices < 1:
            raise ContractError(f"devices: must be above 0, got {self.devices}")

    @property
    def threads(self) -> int:
        """The share of one device."""
        return max(1, self.cores // self.devices)


@dataclass(frozen=True)
class Probe:
    """Measure a step on the worst input before training, and choose the micro-batch by the result.

    The expected bytes of a step are `fixed_bytes + sums_bytes (with accumulation) + micro_batch x image_bytes`. One
    measurement scales them, two fit a line.
    """

    micro_batches: tuple[int, ...]  # to choose from, the largest first
    limit_bytes: int
    fixed_bytes: int
    image_bytes: int
    sums_bytes: int = 0
    is_guess: bool = False  # extrapolated from other models: prefer the estimate from the step's graph

    def __post_init__(self) -> None:
        sizes = self.micro_batches
        if not sizes or sizes[-1] < 1 or any(after >= before for before, after in itertools.pairwise(sizes)):
            raise ContractError(f"micro_batches: whole numbers from 1, the largest first, got {list(sizes)}")
        for name in ("limit_bytes", "fixed_bytes", "image_bytes"):
            if getattr(self, name) < 1:
                raise ContractError(f"{name}: must be above 0, got {getattr(self, name)}")
        if self.sums_bytes < 0:
            raise ContractError(f"sums_bytes: must not be negative, got {self.sums_bytes}")


@dataclass(frozen=True)
class AttemptSpec:
    """What the trainer needs besides `pipeline.config`, which has batch size, schedule and data."""

    job_dir: str
    architecture: str  # names the checkpoint folder, so that no other architecture reads these checkpoints
    micro_batch: int = 0  # images computed at once; 0: the whole batch
    precision: Precision | None = None  # pipeline.config cannot say float16; None: as its use_bfloat16 says
    probe: Probe | None = None  # None: train with `micro_batch`
    device: Device = field(default_factory=Device)
    host: HostCores = field(default_factory=HostCores)
    resume: Resume = Resume.AUTO
    seed: int = 0
    checkpoint_every_steps: int = 500
    checkpoint_every_s: float = 600.0
    keep_checkpoints: int = 3
    evaluate_every_steps: int = 0  # 0: at the end only
    evaluate_at_end: bool = True
    best_metric: BestMetric = BestMetric.MAP
    early_stopping: EarlyStopping | None = None
    sample_images: int = 6
    report_every_s: float = 2.0
    export: bool = True
    export_checkpoint: Kept = Kept.BEST  # the last one where no evaluation had a value

    def __post_init__(self) -> None:
        positive = ("keep_checkpoints", "checkpoint_every_steps", "checkpoint_every_s")
        natural = ("micro_batch", "evaluate_every_steps", "sample_images", "report_every_s", "seed")
        for name in positive:
            if not getattr(self, name) > 0:
                raise ContractError(f"{name}: must be above 0, got {getattr(self, name)}")
        for name in natural:
            if not getattr(self, name) >= 0:
                raise ContractError(f"{name}: must not be negative, got {getattr(self, name)}")
        for name in ("job_dir", "architecture"):
            if not getattr(self, name):
                raise ContractError(f"{name}: must not be empty")
        if "/" in self.architecture or self.architecture.startswith("."):
            raise ContractError(f"architecture: must be a plain name, got {self.architecture!r}")

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str, passed_over: list[str] | None = None) -> Self:
        value: Self = _document(cls, text, passed_over)
        return value


@dataclass(frozen=True)
class AllocatorStats:
    """Bytes by the device's allocator; `requested…` only after a failed request."""

    limit: int | None = None
    in_use: int | None = None
    peak: int | None = None  # during training
    evaluation_peak: int | None = None
    requested: int | None = None
    requested_shape: str | None = None
    requested_op: str | None = None
    allocator: str | None = None


@dataclass(frozen=True)
class Outcome:
    reason: Reason
    message: str
    step: int = 0  # the last completed step
    runs: int | None = None  # micro-batches that this attempt computed; the peak is the largest among them
    saved_step: int | None = None  # the step of the newest checkpoint
    allocator: AllocatorStats = field(default_factory=AllocatorStats)
    walked_bytes: int | None = None  # the peak of a step as its graph predicts it, to compare with the allocator's
    host_peak_bytes: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)  # of the last evaluation
    export: str | None = None  # folder of the exported model, relative to the job's directory
    exported: Exported | None = None
    stopped_early: bool = False  # completed before the last step: `message` says why
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str, passed_over: list[str] | None = None) -> Self:
        value: Self = _document(cls, text, passed_over)
        return value


def bounded_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation's metrics; those of single categories only up to MOST_CATEGORY_FIGURES of them."""
    of_categories = {name for name in metrics if "ByCategory/" in name}
    dropped = of_categories if len(of_categories) > MOST_CATEGORY_FIGURES else set()
    return {name: value for name, value in metrics.items() if name not in dropped}


def resumed_step(step: int, batch_before: int, batch: int) -> int:
    """`step` steps of `batch_before` images, as steps of `batch` images: as many images seen, to half a batch."""
    return round(step * batch_before / batch)


def _document(kind: Any, text: str, passed_over: list[str] | None) -> Any:
    try:
        return _read(kind, _parse(text), "", passed_over)
    except RecursionError:  # in the parser, or in the repr of a value
        raise ContractError("the document: is nested too deeply") from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ContractError(f"not JSON: {error}") from None


def _read(kind: Any, value: Any, where: str, passed_over: list[str] | None) -> Any:
    """`value` as `kind`. Raises ContractError with the path of an unknown, missing or ill-typed field."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise ContractError(f"{where or 'the document'}: expected an object, got {type(value).__name__}")
        hints = typing.get_type_hints(kind)
        unknown = sorted(set(value) - set(hints))
        if unknown and passed_over is None:
            raise ContractError(f"{_join(where, unknown[0])}: no such field")
        if passed_over is not None:
            passed_over += [_join(where, name) for name in unknown]
        given = {
            name: _read(hints[name], item, _join(where, name), passed_over)
            for name, item in value.items()
            if name in hints
        }
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in given and _is_required(f)]
        if missing:
            raise ContractError(f"{_join(where, missing[0])}: is missing")
        try:
            return kind(**given)
        except ContractError as error:  # its message starts with the field; add the path
            raise ContractError(_join(where, str(error))) from None
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            raise ContractError(f"{where}: one of {', '.join(kind)}, got {value!r}") from None
    if typing.get_origin(kind) is tuple:
        item_kind, _ = typing.get_args(kind)
        if not isinstance(value, list):
            raise ContractError(f"{where}: expected a list, got {type(value).__name__}")
        return tuple(_read(item_kind, item, f"{where}[{number}]", passed_over) for number, item in enumerate(value))
    if typing.get_origin(kind) is dict:
        _, item_kind = typing.get_args(kind)
        if not isinstance(value, dict):
            raise ContractError(f"{where}: expected an object, got {type(value).__name__}")
        return {key: _read(item_kind, item, _join(where, key), passed_over) for key, item in value.items()}
    if isinstance(kind, types.UnionType):
        return None if value is None else _read(typing.get_args(kind)[0], value, where, passed_over)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ContractError(f"{where}: expected float, got a number too large for one") from None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ContractError(f"{where}: expected {kind.__name__}, got {value!r}")
    return value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _is_required(f: "dataclasses.Field[Any]") -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
