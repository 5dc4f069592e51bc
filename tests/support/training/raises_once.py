"""A trainer whose first attempt dies with TensorFlow's `No algorithm worked!`, as on a GPU that is full.

The first attempt is a real trainer process that raises TensorFlow's own exception (`raising_trainers`); later ones are
the fake trainer's.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDER = Path(sys.argv[1])
CASE = {
    "attempt_dir": str(FOLDER),
    "error": "NotFoundError",
    "text": "Graph execution error:\n\nDetected at node model/conv1/Conv2D defined at (most recent call last):\n"
    "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine 1#TC: RESOURCE_EXHAUSTED: Out of "
    "memory while trying to allocate 2147483648 bytes.\n\t [[{{node model/conv1/Conv2D}}]]",
    "log": "",
}

if FOLDER.name != "attempt-1":
    os.execv(sys.executable, [sys.executable, str(Path(__file__).with_name("fake_trainer.py")), str(FOLDER)])

sys.path.insert(0, str(ROOT))
from tests.support.training import raising_trainers  # noqa: E402

with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump([CASE], file)
    file.flush()
    sys.argv = ["raising_trainers", file.name]
    [status] = raising_trainers.main()
sys.exit(status)
