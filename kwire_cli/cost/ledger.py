"""The ledger: where the bytes of a message go. A fold over spans by node; no formula, so that the rows always add up to the size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.engine.program import GAP

if TYPE_CHECKING:
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.decoded import Decoded

GAP_PATH, GUESS_PATH = "gap", "guess"


@dataclass(frozen=True, slots=True)
class Row:
    """The bytes of one field over all its occurrences: `prefix_bytes` are lengths, counts, markers and tag headers, `value_bytes` the values.

    `path` has no indexes: topics[].partitions[].leaderId. Bytes that could not be decoded, or only by a guess, are rows named gap and guess.
    """

    path: str
    prefix_bytes: int
    value_bytes: int
    count: int


def ledger(decoded: Decoded) -> list[Row]:
    """The rows of a message in the order of its fields; they add up to the bytes that were given."""
    total = decoded.stop - decoded.start
    if decoded.guess:
        return [Row(GUESS_PATH, 0, total, 1)]
    return rows_of(decoded.raw)


def rows_of(spans: Spans) -> list[Row]:
    """The rows of spans in the order of their fields, whatever declaration these are of."""
    sums: dict[tuple[bool, str], list[int]] = {}
    leaves = spans.program.leaves
    start = spans.start
    for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
        row = sums.setdefault((node == GAP, leaves[node].path), [0, 0, 0])
        row[0] += value - start
        row[1] += end - value
        row[2] += 1
        start = end
    return [Row(GAP_PATH if lost else path, *row) for (lost, path), row in sums.items()]
