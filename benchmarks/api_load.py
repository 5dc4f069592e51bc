"""Measure the api's response times with few and with many jobs, and the database load of event streams.

    python benchmarks/api_load.py            # fills a million jobs first, about 6 minutes; 12 GB of disk
    python benchmarks/api_load.py --quick    # about two minutes: does it work?

For each size, `many_jobs.py` fills a database, and an api process runs as the launcher starts it. Requests go over HTTP
with a token. The sizes take turns, request by request, so that other load of the machine affects all alike. The goal:
with more jobs at most 1.3 times the time of the fewest, and at most 100 ms (p95) up to 100,000 jobs. Missed goals are
marked and listed at the end, and the exit status is 1. `--data FOLDER` keeps the databases for the next run.

The second part opens event streams, counts the api's transactions in PostgreSQL meanwhile (the server's own count,
without those of the writer), and measures the time of an event from its commit to each listener.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import datetime
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import httpx  # noqa: E402
from sqlalchemy import text  # noqa: E402

from api.http import cursors  # noqa: E402
from benchmarks.dispatch import redis  # noqa: E402
from benchmarks.many_jobs import HOST, LONG, OWNER, RARE, Filled, fill  # noqa: E402
from launcher import addresses  # noqa: E402
from launcher.children import dying_with_us  # noqa: E402
from services.clock import utc_now  # noqa: E402
from services.scheduling import claim as scheduling  # noqa: E402
from services.settings import Settings  # noqa: E402
from services.store import events, jobs, migrate  # noqa: E402
from services.store.engine import Store, make_engine  # noqa: E402
from services.store.models import User  # noqa: E402
from services.users import principal  # noqa: E402
from services.users.principal import Scope  # noqa: E402
from tests.support.databases import postgres_server  # noqa: E402
from tests.support.desk import sample_home  # noqa: E402

RATIO, MOST_MS, AT_JOBS = 1.3, 100.0, 100_000
NEW = {
    "name": "one more",
    "dataset": "shapes",
    "model": "faster_rcnn_resnet50_fpn",
    "image_size": [512, 512],
    "train": {"steps": 2000, "batch_size": 8},
}


def main() -> None:
    options = read_options()
    with contextlib.ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="downshift-load-")))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # as root, PostgreSQL's server runs as another user
        home = folder / "home"
        if not home.exists():
            sample_home(home)
        server = stack.enter_context(postgres_server(folder / "pg")) if options.postgresql else ""
        urls = [("PostgreSQL", jobs, postgres_url(server, jobs)) for jobs in options.postgresql]
        urls += [("SQLite", jobs, f"sqlite:///{folder}/jobs_{jobs}.db") for jobs in options.sqlite]
        broker = stack.enter_context(redis())
        targets = [
            stack.enter_context(serving(kind, filled(url, home, jobs, options.points), url, home, broker))
            for kind, jobs, url in urls
        ]
        times = measure(targets, options.rounds)
        busy = f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}"
        print(f"{busy}, {min(map(len, times.values()))} requests of each kind to each size")
        missed = report(targets, times)
        if options.postgresql and options.streams:
            missed += streams(targets[0], options.streams, options.seconds, options.rate)
        print("\nGoals missed:" if missed else "\nNo goal was missed.", *missed, sep="\n  ")
        sys.exit(bool(missed))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgresql", type=int, nargs="*", default=[1000, 100_000, 1_000_000], metavar="JOBS")
    parser.add_argument("--sqlite", type=int, nargs="*", default=[1000, 100_000], metavar="JOBS")
    parser.add_argument("--rounds", type=int, default=60, help="requests of each kind to each size")
    parser.add_argument("--points", type=int, default=100_000, help="in each of four long series")
    parser.add_argument("--streams", type=int, nargs="*", default=[1, 50, 200])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each number of streams, idle and busy")
    parser.add_argument("--rate", type=float, default=5.0, help="events a second while busy")
    parser.add_argument("--data", type=Path, help="where databases are kept, and found again")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.postgresql, options.sqlite = [1000, 5000], [1000, 5000]
        options.rounds, options.points, options.streams, options.seconds = 3, 5000, [1, 20], 2.0
    return options


# --- databases and processes ---------------------------------------------------------------------------------------


def postgres_url(server: str, jobs: int) -> str:
    name = f"jobs_{jobs}"
    engine = make_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if not connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name}):
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


def filled(url: str, home: Path, count: int, points: int) -> Filled:
    """The database of the last run, or a new one."""
    with contextlib.closing(Store.open(url)) as store:
        try:
            with store.reading() as session:
                is_there = jobs.get(session, count) is not None
        except Exception:  # no tables yet
            is_there = False
        started = time.monotonic()
        if is_there:
            migrate.upgrade(store.engine)
        else:
            fill(store, home, count, points)
            kind = store.engine.dialect.name
            print(f"{kind}: {count:,} jobs made in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return Filled(count)


@dataclass(frozen=True)
class Target:
    kind: str
    rows: Filled
    store: Store
    settings: Settings
    client: httpx.Client
    token: str
    dice: random.Random = dataclasses.field(default_factory=lambda: random.Random(1))

    @property
    def some_job(self) -> int:
        return self.dice.randint(1, self.rows.ended)


@contextlib.contextmanager
def serving(kind: str, rows: Filled, url: str, home: Path, broker: str) -> Iterator[Target]:
    settings = Settings(
        home=home,
        database_url=url,
        broker_url=broker,
        host=HOST,
        bind=addresses.free_bind(("127.0.0.1", 0)),
        rate_limit=0,
        max_jobs_per_user=10**6,
        log_level="warning",
    )
    store = Store.open(url)
    with store.transaction() as session:
        user = principal.local_principal(store)
        admin = session.get_one(User, user.user_id)
        token = principal.new_token(session, admin, "api_load", [Scope.ADMIN], None, utc_now())[1]
        tomorrow = utc_now() + datetime.timedelta(days=1)  # no worker reports the devices here
        session.execute(text("UPDATE devices SET seen_at = :at"), {"at": tomorrow})
    process = subprocess.Popen(
        dying_with_us([sys.executable, "-m", "api"], signal.SIGKILL),
        env=os.environ | settings.to_environment(),
        cwd=ROOT,
        start_new_session=True,  # Ctrl-C must reach this process only
    )
    try:
        with httpx.Client(
            base_url=addresses.url(settings.address), headers={"Authorization": f"Bearer {token}"}, timeout=120
        ) as client:
            wait_until_ready(client, process)
            yield Target(kind, rows, store, settings, client, token)
    finally:
        process.kill()
        process.wait()
        store.close()


def wait_until_ready(client: httpx.Client, process: "subprocess.Popen[bytes]") -> None:
    while True:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            if process.poll() is not None:
                sys.exit("the api did not start")
        time.sleep(0.1)


# --- requests ------------------------------------------------------------------------------------------------------

Ask = Callable[[Target], float]  # milliseconds


def get(path: str | Callable[[Target], str]) -> Ask:
    def ask(target: Target) -> float:
        address = path if isinstance(path, str) else path(target)
        started = time.perf_counter()
        answer = target.client.get(address)
        took = (time.perf_counter() - started) * 1000
        answer.raise_for_status()
        return took

    return ask


def post(path: str, body: dict[str, Any], status: int, after: Callable[[Target, Any], None] | None = None) -> Ask:
    def ask(target: Target) -> float:
        started = time.perf_counter()
        answer = target.client.post(path, json=body)
        took = (time.perf_counter() - started) * 1000
        if answer.status_code != status:
            sys.exit(f"POST {path}: {answer.status_code} {answer.text}")
        if after:
            after(target, answer.json())
        return took

    return ask


def cancel(target: Target, job: Any) -> None:
    """Keeps the length of the queue constant."""
    target.client.post(f"/v1/jobs/{job['id']}/cancel").raise_for_status()


def claim(target: Target) -> float:
    """A worker's claim of the next job, without HTTP; undone afterwards."""
    started = time.perf_counter()
    with target.store.transaction() as session:
        claimed = scheduling._claim_first(session, target.settings, "boot", utc_now())
        took = (time.perf_counter() - started) * 1000
        session.rollback()
    assert claimed is not None
    return took


