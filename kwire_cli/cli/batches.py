"""Record batches in `kwire dump` and `kwire decode`: one run over files of logs.

`BatchRun` reads files one by one, selects batches and records, and passes them to the view of the format. Batches are
shown as they are read, so that a file of any size needs little memory. Only --sort collects them first. The run also
records the facts that determine the exit code and the closing notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cli.batch_views import Shown
from kwire_cli.cli.sorting import Ordering, unknown_column
from kwire_cli.filter.rows import BatchRow, record_rows
from kwire_cli.records.batch import PADDING, deep_faults, has_payloads
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import Reader
from kwire_cli.view.batch_table import CSV_BATCH, CSV_RECORD, batch_cells, record_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.batch_views import BatchSettings
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.sorting import Order
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record, Source
    from kwire_cli.source.log_inputs import LogFile, LogInput


class _SortedItem(NamedTuple):
    """A batch, or a record of a batch, with its file."""

    file: LogFile
    chosen: Shown


class BatchRun:
    """One run over files of logs, which shows the selected batches and files."""

    def __init__(self, environment: Environment, settings: BatchSettings) -> None:
        self.environment = environment
        self.settings = settings
        self.view = settings.view(environment, settings)
        self.progress = environment.progress
        order = settings.options.order
        self.left = None if order else settings.limit
        self._ordering: Ordering[_SortedItem] | None = None
        if order:
            self._ordering = Ordering(self._check_order(order), settings.limit)
        self.topics: set[str] = set()
        """Topics in the names of the folders."""
        self.files = 0
        """Number of files with batches that were read."""
        self.seen = 0
        """Number of batches that were read."""
        self.chosen = 0
        """Number of batches and other files that were shown."""
        self.found = False
        """True if there was a batch or a file to show."""
        self.anomalous = False
        self.no_batches = False
        """True if a file contained bytes but no batch."""

    @property
    def is_full(self) -> bool:
        """Return whether the limit is reached."""
        return self.left == 0

    @property
    def is_decodable(self) -> bool:
        """Return whether there was a batch or a file to show, or a selection that may have excluded all of them."""
        return self.found or not self.settings.selection.everything

    @property
    def is_empty(self) -> bool:
        """Return whether there was a selection that matched no batch."""
        settings = self.settings
        chooses = not settings.selection.everything or bool(settings.topics)
        return settings.limit != 0 and not self.chosen and chooses

    def show_input(self, opened: LogInput) -> None:
        """Show batches, or files of a log directory, among inputs of other kinds."""
        if opened.how.verbose:
            deep = " --deep" if self.settings.deep else ""
            self.environment.note(f"{opened.label}: shown as kwire dump{deep} shows it")
        for file in opened.files():
            self.show_file(file)
        self.progress.done()
        self.environment.flush()

    def show_file(self, file: LogFile) -> None:
        """Show a file of a log directory, or batches without one."""
        if not file.has_batches:
            self._show_other(file)
            return
        settings = self.settings
        view = self.view
        source = file.source(settings.how)
        if source.topic != (settings.how.topic or file.topic):
            named = f"its records are those of {source.topic}; --as-topic NAME reads them as another's"
            self.environment.note(f"kwire: {file.label}: {named}")
        self.files += 1
        if not self._ordering:
            view.begin(file)
        reader = Reader(source)
        batches, anomalous = view.show_first(
            source, reader, lambda: self.progress.tell(file.label, reader.at, source.size)
        )
        self.chosen += batches
        self.found = self.found or batches > 0
        self.anomalous = self.anomalous or anomalous
        gaps = 0
        for chosen in self._select(file, source, reader):
            item = chosen.item
            if isinstance(item, Gap):
                gaps += item.batch is None
                self.found = self.found or item.batch is not None
                self.anomalous = self.anomalous or item.code != PADDING
            else:
                batches += 1
                self.found = True
            if self._ordering:
                self._add_to_ordering(self._ordering, file, chosen)
            else:
                view.name_file()
                view.show(chosen)
            if not isinstance(item, Gap):
                self.anomalous = self.anomalous or self._is_anomalous(item, chosen.notes)
        self.no_batches = self.no_batches or bool(gaps and not batches and settings.selection.everything)

    def _is_anomalous(self, batch: Batch, notes: list[Anomaly]) -> bool:
        """Return whether a batch has an anomaly. `notes` are the anomalies of its records.

        With --strict and --deep, anomalies in the payloads of records count too.
        """
        settings = self.settings
        if settings.options.strict and settings.deep and has_payloads(batch):
            return bool(deep_faults(batch, settings.redaction.record))
        return bool(batch.notes or notes)

    def _show_other(self, file: LogFile) -> None:
        """Show a file without batches, unless batches are selected or sorted."""
        if self._ordering or not self.settings.selection.everything:
            if self._ordering or not self.settings.how.every:
                self.environment.note(f"kwire: {file.label}: left out, as it has no batches to choose from")
            return
        self.found = True
        self.chosen += 1
        self.view.begin(file)
        self.view.name_file()
        entries, anomalous = self.view.show_file(file, self.left)
        self.anomalous = self.anomalous or anomalous
        if self.left is not None:
            self.left -= entries

    def _select(self, file: LogFile, source: Source, reader: Reader) -> Iterator[Shown]:
        """Yield the selected batches and gaps, with their selected records unless the view itself reads all records."""
        selection = self.settings.selection
        deep = self.settings.deep
        stream = deep and self.view.STREAMS and self.settings.shows_all
        for number, item in enumerate(reader.items()):
            if not number & 63:
                self.progress.tell(file.label, item.position, source.size)
            if self.left == 0:
                return
            notes: list[Anomaly] = []
            if isinstance(item, Gap):
                if selection.everything or (selection.filter and selection.filter.matches(BatchRow(item, deep=False))):
                    self.chosen += 1
                    records = list(enumerate(item.batch.records(notes))) if item.batch and deep else None
                    yield Shown(item, records, notes)
                else:
                    self.anomalous = self.anomalous or item.code != PADDING
                    what = f"{item.size} bytes at {item.position} are no batch ({item.code})"
                    self.environment.note(f"kwire: {file.label}: {what}")
                continue
            self.seen += 1
            if not selection.may_have(item):
                continue
            row_filter = selection.filter
            if row_filter and not row_filter.deep and not row_filter.matches(BatchRow(item, deep=False)):
                continue
            records = None
            if (deep and not stream) or (row_filter and row_filter.deep):
                records = self._select_records(item, notes)
                if not records and not selection.everything:
                    continue
                if deep and self.left is not None:
                    records = records[: self.left]
            if self.left is not None:
                self.left -= len(records) if deep and records is not None else 1
            self.chosen += 1
            yield Shown(item, records, notes)

    def _select_records(self, batch: Batch, notes: list[Anomaly]) -> list[tuple[int, Record]]:
        """Return the selected records of a batch with their numbers."""
        selection = self.settings.selection
        hide = self.settings.redaction.record
        records = [(number, record) for number, record in enumerate(batch.records(notes)) if selection.wants(record)]
        if selection.filter and selection.filter.deep:
            wanted = [selection.filter.matches(row) for row in record_rows(batch, hide)]
            records = [(number, record) for number, record in records if wanted[number]]
        return records

    def _check_order(self, order: Order) -> Order:
        """Return the order. Raise UsageError if its column is not a column of the CSV format."""
        columns = CSV_RECORD if self.settings.deep else CSV_BATCH
        if order.column not in columns:
            raise unknown_column(order.column, list(columns))
        return order

    def _add_to_ordering(self, ordering: Ordering[_SortedItem], file: LogFile, chosen: Shown) -> None:
        """Add a batch, or each of its records, to the collection that `end` shows in order."""
        if not self.settings.deep:
            cells = dict(zip(CSV_BATCH, batch_cells(chosen.item), strict=True))
            ordering.add(_SortedItem(file, chosen), cells[ordering.column])
            return
        if not (batch := chosen.batch):
            return
        hide = self.settings.redaction.record
        for number, record in chosen.records or ():
            cells = dict(zip(CSV_RECORD, record_cells(batch, record, hide), strict=True))
            shown = Shown(chosen.item, [(number, record)], chosen.notes)
            ordering.add(_SortedItem(file, shown), cells[ordering.column])

    def end(self) -> None:
        """Show the sorted batches or records. Note if the selection matched none."""
        before: LogFile | None = None
        for file, chosen in self._ordering.rows() if self._ordering else ():
            if file is not before:
                self.view.begin(file)
            before = file
            self.view.show(chosen)
        self.view.end()
        self._note_empty_selection()

    def _note_empty_selection(self) -> None:
        wanted = self.settings.topics
        if self.settings.limit == 0:
            return
        if wanted and not self.topics & {*wanted}:
            there = (
                f"the topics here are {', '.join(sorted(self.topics))}"
                if self.topics
                else "no folder here is a partition's"
            )
            self.environment.note(f"kwire: there is no partition of {' or '.join(wanted)}: {there}")
        elif not self.settings.selection.everything and not self.chosen:
            self.environment.note(f"kwire: no batch matches ({self.seen} read)")
