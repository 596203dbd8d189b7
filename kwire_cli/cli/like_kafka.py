"""`kwire dump --like-kafka`: files of logs in the lines of Kafka's own DumpLogSegments."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kwire_cli.cli.batch_views import View
from kwire_cli.records.gaps import Gap
from kwire_cli.source.logs.files import File
from kwire_cli.source.logs.model import Kind
from kwire_cli.view.batch_json import numbered
from kwire_cli.view.kafka_tool import (
    Consecutive,
    Trouble,
    batch_line,
    file_lines,
    invalid_bytes,
    log_heading,
    record_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.batch_views import BatchSettings
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.view_inputs import Shown
    from kwire_cli.records.batch import Batch, Record, Source
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.view.html.page import Page

_PIECE = 256
"""Lines that are written at once."""
INDEXES = frozenset({Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT})
"""Files without batches that DumpLogSegments knows."""


class LikeKafka(View):
    """The lines of DumpLogSegments: a heading for each file, and what its own checks find after the last file."""

    STREAMS = True
    SHOWS_EMPTY = True

    def __init__(self, environment: Environment, settings: BatchSettings, page: Page | None = None) -> None:
        super().__init__(environment, settings, page)
        self.trouble = Trouble()
        self._at_end = False

    def begin(self, file: LogFile, source: Source | None = None) -> None:
        """Turn to the next file: the line that every file begins with, and what the name of a log says."""
        super().begin(file, source)
        self.environment.write(f"Dumping {'-' if file.path is None else file.label}")
        if source:
            self._at_end, self._size = False, source.size
            self._name = file.path.name if file.path else "-"
            self._consecutive = Consecutive(str(file.path.absolute()) if file.path else "-", self.trouble)
            for line in log_heading(file.name, self._name):
                self.environment.write(line)

    def takes(self, item: Batch | Gap) -> bool:
        """Return whether no gap was shown in this file: Kafka's reader does not get over bytes that are no batch."""
        if self._at_end:
            more = "there are more batches behind these bytes; without --like-kafka they are shown"
            self.environment.note(f"kwire: {self.file}: {more}")
        return not self._at_end

    def show(self, shown: Shown) -> None:
        """Show a batch, or the size of what is behind its end."""
        item, records, notes = shown
        if isinstance(item, Gap):
            self.environment.write(invalid_bytes(self._size - item.position, self._name))
            self._at_end = True
            return
        self.environment.write(batch_line(item))
        if self.deep:
            pieces = [records] if records is not None else numbered(item, notes)
            lines = record_lines(item, self._records(pieces), self.hide)
            while some := list(islice(lines, _PIECE)):
                self.environment.write("\n".join(some))

    def _records(self, pieces: Iterable[list[tuple[int, Record]]]) -> Iterator[tuple[int, Record]]:
        """Yield the records. Offsets are checked against each other if none was left out."""
        for piece in pieces:
            if self.settings.shows_all:
                self._consecutive.records(piece)
            yield from piece

    def show_file(self, file: LogFile, left: int | None) -> tuple[int, bool]:
        """Show an index or a producer snapshot. DumpLogSegments does not know other files."""
        if file.path is None or file.name.kind not in INDEXES:
            self.environment.note(f"Ignoring unknown file {file.label}")
        else:
            index = File(file.path, file.name)
            for line in file_lines(index, file.label, self.trouble, self.environment.note):
                self.environment.write(line)
        return 0, False

    def end(self) -> None:
        """Say on standard error what was wrong."""
        self.environment.flush()
        for line in self.trouble.lines():
            self.environment.note(line)
