"""Partitions verified in tasks, each by itself, as `verify_path` does one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.pipeline.folding import folded
from kwire_cli.stores import absolute, path_of
from kwire_cli.verify import Checked, Fault, parts_to_verify, verify_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.stores import Place

    Found = tuple[int, list[Fault], Checked]


def verified(spark: SparkSession, paths: Sequence[str], checked: Checked, *, deep: bool = False) -> Iterator[tuple[str, Iterator[Fault]]]:
    """Each path with its faults, in the order of `verify_path`; `checked` counts as they are taken.

    Raises:
        InputError: A folder cannot be read. A file that can't be is a fault, UNREADABLE.

    """
    units = [(number, part) for number, path in enumerate(paths) for part in parts_to_verify(absolute(path))]

    def verify(some: Iterable[tuple[int, Place]]) -> list[Found]:
        return [(number, *_faults(part, deep=deep)) for number, part in some]

    made = [found for some in folded(spark, units, verify, list.extend) for found in some]
    for number, path in enumerate(paths):
        yield path, _as_given(_taken([found for found in made if found[0] == number], checked), path)


def _as_given(faults: Iterator[Fault], path: str) -> Iterator[Fault]:
    """Yield the faults with the names of files as they follow from the path that was given, which tasks have by its absolute path."""
    long, short = absolute(path), str(path_of(path))
    for fault in faults:
        yield fault._replace(file=short + fault.file.removeprefix(long)) if fault.file.startswith(long) else fault


def _faults(part: Place, *, deep: bool) -> tuple[list[Fault], Checked]:
    own, found = Checked(), []
    try:
        for fault in verify_part(part, deep=deep, checked=own):
            found.append(fault)  # noqa: PERF402 - those before an error count
    except InputError as error:
        found.append(Fault("UNREADABLE", str(part), None, None, error.reason))
    return found, own


def _taken(found: list[Found], checked: Checked) -> Iterator[Fault]:
    for _, faults, own in found:
        checked.add(own)
        yield from faults
