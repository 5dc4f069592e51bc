"""The wake-up call to the workers. The database is the truth: a lost message costs seconds, never a job."""

import logging
from functools import cache

from celery import Celery

from services.settings import Settings

__all__ = ["DISPATCH", "QUEUE", "make_celery", "wake_workers"]

DISPATCH = "downshift.dispatch"
QUEUE = "downshift"
_VISIBILITY_S = 600
_log = logging.getLogger(__name__)


def make_celery(broker: str) -> Celery:
    """The one Celery configuration, for those who publish and those who consume."""
    celery = Celery("downshift", broker=broker)
    celery.conf.update(
        task_default_queue=QUEUE,
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        # Cancels nothing, as nothing is acknowledged late, and keeps Celery's advice on it out of the log.
        worker_cancel_long_running_tasks_on_connection_loss=True,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_time_limit=60,
        task_serializer="json",
        accept_content=["json"],
        result_backend=None,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": _VISIBILITY_S,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "socket_keepalive": True,
            "max_retries": 1,  # of a publish: a request must not hang on a broker that is away
            "interval_start": 0,
            "interval_max": 0.2,
        },
        visibility_timeout=_VISIBILITY_S,
    )
    return celery


@cache
def _client(broker: str) -> Celery:
    return make_celery(broker)


def wake_workers(settings: Settings) -> bool:
    """Tell a worker to look at the database now. Never raises; False where the broker is away."""
    try:
        _client(settings.broker).send_task(DISPATCH, retry=False, expires=60)
    except Exception as error:  # whatever it is: the job is in the database, and its submission has succeeded
        _log.warning("the broker is away (%s): workers will find the job by themselves", error)
        return False
    return True
