"""The plan of many captures as columns, cut into windows that are read one after the other.

A plan says how the packets of all files are counted and in which order they are read. It is made of the outlines of
files, and is in two files of the run's hidden folder that tasks map: no process holds an object for each file or part.
A window is a stretch of this order, so that what a driver and a worker hold does not grow with the history. Where a
capture point goes on in the next window, its connections are carried over to that.
"""

from __future__ import annotations

import enum
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.lake.descriptors import OWNED_BYTES
from kwire_cli.lake.hidden import one_array, put_table, table_of
from kwire_cli.source.kafka.carried import FIRST
from kwire_cli.source.packets.descriptors import Schedule, Scheduled, origin_of_chains, outlined, over_chain
from kwire_cli.source.packets.model import NO_TIME, FileRow
from kwire_cli.source.packets.parts import PART_SIZE, Part
from kwire_cli.source.packets.points import OVERLAP, Timed, points_of_group
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy.typing as npt

    from kwire_cli.source.files import Naming
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Point, Sketch
    from kwire_cli.stores import Place

    Ints = npt.NDArray[np.int64]

PACK = 128 << 20
"""Bytes of small files, or of small parts, that one task reads."""
OPENING = 1 << 16
"""Bytes that could be read in the time that opening a file takes."""
BUDGET = 10_000 * PACK
"""Bytes of a window, about."""
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
        pa.field("moment", pa.int64()),
        pa.field("since", pa.int64()),
        pa.field("until", pa.int64()),
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
"""`packets.parts.Outline` as a row, with the number of the file; `fault` is why a file has none."""
PARTS = pa.schema(
    [
        pa.field("point", pa.int32()),
        pa.field("chain", pa.int32()),
        pa.field("file", pa.int32()),
        *(_PART.field(number) for number in range(5)),
        pa.field("begin", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("pack", pa.int32()),
    ]
)
"""Parts in the order in which they are read. `file` is a row of the table of files, `pack` a task of the window; no
packet of the part is before the moment `begin`.
"""


def outline_rows(files: Iterable[tuple[int, str]], size: int = PART_SIZE) -> Iterator[pa.RecordBatch]:
    """Yield the outlines of files, which have numbers, cut into parts of about `size` bytes."""
    rows: list[tuple[Any, ...]] = []
    for number, path in files:
        if len(rows) == AT_ONCE:
            yield batch_of(rows, OUTLINES)
            rows = []
        outline = outlined(path, size)[1]
        if isinstance(outline, str):
            rows.append((number, None, None, None, outline, None, None))
            continue
        parts = [
            (
                part.start,
                part.stop,
                [at for pair in part.lead for at in pair],
                part.packets,
                part.moment,
                *(part.times or (None, None)),
            )
            for part in outline.parts
        ]
        secrets = pickle.dumps(outline.secrets) if outline.secrets else None
        rows.append((number, outline.packets, outline.first, outline.latest, None, secrets, parts))
    yield batch_of(rows, OUTLINES)


# The plan.


@dataclass(frozen=True, slots=True)
class Chain:
    """Files that follow each other: rows [start, stop) of the table of files, which have so many packets."""

    start: int
    stop: int
    packets: int


class Mode(enum.Enum):
    """How files of a capture point relate to those that the lake has of it."""

    BEGINS = "begins"
    """There are none, or all are read again: what connections carry in the end is put into the lake."""
    GOES_ON = "goes on"
    """They follow: connections go on with what they carry, and carry on."""
    LATE = "late"
    """They begin before the end of those that were read: they are read alone."""
    ALONE = "alone"
    """They have no times, or the point is no longer one: they are read alone."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A capture point of a plan, as `descriptors.Planned`. `latest` is the time of its last packet."""

    name: str
    chains: tuple[Chain, ...]
    apart: bool = False
    mode: Mode = Mode.BEGINS
    latest: int = NO_TIME

    @property
    def carries(self) -> bool:
        """Return whether its connections carry something to files that come later."""
        return self.mode in {Mode.BEGINS, Mode.GOES_ON}

    @property
    def first(self) -> int:
        """The number before that of its first packet."""
        return FIRST if self.mode is Mode.GOES_ON else 0

    @property
    def last(self) -> int:
        """The number of the last packet, if there is one chain only, else 0."""
        return self.chains[0].packets if len(self.chains) == 1 else 0


@dataclass(frozen=True)
class Plan:
    """The capture points of files, their parts, and the windows in which these are read.

    `of_files` are the numbers of the points of all files, None for files that cannot be read. `faults` are these: the
    number of each, and why.
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
    sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None,
    known: Mapping[str, int] = MappingProxyType({}),
) -> Plan:
    """Return the plan of files with these outlines, in their order. The other arguments are those of `schedule`.

    `known` is the time of the last packet that the lake has of a capture point that goes on.
    """
    faulty = outlines.filter(pc.is_valid(outlines["fault"]))
    good = outlines.filter(pc.is_null(outlines["fault"])).combine_chunks()
    paths = one_array(listing["path"].take(good["number"]))
    first, latest = (good[name].to_numpy() for name in ("first", "latest"))
    counts = one_array(good["packets"])
    points: list[Planned] = []
    of_rows, place = np.zeros(len(paths), np.int64), 0
    chain_of: list[Ints] = []
    order: list[Ints] = []
    befores: list[Ints] = []
    moments: list[Ints] = []
    for rows in groups(paths, naming):
        names = paths.take(pa.array(rows)).to_pylist()
        files = [*map(Timed, names, first[rows].tolist(), latest[rows].tolist())]
        row_of = dict(zip(names, rows.tolist(), strict=True))
        for point, mode in _with_modes(files, naming, sketched, known):
            chains = []
            first_number = FIRST if mode is Mode.GOES_ON else 0
            for number, chain in enumerate(point.chains):
                own = np.fromiter((row_of[file.path] for file in chain), np.int64, len(chain))
                before, moment, packets = over_chain(
                    counts.take(pa.array(own)).to_pylist(), (file.latest for file in chain), first_number
                )
                chains.append(Chain(place, place + len(own), packets))
                of_rows[own] = len(points)
                order.append(own)
                befores.append(np.array(before, np.int64))
                moments.append(np.array(moment, np.int64))
                chain_of.append(np.full(len(own), number, np.int64))
                place += len(own)
            times = [file.latest for chain in point.chains for file in chain]
            points.append(Planned(point.name, tuple(chains), point.apart, mode, max(times)))
    at = _joined(order)
    of_files: list[int | None] = [None] * listing.num_rows
    for number, of_row in zip(good["number"].to_pylist(), of_rows.tolist(), strict=True):
        of_files[number] = of_row
    found = [pickle.loads(each) for each in one_array(good["secrets"]).drop_null().to_pylist()]  # noqa: S301 - our own
    return Plan(
        tuple(points),
        of_files,
        tuple(zip(faulty["number"].to_pylist(), faulty["fault"].to_pylist(), strict=True)),
        (*secrets, *(block for some in found for block in some)),
        pa.table({"path": paths.take(pa.array(at)), "before": _joined(befores)}),
        _parts(good, at, of_rows[at], _joined(chain_of), _joined(moments), listing["size"]),
    )


def _with_modes(
    files: Sequence[Timed],
    naming: Naming,
    sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None,
    known: Mapping[str, int],
) -> Iterator[tuple[Point, Mode]]:
    """Yield the capture points of files of one group, each with its mode: those that come late are a point apart."""
    upto = known.get(naming.name(files[0].path))
    if upto is None:
        for point in points_of_group(files, naming, sketched):
            is_timed = all(file.first != NO_TIME for chain in point.chains for file in chain)
            yield point, Mode.ALONE if point.apart or not is_timed else Mode.BEGINS
        return
    late = [file for file in files if file.first < upto - OVERLAP]
    on_time = [file for file in files if file.first >= upto - OVERLAP]
    for some, mode in ((late, Mode.LATE), (on_time, Mode.GOES_ON)):
        for point in points_of_group(some, naming, sketched) if some else ():
            yield point, Mode.ALONE if point.apart else mode


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def groups(paths: pa.Array, naming: Naming) -> Iterator[Ints]:
    """Yield the rows of the files of each capture point, as far as names tell."""
    keys: dict[str, int] = {}
    of_rows = np.fromiter(
        (keys.setdefault(naming.key(path), len(keys)) for path in _texts(paths)), np.int64, len(paths)
    )
    order = np.argsort(of_rows, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(of_rows, minlength=len(keys)))[:-1]) if keys else ()


def _texts(column: pa.Array) -> Iterator[str]:
    """Yield texts without holding all of them."""
    for start in range(0, len(column), 1 << 12):
        yield from column.slice(start, 1 << 12).to_pylist()


def _parts(outlines: pa.Table, at: Ints, point: Ints, chain: Ints, moment: Ints, sizes: pa.ChunkedArray) -> pa.Table:
    """Return the parts of files in the order in which they are read.

    `at` are the rows of the outlines in the order of the table of files; of each file there the point, the chain, and
    the latest moment before it.
    """
    some = outlines.take(pa.array(at))
    lists = one_array(some["parts"])
    file = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    structs = lists.flatten()
    columns: dict[str, Any] = dict(zip((each.name for each in _PART), structs.flatten(), strict=True))
    columns["moment"] = np.maximum(columns["moment"].to_numpy(), moment[file])
    whole = sizes.take(some["number"]).to_numpy()[file]
    start, stop = columns["start"].to_numpy(), columns["stop"].fill_null(-1).to_numpy()
    since = columns["since"].fill_null(0).to_numpy()
    known = columns["since"].is_valid().to_numpy(zero_copy_only=False)
    begin = np.maximum(np.where(known, since, some["first"].to_numpy()[file]), columns["moment"])
    columns |= {
        "begin": begin,
        "point": point[file].astype(np.int32),
        "chain": chain[file].astype(np.int32),
        "file": file.astype(np.int32),
        "size": np.where(stop < 0, whole, stop) - start,
        "pack": np.zeros(len(file), np.int32),
    }
    order = np.lexsort((np.arange(len(file)), begin, point[file]))
    table = pa.table({each.name: pa.array(columns[each.name], each.type) for each in PARTS}, PARTS)
    return table.take(pa.array(order)).combine_chunks()


# Windows.


@dataclass(frozen=True)
class Window:
    """Parts that are read at once by `packs` tasks, and the capture points that these are of, by number.

    One task owns all connections of each of the points that stay `whole`: these are small. `goes_on` is the point that
    the next window has more of, and `went_on` the one that the window before has more of. If `goes_on` has chains, the
    packets at the moment `upto` and later wait for those of the next window.
    """

    table: str
    packs: int
    size: int
    points: Mapping[int, Planned]
    whole: frozenset[int] = frozenset()
    goes_on: int | None = None
    upto: int | None = None
    went_on: int | None = None


def windows(
    plan: Plan, hidden: Place, among: Iterable[int], budget: int = BUDGET, most: int = MOST_PARTS, cores: int = 1
) -> Iterator[Window]:
    """Yield the windows of the points `among` those of a plan, each of about `budget` bytes and of at most so many
    parts, in packs for so many `cores`.

    The plan of a window is put into the hidden folder when its turn comes.
    """
    put_table(hidden, FILES_TABLE, plan.files)
    wanted = np.zeros(len(plan.points) + 1, np.bool_)
    wanted[[*among]] = True
    rows = np.flatnonzero(wanted[plan.parts["point"].to_numpy()])
    sizes = plan.parts["size"].to_numpy()[rows]
    costs = np.cumsum(np.maximum(sizes, OPENING))
    start = number = 0
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
        goes_on = upto = None
        if stop < len(rows) and own["point"][stop - start].as_py() == numbers[-1]:
            goes_on = numbers[-1]
            upto = own["begin"][stop - start].as_py() if len(plan.points[goes_on].chains) > 1 else None
        size = int(sizes[start:stop].sum())
        of_points = np.bincount(table["point"].to_numpy(), weights=sizes[start:stop])
        small = np.flatnonzero(of_points <= min(OWNED_BYTES, size // (8 * cores))).tolist()
        whole = frozenset(points).intersection(small) - {goes_on, went_on}
        yield Window(name, int(packs.max()) + 1, size, points, frozenset(whole), goes_on, upto, went_on)
        start, number, went_on = stop, number + 1, goes_on


def pack_size(size: int, cores: int) -> int:
    """Return how many bytes one task reads of so many: fewer if cores would have nothing to do."""
    return max(min(PACK, size // (2 * cores)), 1 << 20)


# What tasks see of a plan.


class _Paths(Sequence[str]):
    """The paths of the files of a chain, as rows show them."""

    def __init__(self, paths: pa.ChunkedArray) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: Any) -> Any:
        """Return a path."""
        return location(self._paths[number].as_py())


class Opened(Sequence[str]):
    """The paths of all files of a plan, as they are opened."""

    def __init__(self, hidden: Place) -> None:
        self._paths = table_of(hidden, FILES_TABLE)["path"]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: Any) -> Any:
        """Return a path."""
        return self._paths[number].as_py()


def origin_of(point: Planned, number: int, hidden: Place) -> Origin:
    """Return where the packets of a capture point are."""
    files = table_of(hidden, FILES_TABLE)
    before = one_array(files["before"]).to_numpy()
    rows = [
        FileRow(
            _Paths(files["path"].slice(each.start, each.stop - each.start)),
            before[each.start : each.stop],
            each.packets,
        )
        for each in point.chains
    ]
    return origin_of_chains(rows, point.name, capture=point.name, several=True, index=number, first=point.first)


def parts_of(window: Window, hidden: Place, pack: int) -> Schedule:
    """Return a schedule of the parts that are a task's."""
    table = table_of(hidden, window.table)
    packs = one_array(table["pack"]).to_numpy()
    start, stop = np.searchsorted(packs, (pack, pack + 1)).tolist()
    files = table_of(hidden, FILES_TABLE)
    found = []
    for row in table.slice(start, stop - start).to_pylist():
        path, before = (files[name][row["file"]].as_py() for name in ("path", "before"))
        lead = tuple(zip(row["lead"][::2], row["lead"][1::2], strict=True))
        part = Part(path, row["start"], row["stop"], lead, row["packets"], row["moment"])
        found.append(Scheduled(part, row["file"], row["chain"], before, row["point"]))
    return Schedule((), tuple(found), (), ())
