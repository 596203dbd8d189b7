"""Verification that the files of log directories are as a broker would have left them.

`verify_part` yields the faults of a partition's folder or of a file. `Verification` adds up the faults of log
directories, as a fold over the parts that can be verified separately.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from itertools import chain
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
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.stores import Place

__all__ = ["Fault", "Part", "Verification", "Verified", "parts_to_verify", "verify", "verify_part"]

COLUMNS = (
    Column("fault", level="error"),
    Column("file"),
    Column("position", "id", keep=1),
    Column("offset", "id", keep=2),
    Column("text"),
)


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
class Verified:
    """A part and its faults, an iterator that may not have been read yet. `checked` counts the files that were."""

    part: Part
    faults: Iterable[Fault]
    checked: Checked

    @classmethod
    def begin(cls, part: Part, *, deep: bool = False, form: str = AUTO, caller: Caller | None = None) -> Verified:
        """Return a part that is verified while its faults are read. `caller` gets the progress, and may stop it."""
        checked = Checked(caller=caller or Caller())
        return cls(part, verify_part(part.place, deep=deep, form=form, checked=checked), checked)

    def read(self) -> Verified:
        """Return the part with all faults read. A part that cannot be read is a fault."""
        faults = []
        try:
            for fault in self.faults:
                faults.append(fault)  # noqa: PERF402 - those before an error count
        except InputError as error:
            faults.append(Fault("UNREADABLE", str(self.part.place), None, None, error.reason))
        return replace(self, faults=faults)


@dataclass
class Verification:
    """The faults of parts below paths: a fold. `checked` counts what the rows of the answer so far looked at."""

    paths: Sequence[str | os.PathLike[str]]
    checked: Checked = field(default_factory=Checked)
    _parts: dict[int, list[Verified]] = field(default_factory=dict)

    def add(self, subject: Verified) -> None:
        """Take a part in."""
        self._parts.setdefault(subject.part.below, []).append(subject)

    def answer(self) -> Answer:
        """Return the faults of each path, in the order of the paths, then counts of the files that were read.

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

    def _rows(self) -> Iterator[Row]:
        with contextlib.suppress(StoppedError):
            yield from self._all_rows()

    def _all_rows(self) -> Iterator[Row]:
        checked = self.checked
        empty = []
        for number, path in enumerate(map(path_of, self.paths)):
            before = (checked.logs, checked.faults)
            long = absolute(path)
            short = str(path)
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
        if checked.logs and not checked.batches and not checked.faults:
            looked = f"{counted(checked.files, 'file')}: {counted(checked.logs, 'segment')}"
            raise InputError(f"0 batches in {looked} without a batch, so there was nothing to verify")


def verify(*paths: str | os.PathLike[str], deep: bool = False, form: str = AUTO) -> Answer:
    """Return the faults of log directories, as `kwire dump --verify` does; with `deep` the records are read too.

    `form` is the record format, by default the format of each magic byte.

    Raises:
        InputError: A path cannot be read, or holds nothing that could be verified.

    """
    verification = Verification(paths)
    for part in parts_to_verify(paths):
        verification.add(Verified.begin(part, deep=deep, form=form))
    answer = verification.answer().read()
    return replace(answer, found=verification.checked.faults > 0)
