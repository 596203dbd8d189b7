"""Anomalies of the batches in the records fields of messages.

The anomalies of a decoded message only cover its fields, because its records are decoded lazily. The functions here
decode them and yield the other anomalies that a tree of the message shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import REMARKS
from kwire_cli.engine.program import holds_records
from kwire_cli.engine.values import Form
from kwire_cli.message.decoded import Decoded
from kwire_cli.message.roles import FETCHED, RAW, records_fields, roles
from kwire_cli.records.batch import TRUNCATED, Batch, deep_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs, Roles

UNPLACED = -1
"""The offset of an anomaly in decompressed records, whose bytes are not in the input."""


def record_notes(
    message: str, field_roles: Roles, body: dict[str, Any], reading: RecordsAs, *, deep: bool
) -> Iterator[Anomaly]:
    """Yield the anomalies of the batches in a message's body in RAW form.

    With `deep`, records are decompressed and payloads decoded, and their anomalies included. Payloads of an unknown
    type are not an anomaly.

    A path begins with the path of the records field; offsets are bytes from its first record. The last batch of a Fetch
    response may be truncated: a broker limits the response to the requested number of bytes.
    """
    for _, _, note in _notes(message, field_roles, body, reading, deep=deep):
        yield note


def _notes(
    message: str, field_roles: Roles, body: dict[str, Any], reading: RecordsAs, *, deep: bool
) -> Iterator[tuple[str, bool, Anomaly]]:
    """Yield the path of a records field, whether an anomaly in it is in decompressed records, and the anomaly."""
    may_be_cut = message in FETCHED
    for path, topic, struct, name in records_fields(field_roles, body):
        for number, item in enumerate(reading.record_set(struct[name], topic)):
            place = f"{path}[{number}]"
            if isinstance(item, Batch):
                for note in deep_faults(item, reading.hide) if deep else item.notes:
                    yield path, is_decompressed(item, note), note._replace(path=f"{place}.{note.path}".rstrip("."))
            elif not (may_be_cut and item.code == TRUNCATED):
                yield path, False, item.as_anomaly()._replace(path=place)


def is_decompressed(batch: Batch, note: Anomaly) -> bool:
    """Return whether an anomaly of a batch is in its decompressed records, which have no place in the input."""
    return bool(batch.head.codec) and "[" in note.path


def raw_body(body: Decoded, hidden: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Return a body in JSON form, records as their bytes, the `hidden` spans as text; empty if it is a guess, or if
    nothing of it can be read.
    """
    form = None if body.guess else body.form(Form(RAW, hidden))
    return form if isinstance(form, dict) else {}


def decoded_record_notes(body: Decoded | None, reading: RecordsAs) -> Iterator[Anomaly]:
    """Yield the anomalies of the batches and the records in a decoded body, as `record_notes`."""
    if body is not None and holds_records(body.entry):
        yield from record_notes(body.message, roles(body.spec, body.entry), raw_body(body), reading, deep=True)


def placed_record_notes(body: Decoded | None, reading: RecordsAs, hidden: frozenset[int]) -> list[Anomaly]:
    """Return the same of records that are not among the `hidden` spans. Offsets are those in the data of the body, and
    UNPLACED in decompressed records.
    """
    if body is None or not holds_records(body.entry):
        return []
    found = [*_notes(body.message, roles(body.spec, body.entry), raw_body(body, hidden), reading, deep=True)]
    starts = {span.path: span.value for span in body.spans if span.kind == "records"} if found else {}
    return [
        note._replace(offset=UNPLACED if decompressed else starts[path] + note.offset)
        for path, decompressed, note in found
    ]


def is_anomalous_message(subject: Frame | Decoded, reading: RecordsAs) -> bool:
    """Return whether a frame or a body, or a batch or record in it, has an anomaly that is not a remark."""
    body = subject if isinstance(subject, Decoded) else subject.body
    return (
        not REMARKS.issuperset(note.code for note in subject.anomalies)
        or next(decoded_record_notes(body, reading), None) is not None
    )
