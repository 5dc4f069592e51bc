"""Requests to the whole api: bodies, queries, headers, cookies and uploads.

Each has the largest allowed size. The bounded process that checks an upload is not counted, as it is not the api's.
"""

import base64
import gzip
import io
import json
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from api.app import create_app
from benchmarks.hostile.pipeline_configs import TEXTS
from benchmarks.hostile.registry import Trial, case
from services.datasets import examples, shapes
from services.domain import tfrecord
from services.domain.pipeline_config.schema.text import MAX_TOKENS
from services.settings import Settings
from services.store import migrate
from services.store.engine import Store
from services.users import passwords, principal

MB = 2**20
BODY = MB - 2048  # the limit is 1 MB
HEAD = 14_000  # the server's limit for the request line and headers is 16 KB
JSON = {"Content-Type": "application/json"}
TAR = {"Content-Type": "application/x-tar"}
JOB: dict[str, Any] = {"dataset": "shapes", "model": "efficientdet_d0", "train": {"steps": 10, "batch_size": 2}}


class Api:
    """A service with one admin and a tiny dataset, called in process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hostile-")
        self.settings = Settings(
            home=Path(self._folder.name), broker_url="redis://127.0.0.1:1/0", rate_limit=0, min_free_disk_mb=0
        )
        self.store = Store.open(self.settings.database_url)
        migrate.upgrade(self.store.engine)
        self.token = principal.ensure_admin(self.store, self.settings) or ""
        shapes.generate(self.settings.datasets_dir / "shapes", train=2, validation=1, size=64, seed=0)
        self.client = TestClient(create_app(self.settings, self.store), base_url="http://localhost")
        self.ask("GET", "/v1/jobs")  # initialises what is created once

    def ask(self, method: str, path: str, **options: Any) -> "Answer":
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return Answer(self.client.request(method, path, headers=headers, **options))


class Answer(Exception):
    """An HTTP error, raised so that the table shows it."""

    def __init__(self, response: Any) -> None:
        super().__init__(f"{response.status_code} {response.text}")


def asking(size: int, method: str, path: str, api: Api | None = None, **options: Any) -> Trial:
    api = api or Api()

    def work() -> None:
        raise api.ask(method, path, **options)

    return Trial(size, work)


def sending(path: str, body: str | bytes, **headers: str) -> Trial:
    data = body.encode() if isinstance(body, str) else body
    return asking(len(data), "POST", path, content=data, headers={**JSON, **headers})


def job(**changes: Any) -> str:
    return json.dumps({**JOB, **changes})


@case("POST /v1/jobs", "lists in lists")
def _() -> Trial:
    return sending("/v1/jobs", "[" * BODY)


@case("POST /v1/jobs", "objects in objects, closed")
def _() -> Trial:
    depth = BODY // 6
    return sending("/v1/jobs", '{"a":' * depth + "1" + "}" * depth)


@case("POST /v1/jobs", "a number of a million digits")
def _() -> Trial:
    return sending("/v1/jobs", job().replace('"steps": 10', f'"steps": {"9" * BODY}'))


@case("POST /v1/jobs", "a fraction of a million digits")
def _() -> Trial:
    return sending("/v1/jobs", job().replace('"steps": 10', f'"steps": 0.{"9" * BODY}'))


@case("POST /v1/jobs", "unknown fields")
def _() -> Trial:
    fields = {f"trian{number}": 1 for number in range(BODY // 16)}
    return sending("/v1/jobs", job(**fields)[:BODY].rpartition(",")[0] + "}")


@case("POST /v1/jobs", "unknown fields with long names")
def _() -> Trial:
    return sending("/v1/jobs", job(**{f"{number:03}" + "a" * 1000: 1 for number in range(BODY // 1010)}))


@case("POST /v1/jobs", "one field again and again")
def _() -> Trial:
    return sending("/v1/jobs", job()[:-1] + ', "model": "x"' * (BODY // 14) + "}")


@case("POST /v1/jobs", "a name of a million letters")
def _() -> Trial:
    return sending("/v1/jobs", job(name="a" * BODY))


@case("POST /v1/jobs", "a model of a million letters")
def _() -> Trial:
    return sending("/v1/jobs", job(model="efficientdet_d" * (BODY // 14)))


@case("POST /v1/jobs", "escapes in a text")
def _() -> Trial:
    return sending("/v1/jobs", job(name="x").replace('"x"', '"' + "\\ud83d\\ude00" * (BODY // 12) + '"'))


@case("POST /v1/jobs", "a policy with many levers")
def _() -> Trial:
    return sending("/v1/jobs", job(policy={"levers": ["micro_batch"] * (BODY // 15)}))


@case("POST /v1/jobs", "an image size of many numbers")
def _() -> Trial:
    return sending("/v1/jobs", job(image_size=[256] * (BODY // 5)))


@case("POST /v1/jobs", "bytes that are no text")
def _() -> Trial:
    return sending("/v1/jobs", b"\xff\xfe" * (BODY // 2))


@case("POST /v1/estimate", "a pipeline.config of blocks in blocks")
def _() -> Trial:
    return sending("/v1/estimate", job(pipeline_config="a{" * 131_072))


def _add_config(path: str, name: str, tokens: int) -> None:
    """Add a case with the longest accepted text, so that all processing runs."""

    @case(f"POST {path}", f"a pipeline.config with {name}")
    def prepare() -> Trial:
        text = TEXTS[name].filled(tokens)
        return sending(path, job(pipeline_config=text, checkpoint=None))


for path in ("/v1/jobs", "/v1/estimate"):
    _add_config(
        path, "a list of numbers", MAX_TOKENS * 6 // 10
    )  # the service writes the field's name before each number
    _add_config(path, "data_augmentation_options", MAX_TOKENS * 9 // 10)
    _add_config(path, "a schedule of many steps", MAX_TOKENS * 9 // 10)


@case("POST /v1/jobs", "an Idempotency-Key without end")
def _() -> Trial:
    return sending("/v1/jobs", job(), **{"Idempotency-Key": "k" * HEAD})


@case("POST /v1/session", "a password without end")
def _() -> Trial:
    return sending("/v1/session", json.dumps({"user": "admin", "password": "\ufdfa" * (BODY // 6)}))


@case("POST /v1/session", "the longest password, which grows when it is normalised")
def _() -> Trial:
    return sending("/v1/session", json.dumps({"user": "admin", "password": "\ufdfa" * passwords.LONGEST}))


@case("POST /v1/users", "the longest password")
def _() -> Trial:
    return sending("/v1/users", json.dumps({"name": "u", "role": "member", "password": "\ufdfa1234" * 50}))


@case("POST /v1/webhooks", "an address of 2,048 letters")
def _() -> Trial:
    url = "https://" + "a." * 1000 + "example/"
    return sending("/v1/webhooks", json.dumps({"url": url, "kinds": ["job.failed"]}))


@case("POST /v1/webhooks", "kinds without end")
def _() -> Trial:
    body = {"url": "https://example.org/", "kinds": ["job.failed"] * (BODY // 14)}
    return sending("/v1/webhooks", json.dumps(body))


@case("GET /v1/jobs", "a cursor of lists in lists")
def _() -> Trial:
    cursor = base64.urlsafe_b64encode(b"[" * (HEAD * 3 // 4)).decode()
    return asking(len(cursor), "GET", f"/v1/jobs?cursor={cursor}")


@case("GET /v1/jobs", "a cursor with a number of many digits")
def _() -> Trial:
    cursor = base64.urlsafe_b64encode(b'{"before":' + b"9" * (HEAD * 3 // 4 - 20) + b"}").decode()
    return asking(len(cursor), "GET", f"/v1/jobs?cursor={cursor}")


@case("GET /v1/jobs", "unknown parameters")
def _() -> Trial:
    query = "&".join(f"x{number}=1" for number in range(HEAD // 8))
    return asking(len(query), "GET", f"/v1/jobs?{query}")


@case("GET /v1/jobs", "one parameter again and again")
def _() -> Trial:
    query = "&".join(["state=queued"] * (HEAD // 13))
    return asking(len(query), "GET", f"/v1/jobs?{query}")


@case("GET /v1/jobs", "a search for wild cards")
def _() -> Trial:
    return asking(128, "GET", "/v1/jobs", params={"q": '%_"*' * 32})


@case("GET /v1/jobs", "percent signs in the path")
def _() -> Trial:
    return asking(HEAD, "GET", "/v1/jobs/" + "%2f%00" * (HEAD // 6))


@case("GET /v1/jobs", "cookies without end")
def _() -> Trial:
    cookie = "; ".join(f'c{number}="\\0{"x" * 10}' for number in range(HEAD // 20))
    return asking(len(cookie), "GET", "/v1/jobs", headers={"Cookie": cookie})


@case("GET /v1/jobs", "a token without end")
def _() -> Trial:
    return asking(HEAD, "GET", "/v1/jobs", headers={"Authorization": "Bearer " + "x" * HEAD})


@case("PATCH /v1/users/admin", "If-Match with many tags")
def _() -> Trial:
    tags = '"1",' * (HEAD // 4)
    return asking(HEAD, "PATCH", "/v1/users/admin", content=b"{}", headers={**JSON, "If-Match": tags})


@case("GET /v1/events", "Last-Event-ID of many digits")
def _() -> Trial:
    return asking(HEAD, "GET", "/v1/events", headers={"Last-Event-ID": "9" * HEAD})


def packed(files: dict[str, bytes], mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def uploading(archive: bytes, what: str = "datasets") -> Trial:
    return asking(len(archive), "POST", f"/v1/{what}?name=mine", content=archive, headers=TAR)


def dataset(api: Api | None = None, labels: bytes | None = None, **more: bytes) -> dict[str, bytes]:
    api = api or Api()  # its folder exists as long as the object
    folder = api.settings.datasets_dir / "shapes"
    files = {file.name: file.read_bytes() for file in folder.glob("*.tfrecord*")}
    assert files
    return {**files, "labels.pbtxt": labels or (folder / "label_map.pbtxt").read_bytes(), **more}


def framed(payload: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        tfrecord.write(Path(folder, "one"), [payload])
        return Path(folder, "one").read_bytes()


@case("POST /v1/datasets", "half a GB of zeros in half a MB")
def _() -> Trial:
    head = tarfile.TarInfo("train-a")
    head.size = 512 * MB
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=9) as file:
        file.write(head.tobuf())
        for _ in range(512):
            file.write(bytes(MB))
        file.write(bytes(1024))
    return uploading(data.getvalue())


@case("POST /v1/datasets", "260,000 files")
def _() -> Trial:
    return uploading(packed({f"train-{number}": b"" for number in range(260_000)}, "w:gz"))


@case("POST /v1/datasets", "a zip that lists a million files")
def _() -> Trial:
    head, entry = zipped({"0": b""}), struct.Struct("<4s6H3L5H2L")
    directory = b"".join(
        entry.pack(b"PK\x01\x02", *[0] * 9, 7, *[0] * 6) + b"%07d" % number for number in range(1_000_000)
    )
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**6, 10**6, len(directory), len(head))
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(head) + len(directory), 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2**16 - 1, 2**16 - 1, 0, 0, 0)
    return uploading(head + directory + end + locator + last)


@case("POST /v1/datasets", "half a GB of zeros in a zip of half a MB")
def _() -> Trial:
    return uploading(zipped({"images/a.jpg": bytes(512 * MB)}))


@case("POST /v1/datasets", "a pattern that takes for ever")
def _() -> Trial:
    pictures = {"a" * 60 + ".jpg": b"", "b.jpg": b"", "a.txt": b"", "classes.txt": b"a", "b.txt": b""}
    archive = zipped(pictures)
    return asking(len(archive), "POST", "/v1/datasets?name=mine&group=(a%2B)%2B$", content=archive, headers=TAR)


@case("POST /v1/datasets", "names of 4,000 letters")
def _() -> Trial:
    return uploading(packed({f"{number}" + "a" * 4000: b"" for number in range(500)}))


@case("POST /v1/datasets", "a name of a MB")
def _() -> Trial:
    return uploading(packed({"a" * MB: b""}))


@case("POST /v1/datasets", "a label map of 4 MB, of blocks in blocks")
def _() -> Trial:
    return uploading(packed(dataset(labels=b"item {" * (4 * MB // 6))))


@case("POST /v1/datasets", "a label map with 10,000 classes, and a class that it does not have")
def _() -> Trial:
    items = "".join(f"item {{ id: {number} name: '{'ab' * 25}{number}' }}\n" for number in range(1, 10_001))
    return uploading(packed(dataset(labels=items.encode())))


@case("POST /v1/datasets", "a class name of 20,000 letters in the records and the label map")
def _() -> Trial:
    payload = examples.encode(byte_lists={"image/object/class/text": [b"a" * 20_000]})
    labels = b"item { id: 1 name: '" + b"a" * 19_999 + b"b' }"
    return uploading(packed(dataset(labels=labels, **{"train-b": framed(payload) * 20})))


@case("POST /v1/datasets", "an example of messages in messages")
def _() -> Trial:
    payload = b""
    for _ in range(3000):
        payload = b"\x0a" + _varint(len(payload)) + payload
    return uploading(packed(dataset(**{"train-b": framed(payload)})))


@case("POST /v1/datasets", "an image of 60,000 x 60,000 pixels in some KB")
def _() -> Trial:
    return uploading(packed(dataset(**{"train-b": framed(_example(_png(60_000, 60_000)))})))


@case("POST /v1/datasets", "records of no bytes, a million of them")
def _() -> Trial:
    return uploading(gzip.compress(packed(dataset(**{"train-b": framed(b"") * 1_000_000}))))


@case("POST /v1/checkpoints", "a checkpoint of zeros")
def _() -> Trial:
    files = {"ckpt-0.index": bytes(64 * MB), "ckpt-0.data-00000-of-00001": bytes(64 * MB)}
    return uploading(packed(files, "w:gz"), "checkpoints")


@case("POST /v1/checkpoints", "20,000 shards")
def _() -> Trial:
    shards = {f"ckpt-0.data-{number:05}-of-19999": b"" for number in range(19_990)}
    return uploading(packed({"ckpt-0.index": b"", **shards}, "w:gz"), "checkpoints")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _example(image: bytes) -> bytes:
    return examples.encode(byte_lists={"image/encoded": [image], "image/format": [b"png"]})


def _png(width: int, height: int) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(16 * MB), 9)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", pixels) + part(b"IEND", b"")


@case("GET /v1/datasets", "a dataset with 10,000 classes of 60 letters")
def _() -> Trial:
    api = Api()
    items = "".join(f"item {{ id: {number} name: '{'x' * 54}{number:06}' }}\n" for number in range(1, 10_001))
    labels = (items.replace("x" * 54 + "000001", "circle").replace("x" * 54 + "000002", "square")).replace(
        "x" * 54 + "000003", "triangle"
    )
    archive = packed(dataset(api, labels.encode()))
    print(str(api.ask("POST", "/v1/datasets?name=large", content=archive, headers=TAR))[:200])
    return asking(len(archive), "GET", "/v1/datasets", api)
