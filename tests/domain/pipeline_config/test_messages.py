"""The OD API's messages on the fast runtime, in a process that never imports TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, sys
from google.protobuf.internal import api_implementation
from services.domain.pipeline_config.schema import messages
installed = messages.install()
from object_detection.protos import model_pb2, pipeline_pb2, string_int_label_map_pb2
config = pipeline_pb2.TrainEvalPipelineConfig()
config.model.faster_rcnn.num_classes = 3
copy = pipeline_pb2.TrainEvalPipelineConfig.FromString(config.SerializeToString())
print(json.dumps({
    "modules": len(installed),
    "runtime": api_implementation.Type(),
    "same": messages.message("pipeline_pb2", "TrainEvalPipelineConfig") is pipeline_pb2.TrainEvalPipelineConfig,
    "again": messages.install() is installed,
    "classes": copy.model.faster_rcnn.num_classes,
    "nested": isinstance(copy.model, model_pb2.DetectionModel),
    "default": pipeline_pb2.TrainEvalPipelineConfig().train_config.batch_size,
    "heavy": sorted({"tensorflow", "numpy", "tf_keras"} & set(sys.modules)),
}))
"""


def test_messages_are_there_without_tensorflow() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == {
        "modules": 34,
        "runtime": "upb",
        "same": True,
        "again": True,
        "classes": 3,
        "nested": True,
        "default": 32,  # the schema's own default, so the schema is the genuine one
        "heavy": [],
    }
