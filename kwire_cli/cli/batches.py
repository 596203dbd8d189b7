"""Record batches as `kwire dump` and `kwire decode` show them: one run over files of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cli.sorting import Order, Ordering, unknown_column
from kwire_cli.cli.view_inputs import Shown
from kwire_cli.filter.rows import BatchRow, record_rows
from kwire_cli.records.batch import PADDING, deep_faults, has_payloads, visible_payload
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import Reader
from kwire_cli.view.batch_table import CSV_BATCH, CSV_RECORD, batch_cells, record_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.batch_views import BatchSettings
    from kwire_cli.cli.environment import Environment
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record, Source
    from kwire_cli.records.payload_model import Meaning
    from kwire_cli.source.log_inputs import LogFile, LogInput
    from kwire_cli.view.page.entries import Page


class _Kept(NamedTuple):
    """A batch, or a record of one, and the file that it is of."""

    file: LogFile
    source: Source
    chosen: Shown


class BatchRun:
    """One run over files of logs: shows the batches and files that the settings choose, and counts what there was.

    With a `page`, which has a limit of its own, the limit of the settings does not count.
    """

    def __init__(self, environment: Environment, settings: BatchSettings, page: Page | None = None) -> None:
        self.environment, self.settings, self.page = environment, settings, page
        self.view = settings.view(environment, settings, page)
        self.progress = environment.progress
        self.left = None if page or settings.order else settings.limit
        self._ordering: Ordering[_Kept] | None = None
        if settings.order:
            self._ordering = Ordering(self._known(settings.order), settings.limit)
        self.topics: set[str] = set()
        """The topics that the folders name."""
        self.files = self.seen = self.chosen = 0
        """Files that were read for their batches; batches that were read; batches and other files that were shown."""
        self.found = self.anomalous = self.no_batches = False
        """Flags: there was something to show; there were anomalies; a file had bytes and no batch."""

    @property
    def is_full(self) -> bool:
        """Return whether no more is shown: the limit is reached, or the page is full."""
        return self.left == 0 or bool(self.page and self.page.more)

    @property
    def is_decodable(self) -> bool:
        """Return whether there was something to show, or a choice that may have left out all of it."""
        return self.found or not self.settings.selection.everything

    @property
    def is_empty(self) -> bool:
        """Return whether something was chosen and there was none of it."""
        settings = self.settings
        chooses = not settings.selection.everything or bool(settings.topics)
        return settings.limit != 0 and not self.chosen and chooses

    def show_input(self, opened: LogInput) -> None:
        """Show batches, or files of a log directory, among inputs of other kinds."""
        if self.page:
            self.page.turn_to("batches")
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
        settings, view = self.settings, self.view
        source = file.source(settings.how)
        if source.topic != (settings.how.topic or file.topic):
            named = f"its records are those of {source.topic}; --as-topic NAME reads them as another's"
            self.environment.note(f"kwire: {file.label}: {named}")
        self.files += 1
        if not self._ordering:
            view.begin(file, source)
        reader = Reader(source)
        batches, anomalous = view.show_first(
            source, reader, lambda: self.progress.tell(file.label, reader.at, source.size)
        )
        self.chosen += batches
        self.found, self.anomalous = self.found or batches > 0, self.anomalous or anomalous
        gaps = 0
        for chosen in self._chosen(file, source, reader):
            item = chosen.item
            if not (self._ordering or view.takes(item)):
                break
            if isinstance(item, Gap):
                gaps += item.batch is None
                self.found = self.found or item.batch is not None
                self.anomalous = self.anomalous or item.code != PADDING
            else:
                batches += 1
                self.found = True
            if self._ordering:
                self._keep(self._ordering, file, source, chosen)
            else:
                view.name_file()
                view.show(chosen)
            if not isinstance(item, Gap):
                self.anomalous = self.anomalous or self._is_anomalous(item, chosen.notes)
        self.no_batches = self.no_batches or bool(gaps and not batches and settings.selection.everything)

    def _is_anomalous(self, batch: Batch, notes: list[Anomaly]) -> bool:
        """Return whether a batch has an anomaly, or one of its records, of which `notes` tell; with --strict and --deep
        also the payload of a record.
        """
        settings = self.settings
        if settings.strict and settings.deep and has_payloads(batch):
            return bool(deep_faults(batch, settings.redaction.record))
        return bool(batch.notes or notes)

    def _show_other(self, file: LogFile) -> None:
        """Show a file without batches, unless there is a choice among batches, or a page of them."""
        if self.page or self._ordering or not self.settings.selection.everything:
            if self.page or self._ordering or not self.settings.how.every:
                choice = "" if self.page else " to choose from"
                self.environment.note(f"kwire: {file.label}: left out, as it has no batches{choice}")
            return
        self.found, self.chosen = True, self.chosen + 1
        self.view.begin(file)
        self.view.name_file()
        entries, anomalous = self.view.show_file(file, self.left)
        self.anomalous = self.anomalous or anomalous
        if self.left is not None:
            self.left -= entries

    def _chosen(self, file: LogFile, source: Source, reader: Reader) -> Iterator[Shown]:
        """Yield the wanted batches and gaps, with their wanted records unless the view reads all of them itself."""
        selection, deep = self.settings.selection, self.settings.deep
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
                    yield Shown(item, [*enumerate(item.batch.records(notes))] if item.batch and deep else None, notes)
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
            if (deep and not stream) or selection.by_content or selection.times[1] is not None:
                records = self._wanted(item, notes)
                if not records and not selection.everything:
                    continue
                if deep and self.left is not None:
                    records = records[: self.left]
            if self.left is not None:
                self.left -= len(records) if deep and records is not None else 1
            self.chosen += 1
            yield Shown(item, records, notes)

    def _wanted(self, batch: Batch, notes: list[Anomaly]) -> list[tuple[int, Record]]:
        """Return the wanted records of a batch with their numbers."""
        selection, hide = self.settings.selection, self.settings.redaction.record
        records = [
            (number, record)
            for number, record in enumerate(batch.records(notes))
            if selection.wants(self._as_shown(batch, record), self._meaning(batch, record))
        ]
        if selection.filter and selection.filter.deep:
            wanted = [selection.filter.matches(row) for row in record_rows(batch, hide)]
            records = [(number, record) for number, record in records if wanted[number]]
        return records

    def _as_shown(self, batch: Batch, record: Record) -> Record:
        """Return a record as it is shown, so that no choice tells what is redacted in it."""
        hide = self.settings.redaction.record
        if hide is None or not self.settings.selection.by_content:
            return record
        return hide.without_secrets(batch, record)

    def _meaning(self, batch: Batch, record: Record) -> Meaning | None:
        """Return what a record was decoded to, if choices go by that."""
        selection = self.settings.selection
        if (selection.key is None and selection.pattern is None) or not has_payloads(batch):
            return None
        payload, _ = visible_payload(batch, record, self.settings.redaction.record)
        return payload.record.meaning if payload and payload.record else None

    def _known(self, order: Order) -> Order:
        """Return an order. Raises UsageError if its column is none of csv."""
        columns = CSV_RECORD if self.settings.deep else CSV_BATCH
        if order.column not in columns:
            raise unknown_column(order.column, [*columns])
        return order

    def _keep(self, ordering: Ordering[_Kept], file: LogFile, source: Source, chosen: Shown) -> None:
        """Keep a batch, or each of its records, to be shown in order."""
        if not self.settings.deep:
            cells = dict(zip(CSV_BATCH, batch_cells(chosen.item), strict=True))
            ordering.add(_Kept(file, source, chosen), cells[ordering.column])
            return
        if not (batch := chosen.batch):
            return
        hide = self.settings.redaction.record
        for number, record in chosen.records or ():
            cells = dict(zip(CSV_RECORD, record_cells(batch, record, hide), strict=True))
            ordering.add(
                _Kept(file, source, Shown(chosen.item, [(number, record)], chosen.notes)), cells[ordering.column]
            )

    def end(self) -> None:
        """Show what is kept in order. Say that nothing is what was chosen, and of what."""
        before: LogFile | None = None
        for file, source, chosen in self._ordering.rows() if self._ordering else ():
            if file is not before:
                self.view.begin(file, source)
            before = file
            if not self.view.takes(chosen.item):
                break
            self.view.show(chosen)
        self.view.end()
        self._note_nothing()

    def _note_nothing(self) -> None:
        """Say that nothing is what was chosen, and of what."""
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
