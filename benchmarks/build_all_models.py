"""Check that the OD API's `model_builder.build` accepts every configuration of the catalogue.

Every model x every offered size x the model itself and each smaller backbone (by `set_backbone`). Prints the accepted
and the refused ones, with the reason. The exit status is 1 if any failed.

    python benchmarks/build_all_models.py              # all of them: about 20 minutes on one core, EfficientDet most
    python benchmarks/build_all_models.py --quick      # about a minute
    python benchmarks/build_all_models.py --sample 20  # a seeded sample of 20
    python benchmarks/build_all_models.py --family mask_rcnn

`--quick` builds each network once, and for other image sizes only the resizer, with the OD API's own builder: nothing
else that is built depends on the size (only a forward pass would).
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.domain import catalogue
from services.domain.catalogue import Family, ImageSize, Model
from services.domain.pipeline_config import build_config, check, image_size, set_backbone

Case = tuple[Model, Model, ImageSize]


def cases(families: list[Family]) -> Iterator[Case]:
    for model in catalogue.MODELS.values():
        if model.family in families:
            for target in (model, *catalogue.smaller_models(model)):
                for size in model.image_sizes:
                    yield model, target, size


def config_of(case: Case) -> Any:
    model, target, size = case
    config = set_backbone(build_config(model, 3, image_size=size), target)
    check(config)
    assert image_size(config) == size
    return config


class Builder:
    """The OD API, imported once. Keras keeps every layer that it made, so sessions are cleared in between."""

    def __init__(self, quick: bool) -> None:
        from worker.trainer import compat

        compat.install()
        import tensorflow as tf
        from object_detection.builders import image_resizer_builder, model_builder

        self.quick, self.keras = quick, tf.keras
        self.build_model, self.build_resizer = model_builder.build, image_resizer_builder.build
        self.built: set[bytes] = set()

    def accepts(self, config: Any) -> bool:
        """True if the network was built; False if one that differs only in size was. Raises what the OD API raises."""
        network = getattr(config.model, config.model.WhichOneof("model"))
        self.build_resizer(network.image_resizer)
        key = self._key(config)
        if self.quick and key in self.built:
            return False
        self.build_model(config.model, is_training=True)
        self.keras.backend.clear_session()
        self.built.add(key)
        return True

    def _key(self, config: Any) -> bytes:
        model = type(config.model)()
        model.CopyFrom(config.model)
        getattr(model, model.WhichOneof("model")).ClearField("image_resizer")
        return model.SerializeToString(deterministic=True)


def main() -> int:
    options = _options()
    chosen = list(cases([Family(name) for name in options.family]))
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    builder, counts, failures = Builder(options.quick), Counter[str](), []
    start = time.monotonic()
    for number, case in enumerate(chosen, start=1):
        model, target, size = case
        try:
            counts["built"] += builder.accepts(config_of(case))
            counts["accepted"] += 1
        except Exception as error:  # any exception is a result here
            failures.append(f"{model.name} as {target.name} at {size[0]}: {type(error).__name__}: {error}")
        if number % 50 == 0 or number == len(chosen):
            print(f"{number:5} of {len(chosen)}  {time.monotonic() - start:6.1f} s  {target.name}", flush=True)
    for failure in failures:
        print("FAILED", failure)
    print(f"{counts['accepted']} accepted ({counts['built']} networks built), {len(failures)} failed")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N combinations, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", nargs="*", default=list(Family), choices=list(Family))
    parser.add_argument("--quick", action="store_true", help="build each network once, then only the resizers")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
