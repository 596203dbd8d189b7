"""Batches of a segment or record set in a list: the file is mapped, and of a batch only its place is kept."""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.ledger import GAP_PATH, Row, rows_of
from kwire_cli.message.batch_row import BatchRow
from kwire_cli.records.batch import Batch
from kwire_cli.records.cut import cut_batch
from kwire_cli.records.model import PADDING, Gap, Source
from kwire_cli.records.reading import read_items
from kwire_cli.tui.look import Look, look_of
from kwire_cli.tui.pace import Pace
from kwire_cli.view.batch_hex import declared_part
from kwire_cli.view.batches import batch_row, heading
from kwire_cli.view.html.batches import entry, gap_entry, title
from kwire_cli.view.html.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.filter import Filter
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.view.lines import Line

_CODES = (PADDING, "TRUNCATED", "CORRUPT")
_BATCH, _WRONG = 0, 1
_GAPS = 2


class Segments:
    """The batches of a source, and the gaps between them."""

    what = ("batch", "batches")
    number_is = "an offset, or @ and a position in the file"

    def __init__(self, redaction: Redaction, source: Source, filter_of: Callable[[str], Filter]) -> None:
        self.catalog, self.source = redaction.catalog, source
        self.hide = redaction.record
        self.notes: list[str] = []
        self._filter_of = filter_of
        self._position, self._size = array("q"), array("q")
        self._what, self._magic = array("B"), array("b")
        self._odd = array("B")
        self._count = 0
        self._read = False

    def __len__(self) -> int:
        return self._count

    def read(self) -> Iterator[float]:
        """Find the batches; their records are read once, for what is odd about them."""
        pace = Pace()
        for item in read_items(self.source):
            self._add(item)
            if pace.is_due():
                yield item.position / len(self.source.data)
        self._read = True

    def _add(self, item: Batch | Gap) -> None:
        self._position.append(item.position)
        self._size.append(item.size)
        if isinstance(item, Batch):
            self._what.append(_BATCH if item.crc_valid else _WRONG)
            self._magic.append(item.magic)
            self._odd.append(bool(item.anomalies))
        else:
            self._what.append(_GAPS + _CODES.index(item.code))
            self._magic.append(item.batch.magic if item.batch else -1)
            self._odd.append(item.code != PADDING)
        self._count += 1

    def _item(self, number: int) -> Batch | Gap:
        position, size, what = self._position[number], self._size[number], self._what[number]
        if what >= _GAPS:
            layout = self.source.layouts.get(self._magic[number])
            return Gap(position, size, _CODES[what - _GAPS], cut_batch(self.source, position, position + size, layout) if layout else None)
        return Batch(self.source, position, size, self.source.layouts[self._magic[number]], what == _BATCH)

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """What finds the batches that match."""
        return partial(self._select, self._filter_of(text))

    def _select(self, found: Filter) -> Iterator[tuple[float, list[int]]]:
        number, pace = 0, Pace()
        some: list[int] = []
        while number < self._count or not self._read:
            if number == self._count:
                yield 0.0, some
                some = []
                continue
            if found.matches(BatchRow(self._item(number), found.deep, self.hide)):
                some.append(number)
            number += 1
            if pace.is_due():
                yield number / self._count, some
                some = []
        yield 1.0, some

    def heading(self, width: int) -> Line:  # noqa: ARG002 - as that of other listings
        """The names of the columns."""
        return heading(deep=False)

    def row(self, number: int, width: int) -> Line:  # noqa: ARG002 - as above
        """A batch as in the table of `kwire dump`."""
        return batch_row(self._item(number))

    def title(self, number: int) -> str:
        """What it is, and where."""
        item = self._item(number)
        return f"at {item.position}: {title(item) if isinstance(item, Batch) else f'gap: {item.code}'}"

    def is_odd(self, number: int) -> bool:
        """Whether it has an anomaly, or is no batch."""
        return bool(self._odd[number])

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - as above
        """Batches have none."""
        return None

    def numbered(self, text: str) -> int | None:
        """The batch with this offset, or `@` and a position."""
        at = text.startswith("@")
        if not text[at:].isdecimal():
            return None
        wanted = int(text[at:])
        for number in range(self._count):
            item = self._item(number)
            if at and item.position <= wanted < item.position + item.size:
                return number
            if not at and isinstance(item, Batch) and item.head.base_offset <= wanted <= item.head.last_offset:
                return number
        return None

    def look(self, number: int, *, full: bool) -> Look:
        """A batch or gap byte by byte."""
        item, outline = self._item(number), Outline(full=full)
        document: Callable[[], Any] = partial(item.to_json, deep=True, hide=self.hide)
        if isinstance(item, Batch):
            part = declared_part(item.layout.decl, self.source.data, item.position, item.end)
            return look_of(entry(self.catalog, item, self.hide, outline), rows_of(part.raw), document)
        found = gap_entry(self.catalog, item, self.source.data, self.hide, self.source.topic, outline)
        if item.batch:
            part = declared_part(item.batch.layout.decl, self.source.data, item.position, item.end)
            return look_of(found, [Row(GAP_PATH, 0, item.size, 1), *rows_of(part.raw)], document)
        return look_of(found, [Row(GAP_PATH, 0, item.size, 1)], document)

    def close(self) -> None:
        """The file is mapped for as long as somebody has it."""
