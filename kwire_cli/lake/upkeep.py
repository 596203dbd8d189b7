"""The upkeep of a lake: compaction of small files, and removal of rows.

Files of a table are rewritten with the remaining rows, in one transaction of the table. Rows whose run is not in
`inputs` are dropped if their file is old: a younger file may belong to a run that is about to end.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire_cli.lake import delta
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.delta import DAY, NO_DAY, RUN, UNIT, Statistics, Written
from kwire_cli.lake.query import Lake
from kwire_cli.lake.tables import PART_TABLES
from kwire_cli.stores.writing import make_folder, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.stores.paths import Place

    Keep = Callable[[pa.Table], pa.Array | None]
    """Returns a mask of the remaining rows, or None if all rows remain."""

SMALL = 8 << 20
"""Bytes of a small file."""
MANY = 1000
MANY_SMALL = 64
"""The next export compacts a table with more files, or more small files, than this."""
TARGET = 128 << 20
"""Approximate bytes of the compacted files."""
OLD_MS = 24 * 3600 * 1000
"""Age in milliseconds from which rows without a run in `inputs` are dropped: their run died or was replaced."""
HOURS = 168
"""Hours for which unreferenced files stay on the disk: readers may still have them open."""
KEYED = ("frames", "faults", "bodies_", *PART_TABLES)
"""The tables, or prefixes of tables, whose rows contain the key of a frame."""


def compact_grown(folder: Place) -> list[str]:
    """Compact the tables that have many files, and return their names."""
    grown = []
    for table in delta.tables_of(folder):
        sizes = [action["size_bytes"] for action in _actions(folder, table)]
        if len(sizes) > MANY or sum(size < SMALL for size in sizes) > MANY_SMALL:
            compact(folder, table)
            grown.append(table)
    return grown


def compact(folder: Place, table: str) -> int:
    """Merge the small files of each day of a table. Return the number of removed files."""
    runs = _runs(folder)

    def wanted(actions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        small = [action for action in actions if action["size_bytes"] < TARGET // 2]
        return small if len(small) > 1 else []

    return _rewrite(folder, table, wanted, lambda action: _keep_named(runs, action))


def compact_all(folder: Place) -> int:
    """Compact all tables, and remove files that were unreferenced for a week. Return the number of removed files."""
    gone = sum(compact(folder, table) for table in delta.tables_of(folder))
    _vacuum(folder, HOURS)
    return gone


def remove_older(folder: Place, days: float, now: datetime | None = None) -> int:
    """Remove the rows of days that are more than `days` days old. Return the number of removed files.

    The inputs remain in `inputs`, so they are not read again.
    """
    first = ((now or datetime.now(UTC)) - timedelta(days=days)).date().isoformat()
    count = 0
    for table in delta.tables_of(folder):
        count += delta.remove_files(folder, table, lambda action: (action.get(f"partition.{DAY}") or first) < first)
    _vacuum(folder, HOURS)
    return count


@dataclass(frozen=True)
class Deleted:
    """The result of a deletion: frames, and capture points whose carried state was removed."""

    frames: int
    points: int


def delete(folder: Place, condition: str) -> Deleted:
    """Delete the frames that match a condition over `frames`, and all rows of other tables about them.

    This includes the bodies, errors and faults of the frames, their connections, the names of the clients, and the
    carried state of connections of their capture points, which may contain bytes of the frames. Costs are sums, and
    remain. Old files are removed from the disk at once, so no other process may read or write the lake meanwhile.

    Raises:
        InputError: DuckDB rejects the condition.

    """
    query = f"select capture_point, connection, frame, client_id from frames where ({condition})"  # noqa: S608 - user's
    with Lake(folder, query) as lake:
        found = lake.arrow(query).read_all()
    if not found.num_rows:
        return Deleted(0, 0)
    keys = pc.unique(_keys(found))
    clients = pc.unique(found["client_id"])
    points = pc.unique(found["capture_point"])
    connections = pc.unique(_keys(found, "connection"))

    def keep(_: Mapping[str, Any]) -> Keep:
        return lambda rows: pc.invert(pc.is_in(_keys(rows), keys))

    def keep_connections(_: Mapping[str, Any]) -> Keep:
        return lambda rows: pc.invert(pc.is_in(_keys(rows, "connection"), connections))

    def keep_names(_: Mapping[str, Any]) -> Keep:
        return lambda rows: pc.invert(pc.and_(pc.equal(rows["kind"], "client"), pc.is_in(rows["key"], clients)))

    def keep_carried(_: Mapping[str, Any]) -> Keep:
        return lambda rows: pc.invert(pc.is_in(rows["capture_point"], points))

    for table in delta.tables_of(folder):
        if table.startswith(KEYED):
            _rewrite(folder, table, list, keep)
    for table, those in (("names", keep_names), ("carried", keep_carried), ("connections", keep_connections)):
        if delta.exists(folder, table):
            _rewrite(folder, table, list, those)
    _vacuum(folder, 0)
    return Deleted(found.num_rows, len(points))


def _keys(rows: pa.Table, *names: str) -> pa.ChunkedArray:
    numbers = [rows[name].cast(pa.string()).fill_null("") for name in names or ("connection", "frame")]
    return pc.binary_join_element_wise(rows["capture_point"], *numbers, "\0")


# Rewriting of files.


def _actions(folder: Place, table: str) -> list[dict[str, Any]]:
    actions: list[dict[str, Any]] = pa.table(delta.opened(folder, table).get_add_actions(flatten=True)).to_pylist()
    return actions


def _runs(folder: Place) -> pa.Array:
    named = delta.inputs_of(folder).runs
    return pa.array([f"{unit}\0{run}" for unit, run in named.items()], pa.string())


def _keep_named(runs: pa.Array, action: Mapping[str, Any]) -> Keep:
    """Return a function that keeps rows of current runs, or all rows of a young file."""
    if action["modification_time"] > time.time() * 1000 - OLD_MS:
        return lambda _: None
    return lambda rows: pc.is_in(pc.binary_join_element_wise(rows[UNIT], rows[RUN], "\0"), runs)


def _rewrite(
    folder: Place,
    table: str,
    wanted: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]],
    keep: Callable[[Mapping[str, Any]], Keep],
) -> int:
    """Rewrite those files of each day that `wanted` selects, with the remaining rows.

    Return the number of removed files.
    """

    def commit() -> int:
        opened = delta.opened(folder, table)
        days: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
        for action in pa.table(opened.get_add_actions(flatten=True)).to_pylist():
            days[action.get(f"partition.{DAY}")].append(action)
        actions: list[Any] = []
        gone = 0
        for day, files in days.items():
            own = wanted(files)
            if not own:
                continue
            made = [*_written(folder, table, day, _staying(folder, table, own, keep))]
            actions += [delta.add_action(each) for each in made]
            actions += [delta.remove_action(each) for each in own]
            gone += len(own) - len(made)
        if actions:
            with delta.told(folder / table):
                opened.create_write_transaction(actions, "append", opened.schema(), [DAY])
        return gone

    count: int = delta.again(commit)
    return count


def _staying(
    folder: Place, table: str, actions: Sequence[Mapping[str, Any]], keep: Callable[[Mapping[str, Any]], Keep]
) -> Iterator[pa.Table]:
    """Yield the remaining rows of files, with all columns of the table."""
    schema = pa.schema(delta.opened(folder, table).schema().to_arrow())
    whole = pa.schema([each for each in schema if each.name != DAY])
    for action in actions:
        stays = keep(action)
        files, name = arrow_place(folder / table / action["path"])
        with delta.told(folder / table):
            source = pq.ParquetFile(name, filesystem=files)
        for number in range(source.num_row_groups):
            rows = source.read_row_group(number)
            mask = stays(rows)
            rows = rows if mask is None else rows.filter(mask)
            if rows.num_rows:
                yield _widened(rows, whole)


def _widened(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with all columns of a table, which may have more columns and fields than their file."""
    columns = [
        rows[each.name].cast(each.type) if each.name in rows.column_names else pa.nulls(rows.num_rows, each.type)
        for each in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _written(folder: Place, table: str, day: str | None, parts: Iterator[pa.Table]) -> Iterator[Written]:
    """Write rows to files of about TARGET bytes."""
    out: pq.ParquetWriter | None = None
    path = ""
    statistics = Statistics()
    count = 0
    size = 0
    for rows in parts:
        if out is None:
            path = f"{DAY}={day or NO_DAY}/{uuid4().hex}.parquet"
            make_folder((folder / table / path).parent)
            files, name = arrow_place(folder / table / path)
            out = pq.ParquetWriter(name, rows.schema, filesystem=files, compression="zstd", store_schema=False)
            statistics = Statistics()
            count = 0
            size = 0
        with writing(folder / table):
            out.write_table(rows)
        statistics.add(rows)
        count += rows.num_rows
        size += rows.nbytes
        if size > 8 * TARGET:  # the size in memory, which is larger than on the disk
            yield _closed(folder, table, path, day, out, count, statistics)
            out = None
    if out is not None:
        yield _closed(folder, table, path, day, out, count, statistics)


def _closed(
    folder: Place, table: str, path: str, day: str | None, out: pq.ParquetWriter, rows: int, statistics: Statistics
) -> Written:
    with writing(folder / table):
        out.close()
    size = (folder / table / path).stat().st_size
    return Written(table, path, day, rows, size, statistics.json(), out.schema.serialize().to_pybytes())


def _vacuum(folder: Place, hours: int) -> None:
    """Remove files from the disk that were unreferenced for `hours` hours."""
    for table in ("inputs", *delta.tables_of(folder)):
        opened = delta.opened(folder, table)
        with delta.told(folder / table):
            opened.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
