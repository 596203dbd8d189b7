"""Questions about traffic in SQL: the queries in a folder, and the tables that they read.

Tables are made when the first subject comes, so a question about nothing costs nothing. Damaged lines of request logs
are in no table: they are counted here.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kwire_cli.facts.memory import Tables
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from kwire_cli.message.redaction import Redaction


@cache
def queries_in(folder: str) -> Mapping[str, str]:
    """Return the queries of a question by name."""
    return {
        file.name.removesuffix(".sql"): file.read_text("utf-8")
        for file in (files("kwire_cli.questions") / folder).iterdir()
    }


class Traffic:
    """Tables about traffic, and the rows of queries about it. `faults` counts damaged lines of request logs by code."""

    def __init__(self, redaction: Redaction, queries: Mapping[str, str]) -> None:
        self.faults: Counter[str] = Counter()
        self._redaction, self._queries = redaction, queries
        self._tables: Tables | None = None

    @property
    def is_local(self) -> bool:
        """Return whether times come from a clock whose zone is not known."""
        return self._tables is not None and self._tables.is_local

    def add(self, subject: object) -> None:
        """Take a line or a connection of a capture, or an exchange or a damaged line of a request log."""
        if isinstance(subject, LineFault):
            self.faults[subject.code] += 1
            return
        if self._tables is None:
            self._tables = Tables(self._redaction, self._queries.values())
        self._tables.add(subject)

    def finish(self) -> None:
        """End the adding of subjects, before queries are asked."""
        if self._tables is not None:
            self._tables.finish()

    def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a query; none if there was no traffic."""
        return [] if self._tables is None else self._tables.rows(self._queries[query], parameters)

    def forget(self, until: datetime) -> None:
        """Drop what came before a time. More may be added then."""
        if self._tables is not None:
            self._tables.forget(until)

    def close(self) -> None:
        """Forget the tables."""
        if self._tables is not None:
            self._tables.close()
