"""ETags: the version of what was read, so that nobody overwrites what he has not seen."""

from typing import Annotated

from fastapi import Header

from services.errors import Conflict, Fault, Invalid

__all__ = ["IfMatch", "etag", "version_of"]

IfMatch = Annotated[str | None, Header(max_length=64, description="the ETag that you have seen", examples=['"1"'])]


def etag(version: int) -> str:
    return f'"{version}"'


def version_of(if_match: str | None) -> int | None:
    """None: whatever the version is. Raises Conflict for a tag that is none of ours: it cannot be the newest."""
    if if_match is None or if_match.strip() == "*":
        return None
    tag = if_match.strip()
    if "," in tag:
        raise Invalid([Fault("If-Match", "one ETag, or *")])
    number = tag.strip('"')
    if not (tag == f'"{number}"' and number.isascii() and number.isdecimal()):
        raise Conflict("version_mismatch", f"{tag} is not its ETag: read it again")
    return int(number)
