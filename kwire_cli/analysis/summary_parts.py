"""The contents of a summary: the inputs, batches of logs by partition, and rows of queries about traffic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.questions.traffic import queries_in, without
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import MAGIC_V2
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.opening import LakeInput
from kwire_cli.stores.paths import is_file, sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.log_inputs import LogItem
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

    def add(self, file: str, item: Batch, records: int) -> None:
        """Count a batch with its records."""
        head = item.head
        self.files.add(file)
        self.batches += 1
        self.bytes += item.size
        self.records += records
        self.codecs[item.compression] += 1
        self.formats[f"v{item.magic}"] += 1
        self.first_offset = head.base_offset if self.first_offset is None else min(self.first_offset, head.base_offset)
        self.last_offset = head.last_offset if self.last_offset is None else max(self.last_offset, head.last_offset)
        for time in (head.first_time, head.max_timestamp):
            if time >= 0:
                self.first = time if self.first is None else min(self.first, time)
                self.last = time if self.last is None else max(self.last, time)


@dataclass
class Logs:
    """The contents of log directories by partition. The key is a topic and a partition, or the name of a file."""

    partitions: dict[tuple[str, int | None], Partition] = field(default_factory=dict)
    total: Partition = field(default_factory=Partition)
    """The counts of all partitions together. Its offsets have no meaning."""
    gaps: Counter[str] = field(default_factory=Counter)

    def add(self, entry: LogItem) -> None:
        """Count a batch, or a gap between batches."""
        item = entry.item
        is_named = entry.topic is not None and entry.partition is not None
        key = (entry.topic or entry.file, entry.partition if is_named else None)
        partition = self.partitions.setdefault(key, Partition())
        if isinstance(item, Batch):
            is_wrapper = item.magic < MAGIC_V2 and item.compression != "none"  # its header lacks the number of records
            records = sum(1 for _ in item.records()) if is_wrapper else item.head.records
            partition.add(entry.file, item, records)
            self.total.add(entry.file, item, records)
        else:
            partition.files.add(entry.file)
            self.total.files.add(entry.file)
            partition.gaps += 1
            self.gaps[item.code] += 1


class InputFacts(NamedTuple):
    """An input that was read: its name on the command line, its kind, files and bytes, and notices about lost parts."""

    name: str
    kind: str
    files: int = 1
    bytes: int | None = None
    notices: tuple[str, ...] = ()


def facts_of(opened: Opened) -> InputFacts:
    """Return the facts of an input after it was read."""
    if isinstance(opened, CaptureInput):
        notices = tuple(notice.text for _, notice in opened.notices)
        return InputFacts(opened.label, opened.kind, max(len(opened.files), 1), opened.size or None, notices)
    if isinstance(opened, LakeInput):
        notices = (without(opened.lacking),) if opened.lacking else ()
        return InputFacts(opened.label, opened.kind, opened.files, opened.size, notices)
    name = opened.recognised.name
    size = sum(sizes([name])) if name is not None and is_file(name) else None
    return InputFacts(opened.label, opened.kind, 1, size)


class Contents(Diagnosis):
    """The contents of inputs and the findings: facts of inputs, batches of logs, and rows about traffic.

    `also` contains queries in addition to the queries of the summary.
    """

    def __init__(self, redaction: Redaction, also: Mapping[str, str] | None = None) -> None:
        super().__init__(redaction, also={**queries_in("summary"), **(also or {})})
        self.inputs: list[InputFacts] = []
        self.logs = Logs()

    def end_input(self, opened: Opened) -> None:
        """Store the facts of an input after it was read."""
        super().end_input(opened)
        self.inputs.append(facts_of(opened))

    def log_item(self, item: LogItem) -> None:
        """Process a batch of a log, or a gap."""
        super().log_item(item)
        self.logs.add(item)

    def rows_found(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query. The list is empty if there was no traffic."""
        self.findings()
        return self.answers.get(query, [])

    @property
    def course(self) -> Mapping[str, Any] | None:
        """The row with times, requests, bytes and latencies. None if there is no traffic."""
        rows = self.rows_found("course")
        return rows[0] if rows and (rows[0]["last_time"] is not None or rows[0]["requests"]) else None
