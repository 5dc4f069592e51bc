"""A request is checked as a whole: every fault names its field, and paths of the user are removed."""

import math
from pathlib import Path
from typing import Any

import pytest

from services.datasets import library
from services.domain import catalogue, pipeline_config
from services.errors import Invalid
from services.jobs.check_request import CheckedRequest, check_request
from services.settings import Settings
from tests.support.training.checkpoint_index import shapes_of, write_index

USUAL: dict[str, Any] = {
    "dataset": "shapes",
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 10, "batch_size": 8},
}


@pytest.fixture
def settings(desk_home: Path) -> Settings:
    return Settings(home=desk_home)


def checked(settings: Settings, **changes: Any) -> CheckedRequest:
    return check_request(settings, {**USUAL, **changes})


def own(model: str = "efficientdet_d0", **changes: Any) -> str:
    """A configuration as a user sends it, written for their own dataset."""
    values = {"num_classes": 90, "image_size": None, "batch_size": 16, "steps": 1000, "learning_rate": 0.08, **changes}
    return pipeline_config.to_text(pipeline_config.build_config(catalogue.get(model), **values))


def test_a_request_becomes_a_plan_and_a_configuration(settings: Settings) -> None:
    found = checked(settings, device={"min_memory_mb": 5})
    asked = found.asked
    assert (asked.model, asked.batch_size, asked.micro_batch, asked.steps) == ("efficientdet_d0", 8, 8, 10)
    assert asked.image_size == (256, 256)
    assert found.min_memory_bytes == 5 * 2**20
    assert pipeline_config.plan_of(pipeline_config.parse(found.base_config)) == asked


def test_missing_settings_take_the_models_defaults(settings: Settings) -> None:
    asked = check_request(settings, {"dataset": "shapes", "model": "faster_rcnn_resnet50_fpn"}).asked
    model = catalogue.get("faster_rcnn_resnet50_fpn")
    assert (asked.batch_size, asked.image_size) == (model.batch_size, model.image_size)


def test_without_steps_the_length_depends_on_the_dataset(settings: Settings) -> None:
    images = library.find(settings.datasets_dir, "shapes").records
    model = catalogue.get("efficientdet_d0")
    for batch in (None, 4):
        train = {"batch_size": batch} if batch else {}
        asked = check_request(settings, {"dataset": "shapes", "model": model.name, "train": train}).asked
        assert asked.steps == model.steps_for(asked.batch_size, images) < model.steps_for(asked.batch_size)


def test_epochs_become_steps_of_the_batch_size_in_use(settings: Settings) -> None:
    images = library.find(settings.datasets_dir, "shapes").records
    assert checked(settings, train={"epochs": 3, "batch_size": 2}).asked.steps == math.ceil(3 * images / 2)
    usual = catalogue.get("efficientdet_d0").batch_size
    assert checked(settings, train={"epochs": 40}).asked.steps == math.ceil(40 * images / usual)
    assert checked(settings, train={"epochs": 0.001}).asked.steps == 1
    of_config = {"model": None, "image_size": None, "pipeline_config": own()}
    assert checked(settings, **of_config, train={"epochs": 40}).asked.steps == math.ceil(40 * images / 16)
    both = checked(settings, **of_config, train={"epochs": 40, "batch_size": 4})
    assert both.asked.steps == math.ceil(40 * images / 4)
    with pytest.raises(Invalid, match=r"train\.epochs: 20,000,000 epochs of shapes are .* steps at a batch size of 1"):
        checked(settings, train={"epochs": 20_000_000, "batch_size": 1})


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"dataset": "shape"}, {"dataset"}),
        ({"dataset": "../shapes"}, {"dataset"}),
        ({"model": "resnet"}, {"model"}),
        ({"model": None}, {"model"}),
        ({"image_size": [100, 100]}, {"image_size"}),
        ({"image_size": [16384, 16384]}, {"image_size"}),
        ({"train": {"steps": 10**8}}, {"train.steps"}),
        ({"checkpoint": "none such"}, {"checkpoint"}),
        ({"checkpoint": "../shapes"}, {"checkpoint"}),
        ({"checkpoint": "a\0b"}, {"checkpoint"}),
        ({"checkpoint": "a" * 4000}, {"checkpoint"}),
        ({"policy": {"levers": ["magic"]}}, {"policy.levers"}),
        ({"policy": {"no_such": 1}}, {"policy.no_such"}),
        ({"policy": {"max_attempts": 0}}, {"policy.max_attempts"}),
        ({"policy": {"min_backbone": "vgg"}}, {"policy.min_backbone"}),
        ({"policy": {"min_backbone": "resnet50"}}, {"policy.min_backbone"}),
        ({"policy": {"min_batch_size": 9}}, {"policy.min_batch_size"}),
        ({"policy": {"min_batch_size": 9, "min_image_size": 512}}, {"policy.min_batch_size", "policy.min_image_size"}),
        ({"dataset": "none", "policy": {"levers": ["magic"]}, "checkpoint": "none", "model": None},
         {"dataset", "policy.levers", "checkpoint", "model"}),
        ({"pipeline_config": "nonsense {"}, {"pipeline_config"}),
        ({"pipeline_config": "model { ssd { } }"}, {"pipeline_config"}),
        ({"model": "efficientdet_d1", "pipeline_config": own()}, {"model"}),
        ({"model": None, "pipeline_config": own(), "train": {"steps": 10**8}}, {"train.steps"}),
        ({"model": None, "pipeline_config": own(), "image_size": [100, 100]}, {"image_size"}),
    ],
    ids=str,
)  # fmt: skip
def test_every_fault_is_named_with_its_field(settings: Settings, changes: dict[str, Any], fields: set[str]) -> None:
    with pytest.raises(Invalid) as refused:
        checked(settings, **changes)
    assert {fault.field for fault in refused.value.faults} == fields
    assert all(fault.message for fault in refused.value.faults)


