"""The sizes of batches, as rows of the table `batch_sizes`: counts by codec and approximate number of records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class BatchSizes:
    """The batches of one owner, summed by codec and by the number of bits of their numbers of records.

    The sums are batches, records, bytes, overhead, and the compressed and decompressed bytes of records that could be
    read. Overhead is everything except keys, values and headers of records, after decompression. `unread` batches could
    not be decompressed, and `gaps` are bytes outside any batch.
    """

    sums: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    unread: int = 0
    gaps: int = 0

    def add(self, codec: str, records: int, size: int, overhead: int, packed: int, unpacked: int) -> None:
        """Count one batch. Sizes are in bytes."""
        key = codec, records.bit_length()
        sums = self.sums.get(key)
        if sums is None:
            sums = self.sums[key] = [0] * 6
        sums[0] += 1
        sums[1] += records
        sums[2] += size
        sums[3] += overhead
        sums[4] += packed
        sums[5] += unpacked

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, without the owner."""
        for key, sums in self.sums.items():
            yield *key, *sums, 0, 0
        if self.sums or self.gaps:
            yield None, None, *[0] * 6, self.unread, self.gaps
