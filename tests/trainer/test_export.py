"""The files beside the exported model, and their durability."""

from pathlib import Path

import pytest

from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from worker.attempt_dir import with_dataset

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]


def test_the_folder_has_the_label_map_and_its_config_names_nothing_outside(tmp_path: Path, dataset: Dataset) -> None:
    from worker.trainer.export import _describe

    config = with_dataset(
        pipeline_config.build_config(catalogue.get("mask_rcnn_resnet50_fpn"), 3, (256, 256), 1, 1), dataset
    )
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
    assert config.train_input_reader.label_map_path == str(dataset.label_map)  # the caller's config is unchanged


def test_the_export_is_synced_before_and_after_its_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from services.durable_file import sync
    from worker.trainer import export

    building, folder = tmp_path / ".export.new", tmp_path / "export"
    (building / "saved_model").mkdir(parents=True)
    (building / "saved_model" / "saved_model.pb").touch()
    (folder / "of an earlier attempt").mkdir(parents=True)
    synced: list[tuple[str, bool]] = []

    def note(path: Path) -> None:
        sync(path)
        synced.append((path.relative_to(tmp_path).as_posix(), building.exists()))

    monkeypatch.setattr(export, "sync", note)
    export._put_in_place(building, folder)

    inside = [".export.new", ".export.new/saved_model", ".export.new/saved_model/saved_model.pb"]
    assert sorted(synced[:-1]) == [(name, True) for name in inside]
    assert synced[-1] == (".", False)
    assert [path.name for path in folder.iterdir()] == ["saved_model"]
