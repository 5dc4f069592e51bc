import pytest

from services.domain.sizes import in_mb
from tests.support.sizes import SIZES


@pytest.mark.parametrize(("count", "text"), SIZES)
def test_a_size_is_written_in_mb_as_its_limit_was_set(count: int, text: str) -> None:
    assert in_mb(count) == text
