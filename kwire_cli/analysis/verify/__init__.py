"""Verification that the files of log directories are consistent, as a broker leaves them.

`verify_part` yields the faults of a partition's folder or of a file. `Verification` returns the faults of whole log
directories as an answer. Tasks verify some parts each with `verify_each`, and `merge_verified` returns the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.verify.checks import Checked, Fault, StoppedError
from kwire_cli.analysis.verify.partition import is_text, verify_part
from kwire_cli.answer import Answer, Column, Fact, Facts, Row, Table
from kwire_cli.errors import InputError, counted
from kwire_cli.records.formats import AUTO
from kwire_cli.source.logs.files import nothing_in, walk
from kwire_cli.source.reading import Caller
from kwire_cli.stores import absolute, location, path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.stores import Place

__all__ = ["Fault", "Verification", "merge_verified", "parts_of", "verify", "verify_each", "verify_part"]

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


@dataclass
class Verification:
    """The faults below paths. `checked` counts the files that were read for the rows so far.

    With `deep` the records are read too. `form` is the record format. `caller` receives the progress, and may stop the
    verification.
    """

    paths: Sequence[str]
    deep: bool = False
    form: str = AUTO
    caller: Caller = field(default_factory=Caller)
    checked: Checked = field(default_factory=Checked)

    def answer(self) -> Answer:
        """Return the faults of each path, in the order of the paths, then counts of the files that were read.

        Raises:
            InputError: A folder cannot be read. While the rows are read: a file cannot be read, or a path contains no
                files of a log directory.

        """
        parts = parts_of(self.paths)
        self.checked = Checked(caller=self.caller)
        return Answer("Verification", [Table("faults", COLUMNS, self._rows(parts)), Facts(_facts(self.checked))])

    def _rows(self, parts: Sequence[Part]) -> Iterator[Row]:
        checked = self.checked
        found: dict[str, int] = {}
        for part in parts:
            before = checked.logs + checked.faults
            try:
                yield from _rows_of(part, checked, deep=self.deep, form=self.form)
            except StoppedError:
                return
            found[part.path] = found.get(part.path, 0) + checked.logs + checked.faults - before
        _refuse_nothing(self.paths, found, checked)


def _rows_of(part: Part, checked: Checked, *, deep: bool, form: str) -> Iterator[Row]:
    """Yield the faults of a part as rows, and count them. Raise StoppedError if the caller stops the verification."""
    long = absolute(part.path)
    short = str(path_of(part.path))
    for fault in verify_part(part.place, deep=deep, form=form, checked=checked):
        checked.faults += 1
        inside = fault.file.startswith(long)
        file = short + fault.file.removeprefix(long) if inside else fault.file
        yield fault.code, location(file), fault.position, fault.offset, fault.text


def _facts(checked: Checked) -> Iterator[Fact]:
    """Yield the counts. If they are read after the rows, they are complete."""
    yield from (Fact(name, getattr(checked, name), "count") for name in ("files", "batches", "faults"))
    if checked.unused:
        yield Fact("notInUse", checked.unused, "count")


def _refuse_nothing(paths: Sequence[str], found: Mapping[str, int], checked: Checked) -> None:
    """Raise InputError if a folder has no log and no fault, or if no log has a batch."""
    for path in paths:
        if not found.get(path) and path_of(path).is_dir():
            raise nothing_in(path_of(path), "segment and no snapshot")
    if checked.logs and not checked.batches and not checked.faults:
        looked = f"{counted(checked.files, 'file')}: {counted(checked.logs, 'segment')}"
        raise InputError(f"0 batches in {looked} without a batch, so there was nothing to verify")


class Verified(NamedTuple):
    """The result of a task: the faults of a part as rows, and the counts of its files."""

    path: str
    rows: list[Row]
    checked: Checked


def verify_each(parts: Iterable[Part], *, deep: bool, form: str) -> list[Verified]:
    """Verify parts, one after the other, in a task.

    Raises:
        InputError: A file cannot be read.

    """
    done = []
    for part in parts:
        checked = Checked()
        rows = [*_rows_of(part, checked, deep=deep, form=form)]
        done.append(Verified(part.path, rows, checked))
    return done


def merge_verified(paths: Sequence[str], results: Iterable[Verified]) -> Answer:
    """Return the answer for paths from the results of all parts. It equals the answer of a `Verification`.

    Raises:
        InputError: A path contains no files of a log directory.

    """
    checked = Checked()
    rows: list[Row] = []
    found: dict[str, int] = {}
    for result in results:
        rows += result.rows
        checked.add(result.checked)
        found[result.path] = found.get(result.path, 0) + result.checked.logs + result.checked.faults
    _refuse_nothing(paths, found, checked)
    return Answer("Verification", [Table("faults", COLUMNS, rows), Facts([*_facts(checked)])], bool(checked.faults))


def verify(*paths: str | os.PathLike[str], deep: bool = False, form: str = AUTO) -> Answer:
    """Return the faults of log directories, like `kwire dump --verify`. With `deep` the records are read too.

    `form` is the record format, by default the format of each magic byte.

    Raises:
        InputError: A path cannot be read, or contains no files of a log directory.

    """
    verification = Verification([*map(str, paths)], deep, form)
    answer = verification.answer().read()
    return replace(answer, found=verification.checked.faults > 0)
