"""Pictures and metrics of an evaluation are in pixels of the original image, whatever the network's image size."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.box_counts import BoxCounts
from services.domain.contract import Device
from services.domain.pipeline_config import build_config
from tests.support.training.trainings import ROOT
from worker.attempt_dir import with_dataset
from worker.trainer.report import Reporter

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

LANDSCAPE, PORTRAIT, TINY, LARGE = (120, 300), (310, 150), (9, 12), (3000, 4000)
SIZES = (LANDSCAPE, PORTRAIT, TINY, LARGE)
PICTURES = {LANDSCAPE: (120, 300), PORTRAIT: (310, 150), TINY: (192, 256), LARGE: (768, 1024)}
TRUTH = (1 / 3, 1 / 4, 2 / 3, 3 / 4)  # falls on whole pixels in all images
FOUND = (1 / 3, 1 / 2, 5 / 6, 5 / 6)


def padding(resizer: Any) -> None:
    kept = resizer.keep_aspect_ratio_resizer
    kept.min_dimension = kept.max_dimension = 256
    kept.pad_to_max_dimension = True


def keeping(resizer: Any) -> None:
    kept = resizer.keep_aspect_ratio_resizer
    kept.min_dimension, kept.max_dimension = 128, 256
    kept.pad_to_max_dimension = False


def stretching(resizer: Any) -> None:
    resizer.fixed_shape_resizer.height, resizer.fixed_shape_resizer.width = 128, 256


FAMILIES = ("efficientdet_d0", "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn")
RESIZERS = (padding, keeping, stretching)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> Dataset:
    from tests.support.training.known_detector import write_records

    path = tmp_path_factory.mktemp("known") / "validation.tfrecord"
    write_records(path, SIZES, [[("square", TRUTH)]] * len(SIZES))
    return replace(dataset, validation_files=(path,), validation_records=len(SIZES), most_boxes=3)


class Evaluated:
    """An evaluation that detects in each image the square that is there, and a triangle that is not."""

    def __init__(
        self,
        folder: Path,
        records: Dataset,
        family: str = "faster_rcnn_resnet50_fpn",
        resize: Callable[[Any], None] = padding,
        change: Callable[[Any], None] = lambda config: None,
        found: Sequence[tuple[int, Any]] = ((2, TRUTH), (3, FOUND)),
    ) -> None:
        import tensorflow as tf

        from tests.support.training.known_detector import KnownDetector
        from worker.trainer import device, model
        from worker.trainer.evaluation.evaluate import Evaluation

        config = build_config(catalogue.get(family), records.num_classes, (256, 256), 1, 1)
        network = getattr(config.model, config.model.WhichOneof("model"))
        network.image_resizer.Clear()
        resize(network.image_resizer)
        config = with_dataset(config, records)
        change(config)
        real = model.build(config, is_training=False)
        detector = KnownDetector(real, found, has_masks=family.startswith("mask"))
        memory = device.Memory(Device(), "CPU:0", tf.config)
        self.folder = folder
        evaluation = Evaluation(config, detector, samples=9, reporter=Reporter(folder), memory=memory)
        self.metrics = evaluation.run(1)

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] == kind]

    def sides(self, number: int) -> tuple[Any, Any]:
        """Truth and prediction of one sample."""
        picture = np.asarray(Image.open(self.folder / self.events("image")[number]["file"]))
        width = (picture.shape[1] - 8) // 2
        return picture[:, :width], picture[:, -width:]


def is_drawn(side: Any, row: float, column: float) -> bool:
    """Whether something is drawn at or next to this position: lines are 2 pixels wide."""
    rows, columns = (slice(max(0, round(place) - 2), round(place) + 2) for place in (row, column))
    return bool((side[rows, columns] > 60).any())


@pytest.mark.parametrize("resize", RESIZERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_drawings_and_metrics_are_in_pixels_of_the_original(
    tmp_path: Path, records: Dataset, family: str, resize: Callable[[Any], None]
) -> None:
    evaluated = Evaluated(tmp_path, records, family, resize)

    assert evaluated.events("warning") == []
    has_masks = family.startswith("mask")
    for number, size in enumerate(SIZES):
        truth, prediction = evaluated.sides(number)
        height, width = truth.shape[:2]
        assert (height, width) == PICTURES[size]
        for side, box in ((truth, TRUTH), (prediction, TRUTH), (prediction, FOUND)):
            top, left, bottom, right = box[0] * height, box[1] * width, box[2] * height, box[3] * width
            for place in ((top + bottom) / 2, left), ((top + bottom) / 2, right), (bottom, (left + right) / 2):
                assert is_drawn(side, *place), (size, box, place)
        for side, inside in ((truth, (0.55, 0.35)), (prediction, (0.55, 0.35)), (prediction, (0.75, 0.7))):
            assert is_drawn(side, inside[0] * height, inside[1] * width) == has_masks
        for side in (truth, prediction):
            assert not is_drawn(side, height * 0.9, width * 0.1)
    for kind in ("Boxes", "Masks") if has_masks else ("Boxes",):
        assert evaluated.metrics[f"Detection{kind}_Precision/mAP@.50IOU"] == 1.0
        assert evaluated.metrics[f"Detection{kind}_PerformanceByCategory/mAP/square"] > 0.85
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == 1.0


@pytest.mark.slow
def test_a_photograph_with_100_masks_takes_no_more_memory_than_a_small_image_with_them(
    tmp_path: Path, dataset: Dataset
) -> None:
    """The OD API would decode 4.8 GB of masks. What still grows is the photograph itself, a few times."""
    from tests.support.training.evaluate_photograph import boxes
    from tests.support.training.known_detector import write_records

    peaks = {}
    for name, size in {"small": (300, 400), "large": LARGE}.items():
        record, folder = tmp_path / f"{name}.tfrecord", tmp_path / name
        folder.mkdir()
        write_records(record, [size], [[("square", box) for box in boxes(100)]])
        module = "tests.support.training.evaluate_photograph"
        command = [sys.executable, "-m", module, str(dataset.folder), str(record), "100", "1000", str(folder)]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
        assert run.returncode == 0, run.stderr[-3000:]
        peaks[name] = json.loads(run.stdout.splitlines()[-1])

    assert peaks["large"]["map"] > 0.99
    photograph = 4 * 3 * LARGE[0] * LARGE[1]  # as float32
    assert peaks["large"]["device"] - peaks["small"]["device"] < 3 * photograph
    assert peaks["large"]["host"] - peaks["small"]["host"] < 6 * photograph


@pytest.mark.parametrize("resize", RESIZERS)
def test_masks_are_decoded_as_the_od_api_would_resize_them(
    records: Dataset, resize: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.trainer import model
    from worker.trainer.input import mask_decoding, pipelines

    config = build_config(catalogue.get("mask_rcnn_resnet50_fpn"), records.num_classes, (256, 256), 1, 1)
    network = getattr(config.model, config.model.WhichOneof("model"))
    network.image_resizer.Clear()
    resize(network.image_resizer)
    config = with_dataset(config, records)
    built = model.build(config, is_training=False)

    def masks() -> list[Any]:
        found = pipelines.evaluation(config, built)
        return [labels["groundtruth_instance_masks"].numpy() for _, (_, labels) in found]

    ours = masks()
    monkeypatch.setattr(mask_decoding, "at_network_size", lambda model_config: contextlib.nullcontext())
    for mine, stock in zip(ours, masks(), strict=True):
        assert mine.sum() > 0
        np.testing.assert_array_equal(mine, stock)


@pytest.mark.parametrize(
    ("augmentations", "allowed"),
    [
        ("", True),
        ("random_horizontal_flip {}", True),
        ("random_horizontal_flip {} random_crop_image {}", False),
        ("random_scale_crop_and_pad_to_square {}", False),
    ],
)
def test_training_decodes_masks_like_that_where_nothing_cuts_the_image(augmentations: str, allowed: bool) -> None:
    from worker.trainer.input import mask_decoding

    config = build_config(catalogue.get("mask_rcnn_resnet50_fpn"), 3, (256, 256), 1, 1)
    options = config.train_config.data_augmentation_options
    assert mask_decoding.allows(options)  # the catalogue's own
    del options[:]
    for name in augmentations.replace("{}", "").split():
        getattr(options.add(), name).SetInParent()

    assert mask_decoding.allows(options) == allowed


def test_a_picture_that_cannot_be_drawn_is_left_out_with_a_warning(
    tmp_path: Path, records: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.trainer.evaluation import samples

    draw = samples._scaled

    def draw_or_fail(encoded: bytes, size: tuple[int, int]) -> Any:
        if size == PORTRAIT:
            raise ValueError("the mask has other dimensions")
        return draw(encoded, size)

    monkeypatch.setattr(samples, "_scaled", draw_or_fail)
    evaluated = Evaluated(tmp_path, records)

    assert [event["sample"] for event in evaluated.events("image")] == [0, 2, 3]
    [warning] = evaluated.events("warning")
    assert warning["message"] == ("evaluation: sample 1 cannot be drawn: ValueError: the mask has other dimensions")
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == 1.0


def test_metrics_that_fail_are_left_out_with_a_warning(
    tmp_path: Path, records: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.trainer.evaluation import masks

    def fail(*_: Any) -> None:
        raise ValueError("a broken mask")

    monkeypatch.setattr(masks, "of_record", fail)
    evaluated = Evaluated(tmp_path, records, "mask_rcnn_resnet50_fpn")

    assert [event["message"] for event in evaluated.events("warning")] == [
        "evaluation: coco_mask_metrics cannot be computed: ValueError: a broken mask"
    ]
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == 1.0
    assert "Loss/none" in evaluated.metrics


@pytest.mark.parametrize("metric", ["coco_mask_metrics", "pascal_voc_instance_segmentation_metrics"])
def test_mask_metrics_of_a_model_without_masks_are_left_out(tmp_path: Path, records: Dataset, metric: str) -> None:
    def add(config: Any) -> None:
        config.eval_config.metrics_set[:] = ["coco_detection_metrics", metric]

    evaluated = Evaluated(tmp_path, records, change=add)

    assert [event["message"] for event in evaluated.events("warning")] == [
        f"evaluation: {metric} cannot be computed: ValueError: the model predicts no masks"
    ]
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == 1.0


def test_running_out_of_memory_is_not_just_a_warning(
    tmp_path: Path, records: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.trainer.evaluation import samples

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(samples, "_scaled", fail)
    with pytest.raises(MemoryError):
        Evaluated(tmp_path, records)


@pytest.mark.parametrize("metric", ["pascal_voc_detection_metrics", "pascal_voc_instance_segmentation_metrics"])
def test_pascal_metrics_do_not_count_padding_as_objects(tmp_path: Path, records: Dataset, metric: str) -> None:
    def only(config: Any) -> None:
        config.eval_config.metrics_set[:] = [metric]

    evaluated = Evaluated(tmp_path, records, "mask_rcnn_resnet50_fpn", change=only)

    assert evaluated.events("warning") == []
    found = {name: value for name, value in evaluated.metrics.items() if "AP@0.5IOU" in name}
    assert next(value for name, value in found.items() if name.endswith("/square")) == 1.0
    assert not [name for name in found if name.endswith("/circle")]  # padding would be counted as circles


def test_names_that_cannot_be_drawn_are_in_a_file(tmp_path: Path, records: Dataset) -> None:
    label_map = tmp_path / "label_map.pbtxt"
    names = "".join(f"item {{ id: {n} name: '{name}' }}\n" for n, name in ((1, "круг"), (2, "square"), (3, "三角形")))
    label_map.write_text(names)

    evaluated = Evaluated(tmp_path, replace(records, label_map=label_map))

    assert evaluated.events("warning") == []
    assert json.loads((tmp_path / "samples" / "classes.json").read_text()) == {"3": "三角形"}


def test_a_mask_of_a_class_that_is_not_in_the_label_map_is_left_out() -> None:
    from object_detection.protos import eval_pb2

    from worker.trainer.evaluation import evaluators

    wanted = eval_pb2.EvalConfig(metrics_set=["coco_mask_metrics"])
    evaluator = evaluators.build(wanted, [{"id": 1, "name": "cat"}, {"id": 3, "name": "dog"}])["coco_mask_metrics"]
    for category in (1, 2):
        evaluator.add_truth(0, category, np.ones((8, 8), bool), False)
        evaluator.add_detection(0, category, 0.9, np.ones((4, 4)), (0.0, 0.0, 1.0, 1.0), (8, 8))

    found = evaluator.evaluate()

    assert found["DetectionMasks_Precision/mAP"] == pytest.approx(1.0)
    assert [name for name in found if "ByCategory" in name] == ["DetectionMasks_PerformanceByCategory/mAP/cat"]


def test_forcing_no_resize_does_not_change_the_model_config(tmp_path: Path, records: Dataset) -> None:
    configs = []

    def force(config: Any) -> None:
        config.eval_config.force_no_resize = True
        configs.append((config, str(config.model)))

    evaluated = Evaluated(tmp_path, records, change=force)

    [(config, model)] = configs
    assert str(config.model) == model
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == 1.0


def test_each_of_ten_thousand_categories_is_evaluated(tmp_path: Path, dataset: Dataset) -> None:
    from tests.support.training.known_detector import write_records

    label_map, path = tmp_path / "label_map.pbtxt", tmp_path / "validation.tfrecord"
    names = [f"class {number:05d}" for number in range(1, 10_001)]
    label_map.write_text("".join(f"item {{ id: {n} name: '{name}' }}\n" for n, name in enumerate(names, start=1)))
    grid = [(row / 10, column / 10, (row + 1) / 10, (column + 1) / 10) for row in range(10) for column in range(10)]
    objects = [list(zip(names[start : start + 100], grid, strict=True)) for start in range(0, 10_000, 100)]
    write_records(path, [(60, 80)] * 100, objects)
    many = replace(
        dataset,
        num_classes=10_000,
        most_boxes=100,
        label_map=label_map,
        validation_files=(path,),
        validation_records=100,
    )

    evaluated = Evaluated(tmp_path, many, found=[(2, grid[1])])

    [event] = evaluated.events("eval")
    assert len(json.dumps(event)) < 10_000
    assert event["metrics"] == evaluated.metrics
    assert evaluated.metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1 / 10_000)
    whole = json.loads((tmp_path / event["file"]).read_text())["metrics"]
    of_each = {name: value for name, value in whole.items() if "PerformanceByCategory/mAP/" in name}
    assert len(of_each) == 10_000
    assert {name: value for name, value in of_each.items() if value} == {
        "DetectionBoxes_PerformanceByCategory/mAP/class 00002": 1.0
    }


def test_the_boxes_are_counted_by_class_overlap_and_anchor_size(tmp_path: Path, records: Dataset) -> None:
    """Each of four images has a square where a triangle is predicted, and a prediction where nothing is."""
    evaluated = Evaluated(tmp_path, records, found=((3, TRUTH), (3, (0.7, 0.0, 0.9, 0.2))))

    [event] = evaluated.events("eval")
    boxes = BoxCounts.from_values(event["boxes"])
    assert boxes is not None
    assert json.loads(json.dumps(boxes.to_values())) == event["boxes"]
    assert (boxes.truths, boxes.classes, boxes.predictions, boxes.best_score) == (4, 1, 8, 0.9)
    assert (boxes.true_classes, boxes.predicted_classes) == (((2, 4),), ((3, 8),))
    assert (boxes.overlapped, boxes.right_class, boxes.next_class, boxes.previous_class) == (4, 0, 4, 0)
    assert boxes.confusions == ((2, 3, 4),)
    assert boxes.names == {2: "square", 3: "triangle"}
    assert (boxes.anchored, boxes.out_of_reach, boxes.smallest_anchor) == (4, 0, 16.0)
    # A third by a half of the image, whose longer side has 256 pixels.
    sides = [256 / max(size) * (size[0] / 3 * size[1] / 2) ** 0.5 for size in SIZES]
    assert boxes.median_side == pytest.approx(np.median(sides), abs=0.5)


def test_boxes_that_no_anchor_reaches_are_counted(tmp_path: Path, records: Dataset) -> None:
    def coarse(config: Any) -> None:
        config.model.faster_rcnn.first_stage_anchor_generator.multiscale_anchor_generator.anchor_scale = 64

    evaluated = Evaluated(tmp_path, records, change=coarse)
    [event] = evaluated.events("eval")
    assert (event["boxes"]["anchored"], event["boxes"]["out_of_reach"]) == (4, 4)
    assert event["boxes"]["smallest_anchor"] == 256.0
