"""The command line: `python -m launcher run` and `python -m launcher demo`."""

import argparse
import sys

from sqlalchemy.exc import SQLAlchemyError

from launcher import home_lock, private_redis, running
from launcher.console import Console
from services.domain.tfrecord import DatasetError
from services.settings import Settings, SettingsError

_TOLD = (
    DatasetError,
    SQLAlchemyError,
    SettingsError,
    home_lock.AlreadyRunning,
    private_redis.RedisError,
    running.GaveUp,
)


def main(arguments: list[str] | None = None) -> int:
    _parser().parse_args(arguments)
    try:
        running.run(Settings.from_environment(), Console())
    except _TOLD as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before anything was started
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m launcher", description="Start the whole service.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="start the service and stay; settings are read from DOWNSHIFT_… variables")
    return parser


if __name__ == "__main__":
    sys.exit(main())
