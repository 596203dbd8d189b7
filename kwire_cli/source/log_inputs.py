"""Record batches as inputs: batches without a file, segments and snapshots, other files of log directories, folders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import PADDING
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import read_items, recognised_source
from kwire_cli.source.kinds import Kind
from kwire_cli.source.logs.contents import READABLE
from kwire_cli.source.logs.files import files_in, nothing_in, partition_of, topic_at
from kwire_cli.source.logs.model import BATCH_KINDS, FileName, Kind as LogKind, file_name
from kwire_cli.source.reading import Opened
from kwire_cli.stores.opening import FileBytes
from kwire_cli.stores.paths import location, refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Batch, Source
    from kwire_cli.source.reading import Caller, Reading
    from kwire_cli.stores.paths import Place

EACH = 64
"""Batches between reports of progress to the caller."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of a log directory, or batches without a file. `given` has these batches, and `called` their name.

    `topic` is the topic that the folder of the file names, if any.
    """

    path: Place | None
    name: FileName
    topic: str | None
    given: memoryview | None = None
    called: str = ""

    @classmethod
    def of(cls, data: memoryview) -> LogFile:
        """Return batches without a file."""
        return cls(None, FileName(LogKind.OTHER), None, data)

    @property
    def partition(self) -> int | None:
        """The partition that the folder of the file names, if any."""
        folder = None if self.path is None else partition_of(self.path)
        return folder.partition if folder else None

    @property
    def label(self) -> str:
        """The name to show for the file."""
        return self.called if self.path is None else location(self.path)

    @property
    def has_batches(self) -> bool:
        """Return whether the file contains record batches by its name, or may, because its name is not one of
        Kafka's.
        """
        return self.name.kind in BATCH_KINDS or self.name.kind is LogKind.OTHER

    @property
    def content(self) -> memoryview | FileBytes:
        """The bytes of the file."""
        if self.path is None:
            return memoryview(b"") if self.given is None else self.given
        if self.path.is_file():
            return FileBytes(self.path)
        with self.path.open("rb") as pipe:
            return memoryview(pipe.read())

    def source(self, how: Reading) -> Source:
        """Return the record set that the file is: its bytes, their format and their topic."""
        source = recognised_source(
            self.content,
            given=how.topic,
            folder=self.topic,
            form=how.record_format or "auto",
            catalog=how.catalog,
            limits=how.limits,
        )
        return replace(source, hide=how.hide) if how.hide else source

    def items(self, source: Source, caller: Caller) -> Iterator[Batch | Gap]:
        """Yield the batches of the file, which is read as `source`, and the gaps between them."""
        for number, item in enumerate(read_items(source)):
            if not number % EACH:
                caller.progress(self.label, item.position, source.size)
                if caller.stopped:
                    return
            yield item


class LogItem(NamedTuple):
    """A batch of a log, or a gap, with its topic and partition."""

    topic: str | None
    partition: int | None
    file: str
    item: Batch | Gap

    @property
    def name(self) -> str:
        """The name of the partition's folder, such as `orders-0`, or of the file if the folder has another name."""
        return self.file if self.topic is None or self.partition is None else f"{self.topic}-{self.partition}"

    @property
    def is_unread(self) -> bool:
        """Whether the bytes are neither a batch nor padding."""
        return isinstance(self.item, Gap) and self.item.code != PADDING

    @property
    def log(self) -> tuple[str, str]:
        """The log: its folder and the partition. Copies of a partition on several brokers are different logs."""
        return _folder_of(self.file), self.name


@lru_cache(maxsize=1 << 10)
def _folder_of(file: str) -> str:
    return str(PurePath(file).parent)


class LogInput(Opened):
    """Record batches: a file or a folder of a log directory, a pipe, or encoded batches in text."""

    def files(self) -> Iterator[LogFile]:
        """Yield the files: in a folder partition by partition. InputError if a folder has no file to read."""
        found = self.recognised
        if found.kind is Kind.FOLDER and found.path is not None:
            yield from self._in_folder(found.path)
        elif found.path is not None:
            yield log_file(found.path)
        else:
            for view in found.views:
                yield LogFile(None, FileName(LogKind.OTHER), None, view, self.label)

    @property
    def emptiness(self) -> str:
        """The remark that the segments have no bytes; empty if they have some."""
        files = [file for file in self.files() if file.has_batches]
        if not files or any(len(file.content) for file in files):
            return ""
        return f"no batches: {counted(len(files), 'segment')} of 0 bytes"

    def _in_folder(self, path: Place) -> Iterator[LogFile]:
        every = self.how.every
        files = [*files_in(path, BATCH_KINDS | READABLE if every else BATCH_KINDS)]
        if not files and every:
            raise nothing_in(path, "file of a log directory")
        if not files:
            raise nothing_in(path, "segment and no snapshot", "--all takes the other files too")
        errors: list[InputError] = []
        for file in files:
            try:
                refuse_unreadable(file.path)
            except InputError as error:
                errors.append(error)
                if len(errors) == len(files):
                    raise
                self.caller.unreadable(error)
            else:
                yield log_file(file.path)

    def subjects(self) -> Iterator[LogItem]:
        """Yield the batches of each file with batches, and the gaps between them."""
        try:
            for file in self.files():
                if file.has_batches:
                    for item in file.items(file.source(self.how), self.caller):
                        yield LogItem(file.topic, file.partition, file.label, item)
        finally:
            self.caller.done()


def log_file(path: Place) -> LogFile:
    """Return a file of a log directory, by its name and its folder's."""
    return LogFile(path, file_name(path.name), topic_at(path))
