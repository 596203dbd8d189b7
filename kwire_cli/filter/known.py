"""What the parts of a field's path can be: one that is misspelt is nowhere, and nothing would say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.filter.columns import BY_NAME, OF_BATCHES
from kwire_cli.filter.paths import ROOTS
from kwire_cli.filter.places import BATCH, FRAME_HEADER, PAYLOADS, RECORD, RECORDS
from kwire_cli.structs.tags import UNKNOWN_KEY

if TYPE_CHECKING:
    from kwire_cli.filter.columns import Column
    from kwire_cli.filter.nodes import Name
    from kwire_cli.filter.places import Fields, Rows

BESIDE = frozenset({UNKNOWN_KEY, "tag", "data"})
"""Keys of the JSON form that no definition has: the tagged fields that are unknown."""


_OF_PAYLOAD = ("path", "type", "version", "data")
_OF_HEADER = ("key", "value")
_INSIDE = (*_OF_PAYLOAD, "key", "value", "coordinatorEpoch", "code", "offset", "detail")
"""Keys inside a batch's JSON form that no definition has: of payloads, control records and anomalies."""


def unknown_part(name: Name, fields: Fields, rows: Rows = "frames") -> str | None:
    """Return why a name is neither a column of the rows nor the path of a field in them; None if it is either.

    The message names the part that is wrong, and what is close to it in its place.
    """
    if rows == "frames":
        return _unknown_in_frames(name, fields)
    reason = _unknown_in_batches(name, fields)
    return None if rows == "either" and reason and _unknown_in_frames(name, fields) is None else reason


def column_of(name: Name, fields: Fields | None, rows: Rows) -> Column | None:
    """Return the column that a name stands for; None if it is the path of a field.

    Batches have few columns: `topic` is a field of their records, and a column of frames only if no record has such a field.
    """
    column = BY_NAME.get(name.text)
    if column is None or rows == "frames" or name.text in OF_BATCHES:
        return column
    return None if rows == "batches" or (fields is not None and _in_batches(name.text, fields)) else column


def _in_batches(part: str, fields: Fields) -> bool:
    """Return whether a key of a batch's JSON form, its records and their payloads included, has this name."""
    return part in BATCH or part in RECORD or part in _INSIDE or part in BESIDE or fields.in_payloads(part)


def _unknown_in_batches(name: Name, fields: Fields) -> str | None:
    text = name.text
    if name.header is not None or text in OF_BATCHES:
        return None
    parts = text.removeprefix(".").split(".")
    if RECORDS in parts[:-1]:
        at = parts.index(RECORDS)
        return _unknown(parts[:at], text, fields) or _unknown_in_records(parts[at + 1 :], fields)
    if parts[0] in {"headers", "decoded", "control"}:
        return _unknown_in_records(parts, fields)
    if parts[0] == "header" and len(parts) > 1:
        return f'batches have no header of frames; header."{".".join(parts[1:])}" is a header of records'
    wrong = next((part for part in parts if part != PAYLOADS and not _in_batches(part, fields)), None)
    if wrong is None:
        return None
    near = did_you_mean(close_to(wrong, [*sorted(OF_BATCHES), *BATCH, *RECORD, *(_INSIDE if wrong != text else ()), *fields.of_payloads()]))
    if wrong == text and wrong in BY_NAME:
        return f"{wrong} is a column of frames, and batches and records have no such field{near}"
    return f"no batch or record has a field called {wrong}{near}"


def _unknown_in_frames(name: Name, fields: Fields) -> str | None:
    text = name.text
    if name.header is not None:
        is_name = name.header.isalnum() and not text.endswith(("'", '"'))
        near = did_you_mean(close_to(name.header, FRAME_HEADER)) if is_name else ""
        return near and f'no field of a frame\'s header is called {name.header}{near} header."{name.header}" is a header of records'
    if text in BY_NAME:
        return None
    parts = text.removeprefix(".").split(".")
    if parts[0] in ROOTS:
        del parts[0]
    if RECORDS in parts[:-1]:
        at = parts.index(RECORDS)
        return _unknown(parts[:at], text, fields) or _unknown_in_records(parts[at + 1 :], fields)
    if parts[:1] == [PAYLOADS]:
        wrong = next((part for part in parts[1:] if part not in _OF_PAYLOAD and part not in fields and part not in BESIDE), None)
        return wrong and f"no payload has a field called {wrong}{did_you_mean(close_to(wrong, [*_OF_PAYLOAD, *fields]))}"
    if parts[:1] and parts[0] in RECORD and parts[0] not in {"key", "value"}:
        return _unknown_in_records(parts, fields)
    return _unknown(parts, text, fields)


def _unknown(parts: list[str], text: str, fields: Fields) -> str | None:
    for part in parts:
        if part not in BESIDE and part not in fields and not (parts == [part] and part in BATCH + RECORD):
            may_be_column = part == text
            first = (*BY_NAME, *BATCH, *RECORD) if may_be_column else (*ROOTS, RECORDS, PAYLOADS) if text.startswith(f"{part}.") else ()
            known = [*first, *fields]
            return f"no {'column and no ' if may_be_column else ''}field is called {part}{did_you_mean(close_to(part, known))}"
    return None


def _unknown_in_records(parts: list[str], fields: Fields) -> str | None:
    """Why this is no path from a batch, or from a record."""
    in_record = parts[0] == RECORDS
    here: tuple[str, ...] = RECORD if in_record else (*BATCH, *RECORD)
    what = "record" if in_record else "batch or record"
    parts = parts[1:] if in_record else parts
    if parts and parts[0] not in here:
        return f"no {what} has a field called {parts[0]}{did_you_mean(close_to(parts[0], here))}"
    if parts[:1] == ["headers"]:
        wrong = next((part for part in parts[1:] if part not in _OF_HEADER), None)
        return wrong and f"a header of a record has key and value, and no {wrong}; header.{wrong} is the value of headers with this key"
    wrong = next((part for part in parts[1:] if part not in _INSIDE and part not in fields and part not in BESIDE), None)
    return wrong and f"no payload has a field called {wrong}{did_you_mean(close_to(wrong, [*_INSIDE, *fields]))}"
