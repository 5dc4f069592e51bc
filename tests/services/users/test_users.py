"""Passwords, sessions and the command `python -m services.users`."""

import io
import sys
import threading
from pathlib import Path

import pytest

from services.errors import Conflict, Invalid, Unauthenticated
from services.settings import Settings
from services.store import migrate
from services.store.engine import Store
from services.store.models import AuditEntry, UserSession
from services.store.users import accounts as rows
from services.users import __main__ as command
from services.users import directory, passwords, sessions
from services.users import principal as accounts
from services.users.principal import Principal, Role
from tests.support.desk import Desk

PASSWORD = "correct horse battery"


@pytest.fixture
def admin(desk: Desk) -> Principal:
    accounts.create_user(desk.store, desk.admin, "boss", Role.ADMIN)
    return desk.admin


def test_a_password_is_stored_as_a_hash_with_its_own_salt() -> None:
    one, other = passwords.hash_password(PASSWORD, "anna"), passwords.hash_password(PASSWORD, "anna")
    assert one != other
    assert PASSWORD not in one
    assert one.split("$")[:4] == ["scrypt", "16384", "8", "5"]
    assert passwords.matches(one, PASSWORD)
    assert not passwords.matches(one, PASSWORD + "x")
    assert not passwords.matches(None, "")


def test_a_hash_with_other_parameters_still_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_N", 16)
    old = passwords.hash_password("résumé of a horse", "anna")
    monkeypatch.undo()
    assert passwords.matches(old, "résumé of a horse")
    assert passwords.matches(old, "re\u0301sume\u0301 of a horse")  # as another keyboard encodes it


def test_generated_passwords_differ_and_are_valid() -> None:
    made = {passwords.generate() for _ in range(50)}
    assert len(made) == 50
    for password in made:
        passwords.hash_password(password, "anna")
        break


@pytest.mark.parametrize("password", ["", "short", "aaaaaaaaaaaaaa", "x" * 300, "ANNA.OF.TEAM"])
def test_a_password_that_is_easy_to_guess_is_refused(password: str) -> None:
    with pytest.raises(Invalid):
        passwords.hash_password(password, "anna.of.team")


def test_a_password_changed_during_the_check_starts_no_session(
    desk: Desk, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.create_user(desk.store, admin, "anna", Role.MEMBER, password=PASSWORD)
    check = passwords.matches

    def slowly(kept: str | None, password: str) -> bool:
        is_right = check(kept, password)
        directory.change(desk.store, admin, "anna", {"password": "another horse entirely"})
        return is_right

    monkeypatch.setattr(passwords, "matches", slowly)
    with pytest.raises(Unauthenticated):
        sessions.log_in(desk.store, "anna", PASSWORD)
    assert desk.rows(UserSession) == []


def test_two_admins_who_disable_each_other_at_once_leave_one(desk: Desk, admin: Principal) -> None:
    accounts.create_user(desk.store, admin, "chef", Role.ADMIN)
    refused: list[Conflict] = []

    def disable(name: str) -> None:
        try:
            directory.change(desk.store, admin, name, {"disabled": True})
        except Conflict as error:
            refused.append(error)

    threads = [threading.Thread(target=disable, args=(name,)) for name in ("boss", "chef")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [error.code for error in refused] == ["last_admin"]


def test_expired_sessions_are_deleted_at_the_next_log_in(desk: Desk, admin: Principal) -> None:
    accounts.create_user(desk.store, admin, "anna", Role.MEMBER, password=PASSWORD)
    sessions.log_in(desk.store, "anna", PASSWORD, sessions.Browser(user_agent="Firefox\x00\n" + "x" * 500))
    [first] = desk.rows(UserSession)
    assert first.user_agent.startswith("Firefoxxxx")
    assert len(first.user_agent) == 256
    desk.change(UserSession, first.id, expires_at=first.created_at)
    sessions.log_in(desk.store, "anna", PASSWORD)
    assert first.id not in [row.id for row in desk.rows(UserSession)]


class TestCommand:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOWNSHIFT_HOME", str(tmp_path))
        monkeypatch.setattr(passwords, "_N", 16)
        self.settings = Settings(home=tmp_path)
        self.store = Store.open(self.settings.database_url)
        migrate.upgrade(self.store.engine)
        accounts.ensure_admin(self.store, self.settings)

    def test_an_account_is_made_and_its_password_works(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["add", "anna"]) == 0
        said = capsys.readouterr().out
        assert "anna now has the role member" in said
        begun = sessions.log_in(self.store, "anna", said.split()[-1])
        assert begun.principal.role is Role.MEMBER
        assert command.main(["add", "anna"]) == 2
        assert "a user called 'anna' already exists" in capsys.readouterr().err

    def test_a_token_instead_of_a_password(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["add", "vera", "--role", "viewer", "--token"]) == 0
        principal = accounts.authenticate(self.store, capsys.readouterr().out.split()[-1])
        assert (principal.name, principal.role) == ("vera", Role.VIEWER)

    def test_a_new_password_from_a_pipe(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command.main(["add", "anna"])
        monkeypatch.setattr(sys, "stdin", io.StringIO("another horse entirely\n"))
        assert command.main(["password", "anna"]) == 0
        assert "horse" not in capsys.readouterr().out
        assert sessions.log_in(self.store, "anna", "another horse entirely")

    def test_roles_and_who_may_get_in(self, capsys: pytest.CaptureFixture[str]) -> None:
        command.main(["add", "anna"])
        assert command.main(["role", "anna", "admin"]) == 0
        assert command.main(["disable", "anna"]) == 0
        capsys.readouterr()
        assert command.main(["list"]) == 0
        assert "anna                     admin    disabled" in capsys.readouterr().out.splitlines()
        assert command.main(["enable", "anna"]) == 0
        with self.store.reading() as session:
            user = rows.user_called(session, "anna")
            done = [entry.action for entry in session.query(AuditEntry)]
        assert user is not None
        assert user.disabled_at is None
        assert done.count("user.change") == 3

    def test_what_cannot_be_done_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments, says in (
            (["disable", "zoe"], "there is no user called 'zoe'"),
            (["disable", "admin"], "last admin"),
            (["add", "Anna B"], "name: use at most 64 lower-case letters"),
        ):
            assert command.main(arguments) == 2
            assert says in capsys.readouterr().err

    def test_a_role_that_there_is_not_is_answered_with_those_there_are(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            command.main(["role", "anna", "king"])
        assert "choose from 'viewer', 'member', 'admin'" in capsys.readouterr().err

    def test_a_home_without_tables_is_told(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("DOWNSHIFT_HOME", str(tmp_path / "other"))
        assert command.main(["list"]) == 2
        assert "run python -m services.setup" in capsys.readouterr().err
