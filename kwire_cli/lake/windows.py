"""The plan of many captures, as columns in two files, cut into windows that are read in order.

A plan specifies how the packets of all files are numbered and in which order the files are read. It is computed from
the outlines of the files and written to the run's hidden folder, where tasks map it into memory: no process creates an
object for each file or part. A window is a range of this order, so the memory of a driver and of a worker does not grow
with the history. If a capture point continues in the next window, the state of its connections is carried over.
"""

from __future__ import annotations

import enum
import itertools
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.lake.descriptors import OWNED_BYTES
from kwire_cli.lake.hidden import one_array, put_table, table_of
from kwire_cli.source.kafka.carried import FIRST
from kwire_cli.source.packets.descriptors import Scheduled, packets_before
from kwire_cli.source.packets.model import NO_TIME, Origin
from kwire_cli.source.packets.parts import PART_SIZE, Part, outline
from kwire_cli.source.packets.points import OVERLAP, Timed, points_of_group
from kwire_cli.stores.paths import location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from kwire_cli.source.files import Naming
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Point
    from kwire_cli.stores.paths import Place

    Ints = npt.NDArray[np.int64]

PACK = 128 << 20
"""Bytes of small files or small parts that one task reads."""
OPENING = 1 << 16
"""The cost of opening a file, as the number of bytes that could be read in this time."""
BUDGET = 10_000 * PACK
"""Approximate bytes of a window."""
MOST_PARTS = 100_000
"""Parts of a window."""
AT_ONCE = 1 << 10
"""Rows of a batch."""
FILES_TABLE = "_files.arrow"

_PART = pa.struct(
    [
        pa.field("start", pa.int64()),
        pa.field("stop", pa.int64()),
        pa.field("lead", pa.list_(pa.int64())),
        pa.field("packets", pa.int64()),
    ]
)
OUTLINES = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("packets", pa.int64()),
        pa.field("first", pa.int64()),
        pa.field("latest", pa.int64()),
        pa.field("fault", pa.string()),
        pa.field("secrets", pa.binary()),
        pa.field("parts", pa.list_(_PART)),
    ]
)
"""`packets.parts.Outline` as a row with the number of the file. `fault` is the reason why a file has no outline."""
PARTS = pa.schema(
    [
        pa.field("point", pa.int32()),
        pa.field("file", pa.int32()),
        *(_PART.field(number) for number in range(4)),
        pa.field("size", pa.int64()),
        pa.field("pack", pa.int32()),
    ]
)
"""Parts in reading order. `file` is a row of the table of files, and `pack` a task of the window."""


def outline_rows(files: Iterable[tuple[int, str]], size: int = PART_SIZE) -> Iterator[pa.RecordBatch]:
    """Yield the outlines of numbered files, cut into parts of about `size` bytes."""
    rows: list[tuple[Any, ...]] = []
    for number, path in files:
        if len(rows) == AT_ONCE:
            yield batch_of(rows, OUTLINES)
            rows = []
        try:
            found = outline(path, size)
        except InputError as error:
            rows.append((number, None, None, None, error.reason, None, None))
            continue
        parts = [_part_row(part) for part in found.parts]
        secrets = pickle.dumps(found.secrets) if found.secrets else None
        rows.append((number, found.packets, found.first, found.latest, None, secrets, parts))
    yield batch_of(rows, OUTLINES)


def _part_row(part: Part) -> tuple[Any, ...]:
    lead: list[int] = []
    for pair in part.lead:
        lead += pair
    return (part.start, part.stop, lead, part.packets)


# The plan.


class Mode(enum.Enum):
    """How the files of a capture point relate to the files of this point in the lake."""

    BEGINS = "begins"
    """The lake has no files of the point, or all are read again. The state of connections is saved in the lake."""
    GOES_ON = "goes on"
    """The files follow those in the lake. Connections continue with their saved state, which is saved again."""
    LATE = "late"
    """The files begin before the end of those in the lake. Their connections are read separately."""
    ALONE = "alone"
    """The files have no times or belong to several points. Their connections are read separately."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A capture point of a plan.

    Attributes:
        start: The row of its first file in the table of files.
        stop: The row after the row of its last file.
        last: The number of its last packet.
        latest: The time of its last packet.

    """

    name: str
    start: int
    stop: int
    last: int
    apart: bool = False
    mode: Mode = Mode.BEGINS
    latest: int = NO_TIME

    @property
    def carries(self) -> bool:
        """Return whether the state of its connections is saved for later files."""
        return self.mode in {Mode.BEGINS, Mode.GOES_ON}

    @property
    def first(self) -> int:
        """Return the number before the number of its first packet."""
        return FIRST if self.mode is Mode.GOES_ON else 0


@dataclass(frozen=True)
class Plan:
    """The capture points of files, their parts, and the windows in which the parts are read.

    `of_files` are the numbers of the points of all files, or None for unreadable files. `faults` are the unreadable
    files: their numbers and the reasons.
    """

    points: tuple[Planned, ...]
    of_files: list[int | None]
    faults: tuple[tuple[int, str], ...]
    secrets: tuple[Secrets, ...]
    files: pa.Table
    parts: pa.Table


