"""The log of a lake: each table is a Delta table, whose files kwire writes and delta-rs commits.

Every row begins with `unit` and `run`. A unit is one input file, or the state of a capture point; a run is one reading
of it. The table `inputs` contains the current run of each unit, and readers join with it. A run

1. writes files below the folders of their tables, which no log contains yet,
2. commits them, one transaction a table: the rows are in the lake, but readers ignore them,
3. puts the runs of its units into `inputs`, in one transaction: all tables of all units change at once,
4. removes the files of the replaced runs, by name.

A run that dies leaves files that no log contains, or rows whose run is not in `inputs`. Such files are not removed at
once, as they may belong to a running writer. They are removed when they are old.

`inputs` has a row without a unit, in a separate file. Each transaction replaces that file, so two transactions that
start from the same version conflict. The loser reads `inputs` again and skips units whose runs have changed meanwhile.

A log is hostile input: delta-rs would follow absolute paths and `../` in it. `opened` is therefore the only way to
open a table.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake._internal import RemoveAction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from kwire_cli.errors import InputError
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.tables import INPUTS, is_table
from kwire_cli.stores.paths import in_order
from kwire_cli.stores.stored import Stored
from kwire_cli.stores.writing import make_folder, move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.stores.paths import Place

DAY = "day"
UNIT = "unit"
RUN = "run"
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a time."""
STATISTICS = (UNIT, RUN, "time", "frame", "api_key")
"""Columns whose minimum and maximum are in the log. Names of clients are not, as they may have to be erased."""
SETTINGS = {"delta.dataSkippingStatsColumns": ",".join(STATISTICS), "delta.checkpointInterval": "10"}
TRIES = 30
AT_ONCE = 8
"""Maximum number of tables that are committed in parallel."""
_FILE = re.compile(rf"(?:{DAY}=[\w-]+/)?[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.parquet", re.ASCII)
"""Paths of the files of kwire and delta-rs, relative to the folder of their table."""
_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfss", "abfss": "abfss", "az": "az"}
_NO_UNIT = ""
"""The unit of the first row of `inputs`. Every transaction replaces the file of this row."""


class Written(NamedTuple):
    """A finished file: its table, its path relative to the table's folder, and its entry in the log.

    `schema` is the serialized schema of its rows; `statistics` is JSON.
    """

    table: str
    path: str
    day: str | None
    rows: int
    size: int
    statistics: str
    schema: bytes


# The places of tables.


def uri_of(place: Place) -> tuple[str, dict[str, str] | None]:
    """Return the URI of a folder for delta-rs, and the options of its store.

    Raises:
        InputError: delta-rs does not know the store.

    """
    if not isinstance(place, Stored):
        return place.absolute().as_uri(), None
    scheme, _, rest = place.root.partition("://")
    if scheme.lower() not in _SCHEMES:
        raise InputError(
            f"a lake can be in a folder, or on a store that is s3://, gs:// or az://, and not {scheme}://: "
            "add --out-format parquet to write plain files there",
            file=str(place),
        )
    options: dict[str, str] = {}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        options["AWS_ALLOW_HTTP"] = "true"
    return f"{_SCHEMES[scheme.lower()]}://{rest}/{place.path}", options


def exists(folder: Place, table: str = "inputs") -> bool:
    """Return whether a folder has a Delta table of this name."""
    uri, options = uri_of(folder / table)
    with told(folder):
        return DeltaTable.is_deltatable(uri, options)


def opened(folder: Place, table: str) -> DeltaTable:
    """Open the newest version of a table.

    Raises:
        InputError: The log cannot be read, or it names files that are not in the table's folder.

    """
    uri, options = uri_of(folder / table)
    with told(folder / table):
        opened_table = DeltaTable(uri, storage_options=options)
        paths = pa.table(opened_table.get_add_actions())["path"].to_pylist()
    local = None if isinstance(folder, Stored) else Path(folder / table)
    for path in paths:
        if not _FILE.fullmatch(path):
            raise InputError(f"the log names a file that is not in the table: {path!r}", file=str(folder / table))
        if local is not None and _has_link(local, path):
            raise InputError(f"the log names a link: {path!r}", file=str(folder / table))
    return opened_table


def _has_link(folder: Path, path: str) -> bool:
    whole = folder / path
    return whole.is_symlink() or whole.parent.is_symlink() or folder.is_symlink()


