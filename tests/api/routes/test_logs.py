"""Logs: whole, by line, by search."""

import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from services.domain.jobs.states import State
from services.logs import read
from services.store.models import Attempt
from tests.support.api_service import Service, expect_problem


@pytest.fixture
def job(service: Service) -> int:
    return service.job(attempts=2, state=State.SUCCEEDED)


def folder(service: Service, job: int) -> Path:
    return service.settings.jobs_dir / str(job)


def test_the_tail_is_the_last_lines_of_the_newest_attempt(service: Service, job: int) -> None:
    (folder(service, job) / "attempt-1" / "train.log").write_text("only this")
    tail = service.get(f"/v1/jobs/{job}/logs?tail=3")
    assert tail.text == "line 999\nline 1000\nRan OUT of memory\n"
    assert tail.headers["content-type"] == "text/plain; charset=utf-8"
    assert tail.headers["downshift-attempt"] == "2"
    assert service.get(f"/v1/jobs/{job}/logs?tail=3&attempt=1").text == "only this"


def test_a_search_finds_the_last_lines_that_hold_a_text_in_any_case(service: Service, job: int) -> None:
    assert service.get(f"/v1/jobs/{job}/logs?q=out%20of%20MEMORY").text == "Ran OUT of memory\n"
    assert service.get(f"/v1/jobs/{job}/logs?q=LINE&tail=2").text == "line 999\nline 1000\n"
    assert service.get(f"/v1/jobs/{job}/logs?q=.*").text == ""  # a plain text, not a regular expression


def test_the_whole_log_is_a_file_to_be_saved(service: Service, job: int) -> None:
    log = folder(service, job) / "attempt-2" / "train.log"
    log.write_bytes(b"\xff<script>\x1b[31m\n" * 100_000)
    whole = service.get(f"/v1/jobs/{job}/logs")
    assert whole.content == log.read_bytes()
    assert whole.headers["content-disposition"] == f'attachment; filename="job-{job}-attempt-2.log"'
    assert whole.headers["content-type"].startswith("text/plain")


def test_a_log_that_was_not_written_yet_is_empty(service: Service, job: int) -> None:
    (folder(service, job) / "attempt-2" / "train.log").unlink()
    for query in ("", "?tail=5", "?q=x"):
        answer = service.get(f"/v1/jobs/{job}/logs{query}")
        assert (answer.status_code, answer.text) == (200, "")


def test_a_job_without_attempts_has_no_log(service: Service) -> None:
    expect_problem(service.get(f"/v1/jobs/{service.job()}/logs"), 404)


@pytest.mark.parametrize("query", ["tail=0", "tail=x", "tail=1000000", "q=", f"q={'x' * 201}", "attempt=-1"])
def test_a_wrong_question_about_a_log_is_refused(service: Service, job: int, query: str) -> None:
    expect_problem(service.get(f"/v1/jobs/{job}/logs?{query}"), 422)


def test_lines_are_had_by_their_numbers(service: Service, job: int) -> None:
    page = service.get(f"/v1/jobs/{job}/logs/lines?from=500&lines=3").json()
    assert page["lines"] == ["line 500", "line 501", "line 502"]
    assert (page["attempt"], page["first"], page["total_lines"], page["is_whole"]) == (2, 500, 1001, True)
    last = service.get(f"/v1/jobs/{job}/logs/lines?lines=2&attempt=1").json()
    assert (last["first"], last["lines"]) == (1000, ["line 1000", "Ran OUT of memory"])
    assert service.get(f"/v1/jobs/{job}/logs/lines?from=5000").json()["lines"] == []


def test_a_line_that_is_being_written_is_shown_as_that(service: Service, job: int) -> None:
    log = folder(service, job) / "attempt-2" / "train.log"
    log.write_text("one\ntw")
    page = service.get(f"/v1/jobs/{job}/logs/lines").json()
    assert (page["lines"], page["total_lines"], page["is_whole"]) == (["one", "tw"], 2, False)
    with log.open("a") as file:
        file.write("o\nthree\n")
    page = service.get(f"/v1/jobs/{job}/logs/lines?from=2").json()
    assert (page["lines"], page["total_lines"], page["is_whole"]) == (["two", "three"], 3, True)


