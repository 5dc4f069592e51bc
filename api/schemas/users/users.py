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
    """Fields that are left out stay as they are. Null: the service's default."""

    max_queued: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = Field(
        default=None, description="Waiting jobs at a time.", examples=[20]
    )
    max_running: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = Field(
        default=None, description="Running jobs at a time.", examples=[2]
    )
    device_hours_week: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None, description="Hours on devices, today and the six days before.", examples=[100.0]
    )


class UserBody(Body):
    name: Annotated[str, StringConstraints(pattern=patterns.USER)] = Field(examples=["anna"])
    role: RoleName = Field(
        default="member", description="A viewer can only read, a member can submit jobs, an admin has full access."
    )
    password: Password | None = Field(
        default=None, description="Null: the user can only use tokens.", examples=["correct horse battery staple"]
    )
    limits: LimitsBody | None = None


class UserChangeBody(Body):
    """Changes to an account. At least one field is required."""

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
    password: Password = Field(description="The new password.", examples=["correct horse battery staple"])
    current: Secret | None = Field(default=None, description="Your current password, if you have one.")


class Limits(BaseModel):
    max_queued: int | None = Field(description="Waiting jobs at a time.")
    max_running: int | None = Field(description="Running jobs at a time.")
    device_hours_week: float | None = Field(description="Hours on devices, today and the six days before.")


class Use(BaseModel):
    running: int = Field(description="Running jobs.")
    device_hours_week: float = Field(description="Hours on devices, today and the six days before.")


class User(BaseModel):
    name: str
    role: str
    is_disabled: bool
    has_password: bool
    limits: Limits = Field(description="The user's own limits; null: the service's default.")
    effective_limits: Limits = Field(description="The limits that apply, with the service's defaults; null: no limit.")
    use: Use
    created_at: datetime.datetime
    disabled_at: datetime.datetime | None
    version: int = Field(description="The number in the ETag.")
    links: dict[str, str]


class Users(BaseModel):
    items: list[User]
