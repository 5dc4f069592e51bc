"""Manage user accounts from the command line of the machine that runs the service.

    python -m services.users add anna                 a member, with a password that is shown once
    python -m services.users add vera --role viewer --token
    python -m services.users list
    python -m services.users password anna            a new password, typed in or read from a pipe
    python -m services.users disable anna             sessions end and tokens stop working; `enable` undoes it
    python -m services.users role anna admin

No token is needed: access to the data directory is enough. The audit log names the user `local`.
"""

import argparse
import getpass
import sys
from collections.abc import Callable
from contextlib import closing

from services.errors import DownshiftError
from services.readiness import readiness
from services.settings import Settings, SettingsError
from services.store.engine import Store, StoreUnavailable
from services.users import directory, passwords, tokens
from services.users import principal as principals
from services.users.principal import Principal, Role

__all__ = ["main"]

_ROLES = [role.value for role in Role]  # plain strings, as argparse shows their repr
Command = Callable[[Store, Settings, Principal, argparse.Namespace], None]


def _add(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    password = None if given.token else passwords.generate()
    principals.create_user(store, principal, given.name, Role(given.role), password=password)
    print(f"{given.name} now has the role {given.role}")
    if password:
        print(f"password, shown only this once: {password}")
    else:
        created = tokens.create(store, principal, "first", principals.scopes_of_role(Role(given.role)), user=given.name)
        print(f"token, shown only this once: {created.secret}")


def _list(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    for user in directory.list_users(store, settings, principal):
        login = "password" if user["has_password"] else "tokens only"
        state = "disabled" if user["is_disabled"] else login
        print(f"{user['name']:24} {user['role']:8} {state}")


def _password(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    if sys.stdin.isatty():
        password = getpass.getpass(f"new password for {given.name} (leave empty to generate one): ")
    else:
        password = sys.stdin.readline().rstrip("\n")
    generated = "" if password else passwords.generate()
    directory.change(store, principal, given.name, {"password": password or generated})
    print(f"password of {given.name}, shown only this once: {generated}" if generated else "changed")


def _disable(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    directory.change(store, principal, given.name, {"disabled": True})
    print(f"{given.name} can no longer log in")


def _enable(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    directory.change(store, principal, given.name, {"disabled": False})
    print(f"{given.name} can log in again")


def _role(store: Store, settings: Settings, principal: Principal, given: argparse.Namespace) -> None:
    directory.change(store, principal, given.name, {"role": given.role})
    print(f"{given.name} now has the role {given.role}")


_COMMANDS: dict[str, tuple[Command, str]] = {
    "add": (_add, "create an account"),
    "list": (_list, "list all accounts"),
    "password": (_password, "set a new password"),
    "disable": (_disable, "disable an account"),
    "enable": (_enable, "enable a disabled account"),
    "role": (_role, "change the role of an account"),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m services.users",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, what) in _COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what)
        if name != "list":
            command.add_argument("name")
        if name == "add":
            command.add_argument("--role", choices=_ROLES, default=Role.MEMBER.value)
            command.add_argument("--token", action="store_true", help="create a token instead of a password")
        if name == "role":
            command.add_argument("role", choices=_ROLES)
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment()
        with closing(Store.open(settings.database_url)) as store:
            if not readiness(store, settings).is_ready:
                raise SettingsError(
                    f"the database of {settings.home} cannot be used or is not up to date: run python -m services.setup"
                )
            _COMMANDS[given.command][0](store, settings, principals.local_principal(store), given)
    except (SettingsError, StoreUnavailable, DownshiftError) as error:
        print(f"users: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
