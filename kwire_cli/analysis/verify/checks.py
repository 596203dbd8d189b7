"""Faults, and the check of producer snapshots.

A fault is a content of a file that a broker does not write. docs/dump.md lists the codes with their meanings. The
anomalies of a single file are faults too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import items
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.reading import Caller

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.producers import Producer, ProducerState, SnapshotEntry
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores.paths import Place


class Fault(NamedTuple):
    """A fault of a file.

    `position` is a position in `file` in bytes, and `offset` an offset of the log. They are None if they do not apply.
    """

    code: str
    file: str
    position: int | None
    offset: int | None
    text: str


STEP = 1 << 18
"""Number of bytes of a segment between two progress reports to the caller."""


class StoppedError(Exception):
    """The caller stopped the verification."""


@dataclass
class Checked:
    """The files that are read.

    `counts` has the numbers of `files`, of segments and snapshots among them (`logs`), of their `batches` and `faults`,
    and of segments and snapshots that are `notInUse`, such as `.deleted` files, which are not read. `caller` receives
    the progress, and may stop the reading.
    """

    counts: Counter[str] = field(default_factory=Counter)
    caller: Caller = field(default_factory=Caller)

    def read(self, file: Place) -> Generator[Fault, None, Contents[Any]]:
        """Yield the anomalies of a file without batches as faults, and return the contents."""
        self.counts["files"] += 1
        contents = read_log_file(file)
        yield from from_anomalies(file, contents.anomalies)
        return contents

    def items(self, log: Place, source: Source) -> Iterator[Batch | Gap]:
        """Yield the batches and gaps of a segment. Raise StoppedError if the caller stops the reading."""
        due = batches = 0
        for item in items(source):
            batches += isinstance(item, Batch)
            if item.position >= due:
                due = item.position + STEP
                self.caller.progress(str(log), item.position, source.size)
                if self.caller.stopped:
                    raise StoppedError
            yield item
        self.caller.progress(str(log), source.size, source.size)
        self.counts.update(files=1, logs=1, batches=batches)


def from_anomalies(file: Place, anomalies: Iterable[Anomaly], offset: int | None = None) -> Iterator[Fault]:
    """Yield the anomalies within one file as faults."""
    for anomaly in anomalies:
        text = f"{anomaly.path}: {anomaly.detail}" if anomaly.path else anomaly.detail
        yield Fault(anomaly.code, str(file), anomaly.offset, offset, text)


def snapshot_differences(
    state: ProducerState, entries: Sequence[SnapshotEntry], end_offset: int
) -> Iterator[tuple[SnapshotEntry | None, str]]:
    """Yield each entry of a producer snapshot of `end_offset` that contradicts the log, with the contradiction.

    The entry is None if the snapshot lacks a producer with an open transaction.
    """
    for entry in entries:
        producer = state.by_id.get(entry.producer_id)
        if producer is None:
            if state.complete:
                yield entry, f"the log has no batch of producer {entry.producer_id} before offset {end_offset}"
        elif state.missing_before <= producer.seen and (text := _difference(state, producer, entry)):
            yield entry, f"of producer {entry.producer_id} it says {text}"
    in_snapshot = {entry.producer_id for entry in entries}
    for producer_id, transaction in state.open.items():
        is_known = transaction.first_known and state.missing_before <= state.by_id[producer_id].seen
        if is_known and producer_id not in in_snapshot:
            first = transaction.first_offset
            yield None, f"producer {producer_id} is not in it, which has a transaction open since offset {first}"


def _difference(state: ProducerState, producer: Producer, entry: SnapshotEntry) -> str:
    transaction = state.open.get(entry.producer_id)
    first = transaction.first_offset if transaction else -1
    first_known = transaction.first_known if transaction else producer.transaction_known
    pairs = [
        ("epoch", entry.epoch, producer.epoch),
        ("lastSequence", entry.last_sequence, producer.last_sequence),
        ("lastOffset", entry.last_offset, producer.last_offset),
        ("currentTxnFirstOffset", entry.current_txn_first_offset, first if first_known else None),
    ]
    return ", ".join(
        f"{name} {given} where the log has {actual}"
        for name, given, actual in pairs
        if actual is not None and given != actual
    )
