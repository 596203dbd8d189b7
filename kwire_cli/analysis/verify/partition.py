"""A partition's folder against itself: its segments in order, each with its indexes, and what the whole says of
producers and leader epochs.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.verify.checks import (
    FAULTS,
    Checked,
    Fault,
    LeaderEpochCheck,
    from_anomalies,
    snapshot_differences,
)
from kwire_cli.analysis.verify.indexes import INDEXES, Segment
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.batch import PADDING, Batch, deep_faults
from kwire_cli.records.formats import AUTO
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.records.producers import NOTHING, Appended, ProducerState
from kwire_cli.records.reading import source_of
from kwire_cli.source.logs.contents import TEXTS, read_log_file
from kwire_cli.source.logs.files import File, Partition, partition
from kwire_cli.source.logs.model import BATCH_KINDS, FileName, Kind, file_name
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores import Place


def verify_part(path: Place, *, deep: bool, form: str, checked: Checked) -> Iterator[Fault]:
    """Yield the faults of a file or of a partition's folder, with `deep` as below.

    `checked`, here and below, counts what is looked at. `form` is the record format, by default the format of each
    magic byte.

    Raises:
        InputError: It cannot be read.

    """
    return (
        verify_partition(path, deep=deep, form=form, checked=checked)
        if path.is_dir()
        else verify_file(path, deep=deep, form=form, checked=checked)
    )


def verify_partition(
    folder: str | os.PathLike[str], *, deep: bool = False, form: str = AUTO, checked: Checked | None = None
) -> Iterator[Fault]:
    """The faults of a partition's folder, in the order of its offsets; none for what a broker leaves, however it ended.

    Headers of batches, transaction markers and all files in use are read, in one pass and in memory that does not grow
    with the log. Segments that are not in use, such as those that end in `.deleted`, are no part of the log: each is
    read by itself, and its offsets are compared with nothing. The records of Kafka's own topics are decoded. `deep`
    reads all records: decompression, counts, sizes, whatever `anomalies` of a batch has.

    Raises:
        InputError: A file or folder cannot be read.

    """
    return _Verification(partition(folder), deep=deep, form=form, checked=checked).faults()


def verify_file(
    path: str | os.PathLike[str], *, deep: bool = False, form: str = AUTO, checked: Checked | None = None
) -> Iterator[Fault]:
    """Yield the faults of one file.

    A `.log` is read with the indexes and the snapshot that belong to its segment, any other file by itself, also a
    segment that is not in use: its indexes may be gone, and those of its name may be of the segment that replaced it.
    `deep` is as above.

    Raises:
        InputError: It cannot be read, or is no file of a log directory.

    """
    file = path_of(path)
    name = file_name(file.name)
    if name.kind in BATCH_KINDS:
        whole = partition(file.parent)
        base = name.base_offset or 0
        beside = [
            sibling for sibling in whole.files if sibling.name.base_offset == base and sibling.kind not in BATCH_KINDS
        ]
        in_use = name.kind is Kind.LOG and not name.suffix
        own = File(file, FileName(name.kind, base, name.epoch, name.suffix))
        part = Partition(whole.path, whole.name, (own, *(beside if in_use else ())))
        yield from _Verification(part, deep=deep, form=form, checked=checked).faults()
    else:
        contents = _read(file, checked)
        if checked:
            checked.add_index(file, contents)
        yield from from_anomalies(file, contents.anomalies)


def is_text(file: File) -> bool:
    """Return whether a file of a log directory is text, such as a checkpoint of offsets."""
    return not file.name.suffix and file.kind in TEXTS


def _read(path: Place, checked: Checked | None) -> Contents[Any]:
    if checked:
        checked.files += 1
    return read_log_file(path)


class _Verification:
    def __init__(self, part: Partition, *, deep: bool, form: str, checked: Checked | None) -> None:
        self.part, self.deep, self.form, self.checked = part, deep, form, checked or Checked()
        self.logs = [(file, file.name.base_offset) for file in part.of(Kind.LOG) if file.name.base_offset is not None]
        self.snapshots = [
            (file, file.name.base_offset)
            for file in part.of(Kind.PRODUCER_SNAPSHOT)
            if file.name.base_offset is not None
        ]
        self.topic = part.name.topic if part.name else None
        self.start = self.logs[0][1] if self.logs else 0
        self.next_offset = self.start
        self.producers = ProducerState(self.start, sequences=self.topic != CONSUMER_OFFSETS)
        self.epochs = LeaderEpochCheck(part.path, ())
        self.lost = False
        self._hide = Redaction(catalog()).record

    def faults(self) -> Iterator[Fault]:
        """All faults."""
        yield from self._texts()
        yield from self._orphans()
        yield from self._first_snapshot()
        for (file, base), following in zip_longest(self.logs, self.logs[1:]):
            yield from self._segment(Segment(self.part, file, base, following[1] if following else None))
        if self.logs:
            yield from self._compare_snapshots(None)
            yield from self.epochs.end(max(self.next_offset, self.logs[-1][1]))
        for file in self.part.of(Kind.CHECKPOINT):
            yield from self._alone(file)
        for file in self.part.unused:
            self.checked.unused += 1
            yield from self._alone(file)

    def _texts(self) -> Iterator[Fault]:
        for file in self.part.files:
            if not is_text(file):
                continue
            contents = _read(file.path, self.checked)
            yield from from_anomalies(file.path, contents.anomalies)
            if file.kind is Kind.LEADER_EPOCHS and not contents.anomalies:
                self.epochs = LeaderEpochCheck(file.path, contents.entries)

    def _orphans(self) -> Iterator[Fault]:
        bases = {base for _, base in self.logs}
        for kind in INDEXES:
            for file in self.part.of(kind):
                if file.name.base_offset not in bases:
                    yield Fault(
                        "ORPHANED_FILE", str(file.path), None, file.name.base_offset, "there is no log of this segment"
                    )

    def _first_snapshot(self) -> Iterator[Fault]:
        """The state in which the log begins; older snapshots are of what is no longer there."""
        while self.logs and self.snapshots and self.snapshots[0][1] <= self.start:
            file, end_offset = self.snapshots.pop(0)
            contents = _read(file.path, self.checked)
            yield from from_anomalies(file.path, contents.anomalies)
            if end_offset == self.start and not contents.anomalies:
                self.producers.take(contents.entries, end_offset)

    def _compare_snapshots(self, upto: int | None) -> Iterator[Fault]:
        """Yield the faults of snapshots of offsets up to `upto`, before the batch that begins there.

        `upto` is None at the end of the log.
        """
        while self.snapshots and (upto is None or self.snapshots[0][1] <= upto):
            file, end_offset = self.snapshots.pop(0)
            contents = _read(file.path, self.checked)
            yield from from_anomalies(file.path, contents.anomalies)
            if upto is None and end_offset > max(self.next_offset, self.logs[-1][1]):
                text = f"the log ends before offset {self.next_offset}"
                yield Fault("SNAPSHOT_BEYOND_LOG", str(file.path), None, end_offset, text)
                continue
            if contents.anomalies:
                continue
            if end_offset > self.next_offset:
                self.producers.missing(end_offset)
            entries = [*contents.entries]
            wrong = list(snapshot_differences(self.producers, entries, end_offset))
            for entry, text in wrong:
                yield Fault("SNAPSHOT_PRODUCER", str(file.path), entry.at if entry else None, end_offset, text)
            if not wrong:
                self.producers.take(entries, end_offset)
                self.next_offset = max(self.next_offset, end_offset)

    def _segment(self, segment: Segment) -> Iterator[Fault]:
        yield from segment.own_faults(self.checked)
        if segment.base > self.next_offset:
            self._missing(segment, segment.base)
        source, batches = source_of(segment.log, form=self.form, topic=self.topic), 0
        for item in self.checked.items(segment.log, source):
            if not isinstance(item, Batch):
                yield from self._gap(segment, item)
            else:
                batches += 1
                yield from self._batch(segment, item)
        self.checked.files += 1 + len(segment.contents)
        self.checked.logs += 1
        self.checked.batches += batches
        if self.lost:
            # What the bytes at the end were, and how many offsets they had, is not known.
            segment.aborted.missing(self.next_offset, segment.after)
        yield from segment.last_faults(source.size)

    def _gap(self, segment: Segment, gap: Gap) -> Iterator[Fault]:
        segment.lost(gap.end)
        if gap.code == PADDING and segment.is_last:
            return
        self.lost = True
        yield Fault(
            gap.code,
            str(segment.log),
            gap.position,
            self.next_offset,
            f"{gap.size} bytes are no batch, after offset {self.next_offset - 1}",
        )

    def _notes(self, batch: Batch) -> list[Anomaly]:
        """Return what is wrong with a batch by itself, and with its records if they are read."""
        of_kafka = batch.source.topic in OWN_TOPICS and not batch.head.control
        return deep_faults(batch, self._hide) if self.deep or of_kafka else batch.notes

    def _batch(self, segment: Segment, batch: Batch) -> Iterator[Fault]:
        # Nearly all batches are good and there may be millions: each check says beforehand whether it has anything to
        # look at.
        head = batch.head
        base, last = head.base_offset, head.last_offset
        if notes := self._notes(batch):
            yield from from_anomalies(segment.log, notes, base)
        if not batch.crc_valid or last < base:
            self.lost = True
            segment.lost(batch.end)
            return
        if self.snapshots and self.snapshots[0][1] <= base:
            yield from self._compare_snapshots(base)
        if segment.base <= base == self.next_offset and last < segment.after:
            self.next_offset, self.lost = last + 1, False
        else:
            yield from self._offsets(segment, batch)
        if batch.position >= segment.offsets.due:
            yield from segment.offsets.batch(batch)
        if segment.times.due:
            yield from segment.times.batch(batch)
        if head.leader_epoch != self.epochs.current or base >= self.epochs.until:
            yield from self.epochs.batch(segment.log, batch)
        appended = self.producers.append(batch)
        if appended is not NOTHING:
            yield from self._of_producer(segment, batch, appended)
        elif head.control and head.producer_id >= 0:  # compaction emptied the batch of a marker
            segment.aborted.missing(base, last + 1)

    def _offsets(self, segment: Segment, batch: Batch) -> Iterator[Fault]:
        head, log = batch.head, str(segment.log)
        if head.base_offset < self.next_offset and head.base_offset >= segment.base:
            text = f"the batch begins at offset {head.base_offset} after offset {self.next_offset - 1}"
            yield Fault("OFFSET_ORDER", log, batch.position, head.base_offset, text)
        if head.base_offset < segment.base or head.last_offset >= segment.after:
            text = (
                f"offsets {head.base_offset} to {head.last_offset} in a segment from {segment.base} to "
                f"{segment.after - 1}"
            )
            yield Fault("OFFSET_OUT_OF_SEGMENT", log, batch.position, head.base_offset, text)
        if head.base_offset > self.next_offset:
            if self.topic == CLUSTER_METADATA and not self.lost:
                text = (
                    f"offsets {self.next_offset} to {head.base_offset - 1} are missing, and a metadata log is not "
                    f"compacted"
                )
                yield Fault("OFFSET_GAP", log, batch.position, self.next_offset, text)
            self._missing(segment, head.base_offset)
        self.lost = False
        self.next_offset = max(self.next_offset, head.last_offset + 1)

    def _missing(self, segment: Segment, before: int) -> None:
        self.producers.missing(before)
        segment.aborted.missing(self.next_offset, before)

    def _of_producer(self, segment: Segment, batch: Batch, appended: Appended) -> Iterator[Fault]:
        head, log = batch.head, str(segment.log)
        for problem in appended.problems:
            if problem.code in FAULTS:
                yield Fault(problem.code, log, batch.position, head.base_offset, problem.text)
        if appended.is_unreadable:
            text = f"a control batch of producer {head.producer_id} without a marker"
            yield Fault("CONTROL_RECORD", log, batch.position, head.base_offset, text)
        if appended.began:
            segment.aborted.begun(head.base_offset)
        if appended.ended and not appended.ended.marker.commit:
            segment.aborted.marker(appended.ended, batch)

    def _alone(self, file: File) -> Iterator[Fault]:
        """Yield the faults of a file whose batches are no part of the log.

        That is a KRaft snapshot, whose offsets count from 0, or a segment or snapshot that is not in use. One that was
        being written may end in the middle of a batch.
        """
        next_offset, in_use = 0, not file.name.suffix
        self.checked.files += 1
        self.checked.logs += 1
        source = source_of(file.path, form=self.form, topic=self.topic)
        for item in self.checked.items(file.path, source):
            if not isinstance(item, Batch):
                is_end = item.end == source.size and (item.code == PADDING or file.name.is_unfinished)
                if in_use or not is_end:
                    offset = next_offset if in_use else None
                    yield Fault(item.code, str(file.path), item.position, offset, f"{item.size} bytes are no batch")
                continue
            head = item.head
            self.checked.batches += 1
            yield from from_anomalies(file.path, self._notes(item), head.base_offset)
            if in_use and head.base_offset != next_offset and item.crc_valid:
                text = f"the batch begins at offset {head.base_offset}, and {next_offset} is next"
                yield Fault("OFFSET_ORDER", str(file.path), item.position, head.base_offset, text)
            next_offset = max(next_offset, head.last_offset + 1)
