"""Questions about traffic in SQL: the queries in a folder, and the tables that they read.

Tables are made when the first subject comes, so a question about nothing costs nothing. Damaged lines of request logs
are in no table: they are counted here.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from kwire_cli.answer import words
from kwire_cli.errors import InputError
from kwire_cli.facts.inputs import fill_large, is_large
from kwire_cli.facts.memory import Tables
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import LakeInput
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.answer import Column, Row
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened


@cache
def queries_in(folder: str) -> Mapping[str, str]:
    """Return the queries of a question by name."""
    return {
        file.name.removesuffix(".sql"): file.read_text("utf-8")
        for file in (files("kwire_cli.questions") / folder).iterdir()
        if file.name.endswith(".sql")
    }


def rows_of(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of a query as rows of a table, with times as strings.

    The column `servedSeconds` of the table contains the column `served_seconds` of the query.
    """
    names = [words(column.name).replace(" ", "_") for column in columns]
    return [_row(row, names) for row in rows]


def _row(row: Mapping[str, Any], names: Sequence[str]) -> Row:
    return tuple(_cell(row[name]) for name in names)


def _cell(value: Any) -> Any:
    return time_text(value) if isinstance(value, datetime) else value


def time_text(time: datetime | None) -> str | None:
    """Return a time of a table in ISO 8601 format, with a Z unless its zone is unknown."""
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}{'Z' if time.tzinfo else ''}"


EXPORT_ALL = "kwire export INPUT... -o LAKE --tables all writes all tables"


def without(tables: Sequence[str]) -> str:
    """Return the remark that a lake has no rows of some tables for some of its captures."""
    return f"this lake, or a part of it, was exported without {', '.join(tables)}"


class Traffic:
    """A fold that stores traffic in tables and returns the rows of queries. It is the base class of questions.

    `faults` counts damaged lines of request logs by code. `is_local` is true if times come from a clock whose zone is
    unknown. It is only valid after `finish`.
    """

    needs_batches: ClassVar[bool] = False
    """Whether a log without a readable batch is an error. It is not for questions about damage."""

    takes_partial_lakes: ClassVar[bool] = False
    """Whether a lake may lack tables that the queries read. The answer then names these tables."""

    def __init__(self, redaction: Redaction, queries: Mapping[str, str]) -> None:
        self.faults: Counter[str] = Counter()
        self.is_local = False
        self._redaction = redaction
        self._queries = queries
        self._tables: Tables | None = None

    def add(self, subject: Any) -> None:
        """Add a line or a connection of a capture, or an exchange or a damaged line of a request log."""
        if isinstance(subject, LineFault):
            self.faults[subject.code] += 1
        else:
            self._open_tables().add(subject)

    def begin(self, opened: Opened) -> int:
        """Add all subjects of a large capture at once, and return their number.

        Return 0 for any other input, whose subjects must be added one by one.
        """
        if isinstance(opened, LakeInput):
            return self._begin_lake(opened)
        if opened.kind is Kind.REQUEST_LOG:
            self._open_tables().file = opened.label
        return fill_large(self._open_tables(), opened) if is_large(opened) else 0

    def _begin_lake(self, opened: LakeInput) -> int:
        from kwire_cli.lake.filling import fill  # noqa: PLC0415 - it imports pyarrow

        count = fill(self._open_tables(), opened)
        if opened.lacking and not self.takes_partial_lakes:
            raise InputError(f"{without(opened.lacking)}, which this question reads; {EXPORT_ALL}", file=opened.name)
        return count

    def end_input(self, opened: Opened) -> None:
        """Process an input after all its subjects were added."""

    def add_input(self, opened: Opened) -> None:
        """Add all subjects of a capture or a request log."""
        if not self.begin(opened):
            for subject in opened.subjects():
                self.add(subject)
        self.end_input(opened)

    def _open_tables(self) -> Tables:
        if self._tables is None:
            self._tables = Tables(self._redaction, self._queries.values())
        return self._tables

    def finish(self) -> None:
        """Complete the tables. No subjects can be added afterwards, and queries can run."""
        if self._tables is not None:
            self._tables.finish()
            self.is_local = self._tables.is_local

    def finished(self) -> Tables:
        """Complete and return the tables. They are empty if there was no traffic."""
        self.finish()
        return self._open_tables()

    @contextmanager
    def filled(self) -> Iterator[Tables | None]:
        """Complete the tables, and yield them for queries. Yield None if there was no traffic.

        The tables are closed in the end.
        """
        self.finish()
        try:
            yield self._tables
        finally:
            self.close()

    def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of the query with a name. The list is empty if there was no traffic."""
        return [] if self._tables is None else self._tables.rows(self._queries[query], parameters)

    def forget(self, until: datetime) -> None:
        """Drop the frames before a time. Further frames may be added."""
        if self._tables is not None:
            self._tables.forget(until)

    def close(self) -> None:
        """Close the tables, and drop their contents."""
        if self._tables is not None:
            self._tables.close()
            self._tables = None
