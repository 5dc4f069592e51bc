"""Each family really trains on a CPU slot: stopped half-way, resumed, evaluated, exported; then the export is called.

Faster R-CNN is Mask R-CNN without masks: it trains without the stop, which saves a minute of start-up.
"""

import math
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from services.datasets.dataset import Dataset, read_manifest
from services.datasets.scenes import CLASSES, draw_scene
from services.domain import catalogue, pipeline_config
from services.domain.box_counts import BoxCounts
from services.domain.checkpoints import fit, index
from services.domain.contract import CHECKPOINTS_DIR, CONFIG_FILE, EXIT_CODES, EXPORT_DIR, SUMMARIES_DIR, Device, Reason
from tests.support.training.trainings import Ended, finish, plain_python, prepare, start, train, wait_for_step
from worker.attempt_dir import with_dataset
from worker.trainer.report import Reporter

# The time limit covers two trainings, on a machine that other tests use half of.
pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(1500)]

FAMILIES = ["efficientdet_d0", "mask_rcnn_resnet50_fpn", "faster_rcnn_resnet50_fpn"]
STOPPED = FAMILIES[:2]  # must be the first ones: pytest groups tests by a parameter's index in its list
STEPS = 8
WARMUP_STEPS = 2
PEAK_RATE = 0.008
VARIABLE = "/.ATTRIBUTES/VARIABLE_VALUE"

# Runs without our code: prints the checkpoint's counters, the summaries' names and the exported model's detections.
INSPECT = """
import json, sys
import numpy as np, tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
checkpoint, summaries, export = sys.argv[1:]
reader = tf.train.load_checkpoint(checkpoint)
momentum = [n for n in reader.get_variable_to_shape_map() if "momentum" in n and n.endswith("VARIABLE_VALUE")]
counters = {n: int(reader.get_tensor(n + "/.ATTRIBUTES/VARIABLE_VALUE")) for n in ("step", "optimizer/iter")}
events = EventAccumulator(summaries + "/train"); events.Reload()
loaded = tf.saved_model.load(export + "/saved_model")
image = np.full((1, 300, 200, 3), 128, np.uint8)
called = loaded(tf.constant(image))
served = loaded.signatures["serving_default"](input_tensor=tf.constant(image))
print(json.dumps({
    "counters": counters,
    "moving": sum(float(np.abs(reader.get_tensor(n)).max()) > 0 for n in momentum),
    "summaries": {tag: [event.step for event in events.Tensors(tag)] for tag in events.Tags()["tensors"]},
    "shapes": {name: value.shape.as_list() for name, value in called.items()},
    "same": bool(np.allclose(called["detection_scores"], served["detection_scores"])),
    "finite": bool(np.isfinite(called["detection_boxes"]).all()),
}))
"""


@dataclass(frozen=True)
class Story:
    model: str
    attempts: list[Ended]
    job_dir: Path
    inspected: dict[str, Any]

    @property
    def stopped(self) -> Ended:
        return self.attempts[-2]

    @property
    def completed(self) -> Ended:
        return self.attempts[-1]

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [event for attempt in self.attempts for event in attempt.of_kind("step")]

    @property
    def masks(self) -> bool:
        return self.model.startswith("mask")


def small_schedule(config: Any) -> None:
    config.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate.warmup_steps = (
        WARMUP_STEPS
    )


