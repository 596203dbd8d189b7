"""Verification that the files of log directories are consistent, as a broker leaves them.

`verify_part` yields the faults of a partition's folder or of a file. `verify_each` does so for the parts of log
directories, in one process or in tasks, and `verification` returns the results as an answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.verify.checks import Checked, Fault, StoppedError
from kwire_cli.analysis.verify.partition import is_text, verify_part
from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.errors import InputError, counted
from kwire_cli.source.logs.files import nothing_in, walk
from kwire_cli.source.reading import Caller
from kwire_cli.stores.paths import absolute, location, path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.answer import Row
    from kwire_cli.stores.paths import Place

__all__ = ["Fault", "parts_of", "verification", "verify", "verify_each", "verify_part"]

COLUMNS = (
    Column("fault", level="error"),
    Column("file"),
    Column("position", "id", keep=1),
    Column("offset", "id", keep=2),
    Column("text"),
)


class Part(NamedTuple):
    """A file or a partition that is verified separately, and the path of the user that contains it."""

    path: str
    place: Place


def parts_of(paths: Sequence[str | os.PathLike[str]]) -> list[Part]:
    """Return the parts of paths in order: files, and of folders the text files of log directories and each partition.

    Raises:
        InputError: A folder cannot be read.

    """
    parts = []
    for path in map(str, paths):
        folder = path_of(path)
        if not folder.is_dir():
            parts.append(Part(path, folder))
            continue
        for directory in walk(folder).directories:
            parts += [Part(path, file.path) for file in directory.files if is_text(file)]
            parts += [Part(path, partition.path) for partition in directory.partitions]
    return parts


class Verified(NamedTuple):
    """The faults of a part as rows, and the counts of its files, which are complete once the rows are read."""

    path: str
    rows: Iterable[Row]
    checked: Checked


def verify_each(parts: Iterable[Part], *, deep: bool = False, caller: Caller | None = None) -> Iterator[Verified]:
    """Yield the results of parts, whose rows must be read in order.

    With `deep` the records are read too. `caller` receives the progress, and may stop the verification. The rows raise
    InputError if a file cannot be read.
    """
    for part in parts:
        checked = Checked(caller=caller or Caller())
        yield Verified(part.path, _rows_of(part, checked, deep=deep), checked)


def _rows_of(part: Part, checked: Checked, *, deep: bool) -> Iterator[Row]:
    long = absolute(part.path)
    short = str(path_of(part.path))
    for fault in verify_part(part.place, deep=deep, checked=checked):
        checked.counts["faults"] += 1
        inside = fault.file.startswith(long)
        file = short + fault.file.removeprefix(long) if inside else fault.file
        yield fault.code, location(file), fault.position, fault.offset, fault.text


def verification(paths: Sequence[str], results: Iterable[Verified], counts: Counter[str]) -> Answer:
    """Return the faults of each part, then the counts of the files, which `counts` has while the rows are read.

    The rows raise InputError if a file cannot be read, or a path contains no files of a log directory.
    """
    return Answer("Verification", [Table("faults", COLUMNS, _rows(paths, results, counts)), Facts(_facts(counts))])


def _rows(paths: Sequence[str], results: Iterable[Verified], counts: Counter[str]) -> Iterator[Row]:
    found: Counter[str] = Counter()
    for part in results:
        try:
            yield from part.rows
        except StoppedError:
            return
        finally:
            counts.update(part.checked.counts)
        found[part.path] += part.checked.counts["logs"] + part.checked.counts["faults"]
    for path in paths:
        if not found[path] and path_of(path).is_dir():
            raise nothing_in(path_of(path), "segment and no snapshot")
    if counts["logs"] and not counts["batches"] and not counts["faults"]:
        looked = f"{counted(counts['files'], 'file')}: {counted(counts['logs'], 'segment')}"
        raise InputError(f"0 batches in {looked} without a batch, so there was nothing to verify")
    if not counts["files"]:
        raise InputError("segments that are not in use, such as .deleted files, are not verified", file=paths[0])


def _facts(counts: Counter[str]) -> Iterator[Fact]:
    """Yield the counts. If they are read after the rows, they are complete."""
    yield from (Fact(name, counts[name], "count") for name in ("files", "batches", "faults"))
    if counts["notInUse"]:
        yield Fact("notInUse", counts["notInUse"], "count")


def verify(*paths: str | os.PathLike[str], deep: bool = False) -> Answer:
    """Return the faults of log directories, like `kwire dump --verify`. With `deep` the records are read too.

    Raises:
        InputError: A path cannot be read, or contains no files of a log directory.

    """
    counts: Counter[str] = Counter()
    results = verify_each(parts_of(paths), deep=deep)
    answer = verification([*map(str, paths)], results, counts).read()
    return replace(answer, found=counts["faults"] > 0)
