"""Formats of record batches, and of the other files in a log directory.

`VIEWS` maps the name of a format to its view. A run creates one view and passes it the batches of every file, one by
one, so that a file of any size needs little memory. Views import their writers when they are created: start-up counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from json import loads
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kwire_cli.cli.options import HEX_ROWS
from kwire_cli.cli.streamed_table import StreamedTable
from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import note_payloads
from kwire_cli.records.gaps import Gap
from kwire_cli.records.registers import Register
from kwire_cli.records.selection import Selection
from kwire_cli.source.logs.contents import READABLE, read_contents
from kwire_cli.view.anomaly_counts import AnomalyCounts
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import anomaly_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Listing
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.batch import Batch, Hide, Record, Source
    from kwire_cli.records.reading import Reader
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.source.reading import Reading

    Entries = Iterable[dict[str, Any]]


def _import_logs() -> Any:
    """Return the module that formats files without batches. Most runs do not need it."""
    from kwire_cli.view import logs

    return logs


class Shown(NamedTuple):
    """An item to show.

    `records` are its selected records with their numbers, or None if the view itself reads all records. Anomalies of
    records are added to `notes` while they are read.
    """

    item: Batch | Gap
    records: list[tuple[int, Record]] | None
    notes: list[Anomaly]

    @property
    def batch(self) -> Batch | None:
        """The batch. A gap may contain a damaged batch."""
        return self.item.batch if isinstance(self.item, Gap) else self.item


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BatchSettings:
    """Settings of a run: the record batches to show, and their format.

    Attributes:
        deep: Show the records of batches.
        several: There may be more than one file, so each file is named.
        topics: Topics of the wanted partitions. Empty for all topics.

    """

    view: type[View]
    options: Listing
    redaction: Redaction
    how: Reading
    selection: Selection = field(default_factory=Selection)
    deep: bool = False
    register: Register = field(default_factory=Register)
    several: bool = False
    topics: tuple[str, ...] = ()

    @property
    def limit(self) -> int | None:
        """The maximum number of batches, or of records with `deep`."""
        return self.options.top

    @property
    def shows_all(self) -> bool:
        """Return whether all batches are shown, in the order of the file."""
        return self.selection.everything and self.limit is None and self.options.order is None


class View:
    """A format: shows batches one by one, and files without batches. One view serves all files of a run."""

    HEADS_FILES: ClassVar[bool] = False
    """True if a line above its batches names a file. Otherwise each line names its file."""
    STREAMS: ClassVar[bool] = False
    """True if records are shown while they are read, so that a batch of any size needs little memory."""

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        self.environment = environment
        self.settings = settings
        self.deep = settings.deep
        self.hide: Hide | None = settings.redaction.record
        self.file = ""
        self._heading = ""

    @property
    def label(self) -> dict[str, str]:
        """The first keys of a line: the file, if there may be several files."""
        return {"file": self.file} if self.settings.several else {}

    def begin(self, file: LogFile) -> None:
        """Begin the next file."""
        self.file = file.label
        self._heading = f"{file.label}:" if self.settings.several and self.HEADS_FILES else ""

    def name_file(self) -> None:
        """Write the name of the file, before its first batch or entry."""
        if self._heading:
            self.environment.write_lines([[(self._heading, "dim")]])
            self._heading = ""

    def show_first(self, source: Source, reader: Reader, on_progress: Callable[[], None]) -> tuple[int, bool]:
        """Show the first batches of a file, if this format has a fast path for them.

        Return the number of batches shown, and whether any is anomalous. `on_progress` is called from time to time.
        """
        return 0, False

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        raise NotImplementedError

    def show_file(self, file: LogFile, left: int | None) -> tuple[int, bool]:
        """Show at most `left` entries of a file without batches: an index, a producer snapshot, a checkpoint.

        Return the number of entries shown, and whether the file is anomalous. Raises InputError if the file cannot be
        read, or is not a file of Kafka.
        """
        if file.path is None or file.name.kind not in READABLE:
            raise InputError("this file of a log directory has no entries that kwire reads", file=file.label)
        try:
            data = file.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=file.label) from None
        contents = read_contents(data, file.name)
        return self.show_contents(contents, left), bool(contents.anomalies)

    def show_contents(self, contents: Contents[Any], left: int | None) -> int:
        """Show at most `left` entries. Return the number of entries shown if there is a limit, otherwise 0."""
        entries = contents.lines() if left is None else list(islice(contents.lines(), left))
        self.show_entries(contents, entries)
        return len(entries) if isinstance(entries, list) else 0

    def show_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Show these entries of a file, by default as a table."""
        room = None if self.settings.options.wide else self.environment.width
        self.environment.write_lines(_import_logs().table_lines(contents, entries, room), folded=False)
        self.environment.write_lines(anomaly_lines(contents.anomalies))

    def end(self) -> None:
        """Write the rows and notes that follow the last file."""


class Tree(View):
    """Batches, records and values as trees."""

    HEADS_FILES = True

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        from kwire_cli.view.tree import RecordLook, tree_lines  # start-up counts

        records = shown.records if self.deep else None
        if records and (batch := shown.batch):
            note_payloads(batch, records, shown.notes, self.hide)
        look = RecordLook(self.hide, self.settings.options.full, self.settings.register)
        self.environment.write_lines(tree_lines(shown.item, records, shown.notes, look))


class Hex(View):
    """All bytes, with their meaning next to them."""

    HEADS_FILES = True

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.view.hex import HexForm, batch_hex_lines  # start-up counts

        self._form = HexForm(None if settings.options.full else HEX_ROWS, environment.width)
        self._lines = batch_hex_lines

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        catalog = self.settings.redaction.catalog
        self.environment.write_lines(self._lines(catalog, shown.item, self.hide, deep=self.deep, form=self._form))


