"""User accounts, and the caller's own password."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from api.dependencies import Caller, Context, IdempotencyKey, browser_of
from api.http import etags
from api.http.created import CREATED, created
from api.http.etags import IfMatch
from api.http.problems import documented
from api.schemas import patterns
from api.schemas.users.users import OwnPasswordBody, User, UserBody, UserChangeBody, Users
from services.domain.jobs.limits import Limits
from services.users import directory
from services.users.principal import Role

router = APIRouter(tags=["users"])
UserName = Annotated[str, Path(max_length=64, pattern=patterns.NO_NUL, examples=["anna"])]


@router.get("/users", response_model=Users)
def list_users(context: Context, caller: Caller) -> Any:
    """All accounts, by name. For admins."""
    return {"items": directory.list_users(context.store, context.settings, caller)}


@router.post("/users", status_code=201, response_model=User, responses={**CREATED, **documented(409)})
def create_user(
    body: UserBody, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Create an account. For admins. Without a password, the user can only use tokens."""
    limits = Limits(**body.limits.as_request()) if body.limits else Limits()
    made = directory.create(
        context.store, context.settings, caller, body.name, Role(body.role), body.password, limits, idempotency_key
    )
    response.headers["ETag"] = etags.write(made.body["version"])
    return created(made, response)


@router.get("/users/{name}", response_model=User, responses=documented(404))
def show_user(name: UserName, response: Response, context: Context, caller: Caller) -> Any:
    """One account, with its limits and use. For admins."""
    return _shown(context, caller, name, response)


@router.patch("/users/{name}", response_model=User, responses=documented(404, 409, 412))
def change_user(
    name: UserName, body: UserChangeBody, response: Response, context: Context, caller: Caller, if_match: IfMatch = None
) -> Any:
    """Change the role, password or limits of an account, or disable or enable it. For admins.

    A new password ends all sessions of the user, and so does disabling. Tokens of a disabled user do not work.
    """
    directory.change(context.store, caller, name, body.as_request(), etags.read(if_match))
    return _shown(context, caller, name, response)


def _shown(context: Context, caller: Caller, name: str, response: Response) -> dict[str, Any]:
    user = directory.show(context.store, context.settings, caller, name)
    response.headers["ETag"] = etags.write(user["version"])
    return user


@router.put("/users/me/password", status_code=204, response_class=Response, responses=documented(409, 429))
def change_own_password(body: OwnPasswordBody, request: Request, context: Context, caller: Caller) -> Response:
    """Change your own password. Your other sessions end; your tokens stay valid."""
    context.password_limit.take(caller.user_id, "tries")
    directory.change_own_password(context.store, caller, body.password, body.current, browser_of(request))
    return Response(status_code=204)
