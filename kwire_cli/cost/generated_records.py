"""Records made up where there are none to look at: of these sizes, the same in every run."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import Batch
from kwire_cli.records.opening import items, source_of
from kwire_cli.records.writing import write_each

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_TIMESTAMP = 1_760_000_000_000
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_PIECE, _PIECE_BYTES = 1000, 16 << 20
"""Records that are made at once, fewer where they are large."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many records, a millisecond apart; sizes are bytes, None for null. Each has a header of `header_size` bytes for each of `header_names`."""

    records: int
    key_size: int | None
    value_size: int | None
    header_names: tuple[str, ...] = ()
    header_size: int = 0

    @property
    def says(self) -> str:
        """What they are, in words."""
        parts = [f"keys of {self.key_size} bytes" if self.key_size is not None else "null keys"]
        parts.append(f"values of {self.value_size} bytes" if self.value_size is not None else "null values")
        if self.header_names:
            parts.append(f"headers {', '.join(self.header_names)} of {self.header_size} bytes")
        return f"{self.records} generated: {', '.join(parts)}; random letters, timestamps a millisecond apart"


def generated(wanted: Wanted) -> Iterator[Batch]:
    """Batches of format v2 with these records."""
    source = random.Random(wanted.records)  # noqa: S311 - made up, and the same in every run
    size = (wanted.key_size or 0) + (wanted.value_size or 0) + len(wanted.header_names) * wanted.header_size
    piece = max(1, min(_PIECE, _PIECE_BYTES // max(size, 1)))
    for first in range(0, wanted.records, piece):
        rows = [_row(source, wanted, number) for number in range(first, min(first + piece, wanted.records))]
        for data in write_each([{"baseOffset": first, "records": rows}]):
            yield from (item for item in items(source_of(data)) if isinstance(item, Batch))


def _row(source: random.Random, wanted: Wanted, number: int) -> dict[str, Any]:
    return {
        "timestamp": FIRST_TIMESTAMP + number,
        "key": _text(source, wanted.key_size),
        "value": _text(source, wanted.value_size),
        "headers": [{"key": name, "value": _text(source, wanted.header_size)} for name in wanted.header_names],
    }


def _text(source: random.Random, size: int | None) -> dict[str, str] | None:
    return None if size is None else {"text": "".join(source.choices(_LETTERS, k=size))}
