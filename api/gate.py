"""Who is asking, asked before anything else. What is not listed in PUBLIC needs a token, also what does not exist."""

import ipaddress
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import problem, problem_of
from services import accounts
from services.accounts import Principal
from services.accounts import Scope as TokenScope
from services.errors import DownshiftError, Forbidden, Unauthenticated
from services.health import DATABASE_AWAY
from services.settings import Settings
from services.store.engine import Store

__all__ = ["PUBLIC", "Gate"]

# These hold nothing that anybody put into the service.
PUBLIC = frozenset({"/", "/docs", "/openapi.json", "/healthz", "/readyz"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """Lets a request through with its principal in `scope["state"]`, or answers 401 or 403 itself.

    Reading takes the scope `read`, everything else at least `submit`; what takes more, its use case says.
    """

    def __init__(self, app: ASGIApp, settings: Settings, store: Store) -> None:
        self._app = app
        self._settings = settings
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no others; whoever adds one brings its own answer to "who is asking"
            raise RuntimeError(f"no {scope['type']} here")
        if not (scope["path"] in PUBLIC and scope["method"] in _READS):
            try:
                principal = await self._identify(Headers(scope=scope))
                principal.require(TokenScope.READ if scope["method"] in _READS else TokenScope.SUBMIT)
            except DownshiftError as error:
                await problem_of(scope, error)(scope, receive, send)
                return
            except DATABASE_AWAY:
                detail = "the database did not answer, so nobody's token can be checked; try again in a moment"
                await problem(scope, "database_away", detail, headers={"Retry-After": "5"})(scope, receive, send)
                return
            scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)

    async def _identify(self, headers: Headers) -> Principal:
        if not self._settings.authentication:
            _refuse_other_sites(headers)
            return await run_in_threadpool(accounts.local_principal, self._store)
        return await run_in_threadpool(accounts.authenticate, self._store, _token(headers))


def _token(headers: Headers) -> str:
    given = headers.getlist("authorization")
    if not given:
        raise Unauthenticated("send a token: Authorization: Bearer …; the first one is in the file admin-token")
    scheme, _, token = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise Unauthenticated("send one header of the form Authorization: Bearer …")
    return token.strip()


def _refuse_other_sites(headers: Headers) -> None:
    """Without tokens, a page from anywhere could ask this service through the browser of whoever looks at it."""
    host, origin = headers.get("host", ""), headers.get("origin")
    try:
        own = origin is None or urlsplit(origin).netloc == host
        if own and _is_loopback(urlsplit(f"//{host}").hostname or ""):
            return
    except ValueError:  # no address at all
        pass
    raise Forbidden("authentication is off, so only this machine itself is answered, and no other site's pages")


def _is_loopback(name: str) -> bool:
    return name == "localhost" or ipaddress.ip_address(name).is_loopback
