"""KAFKA-9927's four load errors, for `encoding` and for kwire's `elementEncoding`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kwire_cli.spec.encodings import ENCODABLE_TYPES, ENCODING_NAMES
from kwire_cli.spec.scalars import stated
from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    from kwire_cli.spec.model import Encoding
    from kwire_cli.spec.reading import Definition, Item


def encoding_rules(definition: Definition) -> None:
    """Report what is wrong with encodings."""
    for item in definition.walk():
        for key, rows, fits in (
            ("encoding", item.spec.encoding, item.spec.type in ENCODABLE_TYPES),
            ("elementEncoding", item.spec.element_encoding, item.spec.is_array and item.spec.element_type in ENCODABLE_TYPES),
        ):
            if stated(item.keys, key):
                _encoding(key, rows, item, definition, fits=fits)


def _encoding(key: str, rows: tuple[Encoding, ...], item: Item, definition: Definition, *, fits: bool) -> None:
    report, spot = definition.report, item.spot.key(key)
    if not fits:
        array = "an array of " if key == "elementEncoding" else ""
        report.add("ENCODING_TYPE", f"{key} needs {array}{', '.join(ENCODABLE_TYPES)}, not {item.spec.type}", spot)
    for row in rows:
        if row.name not in ENCODING_NAMES:
            report.add("ENCODING_NAME", f"{row.name!a} is none of {', '.join(ENCODING_NAMES)}", spot)
    # A range that occurs twice is one key of a parsed object: only the text shows that there were two.
    twice = report.text is not None and any(keys[:-1] == spot.keys for keys, _ in report.text.duplicates)
    spans = sorted(row.versions for row in rows if row.versions)
    if twice or any(left.high >= right.low for left, right in pairwise(spans)):
        report.add("ENCODING_OVERLAP", "two version ranges overlap", spot)
    if _union(spans) != [item.spec.versions]:
        report.add("ENCODING_RANGES", f"the ranges are together not exactly the field's versions, {item.spec.versions}", spot)


def _union(spans: list[Versions]) -> list[Versions]:
    merged: list[Versions] = []
    for span in spans:
        if merged and span.low <= merged[-1].high + 1:
            merged[-1] = Versions(merged[-1].low, max(merged[-1].high, span.high))
        else:
            merged.append(span)
    return merged
