"""What must not change a diagnosis: colour, line ends, noise, repetition, cuts that leave the evidence in."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from services.domain.diagnosis.case import Case
from services.domain.diagnosis.diagnose import diagnose
from services.domain.diagnosis.log.line_marks import LONGEST
from tests.support.oom_logs import LABELLED, Labelled

NOISE = [
    b"2023-05-02 10:11:12.1: I tensorflow/core/platform/cpu_feature_guard.cc:142] This binary is optimized",
    b"2023-05-02 10:11:12.1: W allocator.cc:108] Allocation of 154140672 exceeds 10% of free system memory.",
    b"2023-05-02 10:11:12.1: W bfc_allocator.cc:271] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
    b"2.29GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that",
    b"WARNING:tensorflow:Gradients do not exist for variables ['top_bn/gamma:0'] when minimizing the loss.",
    b"creating index...",
    b"  warnings.warn(",
    b"",
    b"\xff\xfe\x00 not text \xc3\x28",
    "1875/1875 ━━━━━━━━━━━━━━━━━━━━".encode(),
]

logs = st.sampled_from(LABELLED)
noise = st.sampled_from(NOISE)


def answer(labelled: Labelled, log: bytes) -> str:
    return str(diagnose(Case(labelled.exit, [log])).diagnosis or "none")


@given(logs, st.sampled_from([b"\n", b"\r\n"]), st.integers(0, 7), st.booleans())
def test_colour_and_line_ends(labelled: Labelled, end: bytes, colour: int, inside: bool) -> None:
    lines = []
    for line in labelled.log.split(b"\n"):
        cut = len(line) // 2 if inside else 0
        lines.append(b"\x1b[1;3%dm" % colour + line[:cut] + b"\x1b[0m\x1b[K" + line[cut:] + b"\x1b[0m")
    assert answer(labelled, end.join(lines)) == labelled.diagnosis


@given(logs, st.data())
def test_innocuous_lines_in_between(labelled: Labelled, data: st.DataObject) -> None:
    lines = labelled.log.split(b"\n")
    for _ in range(data.draw(st.integers(1, 30))):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(noise))
    assert answer(labelled, b"\n".join(lines)) == labelled.diagnosis


@given(logs, st.integers(0, 300), st.integers(0, 300))
def test_harmless_text_before_and_after(labelled: Labelled, before: int, after: int) -> None:
    padding = [NOISE[index % len(NOISE)] for index in range(max(before, after))]
    log = b"\n".join([*padding[:before], labelled.log, *padding[:after]])
    assert answer(labelled, log) == labelled.diagnosis


@given(logs, st.integers(2, 3))
def test_lines_that_are_written_twice(labelled: Labelled, times: int) -> None:
    log = b"\n".join(line for line in labelled.log.split(b"\n") for _ in range(times))
    assert answer(labelled, log) == labelled.diagnosis


@given(logs, st.sampled_from([b"[1,0]<stderr>:", b"(pid=4242) ", b"[rank0]: ", b"worker-1 | "]))
def test_the_name_of_the_process_before_every_line(labelled: Labelled, name: bytes) -> None:
    log = b"\n".join(name + line for line in labelled.log.split(b"\n"))
    assert answer(labelled, log) == labelled.diagnosis


@given(logs, st.integers(1, 400))
def test_pieces_of_any_size(labelled: Labelled, size: int) -> None:
    log = labelled.log
    pieces = (log[start : start + size] for start in range(0, len(log), size))
    whole, cut = diagnose(Case(labelled.exit, [log])), diagnose(Case(labelled.exit, pieces))
    assert whole == cut


@given(logs)
def test_utf_16_as_windows_redirects_it(labelled: Labelled) -> None:
    assert answer(labelled, labelled.log.decode().encode("utf-16")) == labelled.diagnosis


@given(logs, st.data())
def test_a_cut_that_leaves_all_the_evidence(labelled: Labelled, data: st.DataObject) -> None:
    """Lines on either side of the evidence may be cut, except those with the numbers."""
    found = diagnose(Case(labelled.exit, [labelled.log]))
    if not found.evidence or found.figures():
        return
    lines = labelled.log.split(b"\n")
    first = data.draw(st.integers(0, found.evidence[0].line - 1))
    last = data.draw(st.integers(found.evidence[-1].line, len(lines)))
    assert answer(labelled, b"\n".join(lines[first:last])) == labelled.diagnosis


@given(st.lists(st.one_of(st.binary(max_size=200), noise, logs.map(lambda one: one.log[:300]))), st.integers(-70, 300))
def test_no_input_raises(parts: list[bytes], status: int) -> None:
    found = diagnose(Case(status, parts))
    assert found.why
    assert (found.diagnosis is None) == (status == 0)


def test_numbers_of_any_length_are_only_numbers() -> None:
    long = b"9" * 6000
    for line in LABELLED[0].log.split(b"\n"):
        assert diagnose(Case(1, [re.sub(rb"\d+", long, line)])).why


@given(logs, st.integers(LONGEST - 50, 3 * LONGEST))
def test_very_long_lines(labelled: Labelled, length: int) -> None:
    log = b"x" * length + b"\n" + labelled.log + b"\n" + b"y" * length
    assert answer(labelled, log) == labelled.diagnosis


def test_the_time_grows_linearly_with_the_log() -> None:
    def seconds(lines: int) -> float:
        log = b"".join(
            b"OOM over exceeded killed error: memory %d Free at 7f of size %d\n" % (i, i) for i in range(lines)
        )
        began = time.process_time()
        diagnose(Case(1, [log, b"z" * 50 * lines]))
        return time.process_time() - began

    seconds(100)
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.005)