def test_an_unreadable_configuration_is_refused_with_line_and_column(settings: Settings) -> None:
    with pytest.raises(Invalid, match="line 2, column 3"):
        checked(settings, model=None, pipeline_config="model {\n  nonsense: 1\n}")


PATHS = {
    "train_config {": 'train_config {\n  fine_tune_checkpoint: "/etc/passwd"\n  fine_tune_checkpoint_type: "detection"',
    "train_input_reader {": 'train_input_reader {\n  label_map_path: "/etc/shadow"',
}


@pytest.mark.parametrize("model", ["efficientdet_d0", "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn"])
def test_paths_in_a_users_configuration_are_removed(settings: Settings, model: str) -> None:
    text = own(model, learning_rate=0.001)
    for place, path in PATHS.items():
        assert place in text
        text = text.replace(place, path, 1)
    request = {"model": None, "pipeline_config": text, "train": None, "image_size": None}
    found = checked(settings, **request, checkpoint=None)
    assert found.asked.model == model
    assert "/etc" not in found.base_config
    assert str(settings.home) not in found.base_config
    assert "fine_tune_checkpoint:" not in found.base_config


def test_a_mask_rcnn_configuration_reads_masks_and_the_datasets_classes(settings: Settings) -> None:
    text = own("mask_rcnn_resnet50_fpn", learning_rate=0.001)
    found = checked(settings, model=None, pipeline_config=text, train=None, image_size=None)
    config = pipeline_config.parse(found.base_config)
    assert config.model.faster_rcnn.number_of_stages == 3
    assert config.model.faster_rcnn.num_classes < 90
    assert config.train_input_reader.load_instance_masks


def test_a_batch_size_other_than_the_configurations_keeps_the_images_seen(settings: Settings) -> None:
    request = {"model": None, "pipeline_config": own(), "image_size": None}
    as_sent = checked(settings, **request, train=None).asked
    smaller = checked(settings, **request, train={"batch_size": 4})
    assert (as_sent.batch_size, as_sent.steps, as_sent.learning_rate) == (16, 1000, pytest.approx(0.08))
    assert (smaller.asked.steps, smaller.asked.learning_rate) == (4000, pytest.approx(0.02))
    assert smaller.asked.micro_batch == 4
    again = pipeline_config.plan_of(pipeline_config.parse(smaller.base_config))
    assert (again.batch_size, again.steps) == (4, 4000)
    assert again.learning_rate == pytest.approx(0.02)


def test_settings_of_the_request_override_the_configuration(settings: Settings) -> None:
    request = {"model": None, "pipeline_config": own(), "image_size": [256, 256]}
    asked = checked(settings, **request, train={"batch_size": 4, "steps": 7, "learning_rate": 0.5}).asked
    assert (asked.batch_size, asked.steps, asked.learning_rate, asked.image_size) == (4, 7, 0.5, (256, 256))


