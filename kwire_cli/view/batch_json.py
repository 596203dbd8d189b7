"""Batches as JSON lines, for many of them: records whose bytes are nobody's message are put together without a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.records.jsonform import head_json, record_json
from kwire_cli.view.json import many_dumps
from kwire_cli.view.record_text import row_text, rows_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide, Record


def line_pieces(
    item: Batch | Gap,
    *,
    label: dict[str, Any],
    deep: bool,
    hide: Hide | None = None,
    chosen: Iterable[list[tuple[int, Record]]] | None = None,
    notes: list[Anomaly] | None = None,
) -> Iterator[bytes]:
    """One JSON line in pieces, so that a batch of any size needs little memory. `label` stands before the item's own keys.

    `chosen` are the records to show with their numbers, all by default; `notes` then gets what is odd as they are read.
    """
    from kwire_cli.records.batch import Batch as Kind  # noqa: PLC0415 - a class is needed only here

    if not isinstance(item, Kind):
        yield many_dumps(label | item.to_json(deep=deep, hide=hide))
        return
    if not deep:
        yield many_dumps(label | head_json(item) | {"anomalies": [note._asdict() for note in item.notes]})
        return
    found: list[Anomaly] = [] if notes is None else notes
    yield b'%b,"records":[' % many_dumps(label | head_json(item))[:-2]
    first = True
    for rows in _rows(item, chosen, found, hide):
        yield rows[1:] if first else rows
        first = first and not rows
    yield b'],"anomalies":%b}\n' % many_dumps([note._asdict() for note in (*item.notes, *found)])[:-1]


def numbered(batch: Batch, notes: list[Anomaly]) -> Iterator[list[tuple[int, Record]]]:
    """The records with their numbers in the batch."""
    number = 0
    for piece in batch.pieces(notes):
        yield list(enumerate(piece, number))
        number += len(piece)


def _rows(batch: Batch, chosen: Iterable[list[tuple[int, Record]]] | None, notes: list[Anomaly], hide: Hide | None) -> Iterator[bytes]:
    """The records, some at a time, with a comma before each."""
    from kwire_cli.records.payloads import has_payloads  # noqa: PLC0415 - a list of batches needs none of it

    if has_payloads(batch):
        for piece in numbered(batch, notes) if chosen is None else chosen:
            yield b"".join([b",%b" % many_dumps(record_json(batch, record, number, notes, hide))[:-1] for number, record in piece])
    elif chosen is None:
        for rows in rows_text(batch, notes):
            yield b"".join(rows)
    else:
        for piece in chosen:
            yield b"".join([row_text(record) for _, record in piece])
