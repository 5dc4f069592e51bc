"""Images/s of the input pipeline alone, as the Object Detection API parallelises it and as a GPU is fed here.

    python -m benchmarks.input_feed                       # about 6 minutes on two cores
    python -m benchmarks.input_feed --seconds 2 --repeats 1

before  the Object Detection API decodes micro-batch × num_parallel_batches images at once, on as many threads
        as the machine has cores. A CPU slot is still fed like that.
after   a GPU's feed: as many images at once as the device has cores, on threads of their own, whatever the micro-batch.

Two tables. The first:
  alone             images/s with nobody computing, and in brackets images for each second of a core that this process
                    got. Where other work runs on the machine, compare the latter.
  the device waits  a simulated device takes a micro-batch and sleeps 20 ms: the share of the time that it waits, and
                    the share that the cores force, which is what is missing at the better rate of `alone`.
The second shows what a small machine cannot: each image sleeps 1 s in its decoder, as if it had a core for itself.
In brackets: how many images are decoded at once, so how many cores would be in use.

The images: `shapes`, small drawings, and photographs of 12 megapixels, landscape and portrait, made here as JPEG files.
Runs alternate (before, after, after, before), so that a change of the machine's speed favours neither.
"""

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset
from worker.devices.host_cores import usable_cores

MICRO_BATCHES = (1, 2, 8)
STEP_S = 0.02
DECODE_S = 1.0  # of the simulated cores; long, so that the work around it does not matter
SIMULATED_CORES = 16
PHOTOGRAPHS = 8  # they repeat
WAYS = ("before", "after")


@dataclass(frozen=True)
class Source:
    """A set of images, and the configuration that reads it."""

    name: str
    config: Any


@dataclass(frozen=True)
class Run:
    images_per_s: float
    cores: float  # used by this process
    waited: float  # the share of the time

    @property
    def per_core_s(self) -> float:
        return self.images_per_s / self.cores


def main() -> int:
    options = _options()
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1")
    from worker.trainer import compat

    compat.install()
    cores = usable_cores()
    with tempfile.TemporaryDirectory(prefix="input-feed-") as folder:
        sources = list(_sources(Path(folder)))
        bench = Bench(sources[0].config, cores, options)
        print(f"{cores} core(s), load {os.getloadavg()[0]:.1f}; {options.repeats} × {options.seconds:g} s each way")
        if not options.simulated:
            bench.feed(sources)
        bench.at_once(sources[0])
    return 0


def _sources(folder: Path) -> Iterator[Source]:
    drawings = shapes.generate(folder / "shapes", train=64, validation=4, size=(256, 256))
    yield Source("shapes 256 × 256", _config(drawings))
    for name, (width, height) in {"landscape": (4000, 3000), "portrait": (3000, 4000)}.items():
        config = _config(drawings)
        reader = config.train_input_reader
        reader.shuffle_buffer_size = PHOTOGRAPHS
        reader.tf_record_input_reader.input_path[:] = [str(_photographs(folder / name, width, height))]
        yield Source(f"{name} {width} × {height}", config)


def _config(dataset: Dataset) -> Any:
    return with_dataset(
        build_config(catalogue.get("efficientdet_d0"), dataset.num_classes, (512, 512), 8, 100), dataset
    )