def planned(
    listing: pa.Table,
    outlines: pa.Table,
    naming: Naming,
    secrets: Iterable[Secrets] = (),
    known: Mapping[str, int] = MappingProxyType({}),
) -> Plan:
    """Return the plan of files with these outlines.

    `known` is the time of the last packet in the lake, for each capture point that continues.
    """
    faulty = outlines.filter(pc.is_valid(outlines["fault"]))
    good = outlines.filter(pc.is_null(outlines["fault"])).combine_chunks()
    paths = one_array(listing["path"].take(good["number"]))
    first, latest = (good[name].to_numpy() for name in ("first", "latest"))
    counts = one_array(good["packets"])
    points: list[Planned] = []
    of_rows = np.zeros(len(paths), np.int64)
    order: list[Ints] = []
    befores: list[Ints] = []
    place = 0
    for rows in groups(paths, naming):
        names = paths.take(pa.array(rows)).to_pylist()
        files = [*map(Timed, names, first[rows].tolist(), latest[rows].tolist())]
        row_of = dict(zip(names, rows.tolist(), strict=True))
        for point, mode in _with_modes(files, naming, known):
            own = np.fromiter((row_of[file.path] for file in point.chain), np.int64, len(point.chain))
            before, last = packets_before(counts.take(pa.array(own)).to_pylist(), FIRST if mode is Mode.GOES_ON else 0)
            of_rows[own] = len(points)
            order.append(own)
            befores.append(np.array(before, np.int64))
            latest_of_point = max(file.latest for file in point.chain)
            points.append(Planned(point.name, place, place + len(own), last, point.apart, mode, latest_of_point))
            place += len(own)
    at = _joined(order)
    of_files: list[int | None] = [None] * listing.num_rows
    for number, of_row in zip(good["number"].to_pylist(), of_rows.tolist(), strict=True):
        of_files[number] = of_row
    found = [pickle.loads(each) for each in one_array(good["secrets"]).drop_null().to_pylist()]  # noqa: S301 - our own
    return Plan(
        tuple(points),
        of_files,
        tuple(zip(faulty["number"].to_pylist(), faulty["fault"].to_pylist(), strict=True)),
        (*secrets, *itertools.chain.from_iterable(found)),
        pa.table({"path": paths.take(pa.array(at)), "before": _joined(befores)}),
        _parts(good, at, of_rows[at], listing["size"]),
    )


def _with_modes(files: Sequence[Timed], naming: Naming, known: Mapping[str, int]) -> Iterator[tuple[Point, Mode]]:
    """Yield the capture points of a group of files with their modes. Files that come late are a separate point."""
    upto = known.get(naming.name(files[0].path))
    if upto is None:
        for point in points_of_group(files, naming):
            is_timed = all(file.first != NO_TIME for file in point.chain)
            yield point, Mode.ALONE if point.apart or not is_timed else Mode.BEGINS
        return
    late = [file for file in files if file.first < upto - OVERLAP]
    on_time = [file for file in files if file.first >= upto - OVERLAP]
    for some, mode in ((late, Mode.LATE), (on_time, Mode.GOES_ON)):
        for point in points_of_group(some, naming) if some else ():
            yield point, Mode.ALONE if point.apart else mode


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def groups(paths: pa.Array, naming: Naming) -> Iterator[Ints]:
    """Yield the rows of the files of each capture point, grouped by the names of the files only."""
    keys: dict[str, int] = {}
    of_rows = np.fromiter(
        (keys.setdefault(naming.key(path), len(keys)) for path in _texts(paths)), np.int64, len(paths)
    )
    order = np.argsort(of_rows, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(of_rows, minlength=len(keys)))[:-1]) if keys else ()


def _texts(column: pa.Array) -> Iterator[str]:
    """Yield strings in batches, so that only a batch is in memory."""
    for start in range(0, len(column), 1 << 12):
        yield from column.slice(start, 1 << 12).to_pylist()


def _parts(outlines: pa.Table, at: Ints, point: Ints, sizes: pa.ChunkedArray) -> pa.Table:
    """Return the parts of files in reading order.

    `at` are rows of `outlines`, in the order of the table of files. `point` has the point of each file of that table.
    """
    some = outlines.take(pa.array(at))
    lists = one_array(some["parts"])
    file = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    structs = lists.flatten()
    columns: dict[str, Any] = dict(zip((each.name for each in _PART), structs.flatten(), strict=True))
    whole = sizes.take(some["number"]).to_numpy()[file]
    start = columns["start"].to_numpy()
    stop = columns["stop"].fill_null(-1).to_numpy()
    columns |= {
        "point": point[file].astype(np.int32),
        "file": file.astype(np.int32),
        "size": np.where(stop < 0, whole, stop) - start,
        "pack": np.zeros(len(file), np.int32),
    }
    return pa.table({each.name: pa.array(columns[each.name], each.type) for each in PARTS}, PARTS)


