"""Add TFRecord files in the Object Detection API's format as a dataset.

    python -m services.datasets.add NAME --train FILES… --validation FILES… --label-map FILE

Every record is checked first. If one cannot be trained on, the error names it and the remedy, and nothing is added.
"""

import argparse
import sys
import time
from pathlib import Path

from services.datasets.importer import Keep, Progress, add
from services.domain.sizes import in_mb
from services.domain.tfrecord import DatasetError
from services.settings import Settings, SettingsError

__all__ = ["main"]

_PROGRESS_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        settings = Settings(home=options.home) if options.home else Settings.from_environment()
        added = add(
            settings.datasets_dir,
            options.name,
            train=options.train,
            validation=options.validation,
            labels=options.label_map,
            validation_share=options.validation_share,
            keep=options.keep,
            progress=_progress(),
        )
    except (DatasetError, SettingsError, OSError) as error:
        for line in str(error).splitlines():
            print(f"add: {line}", file=sys.stderr)
        print(f"add: {options.name} was not added", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"add: stopped; {options.name} was not added", file=sys.stderr)
        return 130
    for warning in added.warnings:
        print(f"add: warning: {warning}", file=sys.stderr)
    dataset = added.dataset
    files = len(dataset.train_files) + len(dataset.validation_files)
    print(
        f"{dataset.folder}: {dataset.records} training and {dataset.validation_records} validation images, "
        f"{dataset.num_classes} classes, {'with' if dataset.has_masks else 'without'} masks; "
        f"{added.linked} of {files} files linked"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.datasets.add", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", metavar="NAME", help="the name that jobs use: letters, digits, - _ and .")
    parser.add_argument("--train", type=Path, nargs="+", required=True, metavar="FILE", help="training images")
    parser.add_argument("--validation", type=Path, nargs="+", default=[], metavar="FILE", help="validation images")
    parser.add_argument(
        "--validation-share", type=float, metavar="PART", help="instead: hold back this share of the training images"
    )
    parser.add_argument("--label-map", type=Path, required=True, metavar="FILE", help="the classes, a .pbtxt file")
    parser.add_argument(
        "--home", type=Path, metavar="DIR", help="the service's data directory (default: DOWNSHIFT_HOME)"
    )
    keep = parser.add_mutually_exclusive_group()
    keep.add_argument(
        "--link",
        dest="keep",
        action="store_const",
        const=Keep.LINK,
        help="hard-link the files, or refuse (default: copy where links are impossible)",
    )
    keep.add_argument(
        "--copy",
        dest="keep",
        action="store_const",
        const=Keep.COPY,
        help="copy the files, so that later changes to the originals do not matter",
    )
    parser.set_defaults(keep=Keep.LINK_OR_COPY)
    return parser


def _progress() -> Progress:
    """Prints a line every few seconds, so nothing for a small dataset."""
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_S:
            last = time.monotonic()
            print(f"{in_mb(done)} of {in_mb(total)} checked", flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