def test_a_checkpoint_must_exist_and_fit_the_model(settings: Settings, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_index(home / "checkpoints" / "coco" / "ckpt-1.index", shapes_of(catalogue.get("efficientdet_d0")))
    (home / "datasets").symlink_to(settings.datasets_dir)
    there = Settings(home=home)
    assert checked(there, checkpoint="coco").request["checkpoint"] == "coco"

    with pytest.raises(Invalid, match=r"'coco' does not fit efficientdet_d1: it is .* of efficientdet_d0") as one:
        checked(there, checkpoint="coco", model="efficientdet_d1")
    assert [fault.field for fault in one.value.faults] == ["checkpoint"]
    of_config = {"model": None, "image_size": None, "pipeline_config": own("faster_rcnn_resnet50")}
    with pytest.raises(Invalid, match="does not fit faster_rcnn_resnet50"):
        checked(there, checkpoint="coco", **of_config)
    # A network that is not in the catalogue is checked by the trainer only.
    wider = own("efficientdet_d1").replace("num_filters: 88", "num_filters: 96")
    assert checked(there, checkpoint="coco", **{**of_config, "pipeline_config": wider})
    (home / "checkpoints" / "coco" / "ckpt-1.index").write_bytes(b"no index at all")
    with pytest.raises(Invalid, match="its index cannot be read"):
        checked(there, checkpoint="coco")
    with pytest.raises(Invalid, match=r"no checkpoint called 'cocoa'; did you mean coco\?"):
        checked(there, checkpoint="cocoa")
    (home / "checkpoints" / "coco" / "ckpt-1.index").unlink()
    with pytest.raises(Invalid, match=r"'coco' has no \.index file"):
        checked(there, checkpoint="coco")


EARLY = {"steps": 100, "evaluations": 10, "early_stopping": {"patience": 3}}


@pytest.mark.parametrize(
    ("model", "train", "field", "message"),
    [
        ("efficientdet_d0", {"best_metric": "mask_mAP"}, "train.best_metric",
         "efficientdet_d0 predicts no masks: send one of mAP, mAP50, mAP75, AR100"),
        ("efficientdet_d0", {"best_metric": "loss"}, "train.best_metric",
         "there is no metric 'loss': send one of mAP, mAP50, mAP75, AR100"),
        ("efficientdet_d0", {"steps": 100, "early_stopping": {"patience": 3}}, "train.early_stopping.patience",
         "3 evaluations without a gain can only be seen with 4 before the end, and 100 steps have 0: "
         "send train.evaluations of at least 5, or a smaller patience"),
        ("efficientdet_d0", {**EARLY, "evaluations": 4}, "train.early_stopping.patience",
         "3 evaluations without a gain can only be seen with 4 before the end, and 100 steps have 3: "
         "send train.evaluations of at least 5, or a smaller patience"),
        ("efficientdet_d0", {**EARLY, "steps": 4}, "train.early_stopping.patience",
         "3 evaluations without a gain can only be seen with 4 before the end, and 4 steps have 3: "
         "train for more steps, or a smaller patience"),
    ],
)  # fmt: skip
def test_a_best_checkpoint_or_an_early_stop_that_cannot_be_is_refused(
    settings: Settings, model: str, train: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        checked(settings, model=model, train={"batch_size": 8, **train})
    assert [(fault.field, fault.message) for fault in refused.value.faults] == [(field, message)]


def test_a_best_checkpoint_and_an_early_stop_that_can_be_are_accepted(settings: Settings) -> None:
    assert checked(settings, train=EARLY).request["train"] == EARLY
    assert checked(settings, train={**EARLY, "evaluations": 5})
    assert checked(settings, model="mask_rcnn_resnet50_fpn", train={**EARLY, "best_metric": "mask_mAP"})
    assert checked(settings, train={**EARLY, "evaluations": None, "steps": 1200})  # six by default


def test_a_metric_that_an_own_configuration_does_not_compute_is_refused_where_it_is_needed(settings: Settings) -> None:
    text = own().replace("coco_detection_metrics", "pascal_voc_detection_metrics")
    request = {"model": None, "image_size": None, "pipeline_config": text}
    assert checked(settings, **request)
    for train in ({"best_metric": "mAP50"}, {"early_stopping": {"patience": 1}, "evaluations": 5}):
        with pytest.raises(Invalid, match=r"train\.best_metric: mAP.* add coco_detection_metrics to eval_config"):
            checked(settings, **request, train=train)
