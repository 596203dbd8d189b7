"""Verification that the files of log directories are consistent, as a broker leaves them.

`verify_part` yields the faults of a partition's folder or of a file. `Verification` returns the faults of whole log
directories as an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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
    from collections.abc import Iterator, Sequence

    from kwire_cli.stores import Place

__all__ = ["Fault", "Verification", "verify", "verify_part"]

COLUMNS = (
    Column("fault", level="error"),
    Column("file"),
    Column("position", "id", keep=1),
    Column("offset", "id", keep=2),
    Column("text"),
)


def _places(path: str | os.PathLike[str]) -> Iterator[Place]:
    """Yield the places below a path that are verified separately, in order.

    For a file, this is the file. For a folder, these are the text files of its log directories, and each partition.
    """
    folder = path_of(path)
    if not folder.is_dir():
        yield folder
        return
    for directory in walk(folder).directories:
        yield from (file.path for file in directory.files if is_text(file))
        yield from (partition.path for partition in directory.partitions)


@dataclass
class Verification:
    """The faults below paths. `checked` counts the files that were read for the rows so far.

    With `deep` the records are read too. `form` is the record format. `caller` receives the progress, and may stop the
    verification.
    """

    paths: Sequence[str | os.PathLike[str]]
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
        places = [[*_places(path)] for path in self.paths]
        self.checked = Checked(caller=self.caller)
        return Answer("Verification", [Table("faults", COLUMNS, self._rows(places)), Facts(self._facts())])

    def _facts(self) -> Iterator[Fact]:
        """Yield the counts after all rows were read."""
        checked = self.checked
        yield from (Fact(name, getattr(checked, name), "count") for name in ("files", "batches", "faults"))
        if checked.unused:
            yield Fact("notInUse", checked.unused, "count")

    def _rows(self, places: Sequence[Sequence[Place]]) -> Iterator[Row]:
        checked = self.checked
        empty = []
        for path, within in zip(map(path_of, self.paths), places, strict=True):
            before = (checked.logs, checked.faults)
            long = absolute(path)
            short = str(path)
            for place in within:
                try:
                    for fault in verify_part(place, deep=self.deep, form=self.form, checked=checked):
                        checked.faults += 1
                        inside = fault.file.startswith(long)
                        file = short + fault.file.removeprefix(long) if inside else fault.file
                        yield fault.code, location(file), fault.position, fault.offset, fault.text
                except StoppedError:
                    return
            if (checked.logs, checked.faults) == before and path.is_dir():
                empty.append(path)
        if empty:
            raise nothing_in(empty[0], "segment and no snapshot")
        if checked.logs and not checked.batches and not checked.faults:
            looked = f"{counted(checked.files, 'file')}: {counted(checked.logs, 'segment')}"
            raise InputError(f"0 batches in {looked} without a batch, so there was nothing to verify")


def verify(*paths: str | os.PathLike[str], deep: bool = False, form: str = AUTO) -> Answer:
    """Return the faults of log directories, like `kwire dump --verify`. With `deep` the records are read too.

    `form` is the record format, by default the format of each magic byte.

    Raises:
        InputError: A path cannot be read, or contains no files of a log directory.

    """
    verification = Verification(paths, deep, form)
    answer = verification.answer().read()
    return replace(answer, found=verification.checked.faults > 0)
