"""Tables in memory: the facts of some inputs in DuckDB, for questions in SQL.

`Tables` is made with the texts of the questions that will be asked. Only the tables, views and columns of `frames` that
these texts name are filled, in one pass over the inputs: `add` takes what the reader gives, buffers rows as JSON and
lets DuckDB give them their types (`from_json`), so that no Arrow library is imported for a small input. Views are files
in `views/`. A view becomes a table when a question first reads it, because many rules read the same few views.

DuckDB gets no access to files: a question cannot read or write any. Beyond MEMORY, DuckDB moves tables to a temporary
folder.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import weakref
from dataclasses import replace
from datetime import datetime
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import duckdb
import orjson

from kwire_cli.engine.codes import MEANING, REFUSED
from kwire_cli.errors import InputError
from kwire_cli.facts.batches import BATCHES, batch_rows
from kwire_cli.facts.bodies import duckdb_type, structure_of, table_of
from kwire_cli.facts.columns import DUCKDB_TYPES, FRAMES, IN_MEMORY, OF_BODIES, Half, is_misread
from kwire_cli.facts.connections import CONNECTIONS, connection_row
from kwire_cli.facts.errors import ERRORS, error_rows
from kwire_cli.facts.set_fields import SET_FIELDS, set_field_rows
from kwire_cli.message.roles import can_hold_secrets
from kwire_cli.source.kafka.captured import Captured, body_of
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.spec.accepted import accepted_by, known_releases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.spec.catalog import Catalog

MEMORY, TEMPORARY = "256MB", "16GB"
"""Bytes that tables take in memory, and beyond that in a temporary folder."""
AT_ONCE = 1 << 20
"""Bytes of rows in JSON that are given to DuckDB at a time."""
KEY = (("connection", "BIGINT"), ("ordinal", "BIGINT"))
"""The first columns of `frames`: the key of the connection, and the order in which rows came from the inputs."""
BODY_KEY = (("connection", "BIGINT"), ("frame", "BIGINT"), ("api_version", "INTEGER"))
"""The first columns of tables of bodies."""
ACCEPTED_VERSIONS = (
    ("number", "INTEGER"),
    ("release", "VARCHAR"),
    ("api_key", "INTEGER"),
    ("first_version", "INTEGER"),
    ("last_version", "INTEGER"),
    ("last_deprecated", "INTEGER"),
)
"""The versions of each api that each release of Kafka accepts, and the highest one that the release calls deprecated.
Releases are numbered from the oldest on.
"""
ANOMALY_CODES = (("code", "VARCHAR"), ("meaning", "VARCHAR"), ("is_refused", "BOOLEAN"))
"""The codes of anomalies. Kafka's reader fails at those that are refused."""
NAMES = (("capture_point", "VARCHAR"), ("kind", "VARCHAR"), ("key", "VARCHAR"), ("name", "VARCHAR"))
MACROS = (
    "create macro seconds_between(a, b) as date_diff('microsecond', a, b) / 1e6",
    "create macro evidence(place) as arg_min(place, place.ordinal, 10)",
    "create macro host_of(address) as regexp_replace(address, ':[0-9]+$', '')",
)
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_TABLES = re.compile(r"\b(?:from|join)\s+([a-z_]\w*(?:[\s,]+[a-z_]\w*)*)")
_COMMENT = re.compile(r"--[^\n]*")
_ALL_COLUMNS = re.compile(r"(?<!count\()\*")
_FRAME_COLUMNS = (*IN_MEMORY, *FRAMES)


@cache
def views() -> Mapping[str, str]:
    """Return the views by name, as SQL."""
    folder = files("kwire_cli.facts") / "views"
    return {
        file.name.removesuffix(".sql"): file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda each: each.name)
        if file.name.endswith(".sql")
    }


def _words(text: str) -> set[str]:
    return {*_WORD.findall(_COMMENT.sub("", text).lower())}


