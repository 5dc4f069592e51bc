"""Fill a database with many jobs: a few real ones, made by the use cases, are copied in SQL.

For any size, the numbers of waiting, running and paused jobs are the same, one job has long series of metrics, and an
old one has a unique name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.contract import AllocatorStats, Reason
from services.domain.jobs.fair_share import week_begins
from services.store import migrate, training_series
from services.store.devices import use as device_use
from services.store.engine import Store
from services.store.models import Base
from services.store.users import accounts
from services.users.principal import Role
from tests.support.desk import GB, Desk, gpu

__all__ = ["HOST", "LONG", "OWNER", "RARE", "Filled", "fill"]

MODELS = (
    "efficientdet_d0",
    "efficientdet_d1",
    "faster_rcnn_resnet50_fpn",
    "faster_rcnn_resnet101_fpn",
    "mask_rcnn_resnet50_fpn",
)
USERS = ("anna", "bert", "cleo", "dora")
OWNER = USERS[-1]
HOST = "box"
QUEUED, RUNNING, PAUSED = 300, 4, 10
ACTIVE = QUEUED + RUNNING + PAUSED
RARE = "zebra crossing"
LONG = ("Loss/total_loss", "Loss/localization_loss", "learning_rate", "device_memory")
_EVERY_S = 20  # between two submissions


@dataclass(frozen=True)
class Filled:
    jobs: int

    @property
    def ended(self) -> int:
        """All jobs up to this id have ended."""
        return self.jobs - ACTIVE

    @property
    def waiting(self) -> int:
        return self.jobs - QUEUED // 2

    @property
    def long(self) -> int:
        """The job with the long series."""
        return self.ended - 20


def fill(store: Store, home: Path, jobs: int, points: int) -> Filled:
    """Empty the database and fill it. `home` must have the dataset `shapes`. Each long series gets `points` values."""
    if jobs < 2 * ACTIVE:
        raise ValueError(f"at least {2 * ACTIVE} jobs")
    migrate.upgrade(store.engine)
    migrate.downgrade(store.engine)
    migrate.upgrade(store.engine)
    _templates(Desk(store, home))
    filled = Filled(jobs)
    with store.transaction() as session:
        _take_time(session)
        users = [_user(session, name) for name in USERS]
        with _without_indexes(session):
            _Copies(session, filled, users).make()
        for user in users:
            device_use.add(session, user, {week_begins(utc_now()) + day: 3600.0 * user for day in range(7)})
    _series(store, filled.long, points)
    _settle(store)
    return filled


def _templates(desk: Desk) -> None:
    """One job of each model. Its first attempt runs out of memory, the second one completes."""
    desk.report(*(gpu(number, 24 * GB, 23 * GB) for number in range(RUNNING + 1)), host=HOST)
    for model in MODELS:
        claim = desk.claimed(model=model, image_size=[512, 512], train={"steps": 2000, "batch_size": 8})
        desk.ran_out(claim, 23 * GB)
        desk.set("devices", baseline_bytes=None)
        again = desk.claim()
        assert again is not None
        peak = AllocatorStats(peak=9 * GB)
        desk.end(again, Reason.COMPLETED, step=2000, allocator=peak, host_peak_bytes=3 * GB)
        desk.set("devices", baseline_bytes=None)
    desk.set("attempts", step_s=0.5)


def _take_time(session: Session) -> None:
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SET LOCAL statement_timeout = 0"))


def _user(session: Session, name: str) -> int:
    user = accounts.add_user(session, name, Role.MEMBER, utc_now())
    assert user is not None
    return user.id


@contextmanager
def _without_indexes(session: Session) -> Iterator[None]:
    """Drop indexes and create them again at the end, which is faster. Those of keys stay."""
    if session.get_bind().dialect.name != "postgresql":
        yield
        return
    session.execute(text("SET LOCAL maintenance_work_mem = '512MB'"))
    found = session.execute(
        text(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
            "AND indexname NOT IN (SELECT conname FROM pg_constraint)"
        )
    ).all()
    for name, _ in found:
        session.execute(text(f"DROP INDEX {name}"))
    yield
    for _, definition in found:
        session.execute(text(definition))


class _Copies:
    """Copies of the templates' rows for job `n`, with another owner, name, time and state."""

    def __init__(self, session: Session, filled: Filled, users: list[int]) -> None:
        self._session = session
        self._filled = filled
        self._users = users
        self._is_postgres = session.get_bind().dialect.name == "postgresql"
        # Conditions on `n` in SQL.
        self._ended = f"n <= {filled.ended}"
        self._started = f"n <= {filled.jobs - QUEUED}"
        self._has_two_attempts = f"(n % 3 = 0 AND {self._ended})"

    def make(self) -> None:
        self._jobs()
        self._attempts()
        self._measurements()
        self._copy(
            "events",
            f"template.job_id = n % 5 + 1 AND template.kind IN ('submitted', 'ended') AND {self._ended}",
            job_id="n",
            at=self._at(3600),
        )
        self._copy(
            "audit",
            f"template.id = (SELECT min(id) FROM audit) AND {self._ended}",
            target="'job ' || n",
            at=self._at(0),
        )
        self._leases()

    def _jobs(self) -> None:
        shares = zip((5, 8, 9), self._users, strict=False)
        by_size = " ".join(f"WHEN n % 10 < {share} THEN {user}" for share, user in shares)
        self._copy(
            "jobs",
            "template.id = n % 5 + 1",
            id="n",
            owner_id=f"CASE {by_size} ELSE {self._users[-1]} END",
            name=f"CASE WHEN n = {self._filled.jobs // 3} THEN '{RARE}' WHEN n % 4 = 0 THEN 'cones-v' || n "
            f"WHEN n % 4 = 1 THEN 'Potholes ' || n WHEN n % 4 = 2 THEN 'pallets_' || n ELSE 'signs-' || n END",
            state=self._state(),
            attempts=f"CASE WHEN {self._has_two_attempts} THEN 2 WHEN {self._started} THEN 1 ELSE 0 END",
            step=f"CASE WHEN {self._ended} THEN 2000 WHEN {self._started} THEN 700 ELSE 0 END",
            created_at=self._at(7200),
            queued_at=self._at(7200),
            started_at=f"CASE WHEN {self._started} THEN {self._at(3600)} END",
            finished_at=f"CASE WHEN {self._ended} THEN {self._at(0)} END",
        )

    def _attempts(self) -> None:
        for number, when in ((1, self._started), (2, self._has_two_attempts)):
            self._copy(
                "attempts",
                f"template.job_id = n % 5 + 1 AND {when} "
                f"AND template.number = CASE WHEN {self._has_two_attempts} THEN {number} ELSE 2 END",
                job_id="n",
                number=str(number),
                started_at=self._at(3600),
                ended_at=f"CASE WHEN {self._ended} THEN {self._at(0)} END",
                diagnosis=f"CASE WHEN {self._ended} THEN template.diagnosis END",
            )

    def _measurements(self) -> None:
        self._copy(
            "measurements",
            f"template.id = n % 5 + 1 AND {self._ended}",
            job_id="n",
            attempt="1",
            micro_batch="CASE n % 3 WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE 4 END",
            peak_bytes=f"(2 + 2 * (n % 3)) * CAST({GB} AS BIGINT) + n % 1000 * 1000",
            complete="(n > 0)",
            created_at=self._at(0),
            # 15 plans are measured repeatedly, and 8 measurements of each are in use
            superseded_at=f"CASE WHEN n <= {self._filled.ended - 15 * 8} THEN {self._at(0)} END",
        )

    def _state(self) -> str:
        bounds = (("queued", QUEUED), ("running", QUEUED + RUNNING), ("paused", ACTIVE))
        active = " ".join(f"WHEN n > {self._filled.jobs - newer} THEN '{state}'" for state, newer in bounds)
        return f"CASE {active} WHEN n % 10 < 2 THEN 'failed' WHEN n % 10 = 2 THEN 'cancelled' ELSE 'succeeded' END"

    def _leases(self) -> None:
        columns = "device_id, job_id, attempt, token, host, boot_id, created_at, expires_at"
        number = f"n - {self._filled.ended + PAUSED + 1}"
        self._session.execute(
            text(
                f"INSERT INTO leases ({columns}) SELECT '{HOST}/gpu-' || ({number}), n, 1, 't' || n, '{HOST}', 'boot', "
                f"{self._at(3600)}, {self._at(-86400)} FROM {_numbers(self._session, self._filled.jobs)} "
                f"WHERE n > {self._filled.ended + PAUSED} AND n <= {self._filled.jobs - QUEUED}"
            )
        )

    def _copy(self, table: str, matching: str, **other: str) -> None:
        columns = [column.name for column in Base.metadata.tables[table].columns]
        if "id" not in other and "id" in columns:  # the database numbers them
            columns.remove("id")
        values = [other.get(name, f'template."{name}"') for name in columns]
        names = ", ".join(f'"{name}"' for name in columns)
        source = f"{_numbers(self._session, self._filled.jobs)} JOIN {table} AS template ON {matching}"
        query = f"SELECT {', '.join(values)} FROM {source} WHERE n > {len(MODELS)} ORDER BY n"
        self._session.execute(text(f"INSERT INTO {table} ({names}) {query}"))

    def _at(self, before_s: int) -> str:
        """A time before the end of job n, in the database's type."""
        ago = f"(({self._filled.jobs} - n) * {_EVERY_S} + {before_s})"
        if self._is_postgres:
            return f"now() - {ago} * interval '1 second'"
        return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', (-{ago}) || ' seconds')"


