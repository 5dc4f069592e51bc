"""Tokens."""

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from api.schemas import patterns
from api.schemas.base import Body, Line, each_once

__all__ = ["NewToken", "Token", "TokenBody", "Tokens"]


class TokenBody(Body):
    name: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.ONE_LINE)] = Field(
        description="A name to recognise it by.", examples=["laptop"]
    )
    scopes: Annotated[
        list[Literal["read", "submit", "admin"]],
        Field(min_length=1, max_length=3, json_schema_extra={"uniqueItems": True}),
        AfterValidator(each_once),
    ] = Field(
        default=["read"],
        description="read, submit or admin. Each scope includes the ones before it.",
        examples=[["read", "submit"]],
    )
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(
        default=None, description="Null: the token does not expire.", examples=[90]
    )
    user: Line | None = Field(
        default=None, description="The token's owner. Default: you. Only admins can name other users.", examples=[None]
    )


class Token(BaseModel):
    id: int
    name: str
    user: str
    scopes: list[str]
    created_at: datetime.datetime
    expires_at: datetime.datetime | None
    last_used_at: datetime.datetime | None = Field(description="Accurate to the minute; null: never used.")
    revoked_at: datetime.datetime | None


class NewToken(Token):
    token: str | None = Field(
        description="The token itself. It is shown once and not stored, so a replay by Idempotency-Key has null here."
    )


class Tokens(BaseModel):
    items: list[Token]
