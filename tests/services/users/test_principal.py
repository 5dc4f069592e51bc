"""Users and tokens: the first admin, authentication, and the limits of a token's rights."""

import datetime
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from services.clock import utc_now
from services.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from services.idempotency import Result
from services.settings import Settings
from services.store.engine import Store
from services.store.models import AuditEntry, IdempotencyKey, Token, User
from services.users import principal, tokens
from services.users.principal import Principal, Role, Scope


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def admin(store: Store, settings: Settings) -> Principal:
    secret = principal.ensure_admin(store, settings)
    assert secret is not None
    return principal.authenticate(store, secret)


@pytest.fixture
def member(store: Store, admin: Principal) -> Principal:
    principal.create_user(store, admin, "anna", Role.MEMBER)
    return principal.authenticate(store, secret_of(tokens.create(store, admin, "t", [Scope.SUBMIT], user="anna")))


def secret_of(created: Result) -> str:
    assert created.secret is not None
    return created.secret


def test_the_first_admin_token_is_created_once_in_a_private_file(store: Store, settings: Settings) -> None:
    secret = principal.ensure_admin(store, settings)
    assert secret is not None
    assert settings.admin_token_file.read_text() == secret + "\n"
    assert stat.S_IMODE(settings.admin_token_file.stat().st_mode) == 0o600
    assert principal.ensure_admin(store, settings) is None
    assert principal.authenticate(store, secret).is_admin


def test_two_first_starts_at_once_create_one_admin(store: Store, settings: Settings) -> None:
    made: list[str | None] = []
    threads = [threading.Thread(target=lambda: made.append(principal.ensure_admin(store, settings))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (secret,) = [secret for secret in made if secret is not None]
    assert settings.admin_token_file.read_text().strip() == secret
    with store.reading() as session:
        assert len(session.scalars(select(User)).all()) == 1


def test_a_first_start_that_cannot_write_the_file_creates_no_admin(store: Store, tmp_path: Path) -> None:
    nowhere = Settings(home=tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        principal.ensure_admin(store, nowhere)
    assert principal.ensure_admin(store, Settings(home=tmp_path)) is not None


def test_a_token_has_256_random_bits_and_only_its_digest_is_stored(store: Store, admin: Principal) -> None:
    secret = secret_of(tokens.create(store, admin, "t", [Scope.READ]))
    assert len(secret.removeprefix("dsh_")) == 43
    with store.reading() as session:
        kept = session.scalars(select(Token).order_by(Token.id.desc())).first()
    assert kept is not None
    assert secret not in repr(vars(kept))
    assert len(kept.digest) == 64


@pytest.mark.parametrize("token", ["", "x", "dsh_" + "0" * 43, "é" * 43, "x" * 10_000, "\0"])
def test_an_invalid_token_is_refused(store: Store, admin: Principal, token: str) -> None:
    with pytest.raises(Unauthenticated):
        principal.authenticate(store, token)


def test_a_token_expires_on_time(store: Store, admin: Principal) -> None:
    secret = secret_of(tokens.create(store, admin, "t", [Scope.READ], datetime.timedelta(days=1)))
    now = utc_now()
    principal.authenticate(store, secret, now + datetime.timedelta(hours=23))
    with pytest.raises(Unauthenticated):
        principal.authenticate(store, secret, now + datetime.timedelta(hours=25))


def test_the_last_use_is_recorded_at_most_once_a_minute(store: Store, admin: Principal) -> None:
    created = tokens.create(store, admin, "t", [Scope.READ])

    def noted() -> datetime.datetime | None:
        store.later.wait()
        with store.reading() as session:
            token = session.get(Token, created.body["id"])
            assert token is not None
            return token.last_used_at

    assert noted() is None
    start = utc_now()
    for seconds, expected in ((0, 0), (59, 0), (61, 61), (62, 61)):
        principal.authenticate(store, secret_of(created), start + datetime.timedelta(seconds=seconds))
        assert noted() == start + datetime.timedelta(seconds=expected)


@pytest.mark.parametrize(
    ("role", "given", "left"),
    [
        (Role.ADMIN, Scope.ADMIN, {Scope.READ, Scope.SUBMIT, Scope.ADMIN}),
        (Role.ADMIN, Scope.READ, {Scope.READ}),
        (Role.MEMBER, Scope.ADMIN, {Scope.READ, Scope.SUBMIT}),
        (Role.MEMBER, Scope.SUBMIT, {Scope.READ, Scope.SUBMIT}),
        (Role.VIEWER, Scope.ADMIN, {Scope.READ}),
    ],
)
def test_a_token_has_the_scopes_that_both_it_and_the_role_allow(
    store: Store, admin: Principal, role: Role, given: Scope, left: set[Scope]
) -> None:
    principal.create_user(store, admin, "somebody", role)
    secret = secret_of(tokens.create(store, admin, "t", [given], user="somebody"))
    assert principal.authenticate(store, secret).scopes == left


def test_only_owners_and_admins_may_change_an_object(store: Store, admin: Principal, member: Principal) -> None:
    member.require_change(member.user_id)
    admin.require_change(member.user_id)
    with pytest.raises(Forbidden):
        member.require_change(admin.user_id)
    with pytest.raises(Forbidden):
        Principal(1, "v", Role.VIEWER, frozenset({Scope.READ})).require_change(1)


def test_only_admins_create_users_and_names_are_unique(store: Store, admin: Principal, member: Principal) -> None:
    with pytest.raises(Forbidden):
        principal.create_user(store, member, "bert", Role.MEMBER)
    with pytest.raises(Conflict):
        principal.create_user(store, admin, "anna", Role.VIEWER)


def test_the_local_principal_is_one_user(store: Store) -> None:
    assert principal.local_principal(store) == principal.local_principal(store)


def test_a_token_cannot_have_more_rights_than_the_token_it_is_created_with(store: Store, member: Principal) -> None:
    with pytest.raises(Invalid):
        tokens.create(store, member, "t", [Scope.ADMIN])
    with pytest.raises(Forbidden):
        tokens.create(store, member, "t", [Scope.READ], user="admin")
    with pytest.raises(Invalid):
        tokens.create(store, member, "t", [])


def test_simultaneous_requests_with_one_key_create_one_token(store: Store, member: Principal) -> None:
    made: list[Result] = []

    def create() -> None:
        made.append(tokens.create(store, member, "ci", [Scope.READ], idempotency_key="k"))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({created.body["id"] for created in made}) == 1
    assert [created.secret is None for created in made].count(False) == 1
    with store.reading() as session:
        kept = session.get(IdempotencyKey, (member.user_id, "k"))
    assert kept is not None
    assert "dsh_" not in str(kept.body)


def test_changes_of_tokens_and_users_are_in_the_audit(store: Store, admin: Principal, member: Principal) -> None:
    created = tokens.create(store, member, "t", [Scope.READ])
    tokens.revoke(store, member, created.body["id"])
    tokens.revoke(store, member, created.body["id"])
    with pytest.raises(NotFound):
        tokens.revoke(store, member, 10**6)
    with store.reading() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [entry.action for entry in entries] == ["user.create", "token.create", "token.create", "token.revoke"]
    assert entries[-1].user_id == member.user_id
    assert entries[-1].target == f"token {created.body['id']}"
