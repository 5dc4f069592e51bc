"""Wake the workers through Celery. The queue itself is in the database: a lost message delays a job by seconds."""

import logging
import threading
from functools import cache

from celery import Celery

from services.settings import Settings

__all__ = ["DISPATCH", "make_celery", "wake_workers", "wake_workers_now"]

DISPATCH = "downshift.dispatch"
_QUEUE = "downshift"
_VISIBILITY_S = 600
_log = logging.getLogger(__name__)


def make_celery(broker: str) -> Celery:
    """Celery with the configuration that publishers and consumers share."""
    celery = Celery("downshift", broker=broker)
    celery.conf.update(
        task_default_queue=_QUEUE,
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        # Has no effect without late acknowledgement, but silences Celery's warning about it.
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
            "max_retries": 1,  # of a publish: a request must not wait for an unreachable broker
            "interval_start": 0,
            "interval_max": 0.2,
        },
        visibility_timeout=_VISIBILITY_S,
    )
    return celery


@cache
def _client(broker: str) -> Celery:
    return make_celery(broker)


def wake_workers(settings: Settings) -> None:
    """Tell a worker to read the database soon. Never raises and never waits for the broker.

    A message that is unsent when this process ends is lost. That is harmless: workers also poll the database.
    """
    _publisher(settings.broker).request()


class _Publisher:
    """Publishes in a thread that ends when there is nothing left to send. Requests meanwhile are merged into one."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._lock = threading.Lock()
        self._is_requested = False
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        with self._lock:
            self._is_requested = True
            if self._thread is None or not self._thread.is_alive():  # not alive: this process was forked
                self._thread = threading.Thread(target=self._run, name="wake-workers", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # the host allows no more threads; workers poll the database
                    _log.warning("cannot wake the workers: %s", error)
                    self._thread = None

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._is_requested:
                    self._thread = None
                    return
                self._is_requested = False
            _publish(self._broker)


@cache
def _publisher(broker: str) -> _Publisher:
    return _Publisher(broker)


def wake_workers_now(settings: Settings) -> bool:
    """As `wake_workers`, for a process that is about to end: waits some seconds for the broker.

    Returns False if the broker does not answer.
    """
    return _publish(settings.broker)


def _publish(broker: str) -> bool:
    try:
        _client(broker).send_task(DISPATCH, retry=False, expires=60)
    except Exception as error:  # any error: the job is in the database, so submitting it has succeeded
        _log.warning("the broker does not answer (%s): workers find the job at their next poll", error)
        return False
    return True
