"""Verification of a partition's folder: its segments in order, each with its indexes, then producers.

Headers of batches, transaction markers and all files in use are read in one pass. Memory grows by 41 bytes for each
batch of one segment. Segments that are not in use, such as `.deleted` files, do not belong to the log, and are not
read. The records of Kafka's internal topics are decoded.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.verify.checks import Checked, Fault, from_anomalies, snapshot_differences
from kwire_cli.analysis.verify.indexes import INDEXES, Segment
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.batch import PADDING, Batch, deep_faults
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.records.producers import RESTARTED, ProducerState
from kwire_cli.records.reading import source_of
from kwire_cli.source.logs.contents import TEXTS
from kwire_cli.source.logs.files import File, Partition, partition
from kwire_cli.source.logs.model import BATCH_KINDS, FileName, Kind, file_name
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS
from kwire_cli.stores.paths import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores.paths import Place


def verify_part(path: str | os.PathLike[str], *, deep: bool = False, checked: Checked | None = None) -> Iterator[Fault]:
    """Yield the faults of a partition's folder or of one file, in the order of the log.

    A `.log` is read with the indexes and the snapshot of its segment. Any other file is read separately. `deep` reads
    all records, with all anomalies of batches. `checked` counts the files and batches.

    Raises:
        InputError: A file or folder cannot be read, or a file does not belong to a log directory.

    """
    place = path_of(path)
    checked = checked or Checked()
    name = file_name(place.name)
    if place.is_dir() or name.kind in BATCH_KINDS:
        part = partition(place) if place.is_dir() else _segment_alone(place, name)
        yield from _Verification(part, deep=deep, checked=checked).faults()
    else:
        yield from checked.read(place)


def _segment_alone(place: Place, name: FileName) -> Partition:
    """Return a partition with only one segment of a folder."""
    whole = partition(place.parent)
    base = name.base_offset or 0
    beside = [file for file in whole.files if file.name.base_offset == base and file.kind not in BATCH_KINDS]
    own = File(place, FileName(name.kind, base, name.epoch, name.suffix))
    return Partition(whole.path, whole.name, (own, *(beside if name.kind is Kind.LOG else ())))


def is_text(file: File) -> bool:
    """Return whether a file of a log directory is text, such as a checkpoint of offsets."""
    return not file.name.suffix and file.kind in TEXTS


def _numbered(part: Partition, kind: Kind) -> list[tuple[File, int]]:
    """Return the files of a kind with the offsets in their names."""
    return [(file, base) for file in part.of(kind) if (base := file.name.base_offset) is not None]


class _Verification:
    def __init__(self, part: Partition, *, deep: bool, checked: Checked) -> None:
        self.part = part
        self.deep = deep
        self.checked = checked
        self.logs = _numbered(part, Kind.LOG)
        self.snapshots = _numbered(part, Kind.PRODUCER_SNAPSHOT)
        self.topic = part.name.topic if part.name else None
        self.start = self.logs[0][1] if self.logs else 0
        self.producers = ProducerState(self.start, sequences=self.topic != CONSUMER_OFFSETS)
        self.leader_epoch = -1
        self.lost = False
        self._hide = Redaction(catalog()).record

    @property
    def next_offset(self) -> int:
        """The offset after the last batch."""
        return self.producers.next_offset

    def faults(self) -> Iterator[Fault]:
        """Yield all faults."""
        for file in filter(is_text, self.part.files):
            yield from self.checked.read(file.path)
        bases = {base for _, base in self.logs}
        for file in chain.from_iterable(map(self.part.of, INDEXES)):
            base = file.name.base_offset
            if base not in bases:
                yield Fault("ORPHANED_FILE", str(file.path), None, base, "there is no log of this segment")
        if self.logs:
            yield from self._compare_snapshots(self.start)
        for (file, base), following in zip_longest(self.logs, self.logs[1:]):
            yield from self._segment(file, base, following[1] if following else None)
        if self.logs:
            yield from self._compare_snapshots(None)
        for file in self.part.of(Kind.CHECKPOINT):
            yield from self._verify_snapshot(file)
        self.checked.counts["notInUse"] += len(self.part.unused)

    def _compare_snapshots(self, upto: int | None) -> Iterator[Fault]:
        """Yield the faults of snapshots with offsets up to `upto`, before the batch at `upto` is read.

        `upto` is None at the end of the log. Snapshots with offsets before the log belong to deleted segments.
        """
        while self.snapshots and (upto is None or self.snapshots[0][1] <= upto):
            file, end_offset = self.snapshots.pop(0)
            contents = yield from self.checked.read(file.path)
            if upto is None and end_offset > max(self.next_offset, self.logs[-1][1]):
                text = f"the log ends before offset {self.next_offset}"
                yield Fault("SNAPSHOT_BEYOND_LOG", str(file.path), None, end_offset, text)
                continue
            if contents.anomalies or end_offset < self.start:
                continue
            if end_offset > self.next_offset:
                self.producers.missing(end_offset)
            entries = [*contents.entries]
            wrong = list(snapshot_differences(self.producers, entries, end_offset))
            for entry, text in wrong:
                yield Fault("SNAPSHOT_PRODUCER", str(file.path), entry.at if entry else None, end_offset, text)
            if not wrong:
                self.producers.take(entries, end_offset)

    def _segment(self, log: File, base: int, following: int | None) -> Iterator[Fault]:
        contents: dict[Kind, Contents[Any]] = {}
        for kind in INDEXES:
            if index := self.part.at(kind, base):
                contents[kind] = yield from self.checked.read(index.path)
        segment = Segment(log.path, base, following, contents)
        if segment.base > self.next_offset:
            self.producers.missing(segment.base)
            segment.aborted.missing(self.next_offset, segment.base)
        source = source_of(segment.log, topic=self.topic)
        for item in self.checked.items(segment.log, source):
            yield from self._batch(segment, item) if isinstance(item, Batch) else self._gap(segment, item)
        if self.lost:
            # The number of offsets in the damaged bytes at the end is unknown.
            segment.aborted.missing(self.next_offset, segment.after)
        yield from segment.faults(source.size)

    def _gap(self, segment: Segment, gap: Gap) -> Iterator[Fault]:
        segment.batches.lose(gap.end)
        if gap.code != PADDING or not segment.is_last:
            self.lost = True
            text = f"{gap.size} bytes are no batch, after offset {self.next_offset - 1}"
            yield Fault(gap.code, str(segment.log), gap.position, self.next_offset, text)

    def _notes(self, batch: Batch) -> list[Anomaly]:
        """Return the anomalies of a batch, and of its records with `deep`."""
        of_kafka = batch.source.topic in OWN_TOPICS and not batch.head.control
        return deep_faults(batch, self._hide) if self.deep or of_kafka else batch.notes

    def _batch(self, segment: Segment, batch: Batch) -> Iterator[Fault]:
        head = batch.head
        yield from from_anomalies(segment.log, self._notes(batch), head.base_offset)
        if not batch.crc_valid or head.last_offset < head.base_offset:
            self.lost = True
            segment.batches.lose(batch.end)
            return
        yield from self._compare_snapshots(head.base_offset)
        yield from self._offsets(segment, batch)
        self.lost = False
        if segment.is_indexed:
            segment.batches.add(batch)
        yield from self._producers(segment, batch)

    def _offsets(self, segment: Segment, batch: Batch) -> Iterator[Fault]:
        log = str(segment.log)
        base = batch.head.base_offset
        last = batch.head.last_offset
        if segment.base <= base < self.next_offset:
            text = f"the batch begins at offset {base} after offset {self.next_offset - 1}"
            yield Fault("OFFSET_ORDER", log, batch.position, base, text)
        if base < segment.base or last >= segment.after:
            text = f"offsets {base} to {last} in a segment from {segment.base} to {segment.after - 1}"
            yield Fault("OFFSET_OUT_OF_SEGMENT", log, batch.position, base, text)
        if 0 <= batch.head.leader_epoch < self.leader_epoch:
            text = f"leader epoch {batch.head.leader_epoch} after {self.leader_epoch}"
            yield Fault("LEADER_EPOCH_ORDER", log, batch.position, base, text)
        self.leader_epoch = max(self.leader_epoch, batch.head.leader_epoch)
        if base > self.next_offset:
            if self.topic == CLUSTER_METADATA and not self.lost:
                missing = f"offsets {self.next_offset} to {base - 1} are missing"
                text = f"{missing}, and a metadata log is not compacted"
                yield Fault("OFFSET_GAP", log, batch.position, self.next_offset, text)
            segment.aborted.missing(self.next_offset, base)

    def _producers(self, segment: Segment, batch: Batch) -> Iterator[Fault]:
        head = batch.head
        problems, began, ended = self.producers.append(batch)
        for problem in problems:
            if problem.code != RESTARTED:
                yield Fault(problem.code, str(segment.log), batch.position, head.base_offset, problem.text)
        if began:
            segment.aborted.add_begin(head.base_offset)
        if ended and ended.marker and not ended.marker.commit:
            segment.aborted.end(ended, ended.marker, batch)
        if head.control and head.producer_id >= 0 and not head.records_count:  # compaction emptied the batch
            segment.aborted.missing(head.base_offset, head.last_offset + 1)

    def _verify_snapshot(self, file: File) -> Iterator[Fault]:
        """Yield the faults of a KRaft snapshot, whose offsets count from 0."""
        next_offset = 0
        source = source_of(file.path, topic=self.topic)
        for item in self.checked.items(file.path, source):
            if not isinstance(item, Batch):
                yield Fault(item.code, str(file.path), item.position, next_offset, f"{item.size} bytes are no batch")
                continue
            head = item.head
            yield from from_anomalies(file.path, self._notes(item), head.base_offset)
            if head.base_offset != next_offset and item.crc_valid:
                text = f"the batch begins at offset {head.base_offset}, and {next_offset} is next"
                yield Fault("OFFSET_ORDER", str(file.path), item.position, head.base_offset, text)
            next_offset = max(next_offset, head.last_offset + 1)