def poll(target: Target) -> float:
    """A worker's poll with no free device."""
    settings = dataclasses.replace(target.settings, host="elsewhere")
    started = time.perf_counter()
    with target.store.reading() as session:
        jobs.any_claimable(session, utc_now())
    scheduling.claim(target.store, settings, "boot")
    return (time.perf_counter() - started) * 1000


def zoom(target: Target) -> str:
    names = "&".join(f"names={name}" for name in LONG)
    return f"/v1/jobs/{target.rows.long}/metrics?{names}&max_points=800&from_step=1234&to_step=9876"


QUESTIONS: dict[str, Ask] = {
    "list": get("/v1/jobs"),
    "list, deep in": get(lambda target: f"/v1/jobs?cursor={cursors.write(target.rows.ended // 2)}"),
    "list, state=failed": get("/v1/jobs?state=failed"),
    "list, state=paused": get("/v1/jobs?state=paused"),
    "list, active": get("/v1/jobs?state=queued&state=running&state=paused"),
    "list, owner": get(f"/v1/jobs?owner={OWNER}"),
    "list, owner and state": get(f"/v1/jobs?owner={OWNER}&state=cancelled"),
    "list, q in every 4th name": get("/v1/jobs?q=POTHOLES"),
    "list, q in one old name": get(f"/v1/jobs?q={RARE[2:-2]}"),
    "list, q in no name": get("/v1/jobs?q=nowhere"),
    "list, q of 2 letters, one": get("/v1/jobs?q=ze"),
    "list, q and state, no match": get("/v1/jobs?q=potholes&state=paused&owner=nobody"),
    "job": get(lambda target: f"/v1/jobs/{target.some_job}"),
    "job that waits": get(lambda target: f"/v1/jobs/{target.rows.waiting}"),
    "attempts": get(lambda target: f"/v1/jobs/{target.some_job}/attempts"),
    "events of a job": get(lambda target: f"/v1/jobs/{target.some_job}/events"),
    "metrics: names": get(lambda target: f"/v1/jobs/{target.rows.long}/metrics?names=none&max_points=1"),
    "metrics: 4 long series": get(lambda target: f"/v1/jobs/{target.rows.long}/metrics"),
    "metrics: a part of them": get(zoom),
    "submit": post("/v1/jobs", NEW, 202, cancel),
    "estimate": post("/v1/estimate", NEW, 200),
    "queue": get("/v1/queue"),
    "queue, limit=1": get("/v1/queue?limit=1"),
    "devices": get("/v1/devices"),
    "audit": get("/v1/audit"),
    "whoami": get("/v1/whoami"),
    "/metrics": get("/metrics"),
    "(claim, no HTTP)": claim,
    "(poll, no HTTP)": poll,
}

