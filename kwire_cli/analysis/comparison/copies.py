"""Comparison of the copies of partitions in two places, as an Answer.

Partitions of two log directories are paired by name, and two segments are one pair. `partitions.compare` compares each
pair batch by batch.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.comparison.partitions import KINDS, Item, compare
from kwire_cli.answer import Answer, Column, Note, Table
from kwire_cli.errors import InputError
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import nothing_in, topic_at, walk
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores.paths import location, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.comparison.partitions import Comparison, Copy, Difference
    from kwire_cli.answer import Block, Row
    from kwire_cli.stores.paths import Place

MOST_SHOWN = 10
"""Maximum number of differences that are displayed."""
COPIES = (
    Column("copy"),
    Column("path"),
    Column("firstOffset", "id"),
    Column("lastOffset", "id"),
    Column("batches", "count"),
    Column("bytes", "bytes"),
)
PARTITIONS = (
    Column("path", keep=1),
    Column("verdict"),
    Column("equalBatches", "count"),
    Column("differences", "map"),
    Column("firstOffset", "id"),
    Column("firstKind"),
)
_SIDE = (
    Column("File", wide=True),
    Column("Position", "id", keep=2),
    Column("Size", "bytes", wide=True),
    Column("BaseOffset", "id", wide=True),
    Column("LastOffset", "id", wide=True),
    Column("Epoch", "id", keep=1),
    Column("Crc", "id", wide=True),
    Column("CrcValid", "flag", wide=True),
)


def _columns_of(copy: str) -> Iterator[Column]:
    for column in _SIDE:
        heading = f"{copy} {column.heading}"
        yield Column(copy + column.name, column.kind, heading, keep=column.keep, wide=column.wide)


DIFFERENCES = (
    Column("path", keep=3),
    Column("offset", "id"),
    Column("kind"),
    Column("legal", "flag", wide=True),
    *_columns_of("a"),
    *_columns_of("b"),
    Column("detail"),
)
"""A difference, and the `Side` of each copy. `aFile`, `aPosition` and so on are None if a copy has no batch there."""


class Pair(NamedTuple):
    """Two copies of a partition: their names, and the segments of each in order.

    A log directory without the partition has no segments of it.
    """

    a: str
    b: str
    a_files: list[Place]
    b_files: list[Place]


def compared(a: Place, b: Place) -> list[tuple[Pair, Comparison]]:
    """Return the comparison of each pair of copies in two places. Raise InputError if they cannot be compared."""
    return [(pair, _compare_pair(pair)) for pair in _pairs(a, b)]


def copies_answer(comparisons: Sequence[tuple[Pair, Comparison]]) -> Answer:
    """Return the contents of each copy, the verdict on each pair, and the first differences."""
    copies: list[Row] = []
    partitions: list[Row] = []
    differences: list[Row] = []
    notes: list[Block] = []
    for pair, comparison in comparisons:
        copies += [_copy("a", pair.a, comparison.a), _copy("b", pair.b, comparison.b)]
        first = comparison.first
        at = (first.offset, first.kind) if first else (None, None)
        partitions.append((pair.a, comparison.verdict, comparison.equal, dict(sorted(comparison.counts.items())), *at))
        listed = comparison.differences
        if first and first not in listed:
            listed = [*listed, first]
        differences += [_difference(pair.a, difference) for difference in listed]
        if first:
            notes.append(
                Note(_sentence(first, pair.a if len(comparisons) > 1 else ""), "info" if first.legal else "error")
            )
    return Answer(
        "Copies of partitions",
        [
            Table("copies", COPIES, copies),
            Table("partitions", PARTITIONS, partitions),
            *notes,
            Table("differences", DIFFERENCES, differences, shown=MOST_SHOWN),
        ],
    )


def _sentence(first: Difference, path: str) -> str:
    what = "they differ as copies may: first" if first.legal else "first divergence"
    detail = f" ({first.detail})" if first.detail else ""
    return f"{f'{path}: ' if path else ''}{what} at offset {first.offset}: {first.kind}: {KINDS[first.kind]}{detail}"


def _copy(name: str, path: str, copy: Copy) -> Row:
    return name, path, copy.first, copy.last, copy.batches, copy.size


def _difference(path: str, difference: Difference) -> Row:
    sides = [side or (None,) * len(_SIDE) for side in (difference.a, difference.b)]
    return path, difference.offset, difference.kind, difference.legal, *sides[0], *sides[1], difference.detail


def _pairs(a: Place, b: Place) -> Iterator[Pair]:
    """Yield the partitions to compare. Partitions of two log directories are paired by name.

    A partition that is in only one of the directories is paired with no segments.
    """
    if a.is_dir() != b.is_dir():
        raise InputError(
            f"{a if a.is_dir() else b} is a folder and {b if a.is_dir() else a} is a file: give two folders, "
            f"or two segments"
        )
    if not a.is_dir():
        yield Pair(location(a), location(b), [a], [b])
        return
    mine = _partitions(a)
    other = _partitions(b)
    if len(mine) == len(other) == 1:  # their names need not be equal: a copy may have any name
        yield Pair(location(a), location(b), *mine.values(), *other.values())
        return
    for name in [*mine, *(name for name in other if name not in mine)]:
        yield Pair(location(a / name), location(b / name), mine.get(name, []), other.get(name, []))


def _partitions(folder: Place) -> dict[str, list[Place]]:
    """Return the segments of the partitions in use below a folder, by the name of the partition."""
    in_use = [partition for partition in walk(folder).partitions if not (partition.name and partition.name.state)]
    names = Counter(partition.path.name for partition in in_use)
    segments = {}
    for partition in in_use:  # partitions in several log directories may have the same name
        name = partition.path.name
        if names[name] > 1:
            name = str(partition.path)[len(str(folder)) :].strip("/")
        segments[name] = [file.path for file in partition.of(Kind.LOG)]
    if not any(segments.values()):
        raise nothing_in(folder, "segment")
    return segments


def _compare_pair(pair: Pair) -> Comparison:
    comparison = compare(_items(pair.a_files), _items(pair.b_files))
    if not comparison.a.batches and not comparison.b.batches and comparison.a.size + comparison.b.size:
        raise InputError(f"there is no record batch in {pair.a}, nor in {pair.b}")
    return comparison


def _items(files: list[Place]) -> Iterator[Item]:
    for file in files:
        for item in items(source_of(file, topic=topic_at(file))):
            yield Item(location(path_of(file.name)), item)
