"""The audit log."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from api.dependencies import Caller, Context
from api.http import cursors
from api.schemas import patterns
from api.schemas.users.audit import Audit
from services.users import directory

router = APIRouter(tags=["audit"])


@router.get("/audit", response_model=Audit)
def read_audit(
    context: Context,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=256, description="`next` of the previous page.")] = None,
    user: Annotated[
        str | None, Query(max_length=64, pattern=patterns.NO_NUL, description="The user who did it.")
    ] = None,
    kind: Annotated[
        Literal["checkpoint", "dataset", "device", "job", "login", "session", "token", "user", "webhook"] | None,
        Query(description="What it was done to."),
    ] = None,
) -> Any:
    """Actions of all users, newest first. For admins."""
    page = directory.audit_page(context.store, caller, limit, cursors.read(cursor), user, kind)
    return {"items": page.items, "next": cursors.write(page.before)}
