"""Webhooks and their deliveries."""

import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from api.schemas.base import Body, each_once, without_default

__all__ = ["Deliveries", "Delivery", "NewWebhook", "Webhook", "WebhookBody", "WebhookEditBody", "Webhooks"]

Url = Annotated[str, StringConstraints(min_length=8, max_length=2048, pattern=patterns.URL)]
MessageKind = Literal["job.succeeded", "job.failed", "job.replanned"]
MessageKinds = Annotated[
    list[MessageKind],
    Field(min_length=1, max_length=3, json_schema_extra={"uniqueItems": True}),
    AfterValidator(each_once),
]


def _unique_without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    schema["uniqueItems"] = True


class WebhookBody(Body):
    url: Url = Field(examples=["https://hooks.example/downshift"])
    kinds: MessageKinds = Field(
        default=["job.succeeded", "job.failed", "job.replanned"], description="The events to send. Default: all."
    )


class WebhookEditBody(Body):
    """Changes to a webhook. At least one field is required. A webhook that is enabled again gets only new events."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    url: Url = Field(default="", examples=["https://hooks.example/two"], json_schema_extra=without_default)
    kinds: Annotated[list[MessageKind], Field(min_length=1, max_length=3), AfterValidator(each_once)] = Field(
        default=[], examples=[["job.failed"]], json_schema_extra=_unique_without_default
    )
    disabled: bool = Field(default=False, json_schema_extra=without_default)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send url, kinds or disabled")
        return self


class Webhook(BaseModel):
    id: int
    url: str
    kinds: list[str]
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = Field(
        description="Deliveries have failed since then; null: they do not fail."
    )
    disabled_at: datetime.datetime | None = Field(description="Nothing is sent since then; null: it is enabled.")
    disabled_reason: str | None
    version: int = Field(description="The number in the ETag.")


class NewWebhook(Webhook):
    secret: str | None = Field(
        description="The key that signs the messages. It is shown once, so a replay by Idempotency-Key has null here.",
        examples=["whsec_…"],
    )


class Webhooks(BaseModel):
    items: list[Webhook]


class Delivery(BaseModel):
    id: int
    message_id: str = Field(description="The header webhook-id. It is the same in every retry.")
    kind: str
    job: int | None
    created_at: datetime.datetime
    tries: int
    next_at: datetime.datetime | None = Field(description="Time of the next try; null: none.")
    sent_at: datetime.datetime | None = Field(description="Time of the successful delivery; null: not delivered.")
    status: int | None = Field(description="HTTP status of the last answer; null: no answer.")
    error: str | None


class Deliveries(BaseModel):
    items: list[Delivery]
