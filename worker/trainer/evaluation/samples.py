"""Draw sample pictures: the original image with truth on the left and prediction on the right."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from object_detection.utils import visualization_utils
from PIL import Image

from worker.trainer.evaluation import class_labels, masks

GAP = 8  # pixels between truth and prediction
LARGEST, SMALLEST = 1024, 256  # pixels of a picture's longer side; labels must be readable on tiny images
_LEAST_SCORE = 0.3
_MOST_BOXES = 50

class_labels.install_font()


@dataclass(frozen=True)
class Objects:
    """The objects to draw on one side. Boxes are in pixels of the original image."""

    is_truth: bool
    boxes: Any
    classes: Any
    scores: Any
    masks: Sequence[Any] | None = None  # truth: PNG files at image size; prediction: arrays relative to their boxes

    def drawn(self) -> "Objects":
        """The best objects, no more than a viewer can tell apart."""
        chosen = [n for n in np.argsort(-self.scores, kind="stable") if self.scores[n] > _LEAST_SCORE][:_MOST_BOXES]
        some = None if self.masks is None else [self.masks[n] for n in chosen]
        return Objects(self.is_truth, self.boxes[chosen], self.classes[chosen], self.scores[chosen], some)


def draw(
    path: Path, image: bytes, size: tuple[int, int], truth: Objects, prediction: Objects, names: Mapping[int, Any]
) -> None:
    """Save the picture to `path`. `size` is the height and width of the original image."""
    picture = _scaled(image, size)
    sides = [_draw_objects(picture, size, objects.drawn(), names) for objects in (truth, prediction)]
    gap = np.full((picture.shape[0], GAP, 3), 255, np.uint8)
    Image.fromarray(np.concatenate([sides[0], gap, sides[1]], axis=1)).save(path)


def _scaled(encoded: bytes, size: tuple[int, int]) -> Any:
    height, width = size
    longest = max(size)
    scale = min(max(longest, SMALLEST), LARGEST) / longest
    target = (max(1, round(width * scale)), max(1, round(height * scale)))
    with Image.open(io.BytesIO(encoded)) as image:
        image.draft("RGB", target)  # decodes a large JPEG at a fraction of its size
        return np.asarray(image.convert("RGB").resize(target))


def _draw_objects(picture: Any, size: tuple[int, int], objects: Objects, names: Mapping[int, Any]) -> Any:
    shares = objects.boxes / np.array([*size, *size], np.float32)
    height, width, _ = picture.shape
    drawn_masks = None
    if objects.masks is not None:
        place = _resized if objects.is_truth else pasted
        made = [place(mask, box, height, width) for mask, box in zip(objects.masks, shares, strict=True)]
        drawn_masks = np.stack(made) if made else np.zeros((0, height, width), np.uint8)
    return visualization_utils.visualize_boxes_and_labels_on_image_array(
        picture.copy(),
        shares,
        objects.classes.astype(np.int64),
        objects.scores,
        names,
        instance_masks=drawn_masks,
        use_normalized_coordinates=True,
        max_boxes_to_draw=_MOST_BOXES,
        min_score_thresh=_LEAST_SCORE,
        line_thickness=2,
        skip_scores=objects.is_truth,
    )


def pasted(mask: Any, box: Any, height: int, width: int) -> Any:
    part, top, left = masks.paste(mask, box, height, width)
    whole = np.zeros((height, width), np.uint8)
    whole[top : top + part.shape[0], left : left + part.shape[1]] = part
    return whole


def _resized(mask: bytes, _: Any, height: int, width: int) -> Any:
    whole = Image.fromarray(masks.decode(mask)).resize((width, height), Image.Resampling.NEAREST)
    return np.asarray(whole).astype(np.uint8)