Times = dict[tuple[str, int], list[float]]  # by request and index of the target


def measure(targets: Sequence[Target], rounds: int) -> Times:
    """Ctrl-C ends the measurement early."""
    found: Times = {}
    order = random.Random(1)
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(rounds + 2):
            for name, ask in QUESTIONS.items():
                for place in order.sample(range(len(targets)), len(targets)):
                    took = ask(targets[place])
                    if number >= 2:  # the first requests open connections and read from disk
                        found.setdefault((name, place), []).append(took)
    return found


def p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def report(targets: Sequence[Target], times: Times) -> list[str]:
    """Print the tables, and return the missed goals."""
    missed: list[str] = []
    for kind in dict.fromkeys(target.kind for target in targets):
        places = [place for place, target in enumerate(targets) if target.kind == kind]
        fewest = targets[places[0]].rows.jobs
        print(f"\n{kind}: milliseconds (p50, p95), and how many times as long as with {fewest:,} jobs")
        sizes = [f"{targets[place].rows.jobs:,} jobs" for place in places]
        print(f"{'':<29}{sizes[0]:>17}" + "".join(f"{size:>33}" for size in sizes[1:]))
        for name in QUESTIONS:
            cells, first = [], times[name, places[0]]
            for place in places:
                here = times[name, place]
                middle, high = statistics.median(here), p95(here)
                ratios = (middle / statistics.median(first), high / p95(first))
                jobs_here = targets[place].rows.jobs
                problems = [
                    f"{ratio:.2f} times as long ({which})"
                    for which, ratio in zip(("p50", "p95"), ratios, strict=True)
                    if ratio > RATIO
                ]
                if high > MOST_MS and jobs_here <= AT_JOBS:
                    problems.append(f"p95 {high:.0f} ms")
                if problems:
                    missed.append(f"{kind}, {jobs_here:,} jobs, {name}: {', '.join(problems)}")
                shown = (
                    "" if place == places[0] else f"  {ratios[0]:>5.2f}x {ratios[1]:>5.2f}x{' !' if problems else '  '}"
                )
                cells.append(f"{middle:>8.1f} {high:>8.1f}{shown}")
            print(f"{name:<29}{''.join(cells)}", flush=True)
    return missed


