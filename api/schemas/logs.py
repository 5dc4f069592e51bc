"""Lines of a trainer's log."""

from pydantic import BaseModel, Field

__all__ = ["LogLine", "LogLines", "LogMatches", "LogTrouble"]


class LogLine(BaseModel):
    line: int = Field(description="line number in the attempt's log, from 1")
    text: str


class LogLines(BaseModel):
    attempt: int
    bytes: int = Field(description="of the whole log")
    total_lines: int
    first: int = Field(description="the number of the first of these lines")
    lines: list[str]
    is_whole: bool = Field(description="false: the last line is still being written; request it again")
    noise: list[list[int]] = Field(
        description="first and last line of each block of TensorFlow's routine messages, if requested"
    )


class LogMatches(BaseModel):
    attempt: int
    matches: list[LogLine]
    is_complete: bool = Field(description="true: no more in this direction")


class LogTrouble(BaseModel):
    attempt: int
    diagnosis: str | None
    message: str | None
    lines: list[LogLine] = Field(description="lines that tell why the attempt ended, in order")
