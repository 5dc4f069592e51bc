"""Write checkpoint_shapes.json of services/domain/checkpoints: the shapes of the variables that a backbone loads.

    python benchmarks/checkpoint_shapes.py              # all of them: about 10 minutes on one core
    python benchmarks/checkpoint_shapes.py resnet50     # print the shapes of one backbone, and write nothing

Run it again after a change of the Object Detection API's version or of the catalogue.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.domain import catalogue
from services.domain.catalogue import Family, Model
from services.domain.checkpoints.fit import network_name
from services.domain.pipeline_config import build_config

ROOT = Path(__file__).resolve().parent.parent
SIDE = 256


def networks() -> dict[str, Model]:
    """One model for each feature extractor; the heads of a detector are not loaded from a checkpoint."""
    found: dict[str, Model] = {}
    for model in catalogue.MODELS.values():
        if model.family is not Family.MASK_RCNN:
            found.setdefault(network_name(model), model)
    return found


def shapes_of(model: Model) -> dict[str, int]:
    """The number of variables of each shape that a `detection` checkpoint must fill."""
    import tensorflow as tf
    from object_detection.builders import model_builder

    config = build_config(model, 3, (SIDE, SIDE), 1, 10)
    network = model_builder.build(config.model, is_training=False)
    images, true_shapes = network.preprocess(tf.zeros((1, SIDE, SIDE, 3)))
    network.predict(images, true_shapes)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(**network.restore_from_objects("detection")).save(f"{folder}/ckpt")
        kept = [shape for name, shape in tf.train.list_variables(path) if name.startswith("model/")]
    tf.keras.backend.clear_session()
    return dict(sorted(Counter("x".join(map(str, shape)) for shape in kept).items()))


def main(names: Iterable[str]) -> None:
    from worker.trainer import compat

    compat.install()
    wanted = networks()
    chosen = {name: wanted[name] for name in names} or wanted
    found: dict[str, Any] = {}
    for name, model in chosen.items():
        found[name] = shapes_of(model)
        print(f"{name}: {sum(found[name].values())} variables of {len(found[name])} shapes", flush=True)
    if chosen is wanted:
        path = ROOT / "services/domain/checkpoints/checkpoint_shapes.json"
        path.write_text(json.dumps(found, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    else:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