def _series(store: Store, job_id: int, points: int) -> None:
    """As `training_series.record` writes them, but with the values made in SQL: one by one they take minutes."""
    with store.transaction() as session:
        _take_time(session)
        now = utc_now()
        for name in LONG:
            session.execute(
                text(
                    f"INSERT INTO metrics (job_id, name, attempt, step, value, at) "
                    f"SELECT :job_id, :name, 1, n, n % 977 / 7.0, :at FROM {_numbers(session, points)}"
                ),
                {"job_id": job_id, "name": name, "at": now},
            )
        training_series._write_blocks(session, training_series._Series(job_id, LONG, [1]), 1, points)


def _numbers(session: Session, most: int) -> str:
    """A table with the column n: 1, 2, 3 …"""
    if session.get_bind().dialect.name == "postgresql":
        return f"generate_series(1, {most}) AS numbers(n)"
    up = f"up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {most})"
    return f"(WITH RECURSIVE {up} SELECT n FROM up) AS numbers"


def _settle(store: Store) -> None:
    """Bring the database to the state that it reaches by itself after some time."""
    if store.engine.dialect.name != "postgresql":
        return
    with store.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("SELECT setval('jobs_id_seq', (SELECT max(id) FROM jobs))"))
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("VACUUM ANALYZE"))
        connection.execute(text("CHECKPOINT"))
