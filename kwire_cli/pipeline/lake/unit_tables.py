"""Tables of a lake that the data source reads unit by unit: the rows of a unit need more than one file.

A part holds all that its task needs: of a capture point its own share of the schedule, of logs their files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.errors import InputError, close_to, counted, did_you_mean
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.lake import BODIES
from kwire_cli.pipeline.lake.bodies import body_schema, messages
from kwire_cli.pipeline.lake.captures import PointTables, Spool, point_rows
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import log_rows, shaped, unreadable
from kwire_cli.pipeline.lake.tables import placed, whole_schema, with_place
from kwire_cli.pipeline.lake.units import listed, named_files, points_of, shared_out, units_of
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, Kind, found, of_kind
from kwire_cli.pipeline.segments import FAULTS_NAME
from kwire_cli.source.files import Naming
from kwire_cli.source.packets.descriptors import Schedule, outlined, schedule
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.stores import in_parallel
from kwire_cli.stores.opening import task_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.lake.units import Input, Unit
    from kwire_cli.pipeline.model import Found, Reading
    from kwire_cli.spec.catalog import Catalog

ROWS, BYTES = 1 << 14, 8 << 20
"""Rows of a batch, and bytes in a batch, about."""
KINDS: dict[str, tuple[Kind, ...]] = {
    "frames": (CAPTURES, REQUEST_LOGS),
    "costs": (CAPTURES,),
    "names": (CAPTURES,),
    FAULTS_NAME: (CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS),
}
"""The kinds of files that each table has rows of. Tables of bodies have rows of captures."""


FORMER = {"ledger": "costs"}
"""Former names of tables."""


@dataclass(frozen=True)
class PointPart:
    """A capture point, and a schedule that has no other one. Without a point it has only files that cannot be read."""

    point: str
    plan: Schedule


@dataclass(frozen=True)
class LogPart:
    """Log files of a unit, or one of several shares of a large log file."""

    point: str
    files: tuple[Input, ...]
    share: int = 0
    shares: int = 1


@dataclass(frozen=True)
class UnitTable:
    """As `model.Table`, of units. `port` is that of brokers; `naming` and `key_logs` are as in `model.Reading`."""

    name: str
    schema: pa.Schema
    port: int | None = None
    naming: Naming = field(default_factory=Naming)
    key_logs: tuple[str, ...] = ()

    def parts(
        self,
        paths: Sequence[str],
        filters: Sequence[Filter],  # noqa: ARG002 - as `model.Table` has it
        split_size: int,
    ) -> Iterator[PointPart | LogPart]:
        """Yield the units of files; small logs of a folder in parts of `split_size` bytes.

        Raises:
            InputError: There is nothing of a name, or no file of the table's kinds, or none that can be read.

        """
        files = found(paths, *KINDS.get(self.name, (CAPTURES,)))
        plan = schedule(in_parallel(outlined, of_kind(files, CAPTURES)), blocks_of(self.key_logs), self.naming)
        if self.name != FAULTS_NAME:
            _refuse_unreadable(files, plan)
        listing = listed(named_files(files))
        for unit, own in shared_out(plan, units_of(listing, points_of(listing, plan))):
            if unit.is_point:
                yield PointPart(unit.point, own)
            else:
                yield from _log_parts(unit, split_size)

    def read(self, part: PointPart | LogPart, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`."""
        rows = self._of_point(part, reading) if isinstance(part, PointPart) else self._of_logs(part, reading)
        return collected(with_place(self.name, self.schema, each, part.point, names) for each in rows)

    def _of_point(self, part: PointPart, reading: Reading) -> Iterator[pa.RecordBatch]:
        if part.plan.points:
            redaction = Redaction(reading.catalog, show_secrets=reading.show_secrets)
            tables = PointTables(part.plan.points[0].name, redaction, (self.name,))
            rows = (each for table, each in point_rows(part.plan, 0, tables, self.port) if table == self.name)
            if self.name == "frames":
                yield from _with_names(rows, tables)
            else:
                yield from (shaped(self.name, each) for each in rows)
        if self.name == FAULTS_NAME:
            yield from unreadable(part.plan)

    def _of_logs(self, part: LogPart, reading: Reading) -> Iterator[pa.RecordBatch]:
        return (rows for _, rows in log_rows(part.files, (self.name,), reading, part.share, part.shares))


def _refuse_unreadable(files: Sequence[Found], plan: Schedule) -> None:
    """Raise InputError if no file of several can be read."""
    if plan.faults and len(plan.faults) == len(files):
        (path, reason), *more = plan.faults
        others = f"; {counted(len(more), 'more file')} cannot be read" if more else ""
        raise InputError(f"{reason}{others}", file=path)


def _log_parts(unit: Unit, size: int) -> Iterator[LogPart]:
    pack: list[Input] = []
    held = 0
    for file in unit.inputs:
        if file.shares > 1:
            yield from (LogPart(unit.point, (file,), share, file.shares) for share in range(file.shares))
            continue
        pack.append(file)
        held += file.size
        if held >= size:
            yield LogPart(unit.point, tuple(pack))
            pack, held = [], 0
    if pack:
        yield LogPart(unit.point, tuple(pack))


def _with_names(rows: Iterable[pa.RecordBatch], tables: PointTables) -> Iterator[pa.RecordBatch]:
    """Yield rows with the names of their capture point, which are known when the last row was made."""
    with TemporaryDirectory(prefix="kwire-", dir=task_folder()) as folder:
        spool = Spool(Path(folder) / "frames.arrows")
        for each in rows:
            spool.add(each)
        for each in spool.taken():
            yield resolved(each, tables.names)


def collected(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of small batches in larger ones."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


# Tables by name.


def schema_of(name: str, definitions: Catalog) -> pa.Schema | None:
    """Return the columns of a table of this module; None if there is no such table."""
    if name in KINDS:
        return whole_schema(name)
    message = messages(definitions).get(name) if name.startswith(BODIES) else None
    return None if message is None else placed(name, body_schema(definitions.message(message)))


def unit_table(name: str, definitions: Catalog, **settings: Any) -> UnitTable | None:
    """Return the table of a name; None if no table of this module has the name. `settings` are fields of the table."""
    schema = schema_of(name, definitions)
    return None if schema is None else UnitTable(name, schema, **settings)


def no_table(name: str, known: Sequence[str], definitions: Catalog) -> InputError:
    """Return the error about a name that no table has; `known` are the tables but those of bodies."""
    if name in FORMER:
        return InputError(f"the table {name} is called {FORMER[name]} now")
    close = close_to(name, [*known, *messages(definitions)])
    return InputError(
        f"there is no table {name!r}{did_you_mean(close)}: tables are {', '.join(known)}, {BODIES}_<api>_<kind>"
    )