def tables_of(folder: Place) -> list[str]:
    """Return the names of the tables of a lake, except `inputs`."""
    found = [each.name for each in in_order(folder.iterdir()) if is_table(each.name)]
    return [name for name in found if name != "inputs" and exists(folder, name)]


@contextlib.contextmanager
def told(place: Place) -> Iterator[None]:
    """Convert errors of delta-rs and of files to InputError. Commit conflicts are not converted."""
    try:
        yield
    except (InputError, CommitFailedError):
        raise
    except Exception as error:  # noqa: BLE001 - delta-rs raises bare exceptions in places
        lines = str(error).split("Stack backtrace")[0].split("\n")
        text = " ".join(line.strip(" \u21b3") for line in lines if line.strip())[:LONGEST] or type(error).__name__
        raise InputError(f"the log of the table: {text}", file=str(place)) from None


LONGEST = 300
"""Maximum number of characters of an error of delta-rs that are shown."""


# Types.


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in a Delta table: without dictionaries, unsigned numbers and empty structs."""
    if pa.types.is_dictionary(kind):
        return stored_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, stored_type(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", stored_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(stored_type(kind.key_type), stored_type(kind.item_type))
    return _SIGNED.get(kind, kind)


_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema in the files of a table."""
    fields = [pa.field(each.name, stored_type(each.type)) for each in schema]
    return pa.schema([each for each in fields if each.type != pa.struct([])])


