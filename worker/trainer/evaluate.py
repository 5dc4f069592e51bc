"""COCO evaluation in the training process, between its steps, and pictures of a few fixed validation images."""

import copy
import time
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection import eval_util, inputs, model_lib, model_lib_v2
from object_detection.core import standard_fields
from object_detection.metrics import coco_tools
from object_detection.utils import label_map_util, visualization_utils
from PIL import Image

from services.domain.contract import EventKind, Phase
from worker.trainer import input as inputs_of
from worker.trainer.device import Memory
from worker.trainer.model import set_training
from worker.trainer.report import Reporter

FIELDS = standard_fields.InputDataFields
DETECTION = standard_fields.DetectionResultFields
_GAP = 8  # pixels between truth and prediction in a sample


class Evaluation:
    """Traced once, on first use. Between training steps no activations are held: what stays on the device beside
    evaluation's own needs are the weights, the optimizer's slots and the gradient sums."""

    def __init__(self, config: Any, model: Any, *, samples: int, reporter: Reporter, memory: Memory) -> None:
        self._config = config
        self._model = model
        self._samples = samples
        self._reporter = reporter
        self._memory = memory
        self._dataset = inputs_of.evaluation(config, model)
        self._categories = label_map_util.create_category_index_from_labelmap(
            config.eval_input_reader[0].label_map_path, use_display_name=True
        )
        self._detect = tf.function(
            self._detect_and_compare, input_signature=self._dataset.element_spec, autograph=False
        )

    def run(self, step: int) -> dict[str, float]:
        """Evaluate all validation images; reports an `eval` event and the samples, returns the metrics."""
        self._reporter.phase(Phase.EVALUATING, step=step)
        held = self._memory.counters().in_use
        started = time.monotonic()
        with self._memory.evaluating():
            metrics, images = self._evaluate(step)
        self._reporter.event(
            EventKind.EVAL,
            step=step,
            metrics=metrics,
            images=images,
            seconds=round(time.monotonic() - started, 3),
            device_held=held,
            device_peak=self._memory.counters().evaluation_peak,
        )
        return metrics

    def _evaluate(self, step: int) -> tuple[dict[str, float], int]:
        evaluators = self._evaluators()
        losses: list[dict[str, Any]] = []
        for number, (features, labels) in enumerate(self._dataset):
            image_losses, results = self._detect(features, labels)
            losses.append(image_losses)
            for evaluator in evaluators:
                evaluator.add_eval_dict(results)
            if number < self._samples:
                self._draw_sample(number, step, results)
        return _metrics(evaluators, losses), len(losses)

    def _evaluators(self) -> list[Any]:
        eval_config = copy.deepcopy(self._config.eval_config)
        eval_config.include_metrics_per_category = True
        options = eval_util.evaluator_options_from_eval_config(eval_config)
        return eval_util.get_evaluators(eval_config, list(self._categories.values()), options)

    def _detect_and_compare(self, features: Any, labels: Any) -> tuple[Any, Any]:
        set_training(self._model, False)
        features, labels = dict(features), dict(labels)  # the OD API changes them in place
        if self._config.train_config.use_bfloat16:
            features[FIELDS.image] = tf.cast(features[FIELDS.image], tf.bfloat16)
        unstacked = model_lib.unstack_batch(labels, unpad_groundtruth_tensors=True)
        losses, predictions = model_lib_v2._compute_losses_and_predictions_dicts(
            self._model,
            features,
            unstacked,
            training_step=None,
            add_regularization_loss=self._config.train_config.add_regularization_loss,
        )
        detections = self._model.postprocess(predictions, features[FIELDS.true_image_shape])
        keys = (FIELDS.image, FIELDS.original_image, FIELDS.original_image_spatial_shape, FIELDS.true_image_shape)
        shown = {key: features[key] for key in (*keys, inputs.HASH_KEY)}
        results, _ = model_lib_v2.prepare_eval_dict(detections, labels, shown)
        return losses, results

    def _draw_sample(self, number: int, step: int, results: dict[str, Any]) -> None:
        """Truth on the left, prediction on the right, as a PNG and an `image` event."""
        image = results[FIELDS.original_image].numpy()[0].astype(np.uint8)
        truths = int(results[FIELDS.num_groundtruth_boxes].numpy()[0])
        truth = self._draw(image, results, "groundtruth", truths, np.ones(truths, np.float32))
        found = int(results[DETECTION.num_detections].numpy()[0])
        scores = results[DETECTION.detection_scores].numpy()[0][:found]
        prediction = self._draw(image, results, "detection", found, scores)
        gap = np.full((image.shape[0], _GAP, 3), 255, np.uint8)
        path = self._reporter.sample_path(f"step-{step:07d}-{number:02d}.png")
        Image.fromarray(np.concatenate([truth, gap, prediction], axis=1)).save(path)
        self._reporter.event(
            EventKind.IMAGE, step=step, sample=number, file=str(path.relative_to(self._reporter.attempt_dir))
        )

    def _draw(self, image: Any, results: dict[str, Any], side: str, count: int, scores: Any) -> Any:
        masks = results.get("groundtruth_instance_masks" if side == "groundtruth" else "detection_masks")
        return visualization_utils.visualize_boxes_and_labels_on_image_array(
            image.copy(),
            results[f"{side}_boxes"].numpy()[0][:count],
            results[f"{side}_classes"].numpy()[0][:count].astype(np.int64),
            scores,
            self._categories,
            instance_masks=None if masks is None else masks.numpy()[0][:count].astype(np.uint8),
            max_boxes_to_draw=20,
            min_score_thresh=0.3,
            line_thickness=2,
            skip_scores=side == "groundtruth",
        )


def _metrics(evaluators: list[Any], losses: list[dict[str, Any]]) -> dict[str, float]:
    """COCO's and the mean losses, by the OD API's names. COCO's -1 ("no such objects") is left out."""
    metrics: dict[str, float] = {}
    for evaluator in evaluators:
        metrics.update(evaluator.evaluate())
    for name in losses[0] if losses else ():
        metrics[name] = float(np.mean([float(loss[name]) for loss in losses]))
    return {str(name): round(float(value), 6) for name, value in metrics.items() if np.isfinite(value) and value >= 0}


def _summarize_with_categories(evaluator: Any) -> None:
    """COCO's summary, and its twelve figures for each category, which the OD API expects and pycocotools lacks."""
    _summarize(evaluator)
    if evaluator._iou_type in ("bbox", "segm"):
        kept = evaluator.eval
        precision, recall = kept["precision"], kept["recall"]
        per_category = []
        for k in range(precision.shape[2]):
            evaluator.eval = {**kept, "precision": precision[:, :, [k]], "recall": recall[:, [k]]}
            _summarize(evaluator)
            per_category.append(evaluator.stats)
        evaluator.eval = kept
        _summarize(evaluator)
        evaluator.category_stats = np.array(per_category).T


_summarize = coco_tools.COCOEvalWrapper.summarize
coco_tools.COCOEvalWrapper.summarize = _summarize_with_categories
