"""The command line: `python -m launcher run` and `python -m launcher demo`."""

import argparse
import sys
from pathlib import Path

from launcher import home_lock, private_redis, run
from launcher.console import Console
from launcher.demo import home as demo_home
from services.domain.tfrecord import DatasetError
from services.settings import Settings, SettingsError
from services.store.engine import StoreUnavailable

_TOLD = (
    DatasetError,
    SettingsError,
    StoreUnavailable,
    demo_home.DemoHomeError,
    home_lock.AlreadyRunning,
    private_redis.RedisError,
    run.GaveUp,
)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment()
        if options.command == "run":
            run.run(settings, Console())
            return 0
        return _demo(options.home or settings.home / "demo", settings.trainer, options.keep)
    except _TOLD as error:
        print(error, file=sys.stderr)
        return 1


def _demo(home: Path, trainer: str, keep: bool | None) -> int:
    # Not at the top: httpx takes a while to import, and `run` does not need it.
    from launcher.demo.run_demo import demo
    from launcher.demo.service import DemoFailed

    try:
        demo(home.absolute(), trainer, keep)
    except DemoFailed as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m launcher", description="Start the whole service.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="start the service and stay; settings are read from DOWNSHIFT_… variables")
    demo = commands.add_parser("demo", help="show a job run out of memory, be re-planned and succeed; takes minutes")
    demo.add_argument("--home", type=Path, metavar="DIR", help="the demo's data directory (default: demo in HOME)")
    demo.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        help="leave the service up afterwards (default: on a terminal)",
    )
    return parser
