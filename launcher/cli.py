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

_EXPECTED = (
    DatasetError,
    SettingsError,
    StoreUnavailable,
    demo_home.DemoHomeError,
    home_lock.AlreadyRunning,
    private_redis.RedisError,
    run.StartFailed,
)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment()
        if options.command == "run":
            run.run(settings, Console())
            return 0
        return _demo(options.home or settings.home / "demo", settings.trainer, options.keep)
    except _EXPECTED as error:
        print(error, file=sys.stderr)
        return 1


def _demo(home: Path, trainer: str, keep: bool | None) -> int:
    # Imported only here: httpx takes a while to import, and `run` does not need it.
    from launcher.demo.run_demo import demo
    from launcher.demo.service import DemoFailed

    try:
        demo(home.absolute(), trainer, keep)
    except DemoFailed as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m launcher", description="Start the whole service, or a demo of it.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run the service until Ctrl-C; settings are read from DOWNSHIFT_… variables")
    demo = commands.add_parser("demo", help="show a job that runs out of memory, is re-planned and succeeds (minutes)")
    demo.add_argument("--home", type=Path, metavar="DIR", help="the demo's data directory (default: demo in HOME)")
    demo.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        help="keep the service running afterwards (default: if started in a terminal)",
    )
    return parser
