"""Records in which something is odd, by way of a tree: slower than the folds, and it says what."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import value
from kwire_cli.records.batch import MOST_NOTES

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Area

MOST_ODD, PACKED = 10_000, 4
"""Odd records that are read of any packed batch, and packed bytes for each one beyond."""

_INDEX = re.compile(r"^(\w+)\[(\d+)\]")


def add_note(notes: MutableSequence[Anomaly], note: Anomaly) -> None:
    """Keep an anomaly, unless there are too many already; the last one that is kept says so."""
    if len(notes) < MOST_NOTES:
        last = "; what else is odd in this batch is not listed" if len(notes) == MOST_NOTES - 1 else ""
        notes.append(note._replace(detail=note.detail + last))


def has_enough(batch: Batch, area: Area, read: int, at: int, notes: MutableSequence[Anomaly]) -> bool:
    """Whether the rest of a batch's decompressed records is left alone, since `read` odd ones are enough for its size; `notes` end with that then.

    Zeros pack a thousand to one, and a few of them are a record and a line. Where nothing is packed, there are no more records than bytes.
    """
    if not area.compressed or read < max(MOST_ODD, batch.size // PACKED):
        return False
    offset, where = area.place(at)
    detail = f"{read} records in which something is odd have been read; the {len(area.data) - at} bytes that follow are not{where}"
    notes[MOST_NOTES - 1 :] = [Anomaly("DECOMPRESSION_LIMIT", "records", offset, detail)]
    return True


def add_odd(entry: Entry, spans: Spans, area: Area, before: int, notes: MutableSequence[Anomaly]) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """The whole elements of a series in JSON form, each with the places where its fields' values begin; their anomalies are added to `notes`.

    `before` elements stood in earlier spans.
    """
    tree = build(entry, spans)
    for note in anomalies(tree):
        if len(notes) >= MOST_NOTES:
            break
        offset, where = area.place(note.offset)
        path = _INDEX.sub(lambda match: f"{match[1]}[{int(match[2]) + before}]", note.path)
        add_note(notes, Anomaly(note.code, path, offset, note.detail + where))
    for series in tree.root.parts:
        for item in series.each():
            if item.whole and item.index is not None:
                places = {part.node.name: spans.value[part.span] for part in item.each() if part.span >= 0}
                yield value(item, tree), places


def bytes_of(text: str | None) -> bytes | None:
    """The bytes behind a field's JSON form."""
    return None if text is None else base64.b64decode(text)
