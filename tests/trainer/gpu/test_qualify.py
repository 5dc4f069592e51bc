"""The real check of a GPU, on a machine without one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services.domain.gpus.qualification import CheckEnd, judge
from worker.clean_environment import clean_environment

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.tensorflow
COMPUTE = """
import json, sys, tensorflow as tf
from worker.trainer.gpu.qualify import compute
class Broken:  # a card whose results are not numbers
    def __getattr__(self, name): return getattr(tf, name)
    nn = type("nn", (), {"conv2d": staticmethod(lambda *_: tf.fill([1], float("nan")))})
print(json.dumps([compute(tf, "float32", "/CPU:0"), compute(tf, "float16", "/CPU:0"), compute(tf, "bfloat16", "/CPU:0"),
      compute(Broken(), "float32", "/CPU:0"), compute(tf, "float32", "/GPU:5")]))
"""


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    # Without oneDNN, as on a CPU slot: its float16 kernels ended with SIGILL on a virtual machine.
    environment = clean_environment(os.environ, {"CUDA_VISIBLE_DEVICES": "GPU-aaaaaaaa", "TF_ENABLE_ONEDNN_OPTS": "0"})
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_on_a_host_with_the_cpu_packages_it_says_so(tmp_path: Path) -> None:
    done = run("-m", "worker.trainer.gpu.qualify", str(tmp_path / "found.json"))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    assert (found["gpus"], found["cudnn"], found["stage"]) == (0, None, "listing GPUs")
    assert found["architectures"]
    assert "the CPU packages are installed" in (judge(CheckEnd(found, done.stderr, 0, 1.0)).problem or "")


def test_the_computations_are_exact_in_each_precision_and_errors_are_told() -> None:
    done = run("-c", COMPUTE)
    assert done.returncode == 0, done.stderr
    *good, not_a_number, no_device = json.loads(done.stdout)
    assert good == ["ok"] * 3
    assert not_a_number == "a convolution is wrong by nan"
    assert "GPU:5" in no_device
