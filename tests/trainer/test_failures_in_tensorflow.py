"""A failure that only a real training shows."""

from pathlib import Path
from typing import Any

import pytest

from services.datasets.dataset import Dataset
from services.domain.contract import EXIT_CODES, Reason
from tests.support.training.trainings import prepare, train

pytestmark = pytest.mark.tensorflow


def test_a_loss_that_is_not_a_number_ends_with_that_reason_and_is_not_saved(dataset: Dataset, tmp_path: Path) -> None:
    def change(config: Any) -> None:
        config.train_config.gradient_clipping_by_norm = 0.0
        rate = config.train_config.optimizer.momentum_optimizer.learning_rate
        rate.constant_learning_rate.learning_rate = 1e30

    settings: dict[str, Any] = {"steps": 20, "checkpoint_every_steps": 1, "change": change}
    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, **settings))

    assert ended.outcome.reason is Reason.NAN_LOSS, ended.outcome.message
    assert ended.exit_code == EXIT_CODES[Reason.NAN_LOSS]
    assert "learning rate" in ended.outcome.message
    assert (ended.outcome.saved_step or 0) < ended.outcome.step
    assert "Traceback" not in ended.log
