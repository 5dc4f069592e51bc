"""Export to what the OD API's exporter writes: saved_model/, checkpoint/, pipeline.config, and the label map.

Plain TensorFlow loads the model. The folder stands by itself: its pipeline.config names no path outside of it.

The inference function is the OD API's (`exporter_lib_v2`). Saving is ours: its exporter saves the Keras layers too,
each traced several times over, for most of the minutes it takes; nothing that loads a detector looks at them.
"""

import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf
from object_detection import exporter_lib_v2
from object_detection.utils import config_util

from services.domain.pipeline_config.paths import without_paths
from worker.trainer import model as models
from worker.trainer.report import sync

LABEL_MAP_FILE = "label_map.pbtxt"
IMAGE = tf.TensorSpec([1, None, None, 3], tf.uint8, name="input_tensor")


def export(config: Any, trained: Any, folder: Path) -> None:
    """Write `folder` whole, in place of an earlier export, with the weights that `trained` has now.

    The model is built anew, in float32 whatever precision it was trained in.
    """
    building = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(building, ignore_errors=True)
    weights = tf.train.CheckpointManager(
        tf.train.Checkpoint(model=trained), str(building / "checkpoint"), max_to_keep=1
    ).save(checkpoint_number=0)
    model = models.build(config, is_training=False)
    models.set_training(model, False)
    module = _inference_module(model)
    tf.train.Checkpoint(model=model).restore(weights).expect_partial().assert_existing_objects_matched()
    tf.saved_model.save(module, str(building / "saved_model"), signatures=module.__call__.get_concrete_function())
    _describe(config, building)
    _put_in_place(building, folder)


def _put_in_place(building: Path, folder: Path) -> None:
    """Survives a power cut: the outcome that tells of the export does too."""
    for written in (*building.rglob("*"), building):
        sync(written)
    shutil.rmtree(folder, ignore_errors=True)
    building.rename(folder)
    sync(folder.parent)


def _describe(config: Any, folder: Path) -> None:
    """The config and the label map that it names. Data and first weights are not in the folder, so it names none."""
    described, _ = without_paths(config)
    readers = [config.train_input_reader, *config.eval_input_reader]
    label_map = next((reader.label_map_path for reader in readers if reader.label_map_path), None)
    if label_map:
        shutil.copyfile(label_map, folder / LABEL_MAP_FILE)
        for reader in (described.train_input_reader, *described.eval_input_reader):
            reader.label_map_path = LABEL_MAP_FILE
    config_util.save_pipeline_config(described, str(folder))


def _inference_module(model: Any) -> tf.Module:
    """Callable as the OD API's exports are, `detections = loaded(images)`, and by its `serving_default` signature."""
    inference = exporter_lib_v2.DetectionInferenceModule(model)

    def detect(input_tensor: tf.Tensor) -> dict[str, tf.Tensor]:
        images, true_shapes = inference._preprocess_input(input_tensor, lambda image: image)
        detections: dict[str, tf.Tensor] = inference._run_inference_on_images(images, true_shapes)
        return detections

    module = tf.Module()
    module.__call__ = tf.function(detect, input_signature=[IMAGE], autograph=False)
    module.__call__.get_concrete_function()  # brings the model's variables into being
    module.weights = list(model.variables)
    return module
