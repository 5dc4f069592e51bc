"""Export the model as the OD API's exporter does: saved_model/, checkpoint/, pipeline.config, plus the label map.

Plain TensorFlow can load the model. The folder is self-contained: its pipeline.config names no path outside.

The inference function is the OD API's (`exporter_lib_v2`). Saving is ours: the OD API's exporter also saves the Keras
layers and traces each several times. That takes most of its minutes, and nothing that loads a detector uses them.
"""

import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf
from object_detection import exporter_lib_v2
from object_detection.utils import config_util

from services.domain.pipeline_config.paths import without_paths
from services.durable_file import sync
from worker.trainer import model as models

LABEL_MAP_FILE = "label_map.pbtxt"
IMAGE = tf.TensorSpec([1, None, None, 3], tf.uint8, name="input_tensor")


def export(config: Any, trained: Any, folder: Path) -> None:
    """Replace `folder` with an export of the current weights of `trained`.

    Builds the model again, in float32 whatever the training precision was.
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
    """Sync everything before the rename: the outcome names the export, so both must survive a power cut."""
    for written in (*building.rglob("*"), building):
        sync(written)
    shutil.rmtree(folder, ignore_errors=True)
    building.rename(folder)
    sync(folder.parent)


def _describe(config: Any, folder: Path) -> None:
    """Write the config and its label map. The config names neither data nor initial weights: the folder has none."""
    described, _ = without_paths(config)
    readers = [config.train_input_reader, *config.eval_input_reader]
    label_map = next((reader.label_map_path for reader in readers if reader.label_map_path), None)
    if label_map:
        shutil.copyfile(label_map, folder / LABEL_MAP_FILE)
        for reader in (described.train_input_reader, *described.eval_input_reader):
            reader.label_map_path = LABEL_MAP_FILE
    config_util.save_pipeline_config(described, str(folder))


def _inference_module(model: Any) -> tf.Module:
    """Callable like the OD API's exports: `detections = loaded(images)`, or by the `serving_default` signature."""
    inference = exporter_lib_v2.DetectionInferenceModule(model)

    def detect(input_tensor: tf.Tensor) -> dict[str, tf.Tensor]:
        images, true_shapes = inference._preprocess_input(input_tensor, lambda image: image)
        detections: dict[str, tf.Tensor] = inference._run_inference_on_images(images, true_shapes)
        return detections

    module = tf.Module()
    module.__call__ = tf.function(detect, input_signature=[IMAGE], autograph=False)
    module.__call__.get_concrete_function()  # creates the model's variables
    module.weights = list(model.variables)
    return module
