"""How the images of a training are decoded and handed to its device."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.pipeline_config import build_config
from services.planning import attempt_config

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]


@pytest.fixture(scope="module")
def config(dataset: Dataset) -> Any:
    network = build_config(catalogue.get("efficientdet_d0"), 3, (256, 256), 8, 10)
    return attempt_config.with_dataset(network, dataset, 4096, threads=64)


@pytest.fixture(scope="module")
def model(config: Any, tensorflow_ready: None) -> Any:
    from worker.trainer import model

    return model.build(config, is_training=True)


def chain(made: Any) -> Iterator[Any]:
    """The dataset and all that it is made of; TF1's wrap one more."""
    yield made
    for part in [made._dataset] if hasattr(made, "_dataset") else made._inputs():
        yield from chain(part)


def calls(made: Any) -> set[int]:
    """The parallel calls of every stage that has a number of them."""
    return {int(one._num_parallel_calls) for one in chain(made) if hasattr(one, "_num_parallel_calls")}


def threads(made: Any) -> set[int | None]:
    return {one.options().threading.private_threadpool_size for one in chain(made)} - {None}


@pytest.mark.parametrize("micro_batch", [1, 8])
def test_a_gpu_is_fed_by_its_share_of_the_cores_whatever_the_micro_batch(
    micro_batch: int, config: Any, model: Any
) -> None:
    from worker.trainer.input import pipelines

    made = pipelines.training(config, model, micro_batch, pipelines.Feed(3))

    assert calls(made) == {3}
    assert threads(made) == {3}
    features, labels = next(iter(made))
    assert features["image"].shape == (micro_batch, 256, 256, 3)
    assert labels["groundtruth_boxes"].shape[0] == micro_batch
    stock = pipelines.training(config, model, micro_batch)
    assert made.element_spec == stock.element_spec
    assert (calls(stock), threads(stock)) == ({2 * micro_batch}, set())  # a CPU slot, whose memory is measured with it


def test_a_host_that_is_short_of_memory_decodes_fewer_images_at_once(config: Any, model: Any) -> None:
    from worker.trainer.input import pipelines

    short = copy.deepcopy(config)
    short.train_input_reader.num_parallel_map_calls = 1
    short.eval_input_reader[0].num_parallel_map_calls = 2

    assert calls(pipelines.training(short, model, 4, pipelines.Feed(16))) == {1}
    assert calls(pipelines.evaluation(short, model, pipelines.Feed(16))) == {2}


def test_a_step_takes_its_batches_from_the_device(config: Any, model: Any) -> None:
    """The only device here is the CPU, so this shows that such an iterator works, not that it saves time."""
    import tensorflow as tf

    from worker.trainer.input import pipelines

    made = pipelines.training(config, model, 2, pipelines.Feed(2, "CPU:0"))

    step = tf.function(lambda iterator: next(iterator)[0]["image"], autograph=False)

    assert threads(made) == {2}
    assert step(iter(made)).shape == (2, 256, 256, 3)
    assert step(iter(pipelines.training(config, model, 2))).shape == (2, 256, 256, 3)
    assert step.experimental_get_tracing_count() == 1
