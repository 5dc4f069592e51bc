"""Lines of a trainer's log."""

from pydantic import BaseModel, Field

__all__ = ["LogLine", "LogLines", "LogMatches", "LogTrouble"]


class LogLine(BaseModel):
    line: int = Field(description="Line number in the attempt's log. The first line is 1.")
    text: str


class LogLines(BaseModel):
    attempt: int
    bytes: int = Field(description="Size of the whole log.")
    total_lines: int
    first: int = Field(description="Number of the first line in `lines`.")
    lines: list[str]
    is_whole: bool = Field(description="False: the last line is still being written. Request it again later.")
    noise: list[list[int]] = Field(
        description="First and last line of each block of TensorFlow's routine messages, if requested."
    )


class LogMatches(BaseModel):
    attempt: int
    matches: list[LogLine]
    is_complete: bool = Field(description="True: there are no more matches in this direction.")


class LogTrouble(BaseModel):
    attempt: int
    diagnosis: str | None = Field(description="Why the attempt ended; null while it runs.")
    message: str | None
    lines: list[LogLine] = Field(description="The log lines that show why the attempt ended, in log order.")
