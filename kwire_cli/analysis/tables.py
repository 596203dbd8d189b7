"""The library's function for SQL over captures, request logs and logs of partitions: `kwire_cli.tables`.

A query fills only the tables and columns that it names, because the inputs may be large. If a later query names
further tables or columns, the inputs are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.analysis.subjects import LAKES, LOGS, TRAFFIC
from kwire_cli.facts.queries import columns_read_by, names_all_columns, needed_by
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    import duckdb

    from kwire_cli.facts.memory import Tables
    from kwire_cli.spec.catalog import Paths


class InputTables:
    """The tables of some inputs, filled on demand. A `with` statement removes the temporary files."""

    def __init__(self, inputs: Sequence[str], how: Reading, redaction: Redaction) -> None:
        self._inputs = inputs
        self._how = how
        self._redaction = redaction
        self._queries: list[str] = []
        self._words: frozenset[str] = frozenset()
        self._has_all_columns = False
        self._filled: list[Tables] = []

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB's connection to the filled tables. It has no access to files."""
        return self._tables("select 1" if not self._filled else self._queries[-1]).connection

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return DuckDB's result of a query. `fetchall()`, `df()`, `arrow()` and `show()` return its rows.

        Raises:
            InputError: The query is not a single SELECT, DuckDB rejects it, or an input cannot be read.

        """
        return self._tables(query).relation(query)

    def close(self) -> None:
        """Remove the tables and the temporary files. Unread rows of results are lost."""
        for tables in self._filled:
            tables.close()
        self._filled = []
        self._queries = []
        self._words = frozenset()
        self._has_all_columns = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tables(self, query: str) -> Tables:
        words = needed_by(query) | columns_read_by(query)
        all_columns = names_all_columns(query)
        if self._filled and words <= self._words and (self._has_all_columns or not all_columns):
            return self._filled[-1]
        self._queries.append(query)
        self._words |= words
        self._has_all_columns = self._has_all_columns or all_columns
        fold = TableFold(self._redaction, {str(at): text for at, text in enumerate(self._queries)}, REPLAYED)
        for opened in open_inputs(self._inputs, self._how, takes=TRAFFIC | LOGS | LAKES):
            if not fold.begin(opened):
                for subject in opened.subjects():
                    fold.add(subject)
        tables = fold.finished()
        self._filled.append(tables)  # results of the previous tables stay readable
        return tables


def tables(
    *inputs: str | os.PathLike[str],
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths = (),
    show_secrets: bool = False,
) -> InputTables:
    """Return the tables of captures, request logs and lakes, for queries in SQL: docs/tables.md lists them.

    Args:
        inputs: Paths of files and folders, counted together.
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        show_secrets: Whether columns of bodies contain secrets.

    """
    definitions = catalog(specs)
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog), connections=True)
    return InputTables([str(path) for path in inputs], how, Redaction(definitions, show_secrets=show_secrets))
