"""`python -m api`: serve the API on DOWNSHIFT_BIND until a stop signal."""

import dataclasses
import socket
import sys

import uvicorn

from api.app import create_app
from api.connections import BACKLOG, Connections, Limits, raise_file_limit
from api.http.log_format import configure_logging
from services.broker import wake_workers
from services.preload import warm_up
from services.readiness import readiness
from services.settings import Settings, SettingsError
from services.store.engine import Store

_SHUTDOWN_S = 5  # for requests that are being answered at a stop signal


class Server(uvicorn.Server):
    """On shutdown, also end event streams, which never end by themselves, and checks of archives, which are slow."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.config.app.state  # type: ignore[union-attr]
        state.event_hub.close()
        state.context.upload_queue.close()
        await super().shutdown(sockets)


def main() -> int:
    try:
        settings = Settings.from_environment()
        host, port = settings.address
        store = Store.open(settings.database_url)
    except SettingsError as error:
        print(f"api: {error}", file=sys.stderr)
        return 2
    configure_logging(settings)
    found = readiness(store, settings)
    if not found.is_ready:
        what = "the tables are not up to date" if found.database else "the database does not answer"
        print(f"api: {what}: run python -m services.setup", file=sys.stderr)
        return 2
    # So that the first submission does not wait for imports and connections. An extra wake-up does no harm.
    warm_up()
    wake_workers(settings)
    limits = Limits.of(settings, raise_file_limit(settings))
    connections = Connections(limits)
    config = uvicorn.Config(
        create_app(dataclasses.replace(settings, max_streams=limits.max_streams), store),
        host=host,
        port=port,
        http=connections.connect,  # type: ignore[arg-type]  # a factory instead of the class
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        # Only named proxies: anyone else could forge the address.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
