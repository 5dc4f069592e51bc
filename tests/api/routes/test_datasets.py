"""Datasets: list them and show one."""

import pytest

from tests.support.api_service import Service, expect_problem


def test_datasets_are_listed_and_shown(service: Service) -> None:
    (dataset,) = service.get("/v1/datasets").json()["items"]
    assert dataset["classes"] == ["circle", "square", "triangle"]
    assert (dataset["images"], dataset["validation_images"], dataset["problem"]) == (4, 2, None)
    assert dataset["boxes"] == sum(dataset["boxes_per_class"].values()) > 0
    assert set(dataset["boxes_per_class"]) <= set(dataset["classes"])
    assert (dataset["format"], dataset["version"]) == (None, None)  # as in older manifests
    assert service.get("/v1/datasets/shapes").json().items() >= dataset.items()


@pytest.mark.parametrize("name", ["none-such", "..", "%2e%2e", "shapes%2f..%2fshapes", "%00"])
def test_a_dataset_that_is_not_there_is_not_found(service: Service, name: str) -> None:
    expect_problem(service.get(f"/v1/datasets/{name}"), 404)


@pytest.mark.parametrize("manifest", ["", "{", "[]", '{"generator": "downshift-shapes", "format_version": 99}'])
def test_a_dataset_that_is_damaged_is_listed_with_its_problem(service: Service, manifest: str) -> None:
    folder = service.settings.datasets_dir / "broken"
    folder.mkdir()
    (folder / "dataset.json").write_text(manifest)
    broken = service.get("/v1/datasets/broken").json()
    assert broken["problem"]
    assert str(service.settings.home) not in broken["problem"]
