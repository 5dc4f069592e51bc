"""Checkpoints: list them."""

from tests.support.api_service import Service


def test_checkpoints_are_folders(service: Service) -> None:
    assert service.get("/v1/checkpoints").json() == {"items": []}
    folder = service.settings.checkpoints_dir / "coco17"
    folder.mkdir(parents=True)
    (folder / "ckpt-0.index").write_bytes(b"12345")
    (checkpoint,) = service.get("/v1/checkpoints").json()["items"]
    assert (checkpoint["name"], checkpoint["bytes"]) == ("coco17", 5)
