"""Every field of a user's own pipeline.config that differs when it runs is listed with a reason."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from services.datasets import library
from services.domain import catalogue, pipeline_config
from services.domain.pipeline_config import Config
from services.domain.plan.learning_rate import rescaled_to_batch
from services.errors import Invalid
from services.jobs import own_config_changes
from services.jobs.check_request import CheckedRequest, check_request
from services.jobs.own_config_changes import at_submit
from services.planning import attempt_config
from services.settings import Settings
from tests.support.training.checkpoint_index import shapes_of, write_index
from tests.support.training.zoo import MODELS, zoo_like


@pytest.fixture
def settings(desk_home: Path) -> Settings:
    return Settings(home=desk_home)


def sent_to(settings: Settings, config: Config, **request: Any) -> CheckedRequest:
    """Raises Invalid if the request is refused."""
    text = pipeline_config.to_text(config)
    return check_request(settings, {"dataset": "shapes", "pipeline_config": text, "checkpoint": None, **request})


def changes_to(settings: Settings, config: Config, **request: Any) -> dict[str, dict[str, Any]]:
    """The changes of the first attempt, by field."""
    return by_field(settings, sent_to(settings, config, **request))


def by_field(settings: Settings, checked: CheckedRequest) -> dict[str, dict[str, Any]]:
    return {change["field"]: change for change in at_submit(settings, checked, checked.asked, [])}


def as_run(settings: Settings, config: Config) -> Config:
    return composed(settings, sent_to(settings, config))


def composed(settings: Settings, checked: CheckedRequest) -> Config:
    base, dataset = pipeline_config.parse(checked.base_config), library.find(settings.datasets_dir, "shapes")
    return attempt_config.compose(base, checked.asked, dataset, host_memory_mb=4096, is_own=True)


@pytest.mark.parametrize("model", MODELS)
def test_changes_of_a_zoo_config_are_listed_with_their_reasons(settings: Settings, model: str) -> None:
    sent = zoo_like(model)
    found = changes_to(settings, sent)
    network = sent.model.WhichOneof("model")
    assert (found[f"model.{network}.num_classes"]["before"], found[f"model.{network}.num_classes"]["after"]) == (
        "90",
        "3",
    )
    checkpoint = found["train_config.fine_tune_checkpoint"]
    assert (checkpoint["group"], checkpoint["reason"]) == ("checkpoint", "training starts from random weights")
    assert found["train_input_reader.label_map_path"]["reason"] == "the dataset's own files"
    assert found["train_input_reader.label_map_path"]["after"] == '"label_map.pbtxt"'
    assert found["eval_config.export_path"]["group"] == "files"
    assert found["eval_input_reader[1].label_map_path"]["group"] == "dataset"
    assert found["eval_input_reader[0].shuffle"]["group"] == "evaluation"
    assert found["train_config.replicas_to_aggregate"]["group"] == "unused"
    assert found["eval_config.force_no_resize"]["group"] == "unused"
    listed = {field for field, change in found.items() if change["group"] != "unused"}
    assert listed == {change.field for change in pipeline_config.compare(sent, as_run(settings, sent))}


def test_nothing_else_of_a_zoo_config_is_changed(settings: Settings) -> None:
    for model in MODELS:
        run = as_run(settings, zoo_like(model))
        rate = run.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
        assert (run.train_config.num_steps, rate.warmup_steps, rate.total_steps) == (25_000, 2_500, 25_000)
        if not model.startswith("mask"):  # mask models pad to whole images
            assert run.train_config.max_number_of_boxes == run.train_input_reader.max_number_of_boxes == 100
            assert run.eval_input_reader[0].max_number_of_boxes == 100


def test_the_owners_number_of_boxes_is_kept_within_limits(settings: Settings) -> None:
    most = library.find(settings.datasets_dir, "shapes").most_boxes
    for wanted, run in ((1, 1), (most + 5, most + 5), (2**31 - 1, 1000)):
        sent = zoo_like("efficientdet_d0")
        sent.train_config.max_number_of_boxes = sent.train_input_reader.max_number_of_boxes = wanted
        config = as_run(settings, sent)
        assert config.train_config.max_number_of_boxes == config.train_input_reader.max_number_of_boxes == run
        assert config.eval_input_reader[0].max_number_of_boxes >= most  # with fewer, the metrics would leave some out
    masks = zoo_like("mask_rcnn_inception_resnet_v2")
    assert as_run(settings, masks).train_config.max_number_of_boxes == most
    assert "wastes memory" in changes_to(settings, masks)["train_config.max_number_of_boxes"]["reason"]


def test_a_keep_aspect_ratio_resizer_is_kept(settings: Settings) -> None:
    found = changes_to(settings, zoo_like("faster_rcnn_resnet50", keep_aspect_ratio=(800, 1333)))
    assert not [field for field in found if "image_resizer" in field]


def test_a_setting_of_the_request_is_named_as_the_reason(settings: Settings) -> None:
    train = {"steps": 5, "batch_size": 4, "learning_rate": 0.001}
    found = changes_to(settings, zoo_like("efficientdet_d0"), train=train, image_size=[256, 256])
    rate = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
    warm_up = found[f"{rate}.warmup_steps"]
    assert (warm_up["before"], warm_up["after"], warm_up["group"]) == ("2500", "0", "request")
    assert "train.steps of the request is 5" in warm_up["reason"]
    assert "train.batch_size" in found["train_config.batch_size"]["reason"]
    assert "train.learning_rate" in found[f"{rate}.learning_rate_base"]["reason"]
    assert "256x256" in found["model.ssd.image_resizer.keep_aspect_ratio_resizer.max_dimension"]["reason"]
    crop = [field for field in found if field.endswith("output_size")]
    assert crop
    assert all("256x256" in found[field]["reason"] for field in crop)


def test_a_decision_of_the_planner_is_named_with_its_lever(settings: Settings) -> None:
    text = pipeline_config.to_text(zoo_like("efficientdet_d0"))
    checked = check_request(settings, {"dataset": "shapes", "pipeline_config": text, "checkpoint": None})
    decided = {"lever": "micro_batch", "field": "micro_batch", "before": "16", "after": "2", "reason": "it must fit"}
    plan = rescaled_to_batch(checked.asked, 16, 2)
    (first, *_) = at_submit(settings, checked, plan, [decided])
    assert (first["field"], first["before"], first["after"]) == ("micro_batch", "16", "2")
    assert (first["group"], first["lever"], first["reason"]) == ("memory", "micro_batch", "it must fit")


def leaves(message: Any, path: str = "") -> Iterator[tuple[Any, FieldDescriptor, str]]:
    """Every field that can be set in a message and in its existing blocks."""
    for field in message.DESCRIPTOR.fields:
        where = f"{path}.{field.name}" if path else field.name
        if field.message_type is None:
            yield message, field, where
        elif field.is_repeated:
            for index, item in enumerate(getattr(message, field.name) if not _is_map(field) else []):
                yield from leaves(item, f"{where}[{index}]")
        elif message.HasField(field.name):
            yield from leaves(getattr(message, field.name), where)


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def other_values(field: FieldDescriptor, old: Any) -> list[Any]:
    if field.enum_type is not None:
        return [value.number for value in field.enum_type.values if value.number != old]
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return [not old]
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return ["/another", "coco_detection_metrics"]
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return [old * 0.5 + 0.125]
    return [old + 1, max(1, old // 2)]


def mutated(config: Config) -> Iterator[tuple[str, Config]]:
    """Copies that differ from the configuration in one field."""
    for number, (message, field, where) in enumerate(leaves(config)):
        old = field.default_value if field.is_repeated else getattr(message, field.name)
        for value in other_values(field, 0 if old == [] else old):
            copy = type(config)()
            copy.CopyFrom(config)
            target = next(target for at, (target, _, _) in enumerate(leaves(copy)) if at == number)
            if field.is_repeated:
                getattr(target, field.name).append(value)
            else:
                setattr(target, field.name, value)
            yield f"{where} = {value}", copy


@pytest.mark.lengthy
@pytest.mark.parametrize("model", ["efficientdet_d0", "mask_rcnn_inception_resnet_v2"])
def test_every_difference_of_any_field_has_a_reason(settings: Settings, model: str) -> None:
    accepted = 0
    for what, sent in mutated(zoo_like(model)):
        try:
            checked = sent_to(settings, sent)
        except Invalid:
            continue  # refused with a reason
        accepted += 1
        found = by_field(settings, checked)
        for field, change in found.items():
            assert change["reason"], f"{what}: {field}"
            assert change["group"] != "unexplained", f"{what}: {field} {change['before']} → {change['after']}"
        listed = {field for field, change in found.items() if change["group"] != "unused"}
        assert listed == {change.field for change in pipeline_config.compare(sent, composed(settings, checked))}, what
    assert accepted > 150


def test_long_lists_are_counted_instead_of_shown(settings: Settings) -> None:
    sent = zoo_like("efficientdet_d0")
    sent.train_input_reader.tf_record_input_reader.input_path[:] = [f"/data/{n}" for n in range(3_000)]
    found = changes_to(settings, sent)
    files = found["train_input_reader.tf_record_input_reader.input_path[*]"]
    assert (files["before"], files["reason"]) == ("3,000 values", "the dataset's own files")
    assert len(found) < 60


def test_a_config_whose_stored_text_is_too_long_is_refused(settings: Settings) -> None:
    text = pipeline_config.to_text(zoo_like("efficientdet_d0"))
    listed = text.replace("aspect_ratios: 1.0\n", f"aspect_ratios: [{'1,' * 9_000}1]\n", 1)
    with pytest.raises(Invalid, match=r"pipeline_config: .*(characters long|more than)"):
        check_request(settings, {"dataset": "shapes", "pipeline_config": listed, "checkpoint": None})


def test_a_config_with_unknown_weights_is_refused_unless_the_request_sets_checkpoint(settings: Settings) -> None:
    sent = {"dataset": "shapes", "pipeline_config": pipeline_config.to_text(zoo_like("efficientdet_d0"))}
    with pytest.raises(Invalid) as refused:
        check_request(settings, sent)
    (fault,) = refused.value.faults
    assert fault.field == "checkpoint"
    for words in ("PATH_TO_BE_CONFIGURED/ckpt-0", "POST /v1/checkpoints", "`checkpoint`", '"checkpoint": null'):
        assert words in fault.message
    assert check_request(settings, {**sent, "checkpoint": None}).asked.model == "efficientdet_d0"


def test_a_registered_checkpoint_replaces_the_one_in_the_config(settings: Settings) -> None:
    write_index(settings.checkpoints_dir / "mine" / "ckpt-0.index", shapes_of(catalogue.get("efficientdet_d0")))
    found = changes_to(settings, zoo_like("efficientdet_d0"), checkpoint="mine")
    assert found["train_config.fine_tune_checkpoint"]["reason"] == "the registered checkpoint mine"
    kind = found["train_config.fine_tune_checkpoint_type"]
    assert (kind["before"], kind["after"], kind["group"]) == ('"classification"', '"detection"', "checkpoint")


def test_a_summary_counts_changed_fields() -> None:
    change = {"group": "dataset"}
    assert own_config_changes.with_count("As asked.", [{"group": "unused"}]) == "As asked."
    assert "2 fields of your pipeline.config changed" in own_config_changes.with_count("As asked.", [change, change])
