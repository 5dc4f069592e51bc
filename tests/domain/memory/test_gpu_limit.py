"""What TensorFlow gives its allocator on real cards, and that no plan is made for more."""

import pytest

from benchmarks.gpu_plans import CARDS, DESKTOPS, MB, Card, measure
from services.domain.memory.gpu_limit import (
    free_before,
    hardware_name,
    limit_of_free,
    limit_of_whole,
    overhead_bytes,
    parse_capability,
    reserve_mb,
)

GB = 2**30


@pytest.mark.parametrize("card", [*CARDS, *DESKTOPS], ids=lambda card: card.name)
def test_plans_are_made_for_no_more_than_tensorflow_gives(card: Card) -> None:
    assert limit_of_whole(card.total * MB, card.capability, display=card.display * MB) <= card.given()
    free = card.total - card.driver - card.display
    assert limit_of_free(free * MB, card.capability) <= card.given()


@pytest.mark.parametrize(
    "card",
    [card for card in [*CARDS, *DESKTOPS] if card.total in (4096, 6144, 8192, 16384)],
    ids=lambda card: card.name,
)
def test_no_first_plan_is_predicted_above_what_tensorflow_gives(card: Card) -> None:
    found = measure(card)
    assert (found.above, found.high_above) == (0, 0)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_the_limit_of_an_empty_card_leaves_no_neighbour(card: Card) -> None:
    assert card.total * MB - free_before(card.given(), card.capability) < 0.1 * card.total * MB


def test_a_limit_that_tensorflow_stated_on_the_card_replaces_the_bound() -> None:
    assert limit_of_free(8 * GB, (8, 6), measured_overhead=1819 * MB) == 8 * GB - 1819 * MB
    assert limit_of_free(GB, (8, 6)) == 0


def test_an_unknown_card_counts_as_the_one_that_keeps_back_most() -> None:
    assert reserve_mb(None) == max(reserve_mb((major, 0)) for major in range(3, 14)) == 1800
    assert overhead_bytes(None) >= overhead_bytes((8, 0)) > overhead_bytes((7, 5)) > overhead_bytes((5, 2))


@pytest.mark.parametrize(("text", "capability"), [("8.6", (8, 6)), ("12.0", (12, 0)), (None, None), ("8", None)])
def test_a_capability_is_read_from_its_text(text: str | None, capability: tuple[int, int] | None) -> None:
    assert parse_capability(text) == capability


def test_hardware_is_named_by_capability_and_cudnn() -> None:
    assert hardware_name("8.6", "9.3.0.75") == "capability 8.6, cuDNN 9.3"
    assert hardware_name("8.6", None) == "capability 8.6"
    assert hardware_name(None, "9.3.0") is None
