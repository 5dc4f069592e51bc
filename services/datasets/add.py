"""Add a dataset: a folder in COCO, Pascal VOC, YOLO or CVAT format, or TFRecord files of the Object Detection API.

    python -m services.datasets.add NAME FOLDER
    python -m services.datasets.add NAME --train FILES… --validation FILES… --label-map FILE

Every picture or record is checked first. If one cannot be trained on, the error names it and the remedy, and nothing is
added.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from services.datasets.formats.recognise import FORMATS
from services.datasets.import_folder import DEFAULT_SHARE, Division, import_folder
from services.datasets.importer import Added, Keep, Progress, add
from services.domain.sizes import in_mb
from services.domain.tfrecord import DatasetError
from services.settings import Settings, SettingsError

__all__ = ["main"]

_PROGRESS_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        settings = Settings(home=options.home) if options.home else Settings.from_environment()
        added = _added(settings, options)
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
        f"{f'{files} files written' if options.folder else f'{added.linked} of {files} files linked'}"
    )
    return 0


def _added(settings: Settings, options: argparse.Namespace) -> Added:
    if options.folder is not None:
        return import_folder(
            settings.datasets_dir,
            options.name,
            options.folder,
            format=options.format,
            division=Division(options.validation_share or DEFAULT_SHARE, options.seed, options.group),
            progress=_progress("pictures", str),
        )
    return add(
        settings.datasets_dir,
        options.name,
        train=options.train,
        validation=options.validation,
        labels=options.label_map,
        validation_share=options.validation_share,
        keep=options.keep,
        progress=_progress("", in_mb),
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    records = {"--train": options.train, "--validation": options.validation, "--label-map": options.label_map}
    given = next((name for name, value in records.items() if value), None)
    if options.folder is not None and given:
        parser.error(f"{given} is for TFRecord files; with a folder, leave it out")
    if options.folder is None and not (options.train and options.label_map):
        parser.error("name a folder, or TFRecord files with --train, --validation and --label-map")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.datasets.add", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", metavar="NAME", help="the name that jobs use: letters, digits, - _ and .")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="pictures with their annotations")
    parser.add_argument("--format", choices=FORMATS, help="of the folder, if it holds more than one")
    parser.add_argument("--train", type=Path, nargs="+", default=[], metavar="FILE", help="training records")
    parser.add_argument("--validation", type=Path, nargs="+", default=[], metavar="FILE", help="validation records")
    parser.add_argument(
        "--validation-share",
        type=float,
        metavar="PART",
        help=f"where nothing else is for validation: hold back this share (of a folder: {DEFAULT_SHARE})",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="for another choice of what is held back")
    parser.add_argument(
        "--group",
        type=_pattern,
        metavar="REGEX",
        help="pictures whose paths match it alike stay together, such as the frames of a video",
    )
    parser.add_argument("--label-map", type=Path, metavar="FILE", help="the classes of TFRecord files, a .pbtxt file")
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


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"is not a regular expression: {error}") from None


def _progress(what: str, shown: Callable[[int], str]) -> Progress:
    """Prints a line every few seconds, so nothing for a small dataset."""
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_S:
            last = time.monotonic()
            print(f"{shown(done)} of {shown(total)} {what}".rstrip() + " checked", flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
