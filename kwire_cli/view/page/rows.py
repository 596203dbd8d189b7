"""The calls of a page, stored by column.

Columns of words are dictionary-encoded: a column contains indexes into a list of its distinct words, and a word can be
a list of words. Times are microseconds after the first one. So a page with 100,000 calls needs only a few bytes for
each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    Type = Literal["id", "word", "words", "time", "duration", "bytes", "count"]


class RowColumn(NamedTuple):
    """A column of rows. It is visible by default if `is_shown`; otherwise the user can select it."""

    name: str
    title: str
    type: Type
    is_shown: bool = True
    also: Sequence[str] = ()
    """Other names in filters."""


CALLS = (
    RowColumn("frame", "Frame", "id"),
    RowColumn("time", "Time", "time"),
    RowColumn("api", "Api", "word"),
    RowColumn("client_id", "Client", "word", also=("client", "clientId")),
    RowColumn("broker", "Broker", "word"),
    RowColumn("what", "What", "word"),
    RowColumn("request_size", "Request", "bytes"),
    RowColumn("response_size", "Response", "bytes"),
    RowColumn("served_us", "Served", "duration", also=("served",)),
    RowColumn("errors", "Error", "words", also=("error",)),
    RowColumn("latency_us", "Latency", "duration", is_shown=False, also=("latency",)),
    RowColumn("api_version", "Version", "id", is_shown=False, also=("version", "apiVersion")),
    RowColumn("topics", "Topics", "words", is_shown=False, also=("topic",)),
    RowColumn("groups", "Groups", "words", is_shown=False, also=("group",)),
    RowColumn("transactional_id", "Transactional id", "word", is_shown=False),
    RowColumn("software", "Software", "word", is_shown=False),
    RowColumn("throttle_ms", "Throttled", "duration", is_shown=False, also=("throttle",)),
    RowColumn("in_flight", "In flight", "count", is_shown=False, also=("inFlight",)),
    RowColumn("anomalies", "Anomalies", "words", is_shown=False, also=("anomaly",)),
    RowColumn("kind", "Kind", "word", is_shown=False),
    RowColumn("stream", "Stream", "id", is_shown=False),
    RowColumn("packet", "Packet", "id", is_shown=False),
    RowColumn("line", "Line", "id", is_shown=False),
    RowColumn("capture_point", "Capture", "word", is_shown=False, also=("capture",)),
    RowColumn("file", "File", "word", is_shown=False),
)
"""Columns of calls. The filter language has the same names."""
ROW_BYTES = 80
"""Approximate size of the numbers of a row in bytes."""
NUMBERS = ("request", "response", "asked_at", "answered_at", "is_wait", "expects_answer")
"""Values of calls in addition to the columns: numbers of frames, indexes of entries of details, and flags."""


class Rows:
    """Calls stored by column. Columns without any value are left out.

    Times are relative to `start`. `size` is the approximate size of the rows in bytes.
    """

    def __init__(self, start: int | None) -> None:
        self.count = 0
        self.size = 0
        self._start = start
        self._values: dict[str, list[Any]] = {name: [] for name in NUMBERS}
        self._words: dict[str, dict[Any, int]] = {}
        for column in CALLS:
            self._values[column.name] = []
            if column.type in {"word", "words"}:
                self._words[column.name] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add a row. Missing values are null."""
        self.count += 1
        self.size += ROW_BYTES
        for column in CALLS:
            self._values[column.name].append(self._value(column, row.get(column.name)))
        for name in NUMBERS:
            self._values[name].append(row.get(name))

    def _value(self, column: RowColumn, value: Any) -> Any:
        if column.type == "word":
            return self._number(column.name, escaped(value) if value else "")
        if column.type == "words":
            return self._number(column.name, tuple(map(escaped, value or ())))
        if column.type == "time":
            return None if value is None or self._start is None else value - self._start
        return value

    def _number(self, column: str, word: str | tuple[str, ...]) -> int:
        words = self._words[column]
        if word not in words:
            words[word] = len(words)
            self.size += len(word) if isinstance(word, str) else sum(map(len, word))
        return words[word]

    def document(self) -> dict[str, Any]:
        """Return the rows as JSON."""
        columns = [column for column in CALLS if self._has_values(column)]
        names = [*(column.name for column in columns), *filter(self._is_known, NUMBERS)]
        return {
            "count": self.count,
            "columns": [column._asdict() for column in columns],
            "values": {name: self._values[name] for name in names},
            "words": {column.name: [*self._words[column.name]] for column in columns if column.name in self._words},
        }

    def _has_values(self, column: RowColumn) -> bool:
        if column.name in self._words:
            return any(self._words[column.name])
        return self._is_known(column.name)

    def _is_known(self, name: str) -> bool:
        return any(value is not None for value in self._values[name])
