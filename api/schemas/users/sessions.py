"""Log-in, and the account that a caller uses."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from api.schemas.base import Body, Secret, without_default
from api.schemas.users.users import Limits, Use

__all__ = ["LoginBody", "WhoAmI"]


class LoginBody(Body):
    """Either `user` and `password`, or `token` alone."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "oneOf": [
                {
                    "required": ["user", "password"],
                    "properties": {"user": {"type": "string"}, "password": {"type": "string"}, "token": False},
                },
                {"required": ["token"], "properties": {"token": {"type": "string"}, "user": False, "password": False}},
            ],
            "examples": [{"user": "anna", "password": "correct horse battery staple"}],
        },
    )

    user: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.NO_NUL)] = Field(
        default="", json_schema_extra=without_default
    )
    password: Secret = Field(default="", json_schema_extra=without_default)
    token: Secret = Field(default="", json_schema_extra=without_default)

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if self.model_fields_set not in ({"user", "password"}, {"token"}):
            raise ValueError("send user and password, or a token alone")
        return self


class OwnUse(Use):
    queued: int


class WhoAmI(BaseModel):
    user: str
    role: str
    scopes: list[str]
    token_id: int | None = Field(description="The token of this request; null with a session.")
    csrf: str | None = Field(
        description="The value for the header X-CSRF-Token; null if you did not log in with a cookie."
    )
    limits: Limits = Field(description="Your limits; null: no limit.")
    use: OwnUse
