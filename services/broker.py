"""The wake-up call to the workers. The database is the truth: a lost message costs seconds, never a job."""

import logging
import threading
from functools import cache

from celery import Celery

from services.settings import Settings

__all__ = ["DISPATCH", "QUEUE", "make_celery", "wake_workers", "wake_workers_now"]

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


def wake_workers(settings: Settings) -> None:
    """Tell a worker to look at the database soon. Never raises and never waits: a broker that hangs costs no request.

    What this process does not get rid of before its end is lost, and harmless: the worker looks by itself.
    """
    _bell(settings.broker).ring()


class _Bell:
    """Publishes in a thread that ends when there is nothing left to do. Calls that come meanwhile become one."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._lock = threading.Lock()
        self._is_wanted = False
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        with self._lock:
            self._is_wanted = True
            if self._thread is None or not self._thread.is_alive():  # not alive: before a fork
                self._thread = threading.Thread(target=self._publish, name="wake-workers", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # the host allows no more threads; workers look by themselves
                    _log.warning("cannot wake the workers: %s", error)
                    self._thread = None

    def _publish(self) -> None:
        while True:
            with self._lock:
                if not self._is_wanted:
                    self._thread = None
                    return
                self._is_wanted = False
            _publish(self._broker)


@cache
def _bell(broker: str) -> _Bell:
    return _Bell(broker)


def wake_workers_now(settings: Settings) -> bool:
    """As `wake_workers`, for a process that is about to end: waits for the broker some seconds. False where it is
    away."""
    return _publish(settings.broker)


def _publish(broker: str) -> bool:
    try:
        _client(broker).send_task(DISPATCH, retry=False, expires=60)
    except Exception as error:  # whatever it is: the job is in the database, and its submission has succeeded
        _log.warning("the broker does not answer (%s): workers find the job at their next poll", error)
        return False
    return True
