"""Attempt directories made by hand: what the command writes, and what it refuses."""

import json
from pathlib import Path

import pytest

from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from services.domain.contract import CONFIG_FILE, SPEC_FILE
from worker import attempt_dir


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    made = Dataset(
        folder=tmp_path,
        train_files=(tmp_path / "train",),
        validation_files=(tmp_path / "validation",),
        label_map=tmp_path / "labels",
        num_classes=3,
        has_masks=True,
        records=10,
        record_bytes=1000,
        validation_records=5,
        most_boxes=250,
    )
    monkeypatch.setattr(Dataset, "load", lambda folder: made)
    return made


def _run(folder: Path, *options: str) -> int:
    return attempt_dir.main([str(folder), "--model", "efficientdet_d0", "--dataset", str(folder.parent), *options])


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--learning-rate", "inf", "learning_rate: must be a finite number above 0, got inf"),
        ("--learning-rate", "nan", "learning_rate: must be a finite number above 0, got nan"),
        ("--learning-rate", "1e39", "learning_rate: must be a finite number above 0, got 1e+39"),
        ("--steps", "99999999999", "steps: must be at most 2147483647, got 99999999999"),
        ("--batch-size", "99999999999", "batch_size: must be at most 2147483647, got 99999999999"),
        ("--batch-size", "9" * 400, "batch_size: must be at most 2147483647, got far more"),
        ("--image-size", "9" * 400, "image_size: height and width must be multiples of 128"),
        ("--slot-mb", "-1", "memory_limit_mb: must not be negative, got -1"),
    ],
)
@pytest.mark.usefixtures("dataset")
def test_an_impossible_value_is_refused_in_one_line(
    option: str, value: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path / "attempt", option, value) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(words)
    assert printed.count("\n") == 1
    assert not (tmp_path / "attempt").exists()


@pytest.mark.usefixtures("dataset")
def test_the_directory_holds_the_spec_and_a_config_that_keeps_every_box(tmp_path: Path) -> None:
    assert _run(tmp_path / "attempt", "--steps", "20", "--slot-mb", "1500") == 0
    config = pipeline_config.parse((tmp_path / "attempt" / CONFIG_FILE).read_text())
    pipeline_config.check(config)
    assert config.train_config.num_steps == 20
    assert config.train_config.max_number_of_boxes == config.train_input_reader.max_number_of_boxes == 250
    assert json.loads((tmp_path / "attempt" / SPEC_FILE).read_text())["device"]["memory_limit_mb"] == 1500
    assert pipeline_config.identify(config) in catalogue.MODELS
