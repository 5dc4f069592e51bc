"""Models are the catalogue."""

from services.domain import catalogue
from tests.support.api_service import Service


def test_models_are_the_catalogue(service: Service) -> None:
    models = service.get("/v1/models").json()["items"]
    assert [model["name"] for model in models] == list(catalogue.MODELS)
    assert models[0]["image_size"] == [512, 512]
