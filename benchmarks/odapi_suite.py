"""Run the Object Detection API's own tests on the current TensorFlow with our compat module.

Runs the package's test modules unchanged, after `worker.trainer.compat.install()`. Prints the passed, failed and
skipped tests of each module, and the reason of each failure. KNOWN lists failures that do not concern training,
evaluation or export, with the reason. The exit status is 0 if `builders.model_builder_tf2_test` passes completely and
KNOWN explains all other failures.

    python benchmarks/odapi_suite.py                    # about 10 minutes on one core
    python benchmarks/odapi_suite.py --only 'builders.*'
    python benchmarks/odapi_suite.py --jobs 2 --json result.json

Not run, because they cannot pass here: `*_tf1_test` (they need TensorFlow 1), and the modules in LEFT_OUT.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import importlib
import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "object_detection"
MUST_PASS = "builders.model_builder_tf2_test"

# Pattern of module: why it is not run.
LEFT_OUT = {
    "*_tf1_test": "TensorFlow 1 only",
    "nets.*": "the slim networks of TensorFlow 1",
    "deployment.*": "the slim networks of TensorFlow 1",
    "builders.model_builder_test": "the abstract base of model_builder_tf2_test, which runs its tests",
    "dataset_tools.context_rcnn.*": "needs Apache Beam",
    **dict.fromkeys(
        ("*center_net*", "*deepmac*", "*context_rcnn*", "*rfcn*", "*mobilenet*", "*hourglass*", "*ssd_resnet*"),
        "other families of models (CenterNet, DeepMAC, Context R-CNN, R-FCN, SSD with MobileNet or ResNet)",
    ),
}

_NO_DATA = "the package on PyPI lacks the file that this test reads"
_CONVERTER = "a converter to TFRecords, which nothing here uses"

# Pattern of a test, with its full module: a part of its error, and why this does not concern training, evaluation or
# export. A test that fails with another error is not explained.
KNOWN = {
    "builders.dataset_builder_test.*sequence_example*": ("pet_label_map.pbtxt", _NO_DATA),
    "builders.decoder_builder_test.*sequence_example*": ("pet_label_map.pbtxt", _NO_DATA),
    "core.densepose_ops_test.*.test_horizontal_flip": ("UV_symmetry_transforms.mat", _NO_DATA),
    "core.target_assigner_test.CenterNetIOU*.test_exponent": ("within 7 places", "CenterNet; 0.6 against 0.59999996"),
    "dataset_tools.create_coco_tf_record_test.*_with_*": ("got a boolean", f"{_CONVERTER}; protobuf wants integers"),
    "dataset_tools.create_coco_tf_record_test.*": ("data type: (1, 1, 3), <f8", "the test gives Pillow floats"),
    "dataset_tools.create_kitti_tf_record_test.*": ("data type: (1, 1, 3), <f8", "the test gives Pillow floats"),
    "dataset_tools.create_pascal_tf_record_test.import": (
        "'data_dir' is defined twice",
        f"{_CONVERTER}; create_kitti_tf_record, imported before, has the same flags",
    ),
    "dataset_tools.seq_example_util_test.*": (
        "could not be broadcast",
        f"{_CONVERTER}; numpy 1.25 ended the comparison of an array with []",
    ),
    "metrics.oid_vrd_challenge_evaluation_utils_test.*": (
        "to a TensorFlow DType",
        "visual relations; the test compares by an assert helper of TensorFlow that has changed",
    ),
    "model_lib_tf2_test.*": ("samples/configs", f"{_NO_DATA}; trainer_vs_stock.py runs the train_loop that it tests"),
    "models.keras_models.inception_resnet_v2_tf2_test.*.test_variable_count": (
        "expected axis 3",
        "an image of 40x40 leaves the network with VALID padding, which detectors do not use, an empty feature map",
    ),
    "models.keras_models.resnet_v1_tf2_test.*": ("no attribute 'ResNet'", "ResNet-18 and -34, of CenterNet only"),
    "utils.ops_test.*.test_filter_groundtruth*": ("np.string_", "removed in numpy 2; only the test uses it"),
    "utils.visualization_utils_test.*_image_summary": (
        "tostring_rgb",
        "removed in Matplotlib 3.10; no model calls these summaries",
    ),
    "utils.visualization_utils_test.*.test_draw_bounding_boxes_on_image_tensors*": ("test_images", _NO_DATA),
}


@dataclass
class ModuleResult:
    module: str
    seconds: float = 0.0
    passed: int = 0
    skipped: list[str] = field(default_factory=list)  # the reason of each
    failures: dict[str, str] = field(default_factory=dict)  # test: why, in one line

    def unexplained(self) -> list[str]:
        return [test for test, why in self.failures.items() if explanation(test, why) is None]


def explanation(test: str, why: str) -> str | None:
    known = (reason for pattern, (says, reason) in KNOWN.items() if says in why and fnmatch.fnmatch(test, pattern))
    return next(known, None)


def no_longer_failing(results: list[ModuleResult]) -> list[str]:
    """Entries of KNOWN for modules that were run and whose tests now pass."""
    ran = [pattern for pattern in KNOWN if any(pattern.startswith(result.module + ".") for result in results)]
    failures = [test for result in results for test in result.failures]
    return [pattern for pattern in ran if not fnmatch.filter(failures, pattern)]


def main() -> int:
    options = _options()
    if options.worker:
        return work()
    modules, left_out = select(options.only)
    results = run_all(modules, jobs=options.jobs, timeout=options.timeout)
    print_table(results, left_out)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    return verdict(results)


def select(only: str) -> tuple[list[str], collections.Counter[str]]:
    """The test modules to run, and the number of left-out ones by reason. Imports nothing."""
    (folder,) = importlib.util.find_spec(PACKAGE).submodule_search_locations
    files = sorted(Path(folder).rglob("*_test.py"))
    names = [".".join(file.relative_to(folder).with_suffix("").parts) for file in files]
    chosen, left_out = [], collections.Counter[str]()
    for name in fnmatch.filter(names, only):
        why = next((why for pattern, why in LEFT_OUT.items() if fnmatch.fnmatch(name, pattern)), None)
        if why:
            left_out[why] += 1
        else:
            chosen.append(name)
    return chosen, left_out


def run_all(modules: list[str], *, jobs: int, timeout: float) -> list[ModuleResult]:
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for module in modules:
        waiting.put(module)
    results: list[ModuleResult] = []

    def run_some() -> None:
        with tempfile.TemporaryDirectory(prefix="odapi-") as scratch:
            worker = Worker(Path(scratch))
            with contextlib.suppress(queue.Empty):
                while True:
                    result = worker.run(waiting.get_nowait(), timeout)
                    results.append(result)
                    progress(result, len(results), len(modules))
            worker.close()

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(run_some) for _ in range(jobs)]:
            future.result()
    return sorted(results, key=lambda result: result.module)


class Worker:
    """A process that imports TensorFlow once and runs module after module. Restarted when it dies or hangs."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._process: subprocess.Popen[str] | None = None

    def run(self, module: str, timeout: float) -> ModuleResult:
        result, started = ModuleResult(module), time.monotonic()
        process = self._alive()
        stop = threading.Timer(timeout, process.kill)
        stop.start()
        running = f"{module}.import"
        try:
            print(module, file=process.stdin, flush=True)
            while (message := json.loads(process.stdout.readline() or "null")) != {"done": True}:
                if message is None:
                    status = process.wait()
                    late = time.monotonic() - started >= timeout
                    result.failures[running] = f"took over {timeout:.0f} s" if late else f"the process died ({status})"
                    break
                running = record(result, message)
        finally:
            stop.cancel()
        result.seconds = round(time.monotonic() - started, 1)
        return result

    def close(self) -> None:
        if self._process:
            self._process.communicate()  # it exits at the end of its input

    def _alive(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=self._scratch,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TMPDIR": str(self._scratch)},
            )
        return self._process


