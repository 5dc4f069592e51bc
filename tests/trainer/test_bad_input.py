"""Bad input ends an attempt with its own reason and one clear message: no traceback, no partial files."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.datasets import examples
from services.datasets.dataset import Dataset
from services.domain import tfrecord
from services.domain.contract import CONFIG_FILE, EXIT_CODES, SPEC_FILE, Reason
from tests.support.training.trainings import Ended, prepare, start, train

pytestmark = pytest.mark.tensorflow

Spoil = Callable[[Path, Any], None]


def expect(ended: Ended, reason: Reason, *words: str) -> None:
    assert ended.outcome.reason is reason, ended.outcome.message
    assert ended.exit_code == EXIT_CODES[reason]
    assert all(word in ended.outcome.message for word in words), ended.outcome.message
    assert "Traceback" not in ended.log
    assert not list((ended.attempt_dir.parent / "job").iterdir())


def spoil_file(attempt: Path, name: str, change: Callable[[str], str]) -> None:
    (attempt / name).write_text(change((attempt / name).read_text()))


def first_train_file(config: Any) -> Path:
    return Path(config.train_input_reader.tf_record_input_reader.input_path[0])


def copy_data(tmp_path: Path, config: Any) -> None:
    """Point the config at a copy of its training data, which the test may damage."""
    copied = []
    for file in config.train_input_reader.tf_record_input_reader.input_path:
        copied.append(shutil.copy(file, tmp_path / Path(file).name))
    config.train_input_reader.tf_record_input_reader.input_path[:] = [str(file) for file in copied]
    config.train_input_reader.label_map_path = str(
        shutil.copy(config.train_input_reader.label_map_path, tmp_path / "label_map.pbtxt")
    )


def missing_file(tmp_path: Path, config: Any) -> None:
    config.train_input_reader.tf_record_input_reader.input_path.append(str(tmp_path / "absent.tfrecord"))


def truncated_file(tmp_path: Path, config: Any) -> None:
    path = first_train_file(config)
    path.write_bytes(path.read_bytes()[:-100])


def no_records(tmp_path: Path, config: Any) -> None:
    for file in config.train_input_reader.tf_record_input_reader.input_path:
        Path(file).write_bytes(b"")


def not_a_record_file(tmp_path: Path, config: Any) -> None:
    first_train_file(config).write_bytes(b"these are not records" * 10)


def fourth_class(tmp_path: Path, config: Any) -> None:
    path = Path(config.train_input_reader.label_map_path)
    path.write_text(path.read_text() + 'item { id: 4 name: "star" }\n')


def id_beyond_the_classes(tmp_path: Path, config: Any) -> None:
    path = Path(config.train_input_reader.label_map_path)
    path.write_text(path.read_text().replace("id: 3", "id: 5"))


def not_a_label_map(tmp_path: Path, config: Any) -> None:
    Path(config.train_input_reader.label_map_path).write_text("circle\nsquare\n")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (missing_file, ["train_input_reader", "absent.tfrecord"]),
        (truncated_file, ["train_input_reader", "train-00000", "record"]),
        (no_records, ["train_input_reader", "empty"]),
        (not_a_record_file, ["train_input_reader", "train-00000"]),
        (fourth_class, ["label_map_path", "4 classes", "num_classes 3"]),
        (id_beyond_the_classes, ["label_map_path", "id 5", "1 to 3"]),
        (not_a_label_map, ["label_map_path", "label_map.pbtxt"]),
    ],
)
def test_a_bad_dataset_is_refused_before_tensorflow_is_imported(
    spoil: Spoil, words: list[str], dataset: Dataset, tmp_path: Path
) -> None:
    def change(config: Any) -> None:
        copy_data(tmp_path, config)
        spoil(tmp_path, config)

    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, change=change))

    expect(ended, Reason.BAD_DATASET, *words)
    assert "importing" not in [event["phase"] for event in ended.of_kind("phase")]


@pytest.mark.parametrize(
    ("name", "change", "reason", "words"),
    [
        (CONFIG_FILE, lambda text: text.replace("batch_size", "batchsize"), Reason.BAD_CONFIG, ["line", "batch_size"]),
        (CONFIG_FILE, lambda text: text[: len(text) // 2], Reason.BAD_CONFIG, ["line"]),
        (
            CONFIG_FILE,
            lambda text: text.replace("ssd_efficientnet-b0_bifpn_keras", "ssd_mobilenet_v2"),
            Reason.BAD_CONFIG,
            ["feature_extractor", "ssd_mobilenet_v2"],
        ),
        (CONFIG_FILE, lambda text: text.replace("dimension: 256", "dimension: 200"), Reason.BAD_CONFIG, ["128", "200"]),
        (SPEC_FILE, lambda text: "{", Reason.BAD_SPEC, [SPEC_FILE, "JSON"]),
        (SPEC_FILE, lambda text: re.sub(r'"seed": \d+', '"seed": "7"', text), Reason.BAD_SPEC, [SPEC_FILE, "seed"]),
        (SPEC_FILE, lambda text: text.replace('"micro_batch": 0', '"micro_batch": 3'), Reason.BAD_SPEC, ["3", "2"]),
    ],
)
def test_a_bad_config_or_spec_is_refused_before_tensorflow_is_imported(
    name: str,
    change: Callable[[str], str],
    reason: Reason,
    words: list[str],
    dataset: Dataset,
    tmp_path: Path,
) -> None:
    attempt = prepare(tmp_path / "attempt", "efficientdet_d0", dataset)
    spoil_file(attempt, name, change)

    ended = train(attempt)

    expect(ended, reason, *words)
    assert "importing" not in [event["phase"] for event in ended.of_kind("phase")]


def test_an_attempt_that_ended_is_not_run_again(dataset: Dataset, tmp_path: Path) -> None:
    attempt = prepare(tmp_path / "attempt", "efficientdet_d0", dataset)
    (attempt / SPEC_FILE).write_text("{")
    before = train(attempt)

    process = start(attempt)
    _, message = process.communicate(timeout=60)

    assert process.returncode == EXIT_CODES[Reason.BAD_SPEC]
    assert "ended already" in message
    assert len(message.splitlines()) == 1
    assert (attempt / "events.jsonl").read_text().count("\n") == len(before.events)


def test_an_unknown_class_in_a_record_is_named(dataset: Dataset, tmp_path: Path) -> None:
    def change(config: Any) -> None:
        copy_data(tmp_path, config)
        path = first_train_file(config)
        records = list(tfrecord.read(path))
        image = [item for item in examples.decode(records[1])["image/encoded"] if isinstance(item, bytes)]
        spoiled = examples.encode(
            byte_lists={"image/encoded": image},
            ints={"image/object/class/label": [7]},
            floats={"image/object/bbox/xmin": [0.1]},
        )
        tfrecord.write(path, [records[0], spoiled])

    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, change=change))

    expect(ended, Reason.BAD_DATASET, "record 1", "class 7", "1 to 3")


def test_a_class_that_is_not_in_the_label_map_is_named(dataset: Dataset, tmp_path: Path) -> None:
    """The OD API drops boxes of classes that are not in the label map: it would train on empty images."""

    def change(config: Any) -> None:
        copy_data(tmp_path, config)
        path = Path(config.train_input_reader.label_map_path)
        path.write_text(path.read_text().replace("circle", "Circle"))

    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, change=change))

    expect(ended, Reason.BAD_DATASET, "train_input_reader", "'circle'", "label map")


def test_a_missing_gpu_is_named(dataset: Dataset, tmp_path: Path) -> None:
    attempt = prepare(tmp_path / "attempt", "efficientdet_d0", dataset, slot_mb=0)
    spoil_file(attempt, SPEC_FILE, lambda text: text.replace('"cpu"', '"gpu"').replace('"gpu": 0', '"gpu": 5'))

    ended = train(attempt)

    expect(ended, Reason.BAD_DEVICE, "GPU 5")
