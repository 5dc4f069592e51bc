"""The audit log."""

import datetime
from typing import Any

from pydantic import BaseModel, Field

__all__ = ["Audit"]


class AuditEntry(BaseModel):
    id: int
    at: datetime.datetime
    user: str | None = Field(description="The user who did it; null for a refused log-in.")
    action: str = Field(examples=["job.cancel"])
    target: str = Field(examples=["job 7"])
    data: dict[str, Any] = Field(description="Details, which depend on the action.")


class Audit(BaseModel):
    items: list[AuditEntry]
    next: str | None = Field(description="The cursor of the next page; null on the last.")
