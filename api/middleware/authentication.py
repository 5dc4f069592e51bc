"""Authenticate every request. Everything that is not public needs a token or a session, unknown paths included."""

import hmac
import ipaddress
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.dashboard import pages, static_files
from api.http import cookies
from api.http.problems import problem, problem_of
from api.middleware.rate_limit import RateLimit
from services.errors import DownshiftError, Forbidden, Unauthenticated
from services.readiness import DATABASE_UNREACHABLE
from services.settings import Settings
from services.store.engine import Store
from services.users import principal as accounts
from services.users import sessions
from services.users.principal import Principal
from services.users.principal import Scope as TokenScope

__all__ = ["Authentication", "is_public"]

_PUBLIC = frozenset({"/login", "/healthz", "/readyz"})  # they contain no data of users
_LOG_IN = ("POST", "/v1/session")
_CSRF_HEADER = "X-CSRF-Token"
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Changes to the own account, which the scope `read` allows.
_OWN_ACCOUNT = frozenset({("DELETE", "/v1/session"), ("PUT", "/v1/users/me/password")})


def is_public(method: str, path: str) -> bool:
    """Does the path work without a log-in?"""
    if (method, path) == _LOG_IN:
        return True
    return method in _READ_METHODS and (path in _PUBLIC or static_files.is_for_log_in(path))


class Authentication:
    """Pass a request on with its principal in `scope["state"]`, or answer 401, 403, 429 or 503.

    Reading needs the scope `read`, everything else at least `submit`; a use case may require more. A browser that asks
    for a page without a session is redirected to the log-in page.
    """

    def __init__(self, app: ASGIApp, settings: Settings, store: Store) -> None:
        self._app = app
        self._settings = settings
        self._store = store
        self._rate_limit = RateLimit(settings.rate_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # fail closed: another protocol would need its own authentication
            raise RuntimeError(f"{scope['type']} is not supported")
        method, path, headers = scope["method"], scope["path"], Headers(scope=scope)
        try:
            if is_public(method, path):
                if (method, path) == _LOG_IN:
                    _refuse_other_origins(headers)
            else:
                scope.setdefault("state", {})["principal"] = await self._admit(method, path, headers)
        except DownshiftError as error:
            if isinstance(error, Unauthenticated) and pages.wants_page(scope):
                await RedirectResponse(_login_page(scope), 303)(scope, receive, send)
            else:
                await problem_of(scope, error)(scope, receive, send)
            return
        except DATABASE_UNREACHABLE:
            detail = "the database did not answer, so your log-in cannot be checked; try again in a moment"
            await problem(scope, "database_away", detail, headers={"Retry-After": "5"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admit(self, method: str, path: str, headers: Headers) -> Principal:
        principal = await self._identify(method, headers)
        # Tokens and sessions have separate limits, so that a busy script does not lock its owner out of the dashboard.
        # Static files have none: a browser may load all of them again.
        if not path.startswith(static_files.PREFIX):
            self._rate_limit.take((principal.user_id, principal.session_id is None))
        reads = method in _READ_METHODS or (method, path) in _OWN_ACCOUNT
        principal.require(TokenScope.READ if reads else TokenScope.SUBMIT)
        return principal.with_privacy(jobs_are_private=self._settings.private_jobs)

    async def _identify(self, method: str, headers: Headers) -> Principal:
        if not self._settings.authentication:
            _refuse_other_sites(headers)
            return await run_in_threadpool(accounts.local_principal, self._store)
        cookie = cookies.read(headers)
        if cookie is None or "authorization" in headers:
            return await run_in_threadpool(accounts.authenticate, self._store, _token(headers))
        principal = await run_in_threadpool(sessions.authenticate, self._store, cookie)
        _refuse_other_origins(headers)
        if method not in _READ_METHODS:
            _require_csrf(principal, headers)
        return principal


def _token(headers: Headers) -> str:
    given = headers.getlist("authorization")
    if not given:
        raise Unauthenticated("log in, or send a token: Authorization: Bearer …; the first is in the file admin-token")
    scheme, _, token = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise Unauthenticated("send one header of the form Authorization: Bearer …")
    return token.strip()


def _require_csrf(principal: Principal, headers: Headers) -> None:
    """A browser sends the cookie with any site's requests; only our pages know this token. Raises Forbidden."""
    given = headers.get(_CSRF_HEADER, "")
    if principal.csrf is None or not hmac.compare_digest(given.encode(), principal.csrf.encode()):
        raise Forbidden(
            f"with a session's cookie, changes need the header {_CSRF_HEADER}: its value is `csrf` of GET /v1/whoami",
            "csrf_failed",
        )


def _refuse_other_origins(headers: Headers) -> None:
    """Reject cookie requests from other origins, including other ports of this host. Raises Forbidden."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    is_own = origin is None or _is_same_origin(origin, headers)
    # Links on other sites are allowed: the other site cannot read the page that opens.
    is_link = headers.get("sec-fetch-mode") == "navigate"
    if not is_own or (site not in ("same-origin", "none") and not is_link):
        raise Forbidden("this request comes from a page of another site", "csrf_failed")


def _is_same_origin(origin: str, headers: Headers) -> bool:
    """Compare host and port only: behind a proxy with TLS, we do not see the browser's scheme."""
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:  # not an address
        return False


def _refuse_other_sites(headers: Headers) -> None:
    """Without authentication, any web page could send requests through the browser of a local user."""
    origin = headers.get("origin")
    try:
        own = origin is None or _is_same_origin(origin, headers)
        if own and _is_loopback(urlsplit(f"//{headers.get('host', '')}").hostname or ""):
            return
    except ValueError:  # not an address
        pass
    raise Forbidden(
        "authentication is off, so only requests of this machine are answered, not those of other sites' pages"
    )


def _is_loopback(name: str) -> bool:
    return name == "localhost" or ipaddress.ip_address(name).is_loopback


def _login_page(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    wanted = scope["path"] + (f"?{query}" if query else "")
    return f"/login?next={quote(wanted, safe='')}"
