"""Samples of the device's memory, out of a trainer's events."""

import json
from pathlib import Path

from services.domain.growth import Sample, growth_of
from services.samples import read_samples


def step(number: int, current: int | None) -> str:
    device = {"limit": 100, "current": current, "peak": 50}
    return json.dumps({"kind": "step", "time": 1.5, "step": number, "device": device, "host": {}})


def test_steps_are_read_and_the_rest_is_passed_over(tmp_path: Path) -> None:
    lines = [
        step(1, 10),
        "{",
        '{"kind": "step", "step": 1}',
        '["step"]',
        step(2, None),
        '{"kind": "phase"}',
        step(3, 12),
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    assert read_samples(tmp_path) == [Sample(1, 10, 50, 1.5), Sample(3, 12, 50, 1.5)]
    assert read_samples(tmp_path / "nowhere") == []


def test_of_very_many_a_part_is_kept_from_the_first_to_nearly_the_last(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("\n".join(step(number, number) for number in range(10_000)))
    samples = read_samples(tmp_path)
    assert len(samples) < 2000
    assert samples[0].step == 0
    assert samples[-1].step > 9_900
    assert [one.step for one in samples] == sorted(one.step for one in samples)


def test_too_few_samples_tell_nothing() -> None:
    assert growth_of([Sample(1, 5)] * 100) is None
    assert growth_of([Sample(number, 5) for number in range(5)]) is None


def test_growth_is_what_was_gained_a_step() -> None:
    growth = growth_of([Sample(number * 10, 1000 + 70 * number) for number in range(1000)])
    assert growth is not None
    assert growth.bytes_per_step == 7
    assert growth.steady
