"""The fields in which two records differ, as their formats read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kwire_cli.analysis.comparison.differences import At, InOrder
from kwire_cli.analysis.comparison.messages import compare_documents
from kwire_cli.analysis.comparison.nodes import DocumentNode

if TYPE_CHECKING:
    from kwire_cli.analysis.comparison.differences import Difference, Side
    from kwire_cli.records.batch import Record, Source

MOST = 3
"""Maximum number of fields that are listed."""
LONGEST = 40
"""Maximum number of characters of a value. Longer values are cut."""


def differing_fields(source: Source, a: Record, b: Record) -> str:
    """Return the first fields that differ with both values, such as `value.card.cvc 123, 124`.

    The result is empty if the format of the records is unknown, or if the decoded parts are equal.
    """
    serdes = source.catalog.serdes if source.catalog else None
    if serdes is None:
        return ""
    read = [serdes.record(source.topic, record.key, record.value, record.headers) for record in (a, b)]
    if None in read:
        return ""
    documents = [record.masked().to_json() for record in read]
    found: list[Difference] = []
    for part in ("key", "value"):
        one, two = ((document[part] or {}).get("data") for document in documents)
        at = At(part, part, part, part)
        found += compare_documents(DocumentNode(one, one), DocumentNode(two, two), at, InOrder())
    return "; ".join(f"{each.path} {_text(each.a)}, {_text(each.b)}" for each in found[:MOST])


def _text(side: Side | None) -> str:
    text = "nothing" if side is None else json.dumps(side.value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
