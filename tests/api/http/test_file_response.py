"""Range requests for logs and artifacts."""

import pytest

from services.domain.jobs.states import State
from tests.support.api_service import Service, expect_problem


@pytest.fixture
def job(service: Service) -> int:
    return service.job(attempts=2, state=State.SUCCEEDED)


@pytest.mark.parametrize("path", ["logs", "artifacts/export/saved_model/saved_model.pb"])
def test_a_file_is_had_in_parts(service: Service, job: int, path: str) -> None:
    where = f"/v1/jobs/{job}/{path}"
    whole = service.get(where)
    size = len(whole.content)
    assert whole.headers["accept-ranges"] == "bytes"
    for given, start, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=100-", 100, size),
        ("bytes=-50", size - 50, size),
        ("bytes=5-999999999", 5, size),
        ("bytes=-999999999", 0, size),
    ):
        part = service.get(where, headers={"Range": given})
        assert part.content == whole.content[start:end], given
        if (start, end) == (0, size):
            assert part.status_code == 200
        else:
            assert part.status_code == 206
            assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
    for given in ("bytes=0-1,5-6", "lines=1-2", "bytes=5-2", "bytes=-", "bytes=x-"):
        assert service.get(where, headers={"Range": given}).status_code == 200, given
    assert service.get(where, headers={"Range": "bytes=0-1", "If-Range": '"x"'}).content == whole.content
    none = service.get(where, headers={"Range": f"bytes={size}-"})
    expect_problem(none, 416)
    assert none.headers["content-range"] == f"bytes */{size}"
