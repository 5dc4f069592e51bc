"""The queue of waiting jobs."""

from services.domain.jobs.states import State
from tests.support.api_service import Service, expect_problem


def test_the_queue_counts(service: Service) -> None:
    service.job()
    service.job()
    service.job(state=State.PAUSED)
    queue = service.get("/v1/queue?limit=1").json()
    assert (queue["queued"], queue["running"], queue["paused"], len(queue["items"])) == (2, 0, 1, 1)
    expect_problem(service.get("/v1/queue?limit=0"), 422)
