"""The sizes of batches, as rows of the table `batch_sizes`: how many there are of one codec and of about one size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class BatchSizes:
    """The batches of one owner, added up by codec and by the bits of their numbers of records and bytes.

    The sums are batches, records, bytes, overhead, and the bytes of records packed and unpacked, of those that could be
    read. Overhead is all but keys, values and headers of records, with compressed records counted as they decompress.
    `largest` are the largest key and value, and the most bytes that the headers of one record take, their lengths and
    count included. `unread` batches could not be decompressed, and `gaps` are no batches.
    """

    sums: dict[tuple[str, int, int], list[int]] = field(default_factory=dict)
    largest: tuple[int, int, int] = (0, 0, 0)
    unread: int = 0
    gaps: int = 0

    def add(self, codec: str, records: int, size: int, overhead: int, packed: int, unpacked: int) -> None:
        """Count one batch; sizes in bytes."""
        key = codec, records.bit_length(), size.bit_length()
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
            yield *key, *sums, 0, 0, 0, 0, 0
        if self.sums or self.gaps:
            yield None, None, None, *[0] * 6, self.unread, self.gaps, *self.largest
