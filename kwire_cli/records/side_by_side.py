"""The records of two copies of the same offsets, side by side: what is the same, what differs and what one of them lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record


@dataclass
class Found:
    """How many records are the same, the offset of the first that is not, how many only one copy has, and the first of these.

    `keyless` tells whether one of these has no key, so that compaction can't have removed it from the other copy.
    """

    same: int = 0
    changed: int | None = None
    only_a: int = 0
    only_b: int = 0
    lacking: int | None = None
    keyless: bool = False

    @property
    def first(self) -> int | None:
        """The first offset at which they differ; None where they do not."""
        return min((each for each in (self.changed, self.lacking) if each is not None), default=None)


def side_by_side(a: Sequence[Batch], b: Sequence[Batch], last: int) -> Found:
    """Batches of two copies, from the first offset that both cover to `last`. Memory does not grow with what they decompress to."""
    out = Found()
    first = max(batches[0].head.base_offset for batches in (a, b))
    mine, other = _records(a, first, last), _records(b, first, last)
    one, two = next(mine, None), next(other, None)
    while one or two:
        if one and (two is None or one.offset < two.offset):
            out.only_a += 1
            _lack(out, one)
            one = next(mine, None)
        elif two and (one is None or two.offset < one.offset):
            out.only_b += 1
            _lack(out, two)
            two = next(other, None)
        elif one and two:
            if (one.timestamp, one.key, one.value, one.headers) == (two.timestamp, two.key, two.value, two.headers):
                out.same += 1
            elif out.changed is None:
                out.changed = one.offset
            one, two = next(mine, None), next(other, None)
    return out


def _records(batches: Sequence[Batch], first: int, last: int) -> Iterator[Record]:
    return (record for batch in batches for record in batch.records() if first <= record.offset <= last)


def _lack(out: Found, record: Record) -> None:
    out.lacking = record.offset if out.lacking is None else min(out.lacking, record.offset)
    out.keyless = out.keyless or record.key is None
