"""A checkpoint of another model is detected without TensorFlow; a damaged or hostile index is refused."""

import contextlib
import random
from pathlib import Path

import pytest

from services.domain import catalogue
from services.domain.checkpoints.fit import misfit
from services.domain.checkpoints.index import UnreadableIndex, read_shapes
from tests.support.training.checkpoint_index import shapes_of, write_index

D0 = catalogue.get("efficientdet_d0")


def test_names_and_shapes_are_read_without_the_optimizers(tmp_path: Path) -> None:
    shapes = {"step": (), "model/a/kernel": (3, 3, 1000, 70_000), "model/a/bias": (64,), "model/b": (0, 2)}
    write_index(tmp_path / "ckpt-1.index", shapes)
    assert read_shapes(tmp_path / "ckpt-1.index") == shapes


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_a_checkpoint_fits_its_own_model_and_no_other_network(name: str) -> None:
    model = catalogue.get(name)
    shapes = shapes_of(model)
    assert misfit(shapes, model) is None
    for other in catalogue.MODELS.values():
        same = misfit(shapes_of(other), model) is None
        assert same == (shapes_of(other) == shapes), other.name


def test_a_misfit_states_its_reason() -> None:
    assert misfit(shapes_of(catalogue.get("efficientdet_d1")), D0) == "it is a checkpoint of efficientdet_d1"
    assert "not a detection checkpoint" in (misfit({"step": (), "save/w": (3, 3)}, D0) or "")
    shapes = shapes_of(D0)
    shapes.pop("model/_feature_extractor/layer-00000")
    assert (misfit(shapes, D0) or "").startswith("it lacks 1 of the 539 variables needed")


def test_more_variables_than_needed_do_no_harm() -> None:
    assert misfit({**shapes_of(D0), "model/_feature_extractor/more": (5,)}, D0) is None


def test_a_damaged_or_hostile_index_is_refused_and_never_crashes(tmp_path: Path) -> None:
    path = tmp_path / "ckpt-1.index"
    write_index(path, shapes_of(D0))
    whole = path.read_bytes()
    chance = random.Random(7)
    for content in (b"", b"index", b"\0" * 100, whole[:-1], whole[1:], b"x" * (5 * 2**20)):
        path.write_bytes(content)
        with pytest.raises(UnreadableIndex):
            read_shapes(path)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        with contextlib.suppress(UnreadableIndex):
            read_shapes(path)
