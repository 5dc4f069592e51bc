"""Files of a job."""

import datetime

from pydantic import BaseModel, Field

__all__ = ["Artifacts"]


class Artifact(BaseModel):
    name: str
    bytes: int | None = Field(description="Null if the file is created while it is sent.")
    modified_at: datetime.datetime
    link: str


class Artifacts(BaseModel):
    items: list[Artifact]
    is_complete: bool = Field(description="False: there are too many files, and the list is cut off.")
