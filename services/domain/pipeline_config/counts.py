"""How large a count may be. Beyond this, protobuf would answer with a ValueError that names neither field nor limit."""

MAX_COUNT = 2**31 - 1  # int32, the narrowest of the schema's whole numbers; TensorFlow counts in it too


def count_problem(count: int) -> str | None:
    """Why `count` can be no batch, number of steps, of classes, …; None where it can."""
    if count < 1:
        return f"must be at least 1, got {count}"
    if count > MAX_COUNT:
        return f"must be at most {MAX_COUNT}, got {count if count < 10**30 else 'far more'}"
    return None
