"""Which health figures keep jobs from a GPU."""

from services.domain.gpus.health import problem_of

GOOD = {"uncorrected_errors": 0, "remapped_rows": 4, "retired_pages": 9, "repair_pending": True, "slowed_by": ["heat"]}


def test_worn_memory_that_was_replaced_and_heat_are_only_shown() -> None:
    assert problem_of(GOOD) is None
    assert problem_of(None) is None
    assert problem_of({"uncorrected_errors": None}) is None


def test_uncorrectable_errors_and_a_failed_remapping_are_problems_that_say_what_to_do() -> None:
    assert "reboot" in (problem_of({**GOOD, "uncorrected_errors": 1}) or "")
    assert "replace the card" in (problem_of({**GOOD, "uncorrected_errors": 1, "remap_failed": True}) or "")