def record(result: ModuleResult, message: dict[str, str]) -> str:
    """Add one message of the worker to the result. Returns the test that runs now."""
    test = message["test"].removeprefix(PACKAGE + ".")
    match message["state"]:
        case "passed":
            result.passed += 1
        case "skipped":
            result.skipped.append(message["why"])
        case "failed":
            result.failures[test] = message["why"]
    return test


def work() -> int:
    """In the worker: run the modules named on standard input, and report each test on standard output."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the tests' own output goes to standard error
    sys.path.insert(0, str(ROOT))
    from worker.trainer import compat

    compat.install()
    from absl import flags
    from absl.testing import absltest  # noqa: F401  (defines the flags that tests read)

    flags.FLAGS([PACKAGE])
    for line in sys.stdin:
        run_module(line.strip(), Telling(answers))
        print(json.dumps({"done": True}), file=answers)
    return 0


def run_module(module: str, telling: "Telling") -> None:
    from tensorflow import keras

    try:
        tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"{PACKAGE}.{module}"))
    except (Exception, SystemExit) as error:
        telling.tell(f"{module}.import", "failed", why=one_line(error))
        return
    tests.run(telling)
    keras.backend.clear_session()  # otherwise it keeps every layer, gigabytes by the end


class Telling(unittest.TestResult):
    """Reports the start and end of each test at once, so that the last message of a dead process names its test."""

    def __init__(self, answers: IO[str]) -> None:
        super().__init__()
        self._answers = answers
        self._bad = False

    def startTest(self, test: Any) -> None:
        self._bad = False
        self.tell(test.id(), "started")

    def addSuccess(self, test: Any) -> None:
        if not self._bad:
            self.tell(test.id(), "passed")

    def addSkip(self, test: Any, reason: str) -> None:
        if reason != "Not a test.":  # tf.test.TestCase.test_session, which every class inherits
            self.tell(test.id(), "skipped", why=reason)

    def addError(self, test: Any, error: Any) -> None:
        self._fail(test, error)

    def addFailure(self, test: Any, error: Any) -> None:
        self._fail(test, error)

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:
        if error:
            self._fail(test, error)

    def _fail(self, test: Any, error: Any) -> None:
        self._bad = True
        self.tell(test.id(), "failed", why=one_line(error[1]))

    def tell(self, test: str, state: str, **more: str) -> None:
        print(json.dumps({"test": test, "state": state, **more}), file=self._answers)


def one_line(error: BaseException) -> str:
    """The error's first line, or that of the error that TensorFlow or unittest wrapped."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrapped = [line for line in lines[1:] if re.match(r"\w+(Error|Exception): ", line)]
    return (wrapped[-1] if wrapped else f"{type(error).__name__}: {' '.join(lines[:2])}")[:200]


