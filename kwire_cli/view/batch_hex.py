"""Batches byte by byte: their header, their records; those that are compressed a second time as what they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower_records import records_entry
from kwire_cli.engine.spans import Spans, walk
from kwire_cli.engine.tree import Tree, build
from kwire_cli.records.batch import Batch
from kwire_cli.structs.records import v2
from kwire_cli.view.hex import part_lines
from kwire_cli.view.tree import anomaly_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.records.model import Gap, Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.lines import Line


@dataclass(frozen=True)
class DeclaredPart:
    """Bytes with a declaration, as views of bytes take them."""

    entry: Entry
    raw: Spans
    tree: Tree
    message: str = "RecordBatch"

    @property
    def data(self) -> Any:
        """All of the data that they are in."""
        return self.raw.data

    @property
    def exact(self) -> bool:
        """Whether the declaration took all of them."""
        return self.raw.lost < 0 and self.raw.used == self.raw.stop


def declared_part(decl: Any, data: Any, start: int, stop: int) -> DeclaredPart:
    """The bytes [start, stop) by a declaration of `structs.records`."""
    entry = records_entry(decl)
    spans = walk(entry, data, start, stop)
    return DeclaredPart(entry, spans, build(entry, spans))


def hex_lines(catalog: Catalog, item: Batch | Gap, hide: Hide | None, *, deep: bool, rows: int | None) -> Iterator[Line]:
    """A batch or gap; with `deep` compressed records of format v2 are shown as what they become too, with offsets of their own."""
    if not isinstance(item, Batch):
        yield [(f"at {item.position}: ", "dim"), (f"gap: {item.code}", "warning"), (f", {item.size} bytes", "dim")]
        if item.batch:
            yield from _batch_lines(catalog, item.batch, hide, deep=deep, rows=rows)
        return
    yield [
        (f"batch at {item.position}: ", "dim"),
        (f"offsets {item.head.base_offset} to {item.head.last_offset}", "title"),
        (f", {item.size} bytes", "dim"),
    ]
    yield from _batch_lines(catalog, item, hide, deep=deep, rows=rows)


def _batch_lines(catalog: Catalog, item: Batch, hide: Hide | None, *, deep: bool, rows: int | None) -> Iterator[Line]:
    part = declared_part(item.layout.decl, item.source.data, item.position, item.end)
    found = hide if hide and hide.batch(item) else None
    yield from part_lines(catalog, part, found.spans(part.tree) if found else frozenset(), "", rows)
    notes = item.anomalies if deep else item.notes
    if deep and item.layout.name == "v2" and item.head.codec and item.size >= item.layout.head.size:
        from kwire_cli.records.area import area_of  # noqa: PLC0415 - most are not compressed

        area = area_of(item, [])
        yield [("decompressed: ", "dim"), (f"{len(area.data)} bytes", "number")]
        inner = declared_part(v2.RECORDS, area.data, 0, len(area.data))
        yield from part_lines(catalog, inner, found.spans(inner.tree) if found else frozenset(), "", rows)
    yield from anomaly_lines(notes)
