"""The patterns that texts in requests must match, each with the error message for a mismatch."""

from services.users.principal import NAME as USER_NAME

__all__ = ["EXPLAINED", "KEY", "NAME", "NO_NUL", "ONE_LINE", "SAMPLE", "URL", "USER"]

NO_NUL = r"^[^\x00]*$"  # PostgreSQL rejects NUL in texts
ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
URL = r"^https?://[\x21-\x7e]+$"
USER = f"^{USER_NAME.pattern}$"
SAMPLE = r"^(train|validation)-[0-9]{1,12}$"
KEY = r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$"

EXPLAINED = {
    NO_NUL: "must not contain a NUL character",
    ONE_LINE: "must be one line without control characters",
    NAME: "can have letters, digits and . _ - only, and must start with a letter or digit",
    URL: "must start with http:// or https:// and have no spaces; write other characters as %XX",
    USER: "can have at most 64 lower-case letters, digits and . _ @ -, and must start with a letter or digit",
    SAMPLE: "must be train- or validation- and the number of a record, for example train-0",
    KEY: "can have printable ASCII characters only, and no space at either end",
}
