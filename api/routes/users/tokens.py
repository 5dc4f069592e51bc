"""Tokens."""

import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import CREATED, created
from api.http.problems import documented
from api.schemas.base import LARGEST_ID
from api.schemas.users.tokens import NewToken, Token, TokenBody, Tokens
from services.users import tokens
from services.users.principal import Scope

router = APIRouter(tags=["tokens"])
TokenId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("/tokens", response_model=Tokens)
def list_tokens(context: Context, caller: Caller) -> Any:
    """Your own tokens; for admins, all tokens."""
    return {"items": tokens.list_tokens(context.store, caller)}


@router.post("/tokens", status_code=201, response_model=NewToken, responses={**CREATED, **documented(409)})
def create_token(
    body: TokenBody, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Create a token. It is shown only once. It cannot have more rights, or expire later, than your own."""
    made = tokens.create(
        context.store,
        caller,
        body.name,
        [Scope(scope) for scope in body.scopes],
        None if body.expires_in_days is None else datetime.timedelta(days=body.expires_in_days),
        body.user,
        idempotency_key,
    )
    return {**created(made, response), "token": made.secret}


@router.get("/tokens/{token_id}", response_model=Token, responses=documented(404))
def show_token(token_id: TokenId, context: Context, caller: Caller) -> Any:
    """One token, without its secret."""
    return tokens.show(context.store, caller, token_id)


@router.delete("/tokens/{token_id}", status_code=204, responses=documented(404))
def revoke_token(token_id: TokenId, context: Context, caller: Caller) -> None:
    """Revoke a token. A second time changes nothing."""
    tokens.revoke(context.store, caller, token_id)
