from pathlib import Path

import pytest

from services.datasets import shapes
from services.datasets.dataset import Dataset


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Small, 256 × 256, with masks."""
    return shapes.generate(Path(tmp_path_factory.mktemp("data"), "shapes"), train=24, validation=6, seed=1)


@pytest.fixture(scope="session")
def tensorflow_ready() -> None:
    """TensorFlow and the OD API importable in the test process itself; 15 s, once."""
    from worker.trainer import compat

    compat.install()
