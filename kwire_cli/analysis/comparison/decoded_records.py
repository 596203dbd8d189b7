"""The fields in which two records differ, as their formats read them."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Record, Source

MOST = 3
"""Fields that are named."""
LONGEST = 40
"""Characters of a value."""
ABSENT = "nothing"


def differing_fields(source: Source, a: Record, b: Record) -> str:
    """Return the first fields that differ with both values, such as `value.card.cvc 123, 124`; empty if records of the
    source are not read, or if what differs was not read.
    """
    serdes = source.catalog.serdes if source.catalog else None
    if serdes is None:
        return ""
    read = [serdes.record(source.topic, record.key, record.value, record.headers) for record in (a, b)]
    if None in read:
        return ""
    documents = [record.masked().to_json() for record in read]
    found = []
    for part in ("key", "value"):
        one, two = ((document[part] or {}).get("data") for document in documents)
        found += [*_differences(part, one, two)]
    return "; ".join(f"{path} {_text(one)}, {_text(two)}" for path, one, two in islice(found, MOST))


def _differences(path: str, one: Any, two: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(two, dict):
        for name in dict.fromkeys((*one, *two)):
            yield from _differences(f"{path}.{name}", one.get(name, ABSENT), two.get(name, ABSENT))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from _differences(f"{path}[{number}]", left, right)
    elif one != two:
        yield path, one, two


def _text(value: Any) -> str:
    text = value if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
