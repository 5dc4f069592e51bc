import os
from pathlib import Path

import pytest

from services.datasets import shapes
from services.datasets.dataset import Dataset

IMAGE_SIZES = [(168, 300), (280, 200), (300, 168), (200, 280)]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A small dataset with masks. Images alternate between landscape and portrait, and none has a network's size."""
    folder = Path(tmp_path_factory.mktemp("data"), "shapes")
    return shapes.generate(folder, train=24, validation=6, size=IMAGE_SIZES, seed=1)


@pytest.fixture(scope="session")
def tensorflow_ready() -> None:
    """Make TensorFlow and the OD API importable in the test process; takes 15 s, once."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # as in a CPU slot: oneDNN has no float16 on every CPU that claims it
    from worker.trainer import compat

    compat.install()