class TableView(View):
    """A line of a table for each batch; with `deep` for each record."""

    HEADS_FILES = True

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.view import batch_table  # most views do without

        self._rows = batch_table
        room = None if settings.options.wide else environment.width
        columns = batch_table.table_columns(deep=self.deep)
        self._table = StreamedTable(environment, columns, room, waits=room is not None)
        self._counts = AnomalyCounts("batch", "batches")

    def begin(self, file: LogFile) -> None:
        """Begin the next file. Its table has a separate heading if the file is named above it."""
        if self.settings.several:
            self._table.end()
        super().begin(file)

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        item = shown.item
        batch = shown.batch
        rows = []
        if not self.deep:
            rows.append(self._rows.batch_row(item))
        elif isinstance(item, Gap):
            rows.append(self._rows.gap_row(item))
        if self.deep and batch:
            note_payloads(batch, shown.records or (), shown.notes, self.hide)
            rows += self._rows.record_rows(batch, shown.records or (), shown.notes, self.hide)
        if batch:
            self._counts.add(note.code for note in (*batch.notes, *shown.notes))
        self._table.add(*rows)

    def show_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Show entries of a file as a separate table."""
        self._table.end()
        super().show_entries(contents, entries)

    def end(self) -> None:
        """Write the buffered rows, and note the number of batches with anomalies."""
        self._table.end()
        if self._counts.rows:
            self.environment.note(self._counts.text())


class ForPrograms(View):
    """Lines for programs. They do not contain anomalies of files, which are notes on standard error instead."""

    def show_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Show these entries of a file, then its anomalies as notes."""
        self.write_entries(contents, entries)
        if not (self.label or contents.anomalies) and next(contents.lines(), None) is None:
            self.environment.note(f"kwire: {self.file}: 0 entries in {counted(contents.size, 'byte')}")
        for note in contents.anomalies:
            path = f"{note.path}: " if note.path else ""
            self.environment.note(f"kwire: {self.file}: {note.code} at byte {note.offset}: {path}{note.detail}")

    def write_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Write these entries of a file."""
        raise NotImplementedError


class CsvView(ForPrograms):
    """Rows of CSV. A heading precedes the first row, and the first row after a change of columns."""

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.view import batch_table  # most views do without

        self._cells = batch_table
        self._columns: tuple[str, ...] = ()

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        item = shown.item
        batch = shown.batch
        cells = self._cells
        self._write_heading(cells.CSV_RECORD if self.deep else cells.CSV_BATCH)
        rows = []
        if not self.deep:
            rows.append(cells.batch_cells(item))
        elif isinstance(item, Gap):
            rows.append(cells.gap_cells(item))
        if self.deep and batch:
            rows += [cells.record_cells(batch, record, self.hide) for _, record in shown.records or ()]
        for row in rows:
            self.environment.write_csv([*self.label.values(), *row])

    def write_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Write these entries of a file."""
        logs = _import_logs()
        self._write_heading(logs.csv_columns(contents))
        for entry in entries:
            self.environment.write_csv([*self.label.values(), *logs.csv_cells(contents, entry)])

    def _write_heading(self, columns: tuple[str, ...]) -> None:
        columns = (*self.label, *columns)
        if columns != self._columns:
            self.environment.write_csv(columns)
            self._columns = columns


class JsonLines(ForPrograms):
    """A line for each batch, and for each entry of a file without batches."""

    STREAMS = True

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.view import batch_json  # start-up counts

        self._texts: Any = batch_json

    def show_first(self, source: Source, reader: Reader, on_progress: Callable[[], None]) -> tuple[int, bool]:
        """Show the first batches of a file, up to the first batch that the fast path does not support."""
        if not self.settings.shows_all:
            return 0, False
        lines = self._texts.Lines(self.label, self.hide if self.deep else None, deep=self.deep)
        for text in self._texts.quick_lines(source, reader, lines):
            self.environment.write_text(text)
            on_progress()
        return lines.batches, lines.odd

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        for piece in self._pieces(shown):
            self.environment.write_text(piece)

    def _pieces(self, shown: Shown) -> Iterator[bytes]:
        item, records, notes = shown
        chosen = None if records is None else [records]
        hide = self.hide if self.deep else None
        pieces: Iterator[bytes] = self._texts.line_pieces(
            item, label=self.label, deep=self.deep, hide=hide, chosen=chosen, notes=notes
        )
        return pieces

    def write_entries(self, contents: Contents[Any], entries: Entries) -> None:
        """Write these entries of a file."""
        for entry in entries:
            self.environment.write(dumps(self.label | entry, indent=False))


class Json(JsonLines):
    """A document for each batch and for each file without batches."""

    def show_first(self, source: Source, reader: Reader, on_progress: Callable[[], None]) -> tuple[int, bool]:
        """Show nothing: there is no fast path."""
        return 0, False

    def show(self, shown: Shown) -> None:
        """Show a batch or a gap."""
        self.environment.write(dumps(loads(b"".join(self._pieces(shown))), indent=True))

    def show_contents(self, contents: Contents[Any], left: int | None) -> int:
        """Show at most `left` entries. Return the number of entries shown."""
        document = contents.to_json()
        document["entries"] = document["entries"][:left]
        self.environment.write(dumps(self.label | document, indent=True))
        return len(document["entries"])


VIEWS: dict[str, type[View]] = {
    "tree": Tree,
    "table": TableView,
    "json": Json,
    "jsonl": JsonLines,
    "csv": CsvView,
    "hex": Hex,
}
