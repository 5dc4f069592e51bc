"""TFRecord's checksum at some GB/s. `services.domain.tfrecord` has one without a library, for a few bytes."""

import google_crc32c

from services.domain import tfrecord

__all__ = ["masked_crc32c"]


def masked_crc32c(data: bytes) -> int:
    """The same result as `tfrecord.masked_crc32c`."""
    return tfrecord.masked(google_crc32c.value(data))
