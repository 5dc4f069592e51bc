"""Health and readiness."""

from typing import Literal

from pydantic import BaseModel, Field

__all__ = ["Health", "Ready"]


class Health(BaseModel):
    status: Literal["ok"]


class DeviceProblems(BaseModel):
    present: int = Field(description="Devices that their hosts reported recently.")
    with_problem: int = Field(description="Those of them on which no job starts.")
    problems: list[str] = Field(description="What is wrong with them, each sentence once.")


class Ready(BaseModel):
    status: Literal["ready"]
    broker: Literal["answers", "away"] = Field(description="away: jobs start a few seconds later.")
    devices: DeviceProblems = Field(description="Only reported: jobs wait for a device, the service is ready.")
