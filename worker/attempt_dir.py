"""Write the attempt directory that the trainer reads.

    python -m worker.attempt_dir DIR --model efficientdet_d0 --dataset FOLDER [--batch-size 8 --steps 200 …]

makes one by hand for `python -m worker.trainer`. `python -m services.datasets.shapes FOLDER` makes a dataset.
"""

import argparse
import sys
from pathlib import Path

from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from services.domain.contract import CONFIG_FILE, SPEC_FILE, AttemptSpec, ContractError, Device
from services.domain.pipeline_config import Config, ConfigError
from services.domain.tfrecord import DatasetError
from services.planning import attempt_config
from worker.devices.host_cores import usable_cores
from worker.devices.host_memory import available_bytes
from worker.devices.readings import MB

__all__ = ["available_memory_mb", "with_dataset", "write_attempt"]


def write_attempt(folder: Path, spec: AttemptSpec, config: Config) -> Path:
    """Create `folder`, which must not exist, with the spec and the config in it; create the job's directory too."""
    folder.mkdir(parents=True)
    Path(spec.job_dir).mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_FILE).write_text(pipeline_config.to_text(config))
    (folder / SPEC_FILE).write_text(spec.to_json())
    return folder


def with_dataset(config: Config, dataset: Dataset) -> Config:
    """`config` with `dataset` as its input, sized for the memory and the cores of this host."""
    return attempt_config.with_dataset(config, dataset, available_memory_mb(), threads=usable_cores())


def available_memory_mb() -> int:
    """Host memory that is available without swapping, within the limits of this process's control groups."""
    return available_bytes() // MB


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        _prepare(options)
    except (catalogue.UnknownModel, ConfigError, ContractError, DatasetError) as error:
        print(error, file=sys.stderr)
        return 2
    except FileExistsError:
        print(f"{options.folder} already exists: name another folder", file=sys.stderr)
        return 2
    print(f"{options.folder} is ready: python -m worker.trainer {options.folder}")
    return 0


def _prepare(options: argparse.Namespace) -> None:
    dataset = Dataset.load(options.dataset.resolve())
    size = (options.image_size, options.image_size) if options.image_size else None
    config = pipeline_config.build_config(
        catalogue.get(options.model),
        dataset.num_classes,
        size,
        options.batch_size,
        options.steps,
        options.learning_rate,
    )
    spec = AttemptSpec(
        job_dir=str((options.job_dir or options.folder.parent).resolve()),
        architecture=options.model,
        micro_batch=options.micro_batch,
        device=Device(memory_limit_mb=options.slot_mb),
    )
    write_attempt(options.folder, spec, with_dataset(config, dataset))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worker.attempt_dir", description="Make an attempt directory by hand."
    )
    parser.add_argument("folder", type=Path, help="the attempt directory to make")
    parser.add_argument("--model", required=True, help=f"one of {', '.join(catalogue.MODELS)}")
    parser.add_argument("--dataset", type=Path, required=True, help="a folder made by services.datasets.shapes")
    parser.add_argument("--job-dir", type=Path, help="where checkpoints and the export go (default: beside the folder)")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--micro-batch", type=int, default=0, help="images computed at once (default: the whole batch)")
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--slot-mb", type=int, default=0, help="hard memory limit of the CPU slot (default: none)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