def progress(result: ModuleResult, number: int, of: int) -> None:
    counts = f"{result.passed} passed, {len(result.failures)} failed, {len(result.skipped)} skipped"
    print(f"{number:3} of {of}  {result.seconds:6.1f} s  {result.module}: {counts}", file=sys.stderr, flush=True)


def print_table(results: list[ModuleResult], left_out: collections.Counter[str]) -> None:
    print(f"{'module':68} passed failed skipped seconds")
    for result in results:
        counts = f"{result.passed:6} {len(result.failures):6} {len(result.skipped):7} {result.seconds:7.1f}"
        print(f"{result.module:68} {counts}")
    for result in results:
        for test, why in result.failures.items():
            known = explanation(test, why)
            print(f"\n{'known ' if known else 'FAILED'} {test}\n       {why}" + (f"\n       {known}" if known else ""))
    for pattern in no_longer_failing(results):
        print(f"\nKNOWN lists {pattern}, which no longer fails")
    print("\nskipped by the tests themselves:")
    for reason, count in collections.Counter(reason for r in results for reason in r.skipped).most_common():
        print(f"{count:6} tests: {' '.join(reason.split())}")
    print("left out here:")
    for why, count in left_out.items():
        print(f"{count:6} modules: {why}")


def verdict(results: list[ModuleResult]) -> int:
    """The last line, and the exit status."""
    passed, skipped = sum(r.passed for r in results), sum(len(r.skipped) for r in results)
    failed, unexplained = sum(len(r.failures) for r in results), sum(len(r.unexplained()) for r in results)
    explained = "all explained" if not unexplained else f"{unexplained} unexplained"
    must_pass = next((result for result in results if result.module == MUST_PASS), None)
    wholly = must_pass is not None and must_pass.passed > 0 and not must_pass.failures
    if must_pass:
        print(f"{MUST_PASS}: {'passes wholly' if wholly else 'FAILS'}")
    print(f"{passed} passed, {failed} failed{f' ({explained})' if failed else ''}, {skipped} skipped")
    return 1 if unexplained or (must_pass and not wholly) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only modules like this, e.g. 'core.*'")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one module (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
