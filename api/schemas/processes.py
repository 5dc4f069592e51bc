"""Processes on a device that are not Downshift's."""

from pydantic import BaseModel, Field

__all__ = ["Process"]


class Process(BaseModel):
    pid: int
    name: str | None
    used_bytes: int | None = Field(description="Device memory of the process; null if the driver does not report it.")
    is_display: bool = Field(False, description="It draws and does not compute: a desktop, whose memory no job gets.")
