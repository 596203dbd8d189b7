"""Anomalies of the batches in the records fields of a request or response of a capture.

The anomalies of a frame cover only its own fields. The anomalies of its batches are found separately, and of their
records only if `deep` is set, because records must be decompressed for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import REMARKS
from kwire_cli.engine.program import holds_records
from kwire_cli.message.record_notes import raw_body, record_notes
from kwire_cli.message.roles import RAW, roles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.roles import Roles
    from kwire_cli.source.kafka.captured import Captured


def raw_body_of(line: Captured) -> dict[str, Any]:
    """Return the body of a request or response in JSON form, records as their bytes; empty if it cannot be read."""
    if plain := line.plain:
        return plain.body(RAW)
    frame = line.frame
    return raw_body(frame.body) if frame and frame.body else {}


def line_record_notes(line: Captured, *, deep: bool) -> Iterator[Anomaly]:
    """Yield the anomalies of the batches in a frame, and of their records if `deep` is set; see `record_notes`."""
    if holder := _with_records(line):
        yield from record_notes(*holder, raw_body_of(line), line.reading(), deep=deep)


def anomaly_codes(line: Captured, *, deep: bool) -> list[str]:
    """Return the codes of the anomalies of a line and of its batches, and of their records if `deep` is set."""
    return [*line.anomalies, *(note.code for note in line_record_notes(line, deep=deep))]


def is_anomalous(line: Captured) -> bool:
    """Return whether a line, or a batch or record in it, has an anomaly that is not a remark."""
    return not REMARKS.issuperset(line.anomalies) or next(line_record_notes(line, deep=True), None) is not None


def _with_records(line: Captured) -> tuple[str, Roles] | None:
    """Return the message of a frame and the roles in it; None if it has no records fields, or if its body is a
    guess.
    """
    if plain := line.plain:
        return (plain.layout.message, plain.layout.roles) if plain.layout.has_records else None
    body = line.frame.body if line.is_frame and line.frame and not line.guess else None
    if body is None or body.guess or not holds_records(body.entry):
        return None
    return body.message, roles(body.spec, body.entry)
