"""What the supervisor and the trainer agree on: the attempt directory's files, the spec, events and endings.

The trainer knows these files and nothing else of Downshift. Everything here is plain data that survives a
round trip through JSON; `from_json` refuses what it does not understand and names the field. Who reads what another
version may have written gives a list, `passed_over`: fields that this version does not know are named there instead.
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

SPEC_FILE = "attempt.json"
CONFIG_FILE = "pipeline.config"
EVENTS_FILE = "events.jsonl"
LOG_FILE = "train.log"
OUTCOME_FILE = "outcome.json"
SAMPLES_DIR = "samples"
SAMPLE_CLASSES_FILE = "classes.json"  # beside the samples: names of the classes that are drawn by number, by it
EVALUATIONS_DIR = "evaluations"  # all figures of an evaluation with too many, or too long names, for series

CHECKPOINTS_DIR = "checkpoints"  # in the job's directory, one folder below it per architecture
SUMMARIES_DIR = "tensorboard"  # in the job's directory
EXPORT_DIR = "export"  # in the job's directory

# Operations that are ready at once run in any order, so equal micro-batches do not peak equally, and the largest of a
# few is lower than that of many. After this many it was seen to grow no further.
ENOUGH_RUNS = 10

# Of an evaluation. Each becomes a series in the database and in TensorBoard; with 10,000 classes that is too many.
MOST_CATEGORY_FIGURES = 300
LONGEST_METRIC_NAME = 96  # characters; the series of a longer one has a shortened name


class ContractError(ValueError):
    """A spec or an outcome that does not follow the contract; the message names the field."""


class Reason(enum.StrEnum):
    """Why the trainer ended. Each has its own exit status, so that the status alone tells most of it."""

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
    TRAINING = "training"
    EVALUATING = "evaluating"
    SAVING = "saving"
    EXPORTING = "exporting"


class DeviceKind(enum.StrEnum):
    GPU = "gpu"
    CPU = "cpu"


class Resume(enum.StrEnum):
    AUTO = "auto"  # go on from the newest checkpoint, start fresh where there is none
    NEVER = "never"  # start fresh; refused where checkpoints are, so that none is overwritten


@dataclass(frozen=True)
class Device:
    kind: DeviceKind = DeviceKind.CPU
    gpu: int = 0  # index among the physical GPUs
    memory_limit_mb: int = 0  # CPU slot: the BFC allocator's hard limit; 0 is none
    async_allocator: bool = False  # GPU: cuda_malloc_async, the remedy for fragmentation

    def __post_init__(self) -> None:
        for name in ("gpu", "memory_limit_mb"):
            if getattr(self, name) < 0:
                raise ContractError(f"{name}: must not be negative, got {getattr(self, name)}")
        if self.kind is DeviceKind.GPU and self.memory_limit_mb:
            raise ContractError(f"memory_limit_mb: is the CPU slot's, a GPU has none; got {self.memory_limit_mb}")


@dataclass(frozen=True)
class Probe:
    """Measure the step on the worst input before training, and choose the micro-batch by what was measured.

    The bytes are what is expected of the step: `fixed_bytes + sums_bytes (with accumulation) + micro_batch x
    image_bytes`. One measurement scales it, two correct it.
    """

    micro_batches: tuple[int, ...]  # that may be chosen, the largest first
    limit_bytes: int
    fixed_bytes: int
    image_bytes: int
    sums_bytes: int = 0
    is_guess: bool = False  # the bytes are other models': what the step's own graph says is to be expected instead

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
    """What the trainer needs beside `pipeline.config`, which holds batch size, precision, schedule and data."""

    job_dir: str
    architecture: str  # names the checkpoint folder: another architecture never meets these checkpoints
    micro_batch: int = 0  # images computed at once; 0: the whole batch
    probe: Probe | None = None  # None: `micro_batch` is what it trains with
    device: Device = field(default_factory=Device)
    resume: Resume = Resume.AUTO
    seed: int = 0
    checkpoint_every_steps: int = 500
    checkpoint_every_s: float = 600.0
    keep_checkpoints: int = 3
    evaluate_every_steps: int = 0  # 0: at the end only
    evaluate_at_end: bool = True
    sample_images: int = 6
    report_every_s: float = 2.0
    export: bool = True

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
            raise ContractError(f"architecture: a plain name, got {self.architecture!r}")

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str, passed_over: list[str] | None = None) -> Self:
        value: Self = _document(cls, text, passed_over)
        return value


@dataclass(frozen=True)
class AllocatorStats:
    """Bytes, as the device's allocator counts them; `requested…` only where a request failed."""

    limit: int | None = None
    in_use: int | None = None
    peak: int | None = None  # of training
    evaluation_peak: int | None = None
    requested: int | None = None
    requested_shape: str | None = None
    requested_op: str | None = None
    allocator: str | None = None


@dataclass(frozen=True)
class Outcome:
    reason: Reason
    message: str
    step: int = 0  # the last step that was completed
    runs: int | None = None  # micro-batches that this attempt computed: its peak is the largest of theirs
    saved_step: int | None = None  # the step of the newest checkpoint
    allocator: AllocatorStats = field(default_factory=AllocatorStats)
    walked_bytes: int | None = None  # the peak of a step by its graph alone, to hold against the allocator's
    host_peak_bytes: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)  # of the last evaluation
    export: str | None = None  # folder of the exported model, relative to the job's directory
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str, passed_over: list[str] | None = None) -> Self:
        value: Self = _document(cls, text, passed_over)
        return value


def bounded_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation's metrics, without those of single categories where these are too many."""
    of_categories = {name for name in metrics if "ByCategory/" in name}
    dropped = of_categories if len(of_categories) > MOST_CATEGORY_FIGURES else set()
    return {name: value for name, value in metrics.items() if name not in dropped}


def resumed_step(step: int, batch_before: int, batch: int) -> int:
    """Where `step` steps of `batch_before` images are in steps of `batch`: as many images seen, to half a batch."""
    return round(step * batch_before / batch)


def _document(kind: Any, text: str, passed_over: list[str] | None) -> Any:
    try:
        return _read(kind, _parse(text), "", passed_over)
    except RecursionError:  # of the parser, or of the repr of what it read
        raise ContractError("the document: is nested too deeply") from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ContractError(f"not JSON: {error}") from None


def _read(kind: Any, value: Any, where: str, passed_over: list[str] | None) -> Any:
    """`value` as `kind`, strictly: unknown fields, missing fields and wrong types are named with their path."""
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
        except ContractError as error:  # it names its own field; where that field stands is known here
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
