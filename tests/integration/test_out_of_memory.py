"""A slot that is too small: TensorFlow's own BFC allocator fails, and the outcome carries what it said."""

import pytest

from services.datasets.dataset import Dataset
from services.domain.contract import EXIT_CODES, Reason
from tests.trainings import Ended, prepare, train

SLOT_MB = 400


@pytest.fixture(scope="module")
def ended(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    home = tmp_path_factory.mktemp("oom")
    return train(prepare(home / "attempt", "efficientdet_d0", dataset, batch=4, steps=4, slot_mb=SLOT_MB))


def test_the_reason_is_device_memory(ended: Ended) -> None:
    assert ended.outcome.reason is Reason.DEVICE_MEMORY
    assert ended.exit_code == EXIT_CODES[Reason.DEVICE_MEMORY]
    assert "OOM when allocating tensor" in ended.outcome.message
    assert "\n" not in ended.outcome.message


def test_the_outcome_carries_limit_peak_and_the_failed_request(ended: Ended) -> None:
    allocator = ended.outcome.allocator

    assert allocator.limit == SLOT_MB * 2**20
    assert allocator.in_use is not None
    assert allocator.peak is not None
    assert allocator.requested is not None
    assert 0.5 * allocator.limit < allocator.in_use <= allocator.peak <= allocator.limit
    assert allocator.requested > 0
    assert allocator.requested_shape is not None
    assert allocator.requested_op is not None
    assert allocator.allocator is not None


def test_the_log_holds_the_allocators_own_words(ended: Ended) -> None:
    assert "ran out of memory trying to allocate" in ended.log
    assert str(ended.outcome.allocator.requested) in ended.log


def test_no_checkpoint_is_claimed(ended: Ended) -> None:
    assert ended.outcome.step == 0
    assert ended.outcome.saved_step is None