def named_in(text: str) -> set[str]:
    """Return the words of a query that may be names of tables: those after `from` and `join`, with commas between them.
    A word too many costs a table that nothing reads.
    """
    return {word for part in _TABLES.findall(_COMMENT.sub("", text).lower()) for word in _WORD.findall(part)}


@cache
def needed_by(text: str) -> frozenset[str]:
    """Return the words of a query that may be names of tables, and those of all views that it reads."""
    words = named_in(text)
    waiting = [name for name in words if name in views()]
    while waiting:
        for word in named_in(views()[waiting.pop()]) - words:
            words.add(word)
            if word in views():
                waiting.append(word)
    return frozenset(words)


def _unread(texts: Iterable[str], wanted: frozenset[str]) -> frozenset[str]:
    """Return the columns of `frames` that no query can read, because neither the query nor its views name them."""
    if any("frames" in named_in(text) and _ALL_COLUMNS.search(_COMMENT.sub("", text)) for text in texts):
        return frozenset()
    read = {word for text in (*texts, *(views()[name] for name in wanted & views().keys())) for word in _words(text)}
    return frozenset(column.name for column in _FRAME_COLUMNS) - read


class _Buffer:
    """Rows of one table on their way into DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[tuple[str, Any]]) -> None:
        types = [(name, duckdb_type(kind)) for name, kind in columns]
        connection.execute(f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in types)})")
        as_json = {name: "BIGINT" if kind == "TIMESTAMPTZ" else kind for name, kind in columns}
        values = ", ".join(f"make_timestamptz(r.{n})" if kind == "TIMESTAMPTZ" else f"r.{n}" for n, kind in types)
        self._insert = f"insert into {table} select {values} from (select unnest(from_json($1::json, $2)) as r)"  # noqa: S608 - our own names
        self._structure = orjson.dumps([as_json]).decode()
        self._connection = connection
        self._names = [name for name, _ in columns]
        self._rows: list[bytes] = []
        self._size = 0

    def add(self, values: Sequence[Any]) -> None:
        row = _json(dict(zip(self._names, values, strict=True)))
        self._rows.append(row)
        self._size += len(row)
        if self._size > AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            text = b"[" + b",".join(self._rows) + b"]"
            self._rows, self._size = [], 0
            self._connection.execute(self._insert, [text.decode(), self._structure])


def _json(row: dict[str, Any]) -> bytes:
    """Return a row as JSON, also with the integers of more than 64 bits that a request log may hold."""
    try:
        return orjson.dumps(row)
    except TypeError:
        return json.dumps(row).encode()


class Tables:
    """The facts that some queries read, in DuckDB.

    `add` takes everything that the reader gives for the inputs, in order; `rows` answers a query. Temporary files are
    removed by `close`, and when the process ends.
    """

    def __init__(self, redaction: Redaction, queries: Iterable[str]) -> None:
        self._catalog: Catalog = redaction.catalog
        self._redaction = redaction
        folder = tempfile.mkdtemp(prefix="kwire-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.connection = duckdb.connect(
            config={
                "threads": 1,
                "memory_limit": MEMORY,
                "temp_directory": folder,
                "max_temp_directory_size": TEMPORARY,
                "preserve_insertion_order": False,
            }
        )
        self.connection.execute("set timezone = 'UTC'")
        for macro in MACROS:
            self.connection.execute(macro)
        self.connection.execute("set enable_external_access = false; set lock_configuration = true")
        texts = [*queries]
        wanted = frozenset().union(*map(needed_by, texts))
        unread = _unread(texts, wanted)
        self._of_line = [None if column.name in unread else column.of_line for column in _FRAME_COLUMNS]
        self._of_half = [None if column.name in unread else column.of_half for column in _FRAME_COLUMNS]
        self._of_misread = [
            None if column.name in OF_BODIES else read
            for column, read in zip(_FRAME_COLUMNS, self._of_line, strict=True)
        ]
        self._bodies = self._wanted_bodies(wanted)
        frames = [*KEY, *((column.name, DUCKDB_TYPES[column.type]) for column in _FRAME_COLUMNS)]
        self._frames = self._buffer("frames", frames)
        self._connections = self._buffer("connections", CONNECTIONS)
        self._batches = self._buffer("batches", BATCHES) if "batches" in wanted else None
        self._errors = self._buffer("errors", ERRORS) if "errors" in wanted else None
        self._set_fields = self._buffer("set_fields", SET_FIELDS) if "set_fields" in wanted else None
        self._names = self._buffer("names", NAMES)
        if "accepted_versions" in wanted:
            self._fill_accepted_versions()
        if "anomaly_codes" in wanted:
            self._fill_anomaly_codes()
        self._seen_names: dict[int, tuple[str | None, Names]] = {}
        self._logged_names: dict[str, str] = {}
        self._points: dict[str | None, int] = {}
        self.is_local = False
        """True if times come from a clock whose zone is not known."""
        self.file = ""
        """The log that exchanges are read from."""
        self._made: set[str] = set()
        self._at = 0

    def close(self) -> None:
        """Forget the tables, and remove the temporary files."""
        self.connection.close()
        self._remove()

    def _buffer(self, table: str, columns: Sequence[tuple[str, Any]]) -> _Buffer:
        return _Buffer(self.connection, table, columns)

    def _wanted_bodies(self, wanted: frozenset[str]) -> dict[tuple[str, str], _Buffer]:
        buffers = {}
        for api in self._catalog.apis:
            for kind, message in (("request", api.request), ("response", api.response)):
                table = table_of(api.name, kind)
                if table in wanted and message is not None:
                    structure = structure_of(self._catalog.message(message), show_secrets=self._redaction.show_secrets)
                    buffers[api.name, kind] = self._buffer(table, [*BODY_KEY, ("body", structure)])
        return buffers

    def _fill_accepted_versions(self) -> None:
        buffer = self._buffer("accepted_versions", ACCEPTED_VERSIONS)
        for number, release in enumerate(known_releases()):
            accepted = accepted_by(release)
            for api_key, versions in accepted.versions.items():
                deprecated = accepted.deprecated.get(api_key)
                last_deprecated = deprecated.high if deprecated else None
                buffer.add([number, release, api_key, versions.low, versions.high, last_deprecated])
        buffer.flush()

    def _fill_anomaly_codes(self) -> None:
        buffer = self._buffer("anomaly_codes", ANOMALY_CODES)
        for code, meaning in MEANING.items():
            buffer.add([code, meaning, code in REFUSED])
        buffer.flush()

    def add(self, subject: object) -> None:
        """Take a line or a TCP connection of a capture, or an exchange of a request log; pass over anything else."""
        self._at += 1
        if isinstance(subject, Captured):
            self._add_line(subject)
        elif isinstance(subject, TcpConnection):
            connection = self._connection_of(subject.capture, subject.stream)
            self._connections.add(connection_row(connection, self._at, subject))
        elif isinstance(subject, Exchange):
            self._add_exchange(subject)

    def _add_line(self, line: Captured) -> None:
        connection = self._connection_of(line.origin.capture, line.stream)
        misread = is_misread(line)
        columns = [read and read(line) for read in (self._of_misread if misread else self._of_line)]
        self._frames.add([connection, self._at, *columns])
        if id(line.names) not in self._seen_names:
            self._seen_names[id(line.names)] = line.origin.capture, line.names
        if not line.is_frame or misread:
            return
        buffer = self._bodies.get((line.api or "", line.kind))
        if buffer is not None and line.read is not None:
            buffer.add([connection, line.number, line.api_version, self._body(line)])
        if self._batches is not None:
            for row in batch_rows(line):
                self._batches.add([connection, line.number, *row])
        if self._set_fields is not None and line.kind == "request" and line.api_key is not None:
            for row in set_field_rows(line.api_key, body_of(line)):
                self._set_fields.add([connection, line.number, *row])
        if self._errors is not None and line.kind == "response" and line.read is not None and line.error_codes:
            self._add_errors(connection, line.number, line.api_key, self._body(line), line.names.topic)

    def _add_errors(
        self, connection: int, frame: int, api_key: int | None, body: dict[str, Any], topic_of: Callable[[str], str]
    ) -> None:
        known = None if api_key is None else self._catalog.named_api(api_key)
        if self._errors is not None and known is not None and known.response is not None:
            for row in error_rows(self._catalog.message(known.response), body, topic_of, self._catalog):
                self._errors.add([connection, frame, *row])

    def _connection_of(self, capture: str | None, stream: int) -> int:
        """Return the key of a connection of a capture."""
        return self._points.setdefault(capture, len(self._points)) << 40 | stream

    def _body(self, line: Captured) -> dict[str, Any]:
        if can_hold_secrets(line.message) and (hidden := self._redaction.line(line)):
            body = line.to_json(records="size", hidden=hidden)["body"]
            return body if isinstance(body, dict) else {}
        return body_of(line)

    def _add_exchange(self, exchange: Exchange) -> None:
        connection = _connection_of_text(exchange.connection)
        if exchange.time is not None and datetime.fromisoformat(exchange.time).tzinfo is None:
            self.is_local = True
        numbered = replace(exchange, start=self._at)  # several logs may have lines at the same position
        self._logged_names.update(exchange.named)
        for kind, body in (("request", exchange.request), ("response", exchange.response)):
            if body is None:
                continue
            half = Half(numbered, kind, self.file, self._catalog)
            self._frames.add([connection, self._at, *(read and read(half) for read in self._of_half)])
            if buffer := self._bodies.get((exchange.api or "", kind)):
                buffer.add([connection, self._at, exchange.api_version, body])
        if self._set_fields is not None:
            for row in set_field_rows(exchange.api_key, exchange.request):
                self._set_fields.add([connection, self._at, *row])
        if exchange.errors and exchange.response is not None:
            self._add_errors(connection, self._at, exchange.api_key, exchange.response, self._logged_name)

    def _logged_name(self, topic_id: str) -> str:
        return self._logged_names.get(topic_id, topic_id)

    def finish(self) -> None:
        """Give DuckDB all rows. Queries may be asked then."""
        for point, names in self._seen_names.values():
            for topic_id, name in names.topics.items():
                self._names.add((point, "topic", topic_id, name))
            for address, node in names.brokers.items():
                self._names.add((point, "broker", address, None if node is None else str(node)))
        for topic_id, name in self._logged_names.items():
            self._names.add((None, "topic", topic_id, name))
        buffers = [self._frames, self._connections, self._names, *self._bodies.values()]
        for buffer in [*buffers, *filter(None, (self._batches, self._errors, self._set_fields))]:
            buffer.flush()

    def forget(self, until: datetime) -> None:
        """Drop the frames before a time, and those without one. More may be added then."""
        kept = "select * from frames where time >= $until"
        self.connection.execute(f"create or replace table frames as {kept}", {"until": until})
        self.connection.execute("truncate connections; truncate names")
        for view in self._made:
            self.connection.execute(f"drop table {view}")
        self._made.clear()

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts.

        Raises:
            InputError: DuckDB refuses the query.

        """
        try:
            statements = self.connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError("a query is one SELECT, and nothing else")
            self._make_views(query)
            used = {name: value for name, value in (parameters or {}).items() if f"${name}" in query}
            result = self.connection.execute(query, used)
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        except duckdb.Error as error:
            raise InputError(f"DuckDB says: {error}") from error

    def _make_views(self, query: str) -> None:
        """Make tables of the views that a query reads, those that they read themselves first."""
        for name in sorted(named_in(query) & views().keys()):
            if name in self._made:
                continue
            self._made.add(name)
            text = views()[name]
            self._make_views(text)
            self.connection.execute(f"create table {name} as {text}")


def _connection_of_text(text: str) -> int:
    """Return the key of a connection of a request log, by the broker's name for it."""
    return 1 << 60 | int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big")
