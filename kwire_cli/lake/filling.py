"""Tables in memory filled from a lake, for the questions that captures and request logs answer.

A lake has the same columns as the tables in memory, but other keys: connections are digests, and frames are counted by
connection. `places` numbers the frames of a capture point by their packets, as `kwire decode` numbers them: a response
follows its request even if its packet is earlier. `streams` numbers the connections by their first packets. Topic ids
and addresses get the names that any run learnt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.facts.bodies import NO_FIELDS, table_of
from kwire_cli.facts.columnar.bodies import arrow_kind, conform
from kwire_cli.facts.columns import OF_BODIES
from kwire_cli.facts.connections import CONNECTIONS
from kwire_cli.facts.parts import KEY, PARTS
from kwire_cli.lake import BODIES
from kwire_cli.lake.query import Lake
from kwire_cli.lake.sql_text import quote_name, quote_text
from kwire_cli.lake.tables import PART_TABLES, messages_of_bodies
from kwire_cli.source.opening import LakePart
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.opening import LakeInput

_PLACES = """
create or replace temp table places as
with seen as (
    select file, time from frames where {here}
    union all
    select file, first_time from connections where {lives}
),
files as (
    select file, dense_rank() over (order by min(time) nulls last, file) as at
    from seen
    group by file
),
packets as (
    select connection, frame, request_frame, src, files.at * (1::bigint << 40) + coalesce(packet, frame) as packet
    from frames
    join files using (file)
    where {here}
),
in_order as (
    select connection, frame, max(packet) over before as place
    from packets
    window before as (
        partition by connection, src
        order by frame
        rows between unbounded preceding and current row
    )
),
frames_placed as (
    select p.connection, p.frame, max(greatest(p.packet, r.place)) over before as place
    from packets p
    left join in_order r on r.connection = p.connection and r.frame = p.request_frame
    window before as (
        partition by p.connection, p.src
        order by p.frame
        rows between unbounded preceding and current row
    )
),
connections_placed as (
    select connection, min(files.at * (1::bigint << 40) + packet) as place
    from connections
    join files using (file)
    where {lives}
    group by connection
),
streams as (
    select connection, row_number() over (order by min(place), connection) - 1 as stream
    from (select connection, place from frames_placed union all select connection, place from connections_placed)
    group by connection
),
frames_numbered as (
    select connection, frame, dense_rank() over (order by place, connection, frame) as number
    from (select connection, frame, min(place) as place from frames_placed group by connection, frame)
)
select connection, stream, frame, number
from streams
left join frames_numbered using (connection)
"""
"""One row for each frame of a capture point, and one for each connection without frames: the number of the TCP
connection, and the number of the frame. The two halves of a line of a request log have one number.
"""
_FRAME = "join places p on p.connection = t.connection and p.frame = t.frame"
_CONNECTION = "join (select distinct connection, stream from places) p on p.connection = t.connection"
_NUMBERS = {
    "frame": "p.number",
    "request_frame": "q.number",
    "stream": "case when t.source <> 'request-log' then p.stream end",
}
_FOR_FILTERS = {
    "time": "epoch_us(t.time)",
    "host": "[trim(regexp_replace(address, ':[^:]*$', ''), '[]') for address in [t.src, t.dst]]",
    "port": "[try_cast(split_part(address, ':', -1) as integer) for address in [t.src, t.dst]]",
}
_CHOSEN_BY = "chosen_by"
_TOPICS = "(select key, max(name) as name from names where kind = 'topic' and {here} group by key)"


def fill(tables: Tables, opened: LakeInput) -> int:
    """Fill tables from a lake, and return the number of frames.

    Raises:
        InputError: The lake has no frames, or has captures and request logs.

    """
    bodies = {table_of(*key): structure for key, structure in tables.structures.items()}
    parts = {table: part for table, part in PART_TABLES.items() if part in tables.parts}
    wanted = ["frames", "frames_named", "connections", "names", "inputs", *parts, *bodies]
    with Lake(opened.folder, f"from {', '.join(wanted)}") as lake:
        count = chosen = 0
        points = _points(lake, opened)
        is_alone = len(points) == 1 and not tables.count(0)
        for point in points:
            filling = _Filling(tables, lake, opened, point, is_alone=is_alone)
            count += filling.fill(parts, bodies)
            chosen += filling.chosen
        exported = lake.rows("select size, tables from inputs where kind in ('capture', 'request-log')")
    if opened.choice and not chosen:
        opened.caller.note(f"{opened.label}: no frame matches ({count} read)")
    opened.files = len(exported)
    opened.size = sum(row["size"] for row in exported)
    opened.lacking = _lacking({row["tables"] for row in exported}, [*parts, *bodies])
    return count


def _points(lake: Lake, opened: LakeInput) -> list[str]:
    if opened.part is not None:
        return [opened.part.point]
    rows = lake.rows("select distinct capture_point, source from frames order by capture_point")
    _check_frames(rows, opened)
    if len({row["source"] for row in rows}) > 1:
        raise InputError(
            "this lake has captures and request logs, which may show the same requests: export them to one lake each",
            file=opened.name,
        )
    return [row["capture_point"] for row in rows]


def parts_of(opened: LakeInput) -> list[LakePart]:
    """Return the capture points and days of the frames in a lake, in order.

    Raises InputError for a lake without frames.
    """
    with Lake(opened.folder, "from frames") as lake:
        rows = lake.rows("select distinct capture_point as point, day from frames order by all")
    _check_frames(rows, opened)
    return [LakePart(row["point"], row["day"]) for row in rows]


def _check_frames(rows: Collection[object], opened: LakeInput) -> None:
    if not rows:
        raise InputError("this lake has no frames", file=opened.name)


def _lacking(exported: Collection[str], tables: Iterable[str]) -> list[str]:
    """Return the tables that some inputs were exported without. `exported` has the tables of each, with commas."""
    chosen = dict.fromkeys(BODIES if table.startswith(f"{BODIES}_") else table for table in ("connections", *tables))
    common = set.intersection(*({*names.split(",")} for names in exported)) if exported else set()
    return [table for table in chosen if table not in common]


class _Filling:
    """A capture point of a lake on its way into tables."""

    def __init__(self, tables: Tables, lake: Lake, opened: LakeInput, point: str, *, is_alone: bool) -> None:
        part = opened.part
        self._tables = tables
        self._lake = lake
        self._choice = opened.choice
        self._chosen_by = self._values_of(opened.choice.columns, point) if opened.choice else ""
        self.chosen = 0
        """The rows of frames that the choice takes."""
        self._point = None if is_alone else point
        self._here = f"capture_point = {quote_text(point)}"
        self._on_day = self._here
        self._lives = self._here
        if part is not None:
            day = "null::date" if part.day is None else f"date '{part.day}'"
            self._on_day = f"{self._here} and day is not distinct from {day}"
            self._lives += f" and coalesce(day <= {day}, true) and coalesce(closed_time >= {day}, true)"
        lake.run(_PLACES.format(here=self._on_day, lives=self._lives))
        row = lake.rows("select count(distinct number) as frames, count(distinct stream) as streams from places")[0]
        self._frames: int = row["frames"]
        self._before = tables.count(self._frames + row["streams"])
        self._first = tables.connection_key(f"{opened.folder} {point}", 0)  # another lake may have this point too
        is_logged = f"select 1 from frames where {self._on_day} and source = 'request-log' limit 1"  # noqa: S608 - quoted
        tables.is_local = tables.is_local or bool(lake.rows(is_logged))

    def fill(self, parts: Mapping[str, str], bodies: Mapping[str, object]) -> int:
        """Fill all tables, and return the number of frames."""
        columns = self._frame_columns()
        request = "left join places q on q.connection = t.connection and q.frame = t.request_frame"
        self._insert("frames", "frames_named", columns, f"{_FRAME} {request} where {self._on_day}")
        self._insert("connections", "connections", self._connection_columns(), f"{_CONNECTION} where {self._lives}")
        for table, part in parts.items():
            columns = {name: f"t.{quote_name(name)}" for name, _ in PARTS[part][KEY:]}
            joins = _FRAME
            if "topic" in columns:
                columns["topic"] = "coalesce(n.name, t.topic)"
                joins = f"{_FRAME} left join {_TOPICS.format(here=self._here)} n on n.key = t.topic"
            self._insert(part, table, {"frame": "p.number", **columns}, f"{joins} where {self._on_day}")
        for table, structure in bodies.items():
            body = "null" if structure == NO_FIELDS else "t.body"
            columns = {"frame": "p.number", "api_version": "t.api_version", "body": body}
            kind = None if structure == NO_FIELDS else arrow_kind(structure)
            self._insert(table, table, columns, f"{_FRAME} where {self._on_day}", kind)
        for row in self._lake.rows(f"select distinct kind, key, name from names where {self._here}"):  # noqa: S608 - quoted
            self._tables.put("names", (self._point, row["kind"], row["key"], row["name"]))
        return self._frames

    def _frame_columns(self) -> dict[str, str]:
        columns = {}
        for column in self._tables.columns:
            columns[column.name] = f"t.{quote_name(column.name)}"
            if column.name in OF_BODIES:
                none = "[]" if column.is_list else "null"
                columns[column.name] = f"case when t.is_misread then {none} else {columns[column.name]} end"
        own = {**_NUMBERS, "capture_point": self._quoted_point}
        columns |= {name: value for name, value in own.items() if name in columns}
        return {"ordinal": f"{self._before} + p.number", **columns}

    @staticmethod
    def _values_of(columns: Iterable[str], point: str) -> str:
        """Return the values of columns for a filter, by name."""
        own = {**_NUMBERS, **_FOR_FILTERS, "capture_point": quote_text(point)}
        values = [f"{quote_text(name)}: {own.get(name, f't.{quote_name(name)}')}" for name in columns]
        return f"{{{', '.join(values)}}}"

    def _connection_columns(self) -> dict[str, str]:
        columns = {name: f"t.{quote_name(name)}" for name, _ in CONNECTIONS[1:]}
        return columns | {
            "ordinal": f"{self._before + self._frames + 1} + p.stream",
            "broker": "null::integer",
            "stream": "p.stream",
            "capture_point": self._quoted_point,
        }

    @property
    def _quoted_point(self) -> str:
        return "null::varchar" if self._point is None else quote_text(self._point)

    def _insert(
        self, table: str, source: str, columns: Mapping[str, str], joins: str, body: pa.DataType | None = None
    ) -> None:
        """Insert the rows of a table of the lake. `columns` are expressions by the names of the columns in memory.

        In expressions, `t` is the row, `p` the place of its frame or connection, `q` the place of its request, and `n`
        the name of its topic. `body` is the type of bodies in memory, where bytes are text.
        """
        chosen = [f"{value} as {quote_name(name)}" for name, value in columns.items()]
        if self._choice and table == "frames":
            chosen.append(f"{self._chosen_by} as {_CHOSEN_BY}")
        key = f"{self._first} + p.stream as connection"
        query = f"select {', '.join([key, *chosen])} from {quote_name(source)} t {joins}"  # noqa: S608 - quoted
        for batch in self._lake.arrow(query):
            rows = pa.Table.from_batches([batch])
            if body is not None:
                spec = catalog().message(messages_of_bodies()[table])
                bodies = conform(batch.column("body"), body, spec, "", None)
                rows = rows.set_column(rows.schema.get_field_index("body"), "body", bodies)
            if self._choice and table == "frames":
                keep = map(self._choice.takes, rows.column(_CHOSEN_BY).to_pylist())
                rows = rows.filter(pa.array(keep, pa.bool_())).drop_columns([_CHOSEN_BY])
                self.chosen += rows.num_rows
            self._tables.insert(table, rows)
