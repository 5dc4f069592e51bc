"""Accounts, their limits and their passwords."""

import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from api.schemas.base import LARGEST_COUNT, Body, Secret, without_default
from services.users import passwords

__all__ = ["Limits", "OwnPasswordBody", "Use", "User", "UserBody", "UserChangeBody", "Users"]

Password = Annotated[str, StringConstraints(min_length=passwords.SHORTEST, max_length=passwords.LONGEST)]
RoleName = Literal["viewer", "member", "admin"]


class LimitsBody(Body):
    """What is left out stays as it is; null: the service's default."""

    max_queued: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = Field(default=None, examples=[20])
    max_running: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = Field(default=None, examples=[2])
    device_hours_week: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None, description="today and the six days before", examples=[100.0]
    )


class UserBody(Body):
    name: Annotated[str, StringConstraints(pattern=patterns.USER)] = Field(examples=["anna"])
    role: RoleName = Field(
        default="member", description="a viewer can only read, a member submits jobs, an admin has full access"
    )
    password: Password | None = Field(default=None, examples=["correct horse battery staple"])
    limits: LimitsBody | None = None


class UserChangeBody(Body):
    """What is left out stays as it is; at least one."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    role: RoleName = Field(default="member", json_schema_extra=without_default)
    disabled: bool = Field(default=False, examples=[False], json_schema_extra=without_default)
    password: Password = Field(default="", examples=["correct horse battery staple"], json_schema_extra=without_default)
    limits: LimitsBody = Field(default_factory=LimitsBody)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send role, disabled, password or limits")
        return self


class OwnPasswordBody(Body):
    password: Password = Field(description="the new one", examples=["correct horse battery staple"])
    current: Secret | None = Field(default=None, description="the present password, if you have one")


class Limits(BaseModel):
    max_queued: int | None
    max_running: int | None
    device_hours_week: float | None = Field(description="today and the six days before")


class Use(BaseModel):
    running: int
    device_hours_week: float


class User(BaseModel):
    name: str
    role: str
    is_disabled: bool
    has_password: bool
    limits: Limits = Field(description="the user's own; null: the service's default")
    effective_limits: Limits = Field(description="with the defaults applied; null: no limit")
    use: Use
    created_at: datetime.datetime
    disabled_at: datetime.datetime | None
    version: int = Field(description="the number in the ETag")
    links: dict[str, str]


class Users(BaseModel):
    items: list[User]
