"""Evaluate one photograph with many masks in a CPU slot, in a process of its own, and print what that took.

`python -m tests.support.training.evaluate_photograph DATASET RECORD MASKS SLOT_MB FOLDER`: the last line is JSON.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import Device
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset
from worker.trainer import device
from worker.trainer.report import Reporter, host_peak_bytes


def boxes(count: int) -> list[tuple[float, float, float, float]]:
    """Overlapping boxes, each a quarter of the image."""
    return [(0.5 * n / count, 0.5 * (n * 7 % count) / count, 0.5 * n / count + 0.5, 0.9) for n in range(count)]


def main(dataset: Path, record: Path, masks: int, slot_mb: int, folder: Path) -> None:
    slot = Device(memory_limit_mb=slot_mb)
    device.prepare_environment(slot)
    from worker.trainer import compat

    compat.install()
    import tensorflow as tf

    from tests.support.training.known_detector import KnownDetector
    from worker.trainer import model
    from worker.trainer.evaluation.evaluate import Evaluation

    records = replace(Dataset.load(dataset), validation_files=(record,), validation_records=1, most_boxes=masks)
    network = build_config(catalogue.get("mask_rcnn_resnet50_fpn"), records.num_classes, (256, 256), 1, 1)
    config = with_dataset(network, records)
    memory = device.Memory(slot, "CPU:0", tf.config, slot_mb * 2**20)
    detector = KnownDetector(model.build(config, is_training=False), [(2, box) for box in boxes(masks)], has_masks=True)
    evaluation = Evaluation(config, detector, samples=1, reporter=Reporter(folder), memory=memory)
    metrics = evaluation.run(1)
    peak = memory.counters().evaluation_peak
    print(json.dumps({"device": peak, "host": host_peak_bytes(), "map": metrics["DetectionMasks_Precision/mAP"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
