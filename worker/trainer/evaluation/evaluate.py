"""Evaluate in the training process, between steps, and draw a few fixed validation images."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection import model_lib, model_lib_v2
from object_detection.core import standard_fields
from object_detection.utils import label_map_util

from services.domain import pipeline_config
from services.domain.box_counts import BoxCounts
from services.domain.contract import SAMPLE_CLASSES_FILE, EventKind, Phase, Reason
from services.durable_file import write_durably
from worker.trainer import preflight
from worker.trainer.device import Memory
from worker.trainer.evaluation import class_labels, evaluators, samples
from worker.trainer.evaluation.evaluated_image import EvaluatedImage
from worker.trainer.evaluation.tally import Tally
from worker.trainer.failures import read_exception
from worker.trainer.input import pipelines
from worker.trainer.model import set_training
from worker.trainer.report import Reporter

FIELDS = standard_fields.InputDataFields
DETECTION = standard_fields.DetectionResultFields
Judge = Callable[[Mapping[str, float]], Mapping[str, Any]]


class Evaluation:
    """Traced once, on first use.

    No activations are held between training steps, so only the weights, the optimizer's slots and the gradient sums
    stay on the device beside evaluation's own tensors.
    """

    def __init__(
        self,
        config: Any,
        model: Any,
        *,
        samples: int,
        reporter: Reporter,
        memory: Memory,
        feed: pipelines.Feed | None = None,
    ) -> None:
        self._config = config
        self._model = model
        self._samples = samples
        self._reporter = reporter
        self._memory = memory
        self._dataset = pipelines.evaluation(config, model, feed)
        label_map = config.eval_input_reader[0].label_map_path
        self._categories = label_map_util.create_category_index_from_labelmap(label_map, use_display_name=True)
        self._labels = self._prepare_labels()
        self._class_ids = preflight.class_ids("eval_input_reader[0]", config.eval_input_reader[0])
        _, example_spec = self._dataset.element_spec
        self._detect = tf.function(self._detect_and_compare, input_signature=example_spec, autograph=False)

    def _prepare_labels(self) -> dict[int, dict[str, Any]]:
        """The labels to draw. Names that are drawn as numbers go into a file beside the pictures."""
        numbered = class_labels.numbered(self._categories)
        if numbered and self._samples:
            write_durably(self._reporter.sample_path(SAMPLE_CLASSES_FILE), json.dumps(numbered))
        return class_labels.of(self._categories)

    def run(self, step: int, judge: Judge = lambda metrics: {}) -> dict[str, float]:
        """Evaluate all validation images; reports an `eval` event and samples; returns the event's metrics.

        `judge` gives further fields of the event, such as the best result so far.
        """
        self._reporter.phase(Phase.EVALUATING, step=step)
        held = self._memory.counters().in_use
        started = time.monotonic()
        with self._memory.evaluating():
            metrics, images, boxes = self._evaluate(step)
        seconds = round(time.monotonic() - started, 3)
        self._reporter.say(f"step {step}: evaluated {images} images in {seconds:.0f} s{_main_metrics(metrics)}")
        return self._reporter.evaluation(
            step,
            metrics,
            images=images,
            boxes=boxes.to_values() if boxes else None,
            seconds=seconds,
            device_held=held,
            device_peak=self._memory.counters().evaluation_peak,
            **judge(metrics),
        )

    def _evaluate(self, step: int) -> tuple[dict[str, float], int, BoxCounts | None]:
        computed = evaluators.build(self._config.eval_config, list(self._categories.values()))
        losses: list[dict[str, float]] = []
        tally: Tally | None = self._tally()
        for number, (record, (features, labels)) in enumerate(self._dataset):
            image_losses, results, detected_masks = self._detect(features, labels)
            # Convert to numbers: tensors would hold device memory until the last image.
            losses.append({name: float(loss) for name, loss in image_losses.items()})
            image = EvaluatedImage(number, record.numpy(), results, detected_masks, self._class_ids)
            for name, evaluator in list(computed.items()):
                if not self._tried(f"{name} cannot be computed", partial(image.add_to, evaluator)):
                    del computed[name]
            if tally and not self._tried("boxes cannot be counted", partial(tally.add, image)):
                tally = None
            if number < self._samples:
                self._tried(f"sample {number} cannot be drawn", partial(self._draw_sample, image, step))
        return self._metrics(computed, losses), len(losses), tally.counts() if tally else None

    def _tally(self) -> Tally:
        names = {number: str(category["name"]) for number, category in self._categories.items()}
        return Tally(names, pipeline_config.anchor_sizes(self._config))

    def _tried(self, problem: str, work: Callable[[], None]) -> bool:
        """Run an optional part of the evaluation; returns whether it worked. Running out of memory or disk raises."""
        try:
            work()
        except Exception as error:
            if read_exception(error).reason not in (Reason.ERROR, Reason.BAD_DATASET):
                raise
            self._reporter.warning(f"evaluation: {problem}: {type(error).__name__}: {str(error)[:500]}")
            return False
        return True

    def _metrics(self, computed: dict[str, Any], losses: list[dict[str, float]]) -> dict[str, float]:
        """Metrics and mean losses by the OD API's names, without COCO's -1 ("no such objects")."""
        found: dict[str, float] = {}
        for name, evaluator in computed.items():
            self._tried(f"{name} cannot be computed", partial(_compute, evaluator, found))
        for name in losses[0] if losses else ():
            found[name] = float(np.mean([loss[name] for loss in losses]))
        return {str(name): round(float(value), 6) for name, value in found.items() if np.isfinite(value) and value >= 0}

    def _detect_and_compare(self, features: Any, labels: Any) -> tuple[Any, Any, Any]:
        """Losses, true and predicted boxes in pixels of the original image, and predicted masks relative to boxes."""
        set_training(self._model, False)
        features, labels = dict(features), dict(labels)  # the OD API changes them in place
        # True boxes are relative to the network's image including all padding, so that image must set the scale.
        features[FIELDS.original_image] = features[FIELDS.image]
        unstacked = model_lib.unstack_batch(labels, unpad_groundtruth_tensors=True)
        losses, predictions = model_lib_v2._compute_losses_and_predictions_dicts(
            self._model,
            features,
            unstacked,
            training_step=None,
            add_regularization_loss=self._config.train_config.add_regularization_loss,
        )
        detections = dict(self._model.postprocess(predictions, features[FIELDS.true_image_shape]))
        detected_masks = detections.pop(DETECTION.detection_masks, None)
        labels.pop(FIELDS.groundtruth_instance_masks, None)
        results, _ = model_lib_v2.prepare_eval_dict(detections, labels, features)
        del results[FIELDS.original_image]
        return losses, results, detected_masks

    def _draw_sample(self, image: EvaluatedImage, step: int) -> None:
        """Save a PNG with truth left and prediction right; report an `image` event."""
        path = self._reporter.sample_path(f"step-{step:07d}-{image.number:02d}.png")
        samples.draw(path, image.encoded, image.size, image.truth(), image.prediction(), self._labels)
        self._reporter.event(
            EventKind.IMAGE, step=step, sample=image.number, file=str(path.relative_to(self._reporter.attempt_dir))
        )


def _compute(evaluator: Any, found: dict[str, float]) -> None:
    found.update(evaluator.evaluate())


def _main_metrics(metrics: dict[str, float]) -> str:
    main = {"mAP": "DetectionBoxes_Precision/mAP", "mask mAP": "DetectionMasks_Precision/mAP"}
    return "".join(f", {label} {metrics[name]:.3f}" for label, name in main.items() if name in metrics)
