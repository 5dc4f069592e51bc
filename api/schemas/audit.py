"""The audit log."""

import datetime
from typing import Any

from pydantic import BaseModel, Field

__all__ = ["Audit"]


class AuditEntry(BaseModel):
    id: int
    at: datetime.datetime
    user: str | None = Field(description="who did it")
    action: str = Field(examples=["job.cancel"])
    target: str = Field(examples=["job 7"])
    data: dict[str, Any]


class Audit(BaseModel):
    items: list[AuditEntry]
    next: str | None = Field(description="the cursor of the next page; null on the last")
