"""Parts that record formats share: bits of attributes, and the keys of batches and records in JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

BATCH_KEYS = (
    "position",
    "size",
    "baseOffset",
    "lastOffset",
    "magic",
    "crc",
    "crcValid",
    "compression",
    "timestampType",
    "maxTimestamp",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "partitionLeaderEpoch",
    "isTransactional",
    "isControl",
    "deleteHorizonMs",
    "count",
)
"""The keys of a batch before its records, in the order of JSON and csv."""
RECORD_KEYS = ("offset", "timestamp", "sequence", "keySize", "valueSize", "key", "value", "headers")
"""The keys of a record, in the same order."""


class Bits(NamedTuple):
    """A part of an attributes field: `width` bits from bit `shift` on, counted from 0; `names` has the names of values
    in Kafka's tools.
    """

    name: str
    shift: int
    width: int
    names: Mapping[int, str]

    @property
    def mask(self) -> int:
        """The bits within the field."""
        return ((1 << self.width) - 1) << self.shift

    def read(self, attributes: int) -> int:
        """Return the value of these bits; negative attributes are two's complement."""
        return (attributes & self.mask) >> self.shift


def flag(name: str, shift: int) -> Bits:
    """Return a single bit, whose values are false and true."""
    return Bits(name, shift, 1, {0: "false", 1: "true"})


LEGACY_COMPRESSION = Bits("compression", 0, 3, {0: "none", 1: "gzip", 2: "snappy", 3: "lz4"})
COMPRESSION = Bits("compression", 0, 3, {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"})
TIMESTAMP_TYPE = Bits("timestampType", 3, 1, {0: "CreateTime", 1: "LogAppendTime"})
