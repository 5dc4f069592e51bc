"""Make the Object Detection API importable on current TensorFlow.

The OD API (2.8.0.post1) was written for TensorFlow 2.8 and is no longer maintained. It runs here unmodified: each shim
below restores one name that a later release of a library removed, and says which release. `install()` imports
TensorFlow, so set the environment variables that TensorFlow reads at import before calling it.
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from services.domain.pipeline_config.schema import messages


@functools.cache
def install() -> None:
    """Make `import object_detection.…` work in this process. Idempotent; call before that first import."""
    # TF 2.16 made Keras 3 the default; the OD API is written for Keras 2 (the package tf-keras). Read at import.
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    # Some virtual machines report AMX and AVX512-FP16 but trap on them: oneDNN's kernels for bfloat16 and float16 ended
    # with an illegal instruction.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    _keras_is_tf_keras()
    _control_flow_names()
    _estimator_names()
    _tensorflow_io_stand_in()
    _numpy_aliases()
    _pillow_getsize()
    messages.install()  # protobuf 4 refuses the *_pb2 files as generated
    _no_deprecation_notices()


class _TfKerasAlias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import `keras` and its submodules from the modules of the same name in `tf_keras`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "keras" or name.startswith("keras."):
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return importlib.import_module("tf_" + spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module was executed under its own name."""


def _keras_is_tf_keras() -> None:
    # The OD API's ResNet relies on internals of `keras.applications.resnet` that Keras 3 changed.
    sys.meta_path.insert(0, _TfKerasAlias())


def _control_flow_names() -> None:
    # TF 2.11 moved these out of control_flow_ops; tf-slim 1.1.0 still looks there.
    from tensorflow.python.ops import cond, control_flow_case, control_flow_ops, while_loop

    control_flow_ops.case = control_flow_case.case
    control_flow_ops.cond = cond.cond
    control_flow_ops.while_loop = while_loop.while_loop


def _estimator_names() -> None:
    # TF 2.16 removed tf.estimator. The OD API refers to these at import; its TF2 code uses only the values of ModeKeys.
    import tensorflow.compat.v1 as tf1

    modes = types.SimpleNamespace(TRAIN="train", EVAL="eval", PREDICT="infer")
    tpu = types.SimpleNamespace(TPUEstimatorSpec=object, TPUEstimator=object, TPUConfig=object, RunConfig=object)
    tf1.estimator = types.SimpleNamespace(
        ModeKeys=modes, tpu=tpu, EstimatorSpec=object, Estimator=object, RunConfig=object
    )


def _tensorflow_io_stand_in() -> None:
    # Only DeepMAC imports it, which is not one of our families. Its wheels end at TF 2.16.
    sys.modules.setdefault("tensorflow_io", types.ModuleType("tensorflow_io"))


def _numpy_aliases() -> None:
    # numpy 1.24 removed the aliases; the COCO metrics use them.
    import numpy as np

    # numpy 2 removed NAN; the Pascal VOC and Open Images metrics return it.
    for name, value in {"bool": bool, "object": object, "float": float, "int": int, "NAN": np.nan}.items():
        if name not in np.__dict__:
            setattr(np, name, value)


def _pillow_getsize() -> None:
    # Pillow 10 removed it; the OD API calls it to draw detections.
    from PIL import ImageFont

    def getsize(font: ImageFont.FreeTypeFont | ImageFont.ImageFont, text: str) -> tuple[float, float]:
        _, _, right, bottom = font.getbbox(text)
        return right, bottom  # measured from the drawing origin, not from the first inked pixel

    kinds: tuple[Any, ...] = (ImageFont.FreeTypeFont, ImageFont.ImageFont)
    for kind in kinds:
        if not hasattr(kind, "getsize"):
            kind.getsize = getsize


def _no_deprecation_notices() -> None:
    # TensorFlow logs three lines for each deprecated name that the OD API calls; nobody here can act on them. lvis adds
    # a handler to the root logger, so without propagate=False each remaining warning would be logged twice.
    import tensorflow as tf
    from tensorflow.python.util import deprecation

    deprecation._PRINT_DEPRECATION_WARNINGS = False
    tf.get_logger().propagate = False
    warnings.filterwarnings("ignore", message=".*set_learning_phase. is deprecated")
