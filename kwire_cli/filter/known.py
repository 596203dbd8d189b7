"""What the parts of a field's path can be: one that is misspelt is nowhere, and nothing would say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.filter.columns import BY_NAME
from kwire_cli.filter.paths import ROOTS
from kwire_cli.filter.places import BATCH, FRAME_HEADER, PAYLOADS, RECORD, RECORDS
from kwire_cli.structs.tags import UNKNOWN_KEY

if TYPE_CHECKING:
    from kwire_cli.filter.nodes import Name
    from kwire_cli.filter.places import Fields

BESIDE = frozenset({UNKNOWN_KEY, "tag", "data"})
"""Keys of the JSON form that no definition has: the tagged fields that are unknown."""


_OF_PAYLOAD = ("path", "type", "version", "data")
_OF_HEADER = ("key", "value")


def unknown_part(name: Name, fields: Fields) -> str | None:
    """Why a name is neither a column nor the path of a field, if it is neither; the message names the part that is wrong."""
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
    inside = (*_OF_PAYLOAD, "key", "value", "coordinatorEpoch", "code", "offset", "detail")
    wrong = next((part for part in parts[1:] if part not in inside and part not in fields and part not in BESIDE), None)
    return wrong and f"no payload has a field called {wrong}{did_you_mean(close_to(wrong, [*inside, *fields]))}"
