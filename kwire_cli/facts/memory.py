"""Tables in memory: the facts of some inputs in DuckDB, for questions in SQL.

`Tables` takes the queries that will follow. Only the tables, views and columns of `frames` that these queries name are
filled, in one pass over the inputs: `add` takes a subject, buffers rows as JSON and lets DuckDB give them their types
(`from_json`), so that no Arrow library is imported for a small input. Views are files
in `views/`. A view becomes a table when a question first reads it, because many rules read the same few views.

DuckDB gets no access to files: a question cannot read or write any. Beyond MEMORY, DuckDB moves tables to a temporary
folder.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import duckdb

from kwire_cli.engine.codes import MEANING, REFUSED
from kwire_cli.errors import InputError
from kwire_cli.facts.bodies import NO_FIELDS, body_tables_of, structure_of, table_of
from kwire_cli.facts.buffers import Buffer
from kwire_cli.facts.columns import DUCKDB_TYPES, FRAMES, IN_MEMORY, values_of_line
from kwire_cli.facts.connections import CONNECTIONS, connection_row
from kwire_cli.facts.costs.columns import MACROS as COST_MACROS, OF_OWNERS, TABLES as COST_TABLES
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.facts.costs.ledger import MEANING as KIND_MEANING, class_of
from kwire_cli.facts.frame_values import halves_of, is_misread
from kwire_cli.facts.parts import PARTS, errors_in, part_rows, shown_body
from kwire_cli.facts.queries import columns_read_by, named_in, names_all_columns, needed_by, views
from kwire_cli.facts.set_fields import set_field_rows
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.spec.catalog import Catalog

MEMORY = "256MB"
TEMPORARY = "16GB"
"""Bytes that tables take in memory, and beyond that in a temporary folder."""
ROWS_AT_ONCE = 1024
"""Rows that `Tables.each` takes from DuckDB at a time."""
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
BYTE_KINDS = (("kind", "VARCHAR"), ("class", "VARCHAR"), ("meaning", "VARCHAR"))
"""The kinds of bytes. Their classes are payload, overhead and unread."""
ERROR_MEANINGS = (
    ("error", "VARCHAR"),
    ("meaning", "VARCHAR"),
    ("given", "VARCHAR"),
    ("clients", "VARCHAR"),
    ("advice", "VARCHAR"),
)
"""Error codes in words, as `kwire explain error` prints them."""
NAMES = (("capture_point", "VARCHAR"), ("kind", "VARCHAR"), ("key", "VARCHAR"), ("name", "VARCHAR"))
_TABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "connections": CONNECTIONS,
    "names": NAMES,
    **PARTS,
    **COST_TABLES,
}
_ALWAYS = frozenset({"connections", "names"})
MACROS = (
    "create macro seconds_between(a, b) as date_diff('microsecond', a, b) / 1e6",
    "create macro evidence(place) as arg_min(place, place.ordinal, 10)",
    "create macro host_of(address) as trim(regexp_replace(address, ':[0-9]+$', ''), '[]')",
    "create macro partition_name(p) as p.topic || case when p.partition >= 0 then '-' || p.partition else '' end",
    """
    create macro partition_names(parts) as [
        case
            when i > 1 and parts[i - 1].topic = p.topic and parts[i - 1].partition >= 0 then p.partition::varchar
            else partition_name(p)
        end
        for p, i in parts
    ]
    """,
    """
    create macro few(texts) as
        array_to_string(texts[:3], ', ')
        || case when len(texts) > 3 then ' and ' || (len(texts) - 3) || ' more' else '' end
    """,
    """
    create macro counts_of(lists) as coalesce(
        map_from_entries([
            (e.value, -e.times) for e in list_sort([
                {'times': -e.value::bigint, 'value': e.key} for e in map_entries(list_histogram(flatten(list(lists))))
            ])
        ]),
        map()
    )
    """,
    "create macro counted(value) as [e.value || ' ' || e.key for e in map_entries(counts_of([value]))]",
    *COST_MACROS,
)
_LATE_BROKERS = (
    """
    update connections set broker = n.name::integer
    from names n
    where connections.broker is null and n.kind = 'broker' and n.key = connections.broker_address
        and n.capture_point is not distinct from connections.capture_point
    """,
    """
    update frames set broker = c.broker
    from connections c
    where frames.broker is null and c.broker is not null and c.connection = frames.connection
    """,
)
"""Statements that fill in the brokers whose addresses were named later."""
_CLOSED = (
    "set enable_external_access = false",
    "set python_enable_replacements = false",
    "set lock_configuration = true",
)
"""Settings by which a query sees no file and no variable of the program."""
_FRAME_COLUMNS = tuple(column for column in (*IN_MEMORY, *FRAMES) if column.name not in dict(KEY))


class Tables:
    """The facts that some queries read, in DuckDB.

    `add` takes everything that the reader gives for the inputs, in order; `rows` answers a query. Temporary files are
    removed by `close`, and when the process ends.
    """

    def __init__(self, redaction: Redaction, queries: Iterable[str]) -> None:
        self.catalog: Catalog = redaction.catalog
        self.show_secrets: bool = redaction.show_secrets
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
        for setting in _CLOSED:
            self.connection.execute(setting)
        texts = [*queries]
        wanted = frozenset().union(*map(needed_by, texts))
        takes_all = any(map(names_all_columns, texts))
        read = frozenset().union(*map(columns_read_by, texts))
        self.columns = tuple(column for column in _FRAME_COLUMNS if takes_all or column.name in read)
        """The columns of `frames` that are filled, after the key."""
        self.structures: dict[tuple[str, str], Any] = {}
        """The structures of the bodies that are wanted, by the name of the api and request or response."""
        self._buffers = self._wanted_bodies(wanted)
        frames = [*KEY, *((column.name, DUCKDB_TYPES[column.type]) for column in self.columns)]
        self._buffers["frames"] = self._buffer("frames", frames)
        for table, columns in _TABLES.items():
            if table in wanted or table in _ALWAYS:
                self._buffers[table] = self._buffer(table, columns)
        self.parts = PARTS.keys() & self._buffers.keys()
        """The tables about parts of frames that are filled."""
        for table in _KNOWN_ROWS.keys() & wanted:
            self._fill(table)
        owners = [name for name in OF_OWNERS if takes_all or name in read]
        self._costs = Costs(self.catalog, owners) if self.takes("costs") else None
        self._seen_names: dict[int, tuple[str | None, Names]] = {}
        self._logged_names: dict[str, str] = {}
        self._points: dict[str | None, int] = {}
        self.is_local = False
        """True if times come from a clock whose zone is not known."""
        self.file = ""
        """The log that exchanges are read from."""
        self.created: set[str] = set()
        """The tables that `create` made."""
        self._made: set[str] = set()
        self._at = 0

    def close(self) -> None:
        """Forget the tables, and remove the temporary files."""
        self.connection.close()
        self._remove()

    def _buffer(self, table: str, columns: Sequence[tuple[str, Any]]) -> Buffer:
        return Buffer(self.connection, table, columns)

    def _wanted_bodies(self, wanted: frozenset[str]) -> dict[str, Buffer]:
        newest = catalog()  # a query may name an api that the definitions of an older release lack
        apis: dict[str, tuple[Any, Catalog]] = {}
        for known in (newest, self.catalog):
            apis.update((api.name, (api, known)) for api in known.apis)
        buffers = {}
        for api, known in apis.values():
            for table, kind, message in body_tables_of(api):
                if table in wanted:
                    structure = structure_of(known.message(message), show_secrets=self.show_secrets) or NO_FIELDS
                    self.structures[api.name, kind] = structure
                    buffers[table] = self._buffer(table, [*BODY_KEY, ("body", structure)])
        return buffers

    def _fill(self, table: str) -> None:
        """Create a table of facts about Kafka that do not depend on the inputs."""
        columns, rows = _KNOWN_ROWS[table]
        buffer = self._buffer(table, columns)
        for row in rows():
            buffer.add(row)
        buffer.flush()

    def create(self, table: str, columns: Sequence[tuple[str, Any]]) -> None:
        """Create another table, with the types of its columns as names of DuckDB's types or as structures."""
        self._buffers[table] = self._buffer(table, columns)
        self.created.add(table)

    def takes(self, table: str) -> bool:
        """Return whether a table is filled. Most tables are only filled for queries that read them."""
        return table in self._buffers

    def put(self, table: str, row: Sequence[Any]) -> None:
        """Add a row with a value for each column of a table that is filled."""
        self._buffers[table].add(row)

    def insert(self, table: str, rows: Any) -> None:
        """Add the rows of an Arrow table to a table, by the names of the columns."""
        names = ", ".join(rows.column_names)
        self.connection.register("incoming", rows)
        self.connection.execute(f"insert into {table} ({names}) select {names} from incoming")  # noqa: S608 - our own names
        self.connection.unregister("incoming")

    def put_costs(self, costs: Costs) -> None:
        """Add the counts to the tables of costs."""
        for name, row in costs.rows():
            if self.takes(name):
                self.put(name, row)

    def learn(self, capture: str | None, names: Names) -> None:
        """Add the names of topics and brokers in a capture."""
        self._seen_names[id(names)] = capture, names

    def count(self, subjects: int) -> int:
        """Reserve the next ordinals for a number of subjects. Return the last ordinal before them."""
        self._at += subjects
        return self._at - subjects

    def add(self, subject: object) -> None:
        """Add a line or a TCP connection of a capture, or an exchange of a request log. Ignore other subjects."""
        self._at += 1
        if isinstance(subject, Captured):
            self._add_line(subject)
            if self._costs:
                self._costs.file = subject.where.file
                self._costs.add(subject)
        elif isinstance(subject, TcpConnection):
            connection = self.connection_key(subject.capture, subject.stream)
            self.put("connections", connection_row(connection, self._at, subject))
        elif isinstance(subject, Exchange):
            self._add_exchange(subject)

    def _add_line(self, line: Captured) -> None:
        connection = self.connection_key(line.origin.capture, line.stream)
        self.put("frames", [connection, self._at, *values_of_line(line, self.columns)])
        if id(line.names) not in self._seen_names:
            self.learn(line.origin.capture, line.names)
        for table, row in self.rows_of(line):
            self.put(table, [connection, line.number, *row])

    def rows_of(self, line: Captured) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the rows of a line in the tables of bodies, batches and errors, without the key."""
        if not line.is_frame or is_misread(line):
            return
        yield from part_rows(line, self.parts, self._redaction)
        structure = self.structures.get((line.api or "", line.kind))
        if structure and line.read is not None:
            body = None if structure == NO_FIELDS else shown_body(line, self._redaction)
            yield table_of(line.api or "", line.kind), (line.api_version, body)

    def connection_key(self, capture: str | None, stream: int) -> int:
        """Return the key of a connection of a capture."""
        return self._points.setdefault(capture, len(self._points)) << 40 | stream

    def _add_exchange(self, exchange: Exchange) -> None:
        connection = _connection_of_text(exchange.connection)
        if exchange.time is not None and datetime.fromisoformat(exchange.time).tzinfo is None:
            self.is_local = True
        numbered = replace(exchange, start=self._at)  # several logs may have lines at the same position
        self._logged_names.update(exchange.named)
        for half in halves_of(numbered, self.file, self.catalog):
            self.put("frames", [connection, self._at, *(column.of_half(half) for column in self.columns)])
            if (exchange.api or "", half.kind) in self.structures:
                table = table_of(exchange.api or "", half.kind)
                self.put(table, [connection, self._at, exchange.api_version, half.body])
        if self.takes("set_fields"):
            for row in set_field_rows(exchange.api_key, exchange.request):
                self.put("set_fields", [connection, self._at, *row])
        if self.takes("errors") and exchange.errors and exchange.response is not None:
            for row in errors_in(self.catalog, exchange.api_key, exchange.response, self._logged_name):
                self.put("errors", [connection, self._at, *row])

    def _logged_name(self, topic_id: str) -> str:
        return self._logged_names.get(topic_id, topic_id)

    def finish(self) -> None:
        """Insert all rows into the tables, before a query."""
        for point, names in self._seen_names.values():
            for topic_id, name in names.topics.items():
                self.put("names", (point, "topic", topic_id, name))
            for address, node in names.brokers.items():
                self.put("names", (point, "broker", address, None if node is None else str(node)))
        for topic_id, name in self._logged_names.items():
            self.put("names", (None, "topic", topic_id, name))
        if self._costs:
            self.put_costs(self._costs)
        self.flush()
        for statement in _LATE_BROKERS if any(column.name == "broker" for column in self.columns) else ():
            self.connection.execute(statement)

    def flush(self) -> None:
        """Insert the buffered rows of `put` into the tables."""
        for buffer in self._buffers.values():
            buffer.flush()

    def each(self, query: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query as dicts, a few at a time, so that they may be many.

        Raises:
            InputError: DuckDB refuses the query.

        """
        try:
            self._make_views(query)
            with self.connection.cursor() as result:
                result.execute(query)
                names = [column[0] for column in result.description]
                while some := result.fetchmany(ROWS_AT_ONCE):
                    yield from self._dicts(names, some)
        except duckdb.Error as error:
            raise InputError(f"DuckDB says: {error}") from error

    def forget(self, until: datetime) -> None:
        """Drop the frames before a time, and frames without a time. More frames may be added afterwards."""
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
        used = {name: value for name, value in (parameters or {}).items() if f"${name}" in query}
        try:
            result = self.connection.execute(self._prepared(query), used)
            names = [column[0] for column in result.description]
            return [*self._dicts(names, result.fetchall())]
        except duckdb.Error as error:
            raise InputError(f"DuckDB says: {error}") from error

    def _dicts(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
        """Yield rows as dicts. Times have no zone if they come from a clock with an unknown zone."""
        for row in rows:
            yield dict(zip(names, map(_without_zone, row) if self.is_local else row, strict=True))

    def relation(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the answer to a query as a relation of DuckDB. It raises the errors of `rows`."""
        try:
            self._prepared(query)
            return self.connection.sql(query)
        except duckdb.Error as error:
            raise InputError(f"DuckDB says: {error}") from error

    def _prepared(self, query: str) -> duckdb.Statement:
        """Return the parsed query. The views that it reads have been created as tables."""
        statements = self.connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError("a query is one SELECT, and nothing else")
        self._make_views(query)
        return statements[0]

    def _make_views(self, query: str) -> None:
        """Create tables from the views that a query reads. The views that they read are created first."""
        for name in sorted(named_in(query) & views().keys()):
            if name in self._made:
                continue
            self._made.add(name)
            text = views()[name]
            self._make_views(text)
            self.connection.execute(f"create table {name} as {text}")


@cache
def _accepted_rows() -> tuple[tuple[Any, ...], ...]:
    """Return the rows of `accepted_versions`."""
    rows: list[tuple[Any, ...]] = []
    for number, release in enumerate(known_releases()):
        accepted = accepted_by(release)
        for api_key, versions in accepted.versions.items():
            deprecated = accepted.deprecated.get(api_key)
            last_deprecated = deprecated.high if deprecated else None
            rows.append((number, release, api_key, versions.low, versions.high, last_deprecated))
    return tuple(rows)


_KNOWN_ROWS: Mapping[str, tuple[Sequence[tuple[str, str]], Callable[[], Iterable[Sequence[Any]]]]] = {
    "accepted_versions": (ACCEPTED_VERSIONS, _accepted_rows),
    "anomaly_codes": (ANOMALY_CODES, lambda: [(code, text, code in REFUSED) for code, text in MEANING.items()]),
    "byte_kinds": (BYTE_KINDS, lambda: [(kind, class_of(kind), text) for kind, text in KIND_MEANING.items()]),
    "error_meanings": (ERROR_MEANINGS, lambda: [(name, *text) for name, text in catalog().error_meanings.items()]),
}
"""The columns and rows of tables that do not depend on the inputs."""


def _without_zone(value: Any) -> Any:
    """Return a value with times without a zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dict):
        return {name: _without_zone(each) for name, each in value.items()}
    return [*map(_without_zone, value)] if isinstance(value, list) else value


def _connection_of_text(text: str) -> int:
    """Return the key of a connection of a request log, by the broker's name for it."""
    return 1 << 60 | int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big")
