"""The largest count of the schema. Above it, protobuf raises a ValueError without field and limit."""

MAX_COUNT = 2**31 - 1  # int32, the narrowest integer type of the schema and TensorFlow's type for counts


def count_problem(count: int) -> str | None:
    """Why `count` cannot be a number of images, steps or classes; None where it can."""
    if count < 1:
        return f"must be at least 1, got {count}"
    if count > MAX_COUNT:
        return f"must be at most {MAX_COUNT}, got {count if count < 10**30 else 'far more'}"
    return None
