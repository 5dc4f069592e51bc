"""Metrics of the service for Prometheus."""

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from api.dependencies import Caller, Context
from api.http.prometheus_text import MEDIA_TYPE, Family, write
from api.middleware.request_counts import RequestCounts
from api.sse.hub import EventHub
from services import service_stats
from services.service_stats import ServiceStats

router = APIRouter(tags=["health"])

_QUANTILES = (0.05, 0.5, 0.95)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, context: Context, caller: Caller) -> Response:
    """Numbers of jobs, attempts, devices, predictions and requests, in Prometheus' text format."""
    event_hub: EventHub = request.app.state.event_hub
    request_counts: RequestCounts = request.app.state.request_counts
    families = [
        *_families(service_stats.read(context.store, context.ended)),
        _streams(event_hub),
        *request_counts.families(),
    ]
    return Response(write(families), media_type=MEDIA_TYPE)


def _streams(event_hub: EventHub) -> Family:
    return Family.of(
        "downshift_event_streams", "gauge", "Event streams open in this process.", [({}, event_hub.open_streams)]
    )


def _families(found: ServiceStats) -> Iterable[Family]:
    yield Family.of(
        "downshift_jobs", "gauge", "Jobs by state.", [({"state": name}, count) for name, count in found.jobs.items()]
    )
    yield Family.of(
        "downshift_attempts_total",
        "counter",
        "Attempts that have ended, by diagnosis.",
        [({"diagnosis": name}, count) for name, count in sorted(found.attempts.items())],
    )
    yield Family.of(
        "downshift_queue_oldest_seconds",
        "gauge",
        "Waiting time of the job that has waited longest; 0: no job waits.",
        [({}, found.oldest_wait_s)],
    )
    yield Family.of(
        "downshift_prediction_error_ratio",
        "gauge",
        "Quantiles of (predicted - measured) / measured peak memory, of the newest attempts, where they completed.",
        [({"quantile": str(part)}, _quantile(found.prediction_errors, part)) for part in _QUANTILES],
    )
    yield Family.of(
        "downshift_predictions_compared",
        "gauge",
        "Number of attempts in those quantiles.",
        [({}, len(found.prediction_errors))],
    )
    yield Family.of(
        "downshift_webhook_deliveries_waiting",
        "gauge",
        "Webhook messages waiting to be sent or retried.",
        [({}, found.deliveries)],
    )
    for name, help, value in (
        ("memory_total_bytes", "Memory of a device.", lambda device: device.total_bytes),
        ("memory_free_bytes", "Memory of a device that is free.", lambda device: device.use.free),
        ("memory_ours_bytes", "Memory of a device that a Downshift job holds.", lambda device: device.use.ours),
        ("memory_others_bytes", "Memory of a device that other processes hold.", lambda device: device.use.others),
        ("utilisation_percent", "Utilisation of a device.", lambda device: device.utilisation),
        ("temperature_celsius", "Temperature of a device.", lambda device: device.temperature),
        ("usable", "1: seen recently and without problems.", lambda device: int(device.is_usable)),
        ("leased", "1: a Downshift job runs on it.", lambda device: int(device.is_leased)),
    ):
        yield Family.of(
            f"downshift_device_{name}",
            "gauge",
            help,
            [({"device": device.id, "kind": device.kind}, value(device)) for device in found.devices],
        )


def _quantile(values: Sequence[float], part: float) -> float | None:
    """The nearest value; None if there are none."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else None
