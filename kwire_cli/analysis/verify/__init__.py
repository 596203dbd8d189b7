"""Verification that a partition's folder is as a broker would have left it.

`verify_partition` names each fault in the folder. `Verification` is the question what is wrong in log directories, as a
fold over the parts that can be verified on their own.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.verify.checks import FAULTS, Checked, Fault, StoppedError
from kwire_cli.analysis.verify.partition import is_text, verify_file, verify_part, verify_partition
from kwire_cli.answer import Answer, Column, Fact, Facts, Row, Table
from kwire_cli.errors import InputError
from kwire_cli.records.formats import AUTO
from kwire_cli.source.logs.files import nothing_in, walk
from kwire_cli.source.reading import Caller
from kwire_cli.stores import absolute, location, path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.stores import Place

__all__ = [
    "FAULTS",
    "Checked",
    "Fault",
    "Part",
    "Verification",
    "parts_to_verify",
    "verify",
    "verify_file",
    "verify_part",
    "verify_partition",
]

COLUMNS = (
    Column("fault", level="error"),
    Column("file"),
    Column("position", "id", keep=1),
    Column("offset", "id", keep=2),
    Column("text"),
)

_MAX_ZEROS = 10
"""Indexes without an entry that are named; the others are counted."""


class Part(NamedTuple):
    """A file or a partition's folder, and the number of the path that it is below."""

    below: int
    place: Place


def parts_to_verify(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Part]:
    """Yield the parts below paths that can be verified on their own, in order.

    The only part of a file is the file. The parts of a folder are its log directories' own files and each of their
    partitions.

    Raises:
        InputError: A folder cannot be read.

    """
    for number, path in enumerate(paths):
        folder = path_of(path)
        if not folder.is_dir():
            yield Part(number, folder)
            continue
        for directory in walk(folder).directories:
            yield from (Part(number, file.path) for file in directory.files if is_text(file))
            yield from (Part(number, partition.path) for partition in directory.partitions)


@dataclass
class _Verified:
    """A part that was added. Its faults are read as they are asked for; `checked` counts what was looked at by then."""

    place: Place
    checked: Checked
    faults: Iterable[Fault] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Verify the part before it goes to another process. A part that cannot be read is a fault there."""
        faults = []
        try:
            for fault in self.faults:
                faults.append(fault)  # noqa: PERF402 - those before an error count
        except InputError as error:
            faults.append(Fault("UNREADABLE", str(self.place), None, None, error.reason))
        self.faults = faults
        return self.__dict__


@dataclass
class Verification:
    """The faults of files and partitions below paths: a fold.

    A part is verified as the rows of the answer are read, or before the fold goes to another process: faults are told
    as they come, and none are kept where one process does all. `checked` counts what the rows read so far looked at.
    `caller` learns how far that is; if the caller stops it, the rows end there.
    """

    paths: Sequence[str | os.PathLike[str]]
    deep: bool = False
    form: str = AUTO
    caller: Caller = field(default_factory=Caller)
    checked: Checked = field(default_factory=Checked)
    _parts: dict[int, list[_Verified]] = field(default_factory=dict)

    def add(self, subject: Part) -> None:
        """Take a part in."""
        checked = Checked(caller=self.caller)
        faults = verify_part(subject.place, deep=self.deep, form=self.form, checked=checked)
        self._parts.setdefault(subject.below, []).append(_Verified(subject.place, checked, faults))

    def merge(self, other: Verification) -> None:
        """Take in the parts of another one."""
        for below, parts in other._parts.items():
            self._parts.setdefault(below, []).extend(parts)

    def answer(self) -> Answer:
        """Return the faults of each path, in the order of the paths, and behind them how much was looked at.

        Raises:
            InputError: As the rows are read: a part cannot be read, or a path holds nothing that could be verified.

        """
        self.checked = Checked()
        found = any(part.faults for part in chain(*self._parts.values()) if isinstance(part.faults, list))
        return Answer("Verification", [Table("faults", COLUMNS, self._rows()), Facts(self._facts())], found=found)

    def _facts(self) -> Iterator[Fact]:
        """Yield the counts, as soon as all rows were read."""
        checked = self.checked
        yield from (Fact(name, getattr(checked, name), "count") for name in ("files", "batches", "faults"))
        if checked.unused:
            yield Fact("notInUse", checked.unused, "count")
        if checked.zeros:
            more = len(checked.zeros) - _MAX_ZEROS
            shown = [*checked.zeros[:_MAX_ZEROS], *([f"and {more} more"] if more > 0 else [])]
            yield Fact("emptyIndexes", shown, "list", level="info")

    def _rows(self) -> Iterator[Row]:
        with contextlib.suppress(StoppedError):
            yield from self._all_rows()

    def _all_rows(self) -> Iterator[Row]:
        checked, empty = self.checked, []
        for number, path in enumerate(map(path_of, self.paths)):
            before = (checked.logs, checked.faults)
            long, short = absolute(path), str(path)
            for verified in self._parts.get(number, ()):
                for fault in verified.faults:
                    checked.faults += 1
                    inside = fault.file.startswith(long)
                    file = short + fault.file.removeprefix(long) if inside else fault.file
                    yield fault.code, location(file), fault.position, fault.offset, fault.text
                checked.add(verified.checked)
            if (checked.logs, checked.faults) == before and path.is_dir():
                empty.append(path)
        if empty:
            raise nothing_in(empty[0], "segment and no snapshot")
        counts = ((checked.files, "file"), (checked.logs, "segment"))
        if checked.logs and not checked.batches and not checked.faults:
            files, logs = (f"{number} {what}{'s'[: number != 1]}" for number, what in counts)
            raise InputError(f"0 batches in {files}: {logs} without a batch, so there was nothing to verify")


def verify(*paths: str | os.PathLike[str], deep: bool = False, form: str = AUTO) -> Answer:
    """Return what is wrong in log directories, as `kwire dump --verify` does; with `deep` the records are read too.

    `form` is the record format, by default the format of each magic byte.

    Raises:
        InputError: A path cannot be read, or holds nothing that could be verified.

    """
    verification = Verification(paths, deep, form)
    for part in parts_to_verify(paths):
        verification.add(part)
    answer = verification.answer().read()
    return replace(answer, found=verification.checked.faults > 0)