def _photographs(path: Path, width: int, height: int) -> Path:
    """JPEG files with as much detail as a photograph: about 2.5 MB each."""
    import numpy as np
    import tensorflow as tf
    from PIL import Image

    def feature(*values: Any) -> Any:
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    random = np.random.default_rng(0)
    box = {"image/object/bbox/ymin": 0.2, "image/object/bbox/xmin": 0.2}
    box |= {"image/object/bbox/ymax": 0.7, "image/object/bbox/xmax": 0.6}
    with tf.io.TFRecordWriter(str(path)) as records:
        for number in range(PHOTOGRAPHS):
            coarse = random.integers(0, 255, (height // 16, width // 16, 3), np.uint8)
            file = io.BytesIO()
            Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
            features = {name: feature(value) for name, value in box.items()} | {
                "image/encoded": feature(file.getvalue()),
                "image/format": feature(b"jpeg"),
                "image/height": feature(height),
                "image/width": feature(width),
                "image/source_id": feature(str(number).encode()),
                "image/object/class/label": feature(1),
            }
            records.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    return path


class Bench:
    def __init__(self, config: Any, cores: int, options: argparse.Namespace) -> None:
        from worker.trainer import model

        self.cores = cores
        self.options = options
        self.model = model.build(config, is_training=True)

    def feed(self, sources: list[Source]) -> None:
        print(f"{'':24} {'':>11} | {'alone: images/s (images per second of a core)':^50} | {'the device waits':^24}")
        heads = ("before", "after", "after / before", "before", "after", "forced")
        print("{:24} {:>11} | {:>16} {:>16} {:>16} | {:>7} {:>7} {:>8}".format("images", "micro-batch", *heads))
        for source in sources:
            for size in MICRO_BATCHES:
                before, after = self._both(source, size, 0)
                waits = [run.waited for run in self._both(source, size, STEP_S)]
                forced = max(0.0, 1 - STEP_S * max(before.images_per_s, after.images_per_s) / size)
                alone = [f"{run.images_per_s:.1f} ({run.per_core_s:.1f})" for run in (before, after)]
                alone += [
                    f"{after.images_per_s / before.images_per_s:.2f} ({after.per_core_s / before.per_core_s:.2f})"
                ]
                shares = [f"{share:.0%}" for share in (*waits, forced)]
                row = "{:24} {:>11} | {:>16} {:>16} {:>16} | {:>7} {:>7} {:>8}"
                print(row.format(source.name, size, *alone, *shares), flush=True)

    def at_once(self, source: Source) -> None:
        print(f"\n{SIMULATED_CORES} simulated cores, {DECODE_S:g} s to decode an image: images/s (at once)")
        print(f"{'micro-batch':>11} {'before':>16} {'after':>16}")
        self.cores = source.config.train_input_reader.num_parallel_map_calls = SIMULATED_CORES
        with _slow_decoder():
            for size in MICRO_BATCHES:
                runs = self._both(source, size, 0)
                cells = [f"{run.images_per_s:.1f} ({run.images_per_s * DECODE_S:.1f})" for run in runs]
                print(f"{size:>11} {cells[0]:>16} {cells[1]:>16}", flush=True)

    def _both(self, source: Source, micro_batch: int, step_s: float) -> tuple[Run, Run]:
        runs: dict[str, list[Run]] = {way: [] for way in WAYS}
        for number in range(self.options.repeats):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                runs[way].append(self._run(source, micro_batch, way, step_s))
        before, after = (_median(runs[way]) for way in WAYS)
        return before, after

    def _run(self, source: Source, micro_batch: int, way: str, step_s: float) -> Run:
        import tensorflow as tf

        from worker.trainer.input import pipelines

        if way == "after":
            dataset = pipelines.training(source.config, self.model, micro_batch, pipelines.Feed(self.cores))
        else:
            threads = tf.data.Options()
            threads.threading.private_threadpool_size = self.cores  # as TensorFlow has, also of simulated cores
            dataset = pipelines.training(source.config, self.model, micro_batch).with_options(threads)
        batches = iter(dataset)
        for _ in range(2):
            next(batches)
        images, waited, began, used = 0, 0.0, time.monotonic(), time.process_time()
        while (elapsed := time.monotonic() - began) < self.options.seconds:
            asked = time.monotonic()
            next(batches)
            waited += time.monotonic() - asked
            images += micro_batch
            time.sleep(step_s)
        return Run(images / elapsed, (time.process_time() - used) / elapsed, waited / elapsed)


class _slow_decoder:
    """Each image sleeps in its decoder."""

    def __enter__(self) -> None:
        import tensorflow as tf
        from object_detection.data_decoders.tf_example_decoder import TfExampleDecoder

        decode = self._decode = TfExampleDecoder.decode

        def slowly(record: Any) -> Any:
            time.sleep(DECODE_S)
            return record

        def slow(decoder: Any, record: Any) -> Any:
            return decode(decoder, tf.ensure_shape(tf.numpy_function(slowly, [record], tf.string), []))

        TfExampleDecoder.decode = slow

    def __exit__(self, *_: object) -> None:
        from object_detection.data_decoders.tf_example_decoder import TfExampleDecoder

        TfExampleDecoder.decode = self._decode


def _median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(getattr(run, name) for run in runs) for name in ("images_per_s", "cores", "waited")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each run (default: 5)")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each way (default: 2)")
    parser.add_argument("--simulated", action="store_true", help="the second table only")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
