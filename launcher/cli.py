"""The command line: `python -m launcher run`, `demo` and `gpu-check`."""

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
        if options.command == "gpu-check":
            return _gpu_check(options.home or settings.home / "gpu-check", settings, options.archive)
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


def _gpu_check(home: Path, settings: Settings, archive: Path) -> int:
    from launcher.demo.service import DemoFailed
    from launcher.gpu_check.run_check import check

    try:
        return 0 if check(home.absolute(), settings, archive.absolute()) else 1
    except DemoFailed as error:
        print(f"\nThe check failed: {error}", file=sys.stderr)
        return 1


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
    check = commands.add_parser("gpu-check", help="try every card of this box; write an archive for a bug report")
    check.add_argument("--home", type=Path, metavar="DIR", help="its data directory (default: gpu-check in HOME)")
    check.add_argument("--archive", type=Path, metavar="FILE", default=Path("gpu-check.tar.gz"))
    return parser
