"""`python -m api`: serve the API on DOWNSHIFT_BIND until told to stop."""

import dataclasses
import socket
import sys

import uvicorn

from api.app import create_app
from api.connections import BACKLOG, Connections, Limits, raise_descriptors
from api.http.log_format import begin_log
from services.broker import wake_workers
from services.preload import warm_up
from services.readiness import readiness
from services.settings import Settings, SettingsError
from services.store.engine import Store

_FINISH_S = 5  # for requests that are being answered when the service is told to stop


class Server(uvicorn.Server):
    """Told to stop, it ends event streams, which never end by themselves, and checks of archives, which take long."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.config.app.state  # type: ignore[union-attr]
        state.broadcaster.close()
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
    begin_log(settings)
    found = readiness(store, settings)
    if not found.is_ready:
        what = "the tables are not up to date" if found.database else "the database does not answer"
        print(f"api: {what}: run python -m services.setup", file=sys.stderr)
        return 2
    # The first to submit should not wait for what can be loaded and connected before. A wake-up too many does no harm.
    warm_up()
    wake_workers(settings)
    limits = Limits.of(settings, raise_descriptors(settings))
    connections = Connections(limits)
    config = uvicorn.Config(
        create_app(dataclasses.replace(settings, max_streams=limits.most_streams), store),
        host=host,
        port=port,
        http=connections.connect,  # type: ignore[arg-type]  # makes one, as the class would
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        # Whoever is not named could call himself anybody.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies,
        timeout_graceful_shutdown=_FINISH_S,
    )
    Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
