"""Partitions: the state in their records, their faults, and two copies compared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.logs.files import nothing_in
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import path_of, path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.comparison.partitions import Comparison, Item
    from kwire_cli.cli.environment import Environment
    from kwire_cli.stores import Place


# What `kwire diff` does with two copies of a partition, or of several: which are compared, and what is shown
# of them.


class Pair(NamedTuple):
    """Two copies of a partition: what to call them, and the segments of each in order; no files where a log directory
    does not have it.
    """

    a: str
    b: str
    a_files: list[Place]
    b_files: list[Place]


def show_partitions(environment: Environment, a: Place, b: Place, fmt: str, *, ignore_legal: bool) -> bool:
    """Print where copies of partitions differ; whether any do, with `ignore_legal` in more than retention, compaction
    and lag bring about.
    """
    different = False
    for number, pair in enumerate(_pairs(a, b)):
        comparison = _compared(pair)
        different = (
            different or comparison.verdict == "diverges" or (comparison.verdict == "legal" and not ignore_legal)
        )
        _show_partitions(environment, pair, comparison, fmt, first=number == 0)
        environment.flush()
    return different


def _pairs(a: Place, b: Place) -> Iterator[Pair]:
    """The partitions to compare. Of log directories those with the same name, those that only one has among them."""
    if a.is_dir() != b.is_dir():
        raise InputError(
            f"{a if a.is_dir() else b} is a folder and {b if a.is_dir() else a} is a file: give two folders, "
            f"or two segments"
        )
    if not a.is_dir():
        yield Pair(path_text(a), path_text(b), [a], [b])
        return
    mine, other = _partitions(a), _partitions(b)
    if len(mine) == len(other) == 1:  # whatever their names: a copy may be called as its owner likes
        yield Pair(path_text(a), path_text(b), *mine.values(), *other.values())
        return
    for name in [*mine, *(name for name in other if name not in mine)]:
        yield Pair(path_text(a / name), path_text(b / name), mine.get(name, []), other.get(name, []))


def _partitions(folder: Place) -> dict[str, list[Place]]:
    from kwire_cli.source.logs.files import walk

    in_use = [partition for partition in walk(folder).partitions if not (partition.name and partition.name.state)]
    names = Counter(partition.path.name for partition in in_use)
    paths_by_name = {}
    for partition in in_use:  # those of several log directories may have one name
        name = (
            partition.path.name
            if names[partition.path.name] == 1
            else str(partition.path)[len(str(folder)) :].strip("/")
        )
        paths_by_name[name] = [file.path for file in partition.of(Kind.LOG)]
    if not any(paths_by_name.values()):
        raise nothing_in(folder, "segment")
    return paths_by_name


def _compared(pair: Pair) -> Comparison:
    from kwire_cli.analysis.comparison.partitions import compare

    partition_diff = compare(_items_of_partition(pair.a_files), _items_of_partition(pair.b_files))
    if not partition_diff.a.batches and not partition_diff.b.batches and partition_diff.a.size + partition_diff.b.size:
        raise InputError(f"there is no record batch in {pair.a}, nor in {pair.b}")
    return partition_diff


def _items_of_partition(files: list[Place]) -> Iterator[Item]:
    from kwire_cli.analysis.comparison.partitions import Item
    from kwire_cli.records.reading import items, source_of

    for file in files:
        for item in items(source_of(file)):
            yield Item(path_text(path_of(file.name)), item)


def _show_partitions(environment: Environment, pair: Pair, comparison: Comparison, fmt: str, *, first: bool) -> None:
    if fmt == "json":
        from kwire_cli.view.json import dumps

        environment.write(dumps({"aPath": pair.a, "bPath": pair.b, **comparison.to_json()}, indent=True))
        return
    from kwire_cli.view.differences import partition_lines

    environment.write_lines([*([] if first else [[]]), *partition_lines(comparison, pair.a, pair.b)])