def _lacks_fields(known: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether `known` lacks fields of `wanted`.

    Raises:
        TypeError: A field has another type.

    """
    if pa.types.is_struct(wanted) and pa.types.is_struct(known):
        names = {each.name: each.type for each in known}
        lacks = [each.name not in names or _lacks_fields(names[each.name], each.type) for each in wanted]
        return any(lacks)
    if pa.types.is_list(wanted) and pa.types.is_list(known):
        return _lacks_fields(known.value_type, wanted.value_type)
    if pa.types.is_map(wanted) and pa.types.is_map(known):
        return False
    if wanted != known:
        raise TypeError(f"{known} and {wanted}")
    return False


# Writing.


class Statistics:
    """The minimum and maximum of the columns in STATISTICS, over the rows of a file."""

    def __init__(self) -> None:
        self._rows = 0
        self._least: dict[str, Any] = {}
        self._greatest: dict[str, Any] = {}
        self._nulls: dict[str, int] = {}

    def add(self, rows: pa.Table) -> None:
        """Add rows of the file."""
        self._rows += rows.num_rows
        for name in STATISTICS:
            if name not in rows.column_names:
                continue
            column = rows[name]
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            if column.null_count == len(column):
                continue
            ends = pc.min_max(column).as_py()
            self._least[name] = min(self._least.get(name, ends["min"]), ends["min"])
            self._greatest[name] = max(self._greatest.get(name, ends["max"]), ends["max"])

    def json(self) -> str:
        """Return the statistics in the format of Delta's log."""
        values = {
            "numRecords": self._rows,
            "minValues": {name: _text(value) for name, value in self._least.items()},
            "maxValues": {name: _text(value) for name, value in self._greatest.items()},
            "nullCount": self._nulls,
        }
        return json.dumps(values)


def _text(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


def add_files(folder: Place, made: Iterable[Written]) -> dict[str, str]:
    """Commit files to their tables. Readers ignore their rows until `inputs` contains the run.

    If a column has another type than in the table, the files go to another table. Return the other table by the table
    in which the files were expected.

    Raises:
        InputError: The folder cannot be written to.

    """
    by_table: dict[str, list[Written]] = {}
    for file in made:
        by_table.setdefault(file.table, []).append(file)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        went = pool.map(lambda table: _append(folder, table, by_table[table]), by_table)
        return {table: other for table, other in zip(by_table, went, strict=True) if other != table}


def _append(folder: Place, table: str, made: Sequence[Written]) -> str:
    schemas = {file.schema: pa.ipc.read_schema(pa.py_buffer(file.schema)) for file in made}
    schema = pa.unify_schemas([*schemas.values(), pa.schema([(DAY, pa.string())])], promote_options="permissive")
    target = table
    number = 1
    while True:
        try:
            again(partial(_add, folder, target, made, schema))
        except TypeError:
            number += 1
            other = f"{table}_{number}"
            for file in made:
                make_folder((folder / other / file.path).parent)
                move(folder / target / file.path, folder / other / file.path)
            target = other
        else:
            return target


def _add(folder: Place, table: str, made: Sequence[Written], schema: pa.Schema) -> None:
    uri, options = uri_of(folder / table)
    with told(folder / table):
        if not DeltaTable.is_deltatable(uri, options):
            DeltaTable.create(
                uri,
                schema,
                "ignore",
                [DAY],
                configuration=SETTINGS,
                storage_options=options,
                raise_if_key_not_exists=False,
            )
    opened_table = opened(folder, table)
    known = pa.schema(opened_table.schema().to_arrow())
    if _lacks_fields(stored_type(pa.struct(list(known))), stored_type(pa.struct(list(schema)))):
        fields = [each for each in Schema.from_arrow(stored_schema(schema)).fields if each.name != DAY]
        with told(folder / table):
            opened_table.alter.add_columns(fields)
        opened_table = opened(folder, table)
    adds: list[AddAction | RemoveAction] = [add_action(file) for file in made]
    with told(folder / table):
        opened_table.create_write_transaction(adds, "append", opened_table.schema(), [DAY])


def add_action(file: Written) -> AddAction:
    """Return the action that adds a file."""
    return AddAction(file.path, file.size, {DAY: file.day}, _now_ms(), True, file.statistics)  # noqa: FBT003 - delta-rs


def _now_ms() -> int:
    return int(time.time() * 1000)


def again(commit: Callable[[], Any]) -> Any:
    """Return the result of a commit. Retry it if another writer was faster.

    Raises:
        InputError: Other writers were faster each time.

    """
    for number in range(TRIES):
        try:
            return commit()
        except CommitFailedError as error:
            if number == TRIES - 1:
                raise InputError(f"other writers were faster {TRIES} times: try again later ({error})") from None
            time.sleep(0.02 * (number + 1) * (1 + os.getpid() % 7 / 7))
    return None


# The table `inputs`.


class Inputs(NamedTuple):
    """The units of a lake at one version of `inputs`: a row for each unit, with its current run."""

    table: DeltaTable | None
    rows: pa.Table

    @property
    def runs(self) -> dict[str, str]:
        """Return the current run of each unit."""
        return dict(zip(self.rows[UNIT].to_pylist(), self.rows[RUN].to_pylist(), strict=True))

    @property
    def version(self) -> int:
        """Return the version of the table; -1 if it does not exist."""
        return -1 if self.table is None else self.table.version()


NO_INPUTS = Inputs(None, INPUTS.empty_table())


def inputs_of(folder: Place) -> Inputs:
    """Return the units of a lake. A folder that is not a lake yet has no units."""
    if not exists(folder):
        return NO_INPUTS
    table = opened(folder, "inputs")
    rows = _rows(folder, _paths(table))
    return Inputs(table, rows.filter(pc.not_equal(rows[UNIT], _NO_UNIT)))


def _paths(table: DeltaTable) -> list[str]:
    paths: list[str] = pa.table(table.get_add_actions())["path"].to_pylist()
    return paths


def _rows(folder: Place, paths: Iterable[str]) -> pa.Table:
    """Read files of `inputs`. Columns that an older kwire did not write are null."""
    tables = []
    for path in paths:
        files, name = arrow_place(folder / "inputs" / path)
        with told(folder / "inputs"):
            own = pq.read_table(name, filesystem=files, partitioning=None)
        columns = [
            own[each.name].cast(each.type) if each.name in own.column_names else pa.nulls(own.num_rows, each.type)
            for each in INPUTS
        ]
        tables.append(pa.Table.from_arrays(columns, schema=INPUTS))
    return pa.concat_tables(tables) if tables else INPUTS.empty_table()


def replace_inputs(folder: Place, before: Inputs, rows: pa.Table) -> frozenset[str]:
    """Make the runs in these rows of `inputs` the current runs, and remove the files of the runs that they replace.

    `before` is the state of the lake at the start of the run. Units that another run has read since are left to that
    run, and returned.
    """
    seen = before.runs

    def commit() -> tuple[frozenset[str], frozenset[str]]:
        now = inputs_of(folder)
        if now.table is None or not _paths(now.table):
            now = _created(folder)
        runs = now.runs
        lost = frozenset(unit for unit in rows[UNIT].to_pylist() if runs.get(unit) != seen.get(unit))
        ours = rows.filter(pc.invert(pc.is_in(rows[UNIT], pa.array(sorted(lost), pa.string()))))
        if ours.num_rows:
            _exchange(folder, now, ours)
        replaced = {runs[unit] for unit in ours[UNIT].to_pylist() if unit in runs}
        left = {run for unit, run in runs.items() if unit not in {*ours[UNIT].to_pylist()}}
        return lost, frozenset(replaced - left)

    result: tuple[frozenset[str], frozenset[str]] = again(commit)
    lost, dead = result
    if dead:
        remove_runs(folder, dead)
    return lost


def _created(folder: Place) -> Inputs:
    """Create the table `inputs` with its first row."""
    uri, options = uri_of(folder / "inputs")
    with told(folder):
        DeltaTable.create(
            uri, INPUTS, "ignore", configuration=SETTINGS, storage_options=options, raise_if_key_not_exists=False
        )
    table = opened(folder, "inputs")
    if not _paths(table):
        _transaction(folder, table, [FIRST], [])
    return inputs_of(folder)


def _exchange(folder: Place, now: Inputs, ours: pa.Table) -> None:
    """Replace the files of `inputs` that contain these units or the first row, in one transaction.

    Runs that create a lake at the same time may each write a first row. All of them read the first of these rows.
    """
    assert now.table is not None  # noqa: S101 - for the type checker: it was opened or made
    actions = pa.table(now.table.get_add_actions(flatten=True)).to_pylist()
    units = pa.array([*ours[UNIT].to_pylist(), _NO_UNIT], pa.string())
    kept: list[pa.Table] = []
    gone: list[dict[str, Any]] = []
    for action in actions:
        rows = _rows(folder, [action["path"]])
        has = pc.is_in(rows[UNIT], units)
        if len(actions) > MOST_INPUT_FILES or pc.any(has).as_py():
            kept.append(rows.filter(pc.invert(has)))
            gone.append(action)
    _transaction(folder, now.table, [FIRST, pa.concat_tables([*kept, ours])], gone)


FIRST = pa.Table.from_pylist([{UNIT: _NO_UNIT, RUN: _NO_UNIT}], schema=INPUTS)
"""The first row of `inputs`, in a separate file."""
MOST_INPUT_FILES = 64
"""Maximum number of files of `inputs`. Beyond it, all files are merged into one."""


def _transaction(folder: Place, table: DeltaTable, tables: Sequence[pa.Table], gone: Sequence[dict[str, Any]]) -> None:
    adds = []
    for rows in tables:
        path = f"{uuid4().hex}.parquet"
        make_folder(folder / "inputs")
        files, name = arrow_place(folder / "inputs" / path)
        with told(folder / "inputs"):
            pq.write_table(rows, name, filesystem=files, compression="zstd", store_schema=False)
        size = (folder / "inputs" / path).stat().st_size
        statistics = Statistics()
        statistics.add(rows)
        adds.append(AddAction(path, size, {}, _now_ms(), True, statistics.json()))  # noqa: FBT003 - as delta-rs has it
    removes = [RemoveAction(each["path"], True, _now_ms(), each["size_bytes"], {}) for each in gone]  # noqa: FBT003
    with told(folder / "inputs"):
        table.create_write_transaction([*adds, *removes], "append", table.schema())


# Removal.


def remove_runs(folder: Place, runs: frozenset[str]) -> None:
    """Remove from all tables the files that contain rows of these runs only."""
    for table in tables_of(folder):
        remove_files(folder, table, lambda action: action["max.run"] in runs and action["min.run"] == action["max.run"])


def remove_files(folder: Place, table: str, is_gone: Callable[[Mapping[str, Any]], bool]) -> int:
    """Remove the files of a table for which `is_gone` is true, and return their number."""

    def commit() -> int:
        opened_table = opened(folder, table)
        actions = pa.table(opened_table.get_add_actions(flatten=True)).to_pylist()
        removes: list[AddAction | RemoveAction] = [remove_action(each) for each in actions if is_gone(each)]
        if removes:
            with told(folder / table):
                opened_table.create_write_transaction(removes, "append", opened_table.schema(), [DAY])
        return len(removes)

    count: int = again(commit)
    return count


def remove_action(action: Mapping[str, Any]) -> RemoveAction:
    """Return the action that removes a file. `action` is an entry of `get_add_actions`."""
    return RemoveAction(
        action["path"],
        True,  # noqa: FBT003 - as delta-rs has it
        _now_ms(),
        action["size_bytes"],
        {DAY: action.get(f"partition.{DAY}")},
    )
