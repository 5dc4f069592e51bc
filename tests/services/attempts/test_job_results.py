"""What a job shows of its training's results."""

from services.attempts import job_results
from services.store.models import Job

BEST = {"step": 100, "metric": "mAP", "value": 0.5, "checkpoint": "efficientdet_d0/best/ckpt-100"}


def test_the_best_checkpoint_belongs_to_the_attempt_that_found_it() -> None:
    """A resumed trainer reports it again. Its step counts batches of the attempt that found it."""
    job = Job()
    found = []
    for attempt, best in ((1, BEST), (2, BEST), (2, {**BEST, "step": 220, "value": 0.6})):
        job_results.note_best(job, attempt, {"best": best})
        found.append((job.results or {})["best"]["attempt"])
    assert found == [1, 1, 2]
