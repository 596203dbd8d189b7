"""The batches of a segment or record set, and the gaps between them.

Only the position, the time and the presence of anomalies are kept of an entry; the entry is read again when it is
shown. A segment that is followed is opened again when it may have grown. Bytes at its end that are not a whole batch
are not listed: the broker may be writing them, or has reserved them.
"""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.filter.rows import BatchRow
from kwire_cli.records.batch import PADDING, Batch, Source
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import read_items
from kwire_cli.source.growing import POLL
from kwire_cli.tui.look import Look
from kwire_cli.view.batch_table import batch_row, table_columns
from kwire_cli.view.bounded_outline import of_item
from kwire_cli.view.outline import batch_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.selection import RowFilter
    from kwire_cli.source.reading import Follow


class Segments:
    """The entries of a source, which `open_source` opens. The methods are those of `Captures`."""

    what = ("batch", "batches")
    sorts = ("size", "time")
    columns = table_columns(deep=False)

    def __init__(
        self,
        redaction: Redaction,
        filter_of: Callable[[str], RowFilter],
        open_source: Callable[[], Source],
        follow: Follow | None = None,
    ) -> None:
        self.redaction = redaction
        self.filter_of = filter_of
        self.notes: list[str] = []
        self.source = open_source()
        self._open_source = open_source
        self._follow = follow
        self._positions = array("q")
        self._times = array("q")
        self._failed = array("B")
        self._end = 0

    def __len__(self) -> int:
        return len(self._failed)

    def read(self) -> Iterator[float]:
        yield from self._read_on()
        while self._follow and not self._follow.stop():
            self._follow.sleep(POLL)
            source = self._open_source()
            if source.size < self._end:
                raise InputError("the file became shorter while it was followed")
            if source.size > self._end:
                self.source = source
                yield from self._read_on()
            yield 1.0

    def _read_on(self) -> Iterator[float]:
        for item in read_items(self.source, self._end):
            end = item.position + item.size
            if self._follow and isinstance(item, Gap) and end == self.source.size:
                return
            self._positions.append(item.position)
            self._times.append(item.head.max_timestamp if isinstance(item, Batch) else -1)
            self._end = end
            self._failed.append(bool(item.anomalies) if isinstance(item, Batch) else item.code != PADDING)
            yield end / self.source.size

    def _item(self, number: int) -> Batch | Gap:
        return next(read_items(self.source, self._positions[number]))

    def matcher(self, text: str) -> Callable[[int], bool]:
        found = self.filter_of(text)
        return lambda number: found.matches(BatchRow(self._item(number), found.deep, self.redaction.record))

    def cells(self, number: int) -> list[str]:
        return list(batch_row(self._item(number)))

    def look(self, number: int, *, full: bool) -> Look:
        item = self._item(number)
        outline = of_item(self.redaction.catalog, item, self.source, self.redaction.reading(), full=full)
        title = f"at {item.position}: {batch_title(item) if isinstance(item, Batch) else f'gap: {item.code}'}"
        return Look(outline, title, partial(item.to_json, deep=True, hide=self.redaction.record))

    def sort_value(self, column: str) -> Callable[[int], int]:
        if column == "time":
            return self._times.__getitem__
        ends = [*self._positions[1:], self._end]
        return lambda number: ends[number] - self._positions[number]

    def is_error(self, number: int) -> bool:
        return bool(self._failed[number])

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - batches have no pairs
        return None

    def write_packets(self, numbers: Sequence[int], name: str) -> Iterator[float]:  # noqa: ARG002 - a log has no packets
        yield 0.0
        raise InputError("only a capture has packets")

    def close(self) -> None:
        """Do nothing: there is no temporary file."""
