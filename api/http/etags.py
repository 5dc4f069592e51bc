"""ETags: the version of a resource, so that a client does not overwrite a change that it has not seen."""

from typing import Annotated

from fastapi import Header

from services.errors import Conflict, Fault, Invalid

__all__ = ["IfMatch", "read", "write"]

IfMatch = Annotated[
    str | None,
    Header(
        max_length=64,
        description="The ETag that you have read; refused (412) if it has changed since.",
        examples=['"1"'],
    ),
]


def write(version: int) -> str:
    return f'"{version}"'


def read(if_match: str | None) -> int | None:
    """The version in If-Match; None: any. Raises Invalid for several tags, Conflict for a tag that is not ours."""
    if if_match is None or if_match.strip() == "*":
        return None
    tag = if_match.strip()
    if "," in tag:
        raise Invalid([Fault("If-Match", "must be one ETag, or *")])
    number = tag.strip('"')
    if not (tag == f'"{number}"' and number.isascii() and number.isdecimal()):
        raise Conflict("version_mismatch", f"{tag} is not an ETag of this service: read it again")
    return int(number)