# --- event streams -------------------------------------------------------------------------------------------------


@dataclass
class Listening:
    delays: list[float] = dataclasses.field(default_factory=list)  # seconds
    open: int = 0
    written: int = 0  # events


_SENT = re.compile(rb'"sent": ([0-9.]+)')


def streams(target: Target, counts: Sequence[int], seconds: float, rate: float) -> list[str]:
    """Print the table, and return the missed goals: no more transactions for more streams, and no lost event."""
    missed: list[str] = []
    fewest: tuple[float, float] | None = None
    print(
        f"\nEvent streams ({target.kind}, {target.rows.jobs:,} jobs, {seconds:g} s each): transactions a second\n"
        f"that the api makes, and seconds from the writing of an event to its arrival\n"
        f"{'streams':>8}{'idle':>9}{f'busy ({rate:g}/s)':>14}{'arrived':>13}{'p50':>8}{'p95':>8}"
    )
    for count in counts:
        idle, _ = asyncio.run(listen(target, count, seconds, 0.0))
        busy, heard = asyncio.run(listen(target, count, seconds, rate))
        delays = heard.delays or [float("nan")]
        expected = heard.written * count
        arrived = f"{len(heard.delays)}/{expected}"
        print(
            f"{count:>8}{idle:>9.1f}{busy:>14.1f}{arrived:>13}{statistics.median(delays):>8.2f}{p95(delays):>8.2f}",
            flush=True,
        )
        fewest = fewest or (idle, busy)
        missed += [
            f"{count} streams: {now / before:.2f} times the transactions of {counts[0]} ({what})"
            for what, now, before in zip(("idle", "busy"), (idle, busy), fewest, strict=True)
            if now > RATIO * before
        ]
        if len(heard.delays) != expected:
            missed.append(f"{count} streams: {len(heard.delays)} of {expected} events arrived")
    return missed


async def listen(target: Target, count: int, seconds: float, rate: float) -> tuple[float, Listening]:
    """The api's transactions a second while `count` clients listen and `rate` events a second are written."""
    heard = Listening()
    clients = [asyncio.create_task(follow(target, heard)) for _ in range(count)]
    while heard.open < count:
        await asyncio.sleep(0.1)
    await asyncio.sleep(2)
    before, started = await asyncio.to_thread(transactions, target), time.monotonic()
    while time.monotonic() < started + seconds:
        if rate:
            await asyncio.to_thread(write, target)
            heard.written += 1
            await asyncio.sleep(max(0.0, started + heard.written / rate - time.monotonic()))
        else:
            await asyncio.sleep(0.5)
    took = time.monotonic() - started
    after = await asyncio.to_thread(transactions, target)
    await asyncio.sleep(1)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return (after - before - heard.written) / took, heard


async def follow(target: Target, heard: Listening) -> None:
    """Reads only the marks of the events, as two hundred full parsers would take most of the time."""
    host, port = target.settings.address
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(
            f"GET /v1/events HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {target.token}\r\n\r\n".encode()
        )
        await reader.readuntil(b"event: hello")
        heard.open += 1
        rest = b""
        while chunk := await reader.read(2**16):
            now = time.time()
            *pieces, rest = (rest + chunk).split(b"\n")
            heard.delays += [now - float(mark[1]) for piece in pieces if (mark := _SENT.search(piece))]
    finally:
        writer.close()


def write(target: Target) -> None:
    with target.store.transaction() as session:
        events.add(session, target.rows.jobs - 301, "phase", utc_now(), 1, phase="training", sent=time.time())


def transactions(target: Target) -> int:
    """The number of ended transactions in this database, without this one's own."""
    time.sleep(1.1)  # a backend reports its statistics at most once a second
    with target.store.reading() as session:
        found = session.scalar(
            text("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        )
    return int(found or 0)


if __name__ == "__main__":
    main()
