"""Jobs over HTTP: what is accepted, what is refused, and what both look like."""

from tests.api.service import Service


def test_a_job_is_accepted_and_is_where_the_location_says(service_on_each: Service) -> None:
    accepted = service_on_each.post("/v1/jobs", json={"dataset": "shapes", "model": "efficientdet_d0"})

    assert accepted.status_code == 202, accepted.text
    shown = service_on_each.get(accepted.headers["location"])
    assert shown.status_code == 200
    assert shown.json() == accepted.json()
    job = shown.json()
    assert job["owner"] == "anna"
    assert job["state"] == "queued"
    assert job["queue_position"] == 1
    assert job["progress"] == {"step": 0, "steps": job["plan"]["steps"], "eta_s": None}
    assert job["created_at"].endswith("Z")
    assert job["current_attempt"] is None
    assert job["attempts"] == 0
    assert shown.headers["etag"] == '"1"'
