"""The page at /docs."""

from tests.support.api_service import Service


def test_the_page_of_the_api_loads_nothing_and_runs_nothing(service: Service) -> None:
    page = service.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "'unsafe" not in page.headers["content-security-policy"]
    for word in ("<script", "src=", "@import", "url(", "https://", "onload"):
        assert word not in page.text


def test_the_documentation_lists_every_operation(service: Service) -> None:
    page = service.get("/docs").text
    for path in ("POST /v1/jobs", "GET /v1/jobs/{job_id}/attempts/{number}/diff", "DELETE /v1/tokens/{token_id}"):
        assert f"<code>{path}</code>" in page