def test_a_search_goes_on_from_match_to_match(service: Service, job: int) -> None:
    def found(query: str) -> tuple[list[int], bool]:
        answer = service.get(f"/v1/jobs/{job}/logs/search?q=LINE 10&{query}").json()
        return [match["line"] for match in answer["matches"]], answer["is_complete"]

    every = [10, *range(100, 110), 1000]
    assert found("") == (every, True)
    assert found("limit=2") == ([109, 1000], False)
    assert found("before=109&limit=1") == ([108], False)
    assert found("after=0&limit=1") == ([10], False)
    assert found("after=109") == ([1000], True)
    assert found("after=1000") == ([], True)
    [match] = service.get(f"/v1/jobs/{job}/logs/search?q=out of").json()["matches"]
    assert match == {"line": 1001, "text": "Ran OUT of memory"}


def test_the_lines_that_show_why_it_ended_are_found(service: Service, job: int) -> None:
    trouble = "ResourceExhaustedError: OOM when allocating tensor with shape[8,512,512,64] and type float"
    log = folder(service, job) / "attempt-2" / "train.log"
    log.write_text("".join(f"Step {n}\n" for n in range(1, 501)) + f"{trouble}\n" + "bye\n")
    told = service.get(f"/v1/jobs/{job}/logs/error").json()
    assert (told["attempt"], told["diagnosis"]) == (2, "too_large")
    assert told["lines"][0] == {"line": 501, "text": trouble}
    with service.store.transaction() as session:  # the stored finding wins over the log
        finding = {"why": "it was too large", "evidence": [{"line": 7, "text": "kept"}], "figures": {}}
        session.get_one(Attempt, (job, 2)).finding = finding
    assert service.get(f"/v1/jobs/{job}/logs/error").json()["lines"] == [{"line": 7, "text": "kept"}]


def test_of_a_very_long_log_the_end_is_read_for_what_went_wrong(
    service: Service, job: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_MOST_SEARCHED", 400)
    trouble = "ResourceExhaustedError: OOM when allocating tensor with shape[8,512,512,64] and type float"
    log = folder(service, job) / "attempt-2" / "train.log"
    log.write_text("MemoryError\n" * 500 + f"{trouble}\n" + "bye\n")
    told = service.get(f"/v1/jobs/{job}/logs/error").json()
    assert {"line": 501, "text": trouble} in told["lines"]
    assert all(line["line"] > 460 for line in told["lines"])


def test_what_runs_has_not_gone_wrong(service: Service) -> None:
    job = service.job(attempts=1, state=State.RUNNING)
    told = service.get(f"/v1/jobs/{job}/logs/error").json()
    assert (told["diagnosis"], told["lines"]) == (None, [])


@pytest.mark.parametrize("query", ["lines?from=0", "lines?lines=0", "search", "search?q=", "search?q=x&limit=0"])
def test_a_wrong_question_about_lines_is_refused(service: Service, job: int, query: str) -> None:
    expect_problem(service.get(f"/v1/jobs/{job}/logs/{query}"), 422)


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("million") / "train.log"
    with path.open("w") as file:
        for start in range(0, 1_000_000, 10_000):
            rest = f"per-step time 0.123s loss=1.234567 learning rate 0.0100 {'.' * 30}\n"
            file.write("".join(f"Step {number} {rest}" for number in range(start + 1, start + 10_001)))
    return path


def test_a_million_lines_are_read_in_pieces_only(service: Service, job: int, million: Path) -> None:
    """Checks memory, not time: benchmarks/log_viewer.py measures that."""
    log = folder(service, job) / "attempt-2" / "train.log"
    log.unlink()
    os.link(million, log)
    where = f"/v1/jobs/{job}/logs"
    tracemalloc.start()
    try:
        assert service.get(f"{where}/lines?lines=1").json()["total_lines"] == 1_000_000
        [line] = service.get(f"{where}/lines?from=654321&lines=1").json()["lines"]
        assert line.startswith("Step 654321 ")
        [match] = service.get(f"{where}/search?q=step 400000 ").json()["matches"]
        assert match["line"] == 400_000
        assert service.get(f"{where}/search?q=nothing like it").json() == {
            "attempt": 2,
            "matches": [],
            "is_complete": True,
        }
        last = service.get(f"{where}/search?q=LOSS&limit=2").json()["matches"]
        assert [match["line"] for match in last] == [999_999, 1_000_000]
        assert service.get(f"{where}?tail=1").text.startswith("Step 1000000 ")
        assert tracemalloc.get_traced_memory()[1] < 30 * 2**20
    finally:
        tracemalloc.stop()
    with service.client.stream("GET", where, headers={"Authorization": f"Bearer {service.tokens['anna']}"}) as answer:
        digest = hashlib.sha256()
        for piece in answer.iter_bytes():
            digest.update(piece)
    assert digest.hexdigest() == hashlib.sha256(million.read_bytes()).hexdigest()
