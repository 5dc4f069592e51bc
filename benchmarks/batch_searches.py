"""Search for a batch that fits as other tools do, each with our trainer's own parts.

    python benchmarks/batch_searches.py ATTEMPT_DIR halving|shrinking|doubling [--whole]     # prints one JSON object

The attempt directory contains the request (`worker.attempt_dir` makes one). All these tools retry in their process, so
neither the start of a process nor imports are counted. Composer and Lightning keep the model and its optimizer, and so
does their process here. Accelerate keeps nothing and builds everything again. TensorFlow does not free all memory of a
model, which would disturb the next try. So each of Accelerate's tries runs in its own process, and its time begins when
the model is built. A step is traced for each size, which a tool on PyTorch would not do. This is the cost of a try in
TensorFlow, and our own attempts have it too.

  halving    Composer's `device_train_microbatch_size="auto"`: the whole batch, then half as many images at once, with
             accumulated gradients. Ultralytics' retry goes through the same sizes. With `--whole`, the batch is halved.
  shrinking  Accelerate's `find_executable_batch_size`: a batch of nine tenths, rounded down.
  doubling   Lightning's `BatchSizeFinder(mode="binsearch")`: batches of 2, 4, 8 … of three steps each, and between the
             last that fitted and the first that did not, bisection. It ignores the requested batch.
"""

import argparse
import contextlib
import gc
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.domain.contract import SPEC_FILE, AttemptSpec, Reason
from worker.trainer import device, preflight
from worker.trainer.failures import read_exception

STEPS = (
    2  # then a size counts as fitting; the second step runs with the optimizer's slots and the next images in memory
)
LIGHTNING_STEPS = 3  # BatchSizeFinder's `steps_per_trial`
LIGHTNING_FIRST = 2  # its `init_val`


@dataclass(frozen=True)
class Try:
    """One size. `first_step_s`: until its first step ended or failed; `seconds`: the whole try."""

    batch: int
    micro_batch: int
    fits: bool
    first_step_s: float
    seconds: float
    peak: int


class Bench:
    """Tries sizes of one job, one after the other, on one device."""

    def __init__(self, config: Any, *, keeps_model: bool) -> None:
        self._config = config
        self._keeps_model = keeps_model
        self._step: Any = None
        self.tries: list[Try] = []
        if keeps_model:
            self._build()

    def fits(self, batch: int, micro_batch: int, steps: int = STEPS) -> bool:
        import tensorflow as tf

        self._forget()
        tf.config.experimental.reset_memory_stats("CPU:0")
        started = time.monotonic()
        try:
            self._begin(batch, micro_batch)
            self._train(1)
            first, fitted = time.monotonic() - started, True
            self._train(steps - 1)
        except Exception as error:
            if read_exception(error).reason is not Reason.DEVICE_MEMORY:
                raise
            first, fitted = time.monotonic() - started, False
        peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
        self.tries.append(Try(batch, micro_batch, fitted, first, time.monotonic() - started, peak))
        return fitted

    def _build(self) -> None:
        from worker.trainer import model
        from worker.trainer.step import TrainStep

        self._step = TrainStep(self._config, model.build(self._config, is_training=True), accumulation=1)

    def _forget(self) -> None:
        self._iterator = None
        if not self._keeps_model:
            self._step = None
        gc.collect()

    def _begin(self, batch: int, micro_batch: int) -> None:
        """Begins as `worker.trainer.loop` does: the input pipeline starts while the step is traced."""
        from worker.trainer.input import pipelines

        if self._step is None:
            self._build()
        self._step.accumulation = batch // micro_batch
        self._iterator = iter(pipelines.training(self._config, self._step.model, micro_batch))
        with ThreadPoolExecutor(1) as pool:
            warm_up = pool.submit(next, self._iterator)
            self._step.trace(self._iterator)
            warm_up.result()

    def _train(self, steps: int) -> None:
        for _ in range(steps):
            losses = self._step(self._iterator)
            float(losses[-1]["Loss/total_loss"])


def halving(config: Any, *, whole: bool = False) -> tuple[list[Try], Try]:
    bench = Bench(config, keeps_model=True)
    batch = micro_batch = int(config.train_config.batch_size)
    while not bench.fits(micro_batch if whole else batch, micro_batch):
        micro_batch = _smaller(micro_batch, micro_batch // 2)
    return bench.tries, bench.tries[-1]


def shrinking(attempt_dir: Path) -> tuple[list[Try], Try]:
    tries = [_alone(attempt_dir, preflight.read_config(attempt_dir).train_config.batch_size)]
    while not tries[-1].fits:
        batch = tries[-1].batch
        tries.append(_alone(attempt_dir, _smaller(batch, int(batch * 0.9))))
    return tries, tries[-1]


def _alone(attempt_dir: Path, batch: int) -> Try:
    command = [sys.executable, __file__, str(attempt_dir), "shrinking", "--once", str(batch)]
    return Try(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


def once(config: Any, batch: int) -> Try:
    bench = Bench(config, keeps_model=False)
    bench.fits(batch, batch)
    return bench.tries[-1]


def doubling(config: Any) -> tuple[list[Try], Try]:
    bench = Bench(config, keeps_model=True)
    low, high, batch = 1, None, LIGHTNING_FIRST
    while high is None or high - low > 1:
        if bench.fits(batch, batch, LIGHTNING_STEPS):
            low = batch
        else:
            high = batch
        batch = 2 * batch if high is None else (low + high) // 2
    found = [one for one in bench.tries if one.batch == low]
    if not found:  # even two did not fit: it continues with one, untried
        bench.fits(low, low)
    return bench.tries, bench.tries[-1] if not found else found[0]


def _smaller(size: int, smaller: int) -> int:
    if smaller == 0:
        raise SystemExit(f"a batch of {size} does not fit either")
    return smaller


SEARCHES = ("halving", "shrinking", "doubling")


def search(attempt_dir: Path, name: str, *, whole: bool) -> dict[str, Any]:
    """The tries, the one that training continues with, and the seconds that were lost before it.

    The last try is training already, so it costs no more than starting with it. Lightning discards its trials except
    for the traced step; setting up its input again is not counted.
    """
    if name == "shrinking":
        tries, final = shrinking(attempt_dir)
    else:
        config = ready(attempt_dir)
        tries, final = doubling(config) if name == "doubling" else halving(config, whole=whole)
    kept = final.first_step_s if name == "doubling" else final.seconds
    lost = sum(one.seconds for one in tries) - kept
    return {"tries": [asdict(one) for one in tries], "final": asdict(final), "lost_s": lost}


def ready(attempt_dir: Path) -> Any:
    """The config, with TensorFlow on the attempt's device."""
    spec = AttemptSpec.from_json((attempt_dir / SPEC_FILE).read_text())
    device.prepare_environment(spec.device)
    from worker.trainer import compat

    compat.install()
    import tensorflow as tf

    device.configure(spec.device, tf.config)
    return preflight.read_config(attempt_dir)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attempt_dir", type=Path)
    parser.add_argument("search", choices=SEARCHES)
    parser.add_argument("--whole", action="store_true", help="no accumulation")
    parser.add_argument("--once", type=int, help="try this batch, and nothing else")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        if options.once:
            found = asdict(once(ready(options.attempt_dir), options.once))
        else:
            found = search(options.attempt_dir, options.search, whole=options.whole)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
