"""Tokens."""

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from api.schemas import patterns
from api.schemas.base import Body, Line, each_once

__all__ = ["NewToken", "Token", "TokenBody", "Tokens"]


class TokenBody(Body):
    name: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.ONE_LINE)] = Field(
        description="a name to recognise it by", examples=["laptop"]
    )
    scopes: Annotated[
        list[Literal["read", "submit", "admin"]],
        Field(min_length=1, max_length=3, json_schema_extra={"uniqueItems": True}),
        AfterValidator(each_once),
    ] = Field(default=["read"], description="each scope includes the ones before it", examples=[["read", "submit"]])
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(default=None, examples=[90])
    user: Line | None = Field(
        default=None, description="the token's owner; only admins can name other users", examples=[None]
    )


class Token(BaseModel):
    id: int
    name: str
    user: str
    scopes: list[str]
    created_at: datetime.datetime
    expires_at: datetime.datetime | None
    last_used_at: datetime.datetime | None = Field(description="to the minute")
    revoked_at: datetime.datetime | None


class NewToken(Token):
    token: str | None = Field(
        description="the token itself: shown once and not stored, so null if an Idempotency-Key is replayed"
    )


class Tokens(BaseModel):
    items: list[Token]
