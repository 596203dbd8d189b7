"""Captures in a list: read once from end to end, a line made again when it is on the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.source.capture.reading import Capture
from kwire_cli.source.kafka.columns import COLUMNS, FilterRow, LineRow
from kwire_cli.source.kafka.names import Names
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.tui.costs import frame_costs
from kwire_cli.tui.index import Index
from kwire_cli.tui.look import Look, look_of
from kwire_cli.tui.pace import Pace
from kwire_cli.view.html.frames import line_entry, line_row
from kwire_cli.view.html.outline import Outline
from kwire_cli.view.table import TABLE, heading, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.filter import Filter
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.lines import Line

    Matches = Callable[[Any], bool]

LARGE = 16 << 10
"""Bytes of a frame from which on what its row says is kept."""
MOST_TOPICS = 20
"""Topics that are shown of such a frame."""
_NARROW = ("frame", "kind", "api", "apiVersion", "size", "latency", "error", "topics")
_MIDDLE = ("frame", "time", "kind", "api", "apiVersion", "clientId", "size", "latency", "error", "topics")


@dataclass(frozen=True, slots=True)
class _KnownRow(LineRow):
    """A row of a large frame, with what was read for it when that was read anyway."""

    values: dict[str, Any] = field(default_factory=dict)
    names: Names = field(default_factory=Names)

    def column(self, name: str) -> Any:
        """The value of a column; topics by the names that are known by now."""
        value = self.values[name]
        return [self.names.topic(topic) for topic in value[:MOST_TOPICS]] if name == "topics" else value


class Captures:
    """The lines of a capture file. `filter_of` compiles a filter."""

    what = ("frame", "frames")
    number_is = "a frame's number"

    def __init__(self, redaction: Redaction, path: str, filter_of: Callable[[str], Filter], *, port: int | None, key_logs: Sequence[str]) -> None:
        self.catalog, self.path, self.port, self.key_logs, self.redaction = redaction.catalog, path, port, key_logs, redaction
        self.notes: list[str] = []
        self._filter_of = filter_of
        self._index = Index(self.catalog, self._capture().origin)  # what cannot be read says so at once
        self._read = False
        self._size = max(Path(path).stat().st_size, 1)
        self._known: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._index)

    def _capture(self, source: Any = None) -> Capture:
        return Capture(source or self.path, key_logs=self.key_logs)

    def _lines(self, names: Names | None) -> Iterator[tuple[float, Captured]]:
        """The lines, with the share of the file that has been read; what ended it early is noted."""
        with Path(self.path).open("rb") as file:
            capture = self._capture(file)
            lines = traffic(self.catalog, capture, port=self.port, waiting_since=capture.waiting_since, again=self._capture, names=names)
            for line in lines:
                yield file.tell() / self._size, line
            self.notes = [f"after packet {notice.packet}, byte {notice.position}: {notice.text}" for notice in capture.notices]

    def read(self) -> Iterator[float]:
        """Find the lines. Names of topics are learnt on the way, so that rows get them that were found before."""
        pace = Pace()
        for share, line in self._lines(self._index.names):
            self._index.add(line)
            if line.seen.size >= LARGE:  # which takes long to read again for its row
                self._known[line.number - 1] = {name: COLUMNS[name](line) for name in TABLE}
            if pace.is_due():
                yield share
        self._read = True

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """What finds the lines that match: the capture is read again for them, which is quicker than making each line again."""
        return partial(self._select, self._filter_of(text).matches)

    def _select(self, matches: Matches) -> Iterator[tuple[float, list[int]]]:
        names = Names(dict(self._index.names.topics), dict(self._index.names.brokers)) if self._read else None
        found: list[int] = []
        pace = Pace()
        for share, line in self._lines(names):
            while line.number > len(self) and not self._read:  # the list must have it before it is shown
                yield share, found
                found = []
            if line.number > len(self):
                break  # the file has grown since
            if matches(FilterRow(line, self.redaction)):
                found.append(line.number - 1)
            if pace.is_due():
                yield share, found
                found = []
        yield 1.0, found

    def _columns(self, width: int) -> tuple[str, ...]:
        return _NARROW if width < 120 else _MIDDLE if width < 180 else TABLE

    def heading(self, width: int) -> Line:
        """The names of the columns."""
        return heading(self._columns(width))

    def row(self, number: int, width: int) -> Line:
        """A line as in the table of `kwire decode`."""
        return self._row(number, self._columns(width))

    def _row(self, number: int, columns: tuple[str, ...]) -> Line:
        line, known = self._index.line(number), self._known.get(number)
        return row(LineRow(line) if known is None else _KnownRow(line, None, known, self._index.names), columns)

    def title(self, number: int) -> str:
        """The frame's number, and what it is."""
        shown = line_row(self._index.line(number))
        version = f" version {shown['version']}" if "version" in shown else ""
        return f"frame {number + 1}: {shown['title']}{version}, {shown['src']} to {shown['dst']}"

    def is_odd(self, number: int) -> bool:
        """Whether it has an anomaly."""
        return self._index.is_odd(number)

    def partner(self, number: int) -> int | None:
        """Its response or its request."""
        found = self._index.request_of(number)
        return self._index.response_of(number) if found is None else found

    def numbered(self, text: str) -> int | None:
        """The frame of this number."""
        return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(self) else None

    def look(self, number: int, *, full: bool) -> Look:
        """The frame of a line, with its request where it is a response."""
        line = self._index.line(number)
        hidden, hide = self.redaction.line(line), self.redaction.record
        entry = line_entry(self.catalog, line, hidden, hide, Outline(full=full))
        notes = [line.seen.reason] if line.seen.reason else []
        return look_of(
            entry, frame_costs(line.frame) if line.frame else [], partial(line.to_json, records="decoded", hidden=hidden, hide=hide), notes
        )

    def close(self) -> None:
        """Let go of the bytes."""
        self._index.close()
