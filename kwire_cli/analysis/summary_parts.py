"""Parts of a summary that are no tables: the inputs themselves, and what logs hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.questions.traffic import queries_in
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import MAGIC_V2
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.stores import is_file, sizes

if TYPE_CHECKING:
    from kwire_cli.analysis.diagnosis.model import LogItem
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened


@dataclass
class Partition:
    """The batches of a partition: how many, their records and bytes, offsets and times (milliseconds)."""

    batches: int = 0
    records: int = 0
    bytes: int = 0
    gaps: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first: int | None = None
    last: int | None = None
    codecs: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)

    def add(self, file: str, item: Batch) -> None:
        """Count a batch."""
        head = item.head
        self.files.add(file)
        self.batches += 1
        self.bytes += item.size
        is_wrapper = item.magic < MAGIC_V2 and item.compression != "none"  # these say no number of records
        self.records += sum(1 for _ in item.records()) if is_wrapper else head.records
        self.codecs[item.compression] += 1
        self.formats[f"v{item.magic}"] += 1
        self._span(head.base_offset, head.last_offset)
        self._time(head.first_time, head.max_timestamp)

    def _span(self, first: int | None, last: int | None) -> None:
        if first is not None:
            self.first_offset = first if self.first_offset is None else min(self.first_offset, first)
        if last is not None:
            self.last_offset = last if self.last_offset is None else max(self.last_offset, last)

    def _time(self, *times: int | None) -> None:
        for time in times:
            if time is not None and time >= 0:
                self.first = time if self.first is None else min(self.first, time)
                self.last = time if self.last is None else max(self.last, time)

    def merge(self, other: Partition) -> None:
        """Count the batches of another partition too."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes
        self.gaps += other.gaps
        self._span(other.first_offset, other.last_offset)
        self._time(other.first, other.last)
        self.codecs.update(other.codecs)
        self.formats.update(other.formats)
        self.files |= other.files


@dataclass
class Logs:
    """The contents of log directories by partition: pairs of a topic and a partition, or a file alone."""

    partitions: dict[tuple[str, int | None], Partition] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)

    def add(self, entry: LogItem) -> None:
        """Count a batch or the bytes between two."""
        item = entry.item
        is_named = entry.topic is not None and entry.partition is not None
        key = (entry.topic or entry.file, entry.partition if is_named else None)
        partition = self.partitions.setdefault(key, Partition())
        if isinstance(item, Batch):
            partition.add(entry.file, item)
        else:
            partition.files.add(entry.file)
            partition.gaps += 1
            self.gaps[item.code] += 1

    def total(self) -> Partition:
        """Return the counts of all partitions together; its offsets mean nothing."""
        total = Partition()
        for partition in self.partitions.values():
            total.merge(partition)
        return total


class InputFacts(NamedTuple):
    """An input that was read: its name as it was given, its kind, files and bytes, and why its reading ended early."""

    name: str
    kind: str
    files: int = 1
    size: int | None = None
    notices: tuple[str, ...] = ()


def facts_of(opened: Opened) -> InputFacts:
    """Return what is known of an input as a whole, when it was read."""
    if isinstance(opened, CaptureInput):
        notices = tuple(notice.text for notice in opened.capture.notices)
        return InputFacts(opened.label, opened.kind, max(len(opened.files), 1), opened.size or None, notices)
    name = opened.recognised.name
    size = sum(sizes([name])) if name is not None and is_file(name) else None
    return InputFacts(opened.label, opened.kind, 1, size)


class Contents:
    """The contents of inputs: the inputs themselves, batches of logs, and rows of queries about traffic."""

    def __init__(self, redaction: Redaction) -> None:
        self.inputs: list[InputFacts] = []
        self.logs = Logs()
        self.line_faults: Counter[str] = Counter()
        self.diagnosis = Diagnosis(redaction, also=queries_in("summary"))

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query; none if there was no traffic."""
        self.diagnosis.findings()
        return self.diagnosis.answers.get(query, [])