# Windows.


@dataclass(frozen=True)
class Window:
    """Parts that `packs` tasks read in parallel, with their capture points by number.

    `whole` are small points: one task owns all connections of such a point. `goes_on` is the point that continues in
    the next window, and `went_on` the point that continues from the previous window.
    """

    table: str
    packs: int
    size: int
    points: Mapping[int, Planned]
    whole: frozenset[int] = frozenset()
    goes_on: int | None = None
    went_on: int | None = None


def windows(
    plan: Plan, hidden: Place, among: Iterable[int], budget: int = BUDGET, most: int = MOST_PARTS, cores: int = 1
) -> Iterator[Window]:
    """Yield windows of about `budget` bytes and at most `most` parts of the points `among`, in packs for `cores` cores.

    The parts of a window are written to the hidden folder just before the window is yielded.
    """
    put_table(hidden, FILES_TABLE, plan.files)
    wanted = np.zeros(len(plan.points) + 1, np.bool_)
    wanted[[*among]] = True
    rows = np.flatnonzero(wanted[plan.parts["point"].to_numpy()])
    sizes = plan.parts["size"].to_numpy()[rows]
    costs = np.cumsum(np.maximum(sizes, OPENING))
    start = 0
    number = 0
    went_on: int | None = None
    while start < len(rows):
        before = costs[start - 1] if start else 0
        stop = min(max(int(np.searchsorted(costs, before + budget, side="right")), start + 1), start + most, len(rows))
        own = plan.parts.take(pa.array(rows[start : stop + 1])).combine_chunks()
        table = own.slice(0, stop - start)
        own_costs = costs[start:stop] - before
        packs = np.unique((own_costs - 1) // pack_size(int(own_costs[-1]), cores), return_inverse=True)[1]
        table = table.set_column(PARTS.get_field_index("pack"), PARTS.field("pack"), pa.array(packs, pa.int32()))
        name = f"_parts-{number:05d}.arrow"
        put_table(hidden, name, table)
        numbers = pc.unique(own["point"].slice(0, stop - start)).to_pylist()
        points = {point: plan.points[point] for point in numbers}
        goes_on = None
        if stop < len(rows) and own["point"][stop - start].as_py() == numbers[-1]:
            goes_on = numbers[-1]
        size = int(sizes[start:stop].sum())
        of_points = np.bincount(table["point"].to_numpy(), weights=sizes[start:stop])
        small = np.flatnonzero(of_points <= min(OWNED_BYTES, size // (8 * cores))).tolist()
        whole = frozenset(points).intersection(small) - {goes_on, went_on}
        yield Window(name, int(packs.max()) + 1, size, points, frozenset(whole), goes_on, went_on)
        start = stop
        number += 1
        went_on = goes_on


def pack_size(size: int, cores: int) -> int:
    """Return the number of bytes that one task reads. It is smaller if cores would be idle."""
    return max(min(PACK, size // (2 * cores)), 1 << 20)


# The tasks' view of a plan.


class Paths(Sequence[str]):
    """The paths of files, from a column: as they are opened, or in the form that rows contain if `located`."""

    def __init__(self, column: pa.ChunkedArray, *, located: bool = False) -> None:
        self._column = column
        self._located = located

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, number: Any) -> Any:
        """Return a path."""
        path = self._column[number].as_py()
        return location(path) if self._located else path


def opened_paths(hidden: Place) -> Paths:
    """Return the paths of all files of a plan, as they are opened."""
    return Paths(table_of(hidden, FILES_TABLE)["path"])


def files_of(point: Planned, hidden: Place) -> tuple[Sequence[str], Sequence[int]]:
    """Return the paths of the files of a capture point, and the number of packets before each."""
    files = table_of(hidden, FILES_TABLE)
    before = one_array(files["before"]).to_numpy()
    paths = Paths(files["path"].slice(point.start, point.stop - point.start), located=True)
    return paths, before[point.start : point.stop]


def origin_of(point: Planned, files: tuple[Sequence[str], Sequence[int]]) -> Origin:
    """Return the origin of the lines of one connection: each has its own places of earlier packets."""
    paths, befores = files
    return Origin(paths, befores, point.last, point=point.name, capture=point.name, several=True)


def parts_of(window: Window, hidden: Place, pack: int) -> list[Scheduled]:
    """Return the parts that a task reads."""
    table = table_of(hidden, window.table)
    packs = one_array(table["pack"]).to_numpy()
    start, stop = np.searchsorted(packs, (pack, pack + 1)).tolist()
    files = table_of(hidden, FILES_TABLE)
    found = []
    for row in table.slice(start, stop - start).to_pylist():
        path, before = (files[name][row["file"]].as_py() for name in ("path", "before"))
        lead = tuple(zip(row["lead"][::2], row["lead"][1::2], strict=True))
        part = Part(path, row["start"], row["stop"], lead, row["packets"])
        found.append(Scheduled(part, row["file"], before, row["point"]))
    return found
