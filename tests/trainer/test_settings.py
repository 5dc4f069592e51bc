"""Real trainings with less common settings: moving averages, warm start, frozen variables, bfloat16, float16."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.datasets.dataset import Dataset
from services.domain import pipeline_config
from services.domain.contract import CHECKPOINTS_DIR, EXPORT_DIR, Reason
from services.domain.pipeline_config.rewrite import set_precision
from services.domain.precision import Precision
from tests.support.training.trainings import Ended, plain_python, prepare, train

pytestmark = pytest.mark.tensorflow

MODEL = "efficientdet_d0"
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
TYPES = """
import json, sys
import tensorflow as tf
graph = tf.saved_model.load(sys.argv[1]).signatures["serving_default"].graph.as_graph_def()
nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
types = {tf.as_dtype(value.type).name for node in nodes for value in node.attr.values() if value.type}
print(json.dumps(sorted(types)))
"""
AVERAGE = "/.OPTIMIZER_SLOT/optimizer/average"


def read(checkpoint: Path, part: str = "model/") -> dict[str, Any]:
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(checkpoint))
    names = [name for name in reader.get_variable_to_shape_map() if name.startswith(part) and name.endswith(VALUE)]
    return {name.removesuffix(VALUE): reader.get_tensor(name) for name in names}


@pytest.fixture(scope="module")
def averaged(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Two steps with moving averages, then an export."""

    def change(config: Any) -> None:
        config.train_config.optimizer.use_moving_average = True
        config.train_config.optimizer.moving_average_decay = 0.5

    home = tmp_path_factory.mktemp("averaged")
    return train(prepare(home / "attempt", MODEL, dataset, steps=2, learning_rate=0.05, change=change))


@pytest.fixture(scope="module")
def fine_tuned(averaged: Ended, dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Two steps in bfloat16, warm-started from the export of `averaged`, with a frozen backbone."""

    def change(config: Any) -> None:
        checkpoint = averaged.attempt_dir.parent / "job" / EXPORT_DIR / "checkpoint" / "ckpt-0"
        config.CopyFrom(pipeline_config.set_checkpoint(config, str(checkpoint)))
        config.CopyFrom(set_precision(config, bfloat16=True))
        config.train_config.freeze_variables.extend(["^stem", "^stack", "^top"])

    home = tmp_path_factory.mktemp("fine-tuned")
    settings: dict[str, Any] = {"steps": 2, "change": change, "export": False}
    return train(prepare(home / "attempt", MODEL, dataset, **settings))


@pytest.fixture(scope="module")
def continued(fine_tuned: Ended, dataset: Dataset) -> Ended:
    """`fine_tuned` for one more step, in float16, then evaluated and exported."""

    def change(config: Any) -> None:
        config.train_config.freeze_variables.extend(["^stem", "^stack", "^top"])

    folder = fine_tuned.attempt_dir.parent / "attempt-2"
    return train(prepare(folder, MODEL, dataset, steps=3, change=change, precision=Precision.FLOAT16))


def checkpoint_of(ended: Ended, step: int = 2) -> Path:
    return ended.attempt_dir.parent / "job" / CHECKPOINTS_DIR / MODEL / f"ckpt-{step}"


def test_the_export_has_the_averaged_weights(averaged: Ended) -> None:
    assert averaged.outcome.reason is Reason.COMPLETED, averaged.outcome.message
    trained = read(checkpoint_of(averaged))
    exported = read(averaged.attempt_dir.parent / "job" / EXPORT_DIR / "checkpoint" / "ckpt-0")
    with_average = [name for name in trained if name + AVERAGE in trained]

    assert len(with_average) > 400
    assert all(np.array_equal(exported[name], trained[name + AVERAGE]) for name in with_average)
    assert any(not np.array_equal(exported[name], trained[name]) for name in with_average)


def test_a_warm_start_loads_the_weights_and_freezing_keeps_them(averaged: Ended, fine_tuned: Ended) -> None:
    assert fine_tuned.outcome.reason is Reason.COMPLETED, fine_tuned.outcome.message
    given = read(averaged.attempt_dir.parent / "job" / EXPORT_DIR / "checkpoint" / "ckpt-0")
    after = read(checkpoint_of(fine_tuned))
    learnt = [name for name in given if "moving_" not in name and "OPTIMIZER" not in name]
    backbone = [name for name in learnt if "_efficientnet" in name]
    rest = [name for name in learnt if "_bifpn" in name and name.endswith("pointwise_kernel")]

    assert len(backbone) > 200
    assert all(np.array_equal(after[name], given[name]) for name in backbone)
    assert rest
    assert all(not np.array_equal(after[name], given[name]) for name in rest)
    assert all(np.allclose(after[name], given[name], atol=0.05) for name in rest)


def test_a_warm_start_counts_steps_from_zero(fine_tuned: Ended) -> None:
    training = next(event for event in fine_tuned.of_kind("phase") if event["phase"] == "training")

    assert (training["step"], training["resumed"]) == (0, False)


def test_bfloat16_needs_less_memory_and_keeps_float32_weights(averaged: Ended, fine_tuned: Ended) -> None:
    def activations(ended: Ended) -> int:
        device = ended.of_kind("step")[-1]["device"]
        return int(device["peak"] - device["current"])

    assert activations(fine_tuned) < 0.75 * activations(averaged)
    assert {value.dtype for value in read(checkpoint_of(fine_tuned)).values()} == {np.dtype(np.float32)}


@pytest.mark.slow
def test_an_attempt_in_float16_resumes_one_in_bfloat16_and_reports_its_loss_scale(continued: Ended) -> None:
    from worker.trainer.loss_scale import INITIAL

    assert continued.outcome.reason is Reason.COMPLETED, continued.outcome.message
    training = next(event for event in continued.of_kind("phase") if event["phase"] == "training")
    assert (training["step"], training["resumed"]) == (2, True)
    (step,) = continued.of_kind("step")
    assert step["loss_scale"] == INITIAL / 2 ** step["skipped_updates"]
    assert read(checkpoint_of(continued, 3), "loss_scale/")["loss_scale/scale"] == step["loss_scale"]
    assert any("float16" in event["message"] for event in continued.of_kind("warning"))
    assert math.isfinite(continued.outcome.metrics["Loss/total_loss"])


@pytest.mark.slow
def test_a_model_that_was_trained_in_float16_is_exported_in_float32(continued: Ended) -> None:
    exported = continued.attempt_dir.parent / "job" / EXPORT_DIR
    types = plain_python(TYPES, str(exported / "saved_model"))

    assert "float16" not in types
    assert "float32" in types
    assert np.dtype(np.float16) not in {value.dtype for value in read(exported / "checkpoint" / "ckpt-0").values()}