@pytest.fixture(scope="module", params=FAMILIES)
def story(request: pytest.FixtureRequest, dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Story:
    model: str = request.param
    home = tmp_path_factory.mktemp(model)
    settings: dict[str, Any] = {
        "batch": 2,
        "micro_batch": 1,
        "steps": STEPS,
        "learning_rate": PEAK_RATE,
        "change": small_schedule,
    }
    attempts = [stop(prepare(home / "attempt-1", model, dataset, **settings))] if model in STOPPED else []
    attempts.append(train(prepare(home / "attempt-2", model, dataset, **settings)))
    job = home / "job"
    inspected = plain_python(
        INSPECT,
        str(job / CHECKPOINTS_DIR / model / f"ckpt-{STEPS}"),
        str(job / SUMMARIES_DIR),
        str(job / EXPORT_DIR),
    )
    return Story(model, attempts, job, inspected)


def stop(attempt: Path) -> Ended:
    process = start(attempt)
    wait_for_step(process, attempt, 3)
    process.send_signal(signal.SIGTERM)
    return finish(process, attempt)


of_two_attempts = pytest.mark.parametrize("story", STOPPED, indirect=True)


@dataclass(frozen=True)
class Annotated:
    """mAP by kind, of the trainer and of an independent evaluation, with truths close to the model's detections."""

    reported: dict[str, float]
    independent: dict[str, float]
    of_the_sources: dict[str, float]  # independent, on the images of the training's own evaluation


@pytest.fixture(scope="module")
def annotated(
    story: Story, tensorflow_ready: None, dataset: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> Annotated:
    """Evaluate the exported weights with the trainer's evaluation, with masks filled; no further training."""
    import tensorflow as tf

    from tests.support.training.independent_map import Exported, annotate, mean_precisions, shift_masks
    from worker.trainer import device, model
    from worker.trainer.evaluation.evaluate import Evaluation

    folder = tmp_path_factory.mktemp("annotated")
    exported = Exported(story.job_dir / EXPORT_DIR)
    of_the_sources = mean_precisions(exported, dataset.validation_files, CLASSES)
    random = np.random.default_rng(7)
    images = [draw_scene(random, *size).image for size in ((140, 233), (310, 170), (120, 333), (260, 210))]
    shift = exported.mask_shift(images[0]) if story.masks else 0.0
    if story.masks:
        shift_masks(exported.weights, shift)
    most_boxes = annotate(folder / "validation.tfrecord", exported, images, CLASSES)
    found = replace(dataset, validation_files=(folder / "validation.tfrecord",), most_boxes=most_boxes)
    config = with_dataset(pipeline_config.parse((story.completed.attempt_dir / CONFIG_FILE).read_text()), found)
    trained = model.build(config, is_training=True)
    memory = device.Memory(Device(), "CPU:0", tf.config)
    evaluation = Evaluation(config, trained, samples=4, reporter=Reporter(folder), memory=memory)
    evaluation._detect.get_concrete_function()  # creates the variables
    weights = tf.train.Checkpoint(model=trained).restore(str(story.job_dir / EXPORT_DIR / "checkpoint" / "ckpt-0"))
    weights.expect_partial().assert_existing_objects_matched()
    if story.masks:
        shift_masks(trained.variables, shift)
    independent = mean_precisions(exported, found.validation_files, CLASSES)
    return Annotated(evaluation.run(STEPS), independent, of_the_sources)


@of_two_attempts
def test_sigterm_finishes_the_step_saves_it_and_ends_as_stopped(story: Story) -> None:
    outcome = story.stopped.outcome

    assert story.stopped.exit_code == EXIT_CODES[Reason.STOPPED]
    assert outcome.reason is Reason.STOPPED
    assert 3 <= outcome.step < STEPS
    assert outcome.saved_step == outcome.step
    assert (story.job_dir / CHECKPOINTS_DIR / story.model / f"ckpt-{outcome.step}.index").exists()


@of_two_attempts
def test_the_next_attempt_resumes_at_the_exact_step(story: Story) -> None:
    assert story.completed.exit_code == 0, story.completed.outcome.message
    assert story.completed.outcome.reason is Reason.COMPLETED
    start_of_training = next(e for e in story.completed.of_kind("phase") if e["phase"] == "training")
    assert start_of_training["resumed"] is True
    assert start_of_training["step"] == story.stopped.outcome.step
    assert [event["step"] for event in story.steps] == list(range(1, STEPS + 1))


def test_the_learning_rate_schedule_is_resumed(story: Story) -> None:
    for event in story.steps:
        step = event["step"]
        if step > WARMUP_STEPS:  # the OD API's cosine decay, from the end of the warm-up to the last step
            expected = 0.5 * PEAK_RATE * (1 + math.cos(math.pi * (step - WARMUP_STEPS) / (STEPS - WARMUP_STEPS)))
            assert event["learning_rate"] == pytest.approx(expected, abs=1e-7)


def test_the_optimizer_is_resumed(story: Story) -> None:
    assert story.inspected["counters"] == {"step": STEPS, "optimizer/iter": STEPS}
    assert story.inspected["moving"] > 50


def test_steps_report_losses_speed_and_memory(story: Story) -> None:
    event = story.completed.of_kind("step")[-1]

    assert all(math.isfinite(loss) for loss in event["losses"].values())
    parts = sum(value for name, value in event["losses"].items() if name != "Loss/total_loss")
    assert event["losses"]["Loss/total_loss"] == pytest.approx(parts, rel=1e-3)
    assert event["images_per_s"] > 0
    assert 0 <= event["input_wait"] < 1
    limit = 6000 * 2**20
    assert event["device"]["limit"] == limit
    assert 0 < event["device"]["current"] < event["device"]["peak"] < limit
    assert 0 < event["host"]["current"] <= event["host"]["peak"]


def test_the_graph_predicts_the_memory_of_the_step(story: Story) -> None:
    outcome = story.attempts[0].outcome
    assert outcome.walked_bytes == pytest.approx(outcome.allocator.peak, rel=0.15)


def test_phases_come_in_order(story: Story) -> None:
    phases = [e["phase"] for e in story.completed.of_kind("phase")]

    assert phases[:5] == ["checking", "importing", "building", "tracing", "training"]
    assert phases[-4:] == ["saving", "training", "evaluating", "exporting"]


def test_evaluation_gives_coco_metrics_for_each_category(story: Story) -> None:
    metrics = story.completed.outcome.metrics
    kinds = ("DetectionBoxes", "DetectionMasks") if story.masks else ("DetectionBoxes",)

    for kind in kinds:
        assert 0 <= metrics[f"{kind}_Precision/mAP"] <= metrics[f"{kind}_Precision/mAP@.50IOU"] <= 1
        per_category = [
            metrics[f"{kind}_PerformanceByCategory/mAP/{name}"] for name in ("circle", "square", "triangle")
        ]
        assert sum(per_category) / 3 == pytest.approx(metrics[f"{kind}_Precision/mAP"], abs=1e-4)
    assert ("DetectionMasks_Precision/mAP" in metrics) == story.masks


def test_evaluation_does_not_hold_the_training_steps_memory(story: Story) -> None:
    between_steps, trained_peak = (story.completed.of_kind("step")[-1]["device"][name] for name in ("current", "peak"))
    evaluation = story.completed.of_kind("eval")[-1]
    activations = trained_peak - between_steps

    assert evaluation["images"] == 6
    assert evaluation["device_held"] - between_steps < 0.1 * activations
    assert evaluation["device_peak"] > evaluation["device_held"]


def test_an_evaluation_counts_the_boxes_of_the_dataset(story: Story, dataset: Dataset) -> None:
    boxes = BoxCounts.from_values(story.completed.of_kind("eval")[-1]["boxes"])
    assert boxes is not None
    validation = read_manifest(dataset.folder)["validation"]
    assert boxes.truths == boxes.anchored == validation["objects"]
    counts = {boxes.names[number]: count for number, count in boxes.true_classes}
    assert counts == {name: count for name, count in validation["objects_per_class"].items() if count}
    assert boxes.smallest_anchor == (32.0 if story.model.startswith("efficientdet") else 16.0)
    assert 0 < boxes.median_side < 256


def test_samples_show_truth_beside_prediction(story: Story) -> None:
    events = story.completed.of_kind("image")

    assert [event["sample"] for event in events] == [0, 1]
    for event, (width, height) in zip(events, [(300, 168), (168, 300)], strict=True):
        with Image.open(story.completed.attempt_dir / event["file"]) as picture:
            assert picture.size == (2 * width + 8, height)


def test_the_log_has_each_step_and_no_deprecation(story: Story) -> None:
    log = story.completed.log

    for event in story.completed.of_kind("step"):
        assert f" step {event['step']}/{STEPS}: loss {event['losses']['Loss/total_loss']:.4f}, learning rate " in log
    assert f" step {STEPS}: evaluated 6 images in " in log
    assert "is deprecated" not in log
    assert "Average Precision" not in log  # pycocotools' table, which it would print for each category


def test_an_independent_evaluation_agrees(story: Story, annotated: Annotated) -> None:
    names = {"bbox": "DetectionBoxes_Precision/mAP", "segm": "DetectionMasks_Precision/mAP"}

    assert list(annotated.independent) == (["bbox", "segm"] if story.masks else ["bbox"])
    for kind, independent in annotated.independent.items():
        assert 0.1 < independent < 0.95
        assert annotated.reported[names[kind]] == pytest.approx(independent, abs=0.005)
    for kind, independent in annotated.of_the_sources.items():
        assert story.completed.outcome.metrics[names[kind]] == pytest.approx(independent, abs=0.005)


def test_the_service_reads_the_index_of_a_checkpoint_as_tensorflow_does(story: Story, tensorflow_ready: None) -> None:
    import tensorflow as tf

    path = story.job_dir / EXPORT_DIR / "checkpoint" / "ckpt-0"
    told = {name.removesuffix(VARIABLE): tuple(shape) for name, shape in tf.train.list_variables(str(path))}
    del told["_CHECKPOINTABLE_OBJECT_GRAPH"]
    shapes = index.read_shapes(path.with_name("ckpt-0.index"))

    assert shapes == told
    assert fit.misfit(shapes, catalogue.get(story.model)) is None
    assert "it is a checkpoint of" in str(fit.misfit(shapes, catalogue.get("efficientdet_d1")))


def test_the_export_is_self_contained(story: Story, dataset: Dataset) -> None:
    folder = story.job_dir / EXPORT_DIR

    assert (folder / "label_map.pbtxt").read_bytes() == dataset.label_map.read_bytes()
    assert pipeline_config.parse((folder / CONFIG_FILE).read_text()).eval_input_reader[0].label_map_path == (
        "label_map.pbtxt"
    )
    for file in (path for path in folder.rglob("*") if path.is_file()):
        for outside in (story.job_dir.parent, dataset.folder):
            assert str(outside).encode() not in file.read_bytes(), file


def test_tensorboard_shows_every_attempt(story: Story) -> None:
    assert story.inspected["summaries"]["Loss/total_loss"] == list(range(1, STEPS + 1))
    assert "learning_rate" in story.inspected["summaries"]


def test_a_plain_tensorflow_process_can_call_the_exported_model(story: Story) -> None:
    shapes = story.inspected["shapes"]

    assert story.completed.outcome.export == EXPORT_DIR
    assert shapes["detection_boxes"] == [1, 100, 4]
    assert ("detection_masks" in shapes) == story.masks
    assert story.inspected["same"] is True
    assert story.inspected["finite"] is True
