"""What stands beside the exported model."""

from pathlib import Path

import pytest

from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from worker.attempts import with_dataset

pytestmark = pytest.mark.usefixtures("tensorflow_ready")


def test_the_folder_has_the_label_map_and_its_config_names_nothing_outside(tmp_path: Path, dataset: Dataset) -> None:
    from worker.trainer.export import _describe

    config = with_dataset(catalogue.get("mask_rcnn_resnet50_fpn").pipeline_config(3, (256, 256), 1, 1), dataset)
    config.train_config.fine_tune_checkpoint = str(tmp_path / "somewhere" / "ckpt-0")
    _describe(config, tmp_path)

    text = (tmp_path / "pipeline.config").read_text()
    assert (tmp_path / "label_map.pbtxt").read_bytes() == dataset.label_map.read_bytes()
    described = pipeline_config.parse(text)
    assert described.train_input_reader.label_map_path == "label_map.pbtxt"
    assert described.eval_input_reader[0].label_map_path == "label_map.pbtxt"
    assert str(dataset.folder) not in text
    assert str(tmp_path) not in text
    assert described.model == config.model
    assert config.train_input_reader.label_map_path == str(dataset.label_map)  # the caller's stays as it is
