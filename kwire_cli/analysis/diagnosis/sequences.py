"""Sequences of idempotent producers in logs: gaps, repeated batches, and producers that began anew."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.model import Finding, Rule, kind_of_query
from kwire_cli.message.roles import is_internal
from kwire_cli.records.batch import Batch, sequence_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.diagnosis.model import Severity
    from kwire_cli.analysis.subjects import LogItem

MOST_RUNS = 1 << 14
"""Runs of a partition that are kept. An intact log has one for each producer and epoch."""


class Fault(NamedTuple):
    """A place in a log where the sequence of a producer does not go on.

    `is_restart` says that the producer began at 0 with a new epoch, `is_duplicate` that records come again.
    """

    partition: str
    text: str
    evidence: Sequence[Evidence]
    records: int
    is_restart: bool = False
    is_duplicate: bool = False


@dataclass(slots=True)
class _Run:
    """Batches of a producer and epoch whose sequences follow each other. `leader` is the leader epoch of the first."""

    producer: int
    epoch: int
    first: int
    last: int
    begin: int
    end: int
    leader: int
    file: str
    transactional: bool


@dataclass
class _Log:
    name: str
    runs: dict[tuple[int, int], list[_Run]] = field(default_factory=dict)
    ranges: list[list[int]] = field(default_factory=list)
    """Offsets that were seen, as pairs of the first one and the one behind the last."""
    count: int = 0
    crowded: bool = False


class LogSequences(Rule):
    """Sequences in logs. The kinds of these findings are those of rules that are queries over captures."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], _Log] = {}

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log. Brokers write to their own topics without sequences that go on."""
        batch = item.item
        if (
            not isinstance(batch, Batch)
            or not batch.crc_valid
            or batch.layout.is_message
            or is_internal(item.topic or "")
        ):
            return
        head = batch.head
        key = item.log
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = _Log(item.name)
        if log.crowded:
            return
        if log.ranges and log.ranges[-1][1] == head.base_offset:
            log.ranges[-1][1] = head.last_offset + 1
        else:
            log.ranges.append([head.base_offset, head.last_offset + 1])
        if head.producer_id >= 0 and head.base_sequence >= 0 and not head.control:
            runs = log.runs.setdefault((head.producer_id, head.producer_epoch), [])
            if runs and runs[-1].end <= head.base_offset and sequence_after(runs[-1].last, 1) == head.base_sequence:
                runs[-1].last, runs[-1].end = batch.last_sequence, head.last_offset + 1
            else:
                runs.append(
                    _Run(
                        head.producer_id,
                        head.producer_epoch,
                        head.base_sequence,
                        batch.last_sequence,
                        head.base_offset,
                        head.last_offset + 1,
                        head.leader_epoch,
                        item.file,
                        head.transactional,
                    )
                )
                log.count += 1
        if log.count + len(log.ranges) > MOST_RUNS:  # a compacted log, which has gaps anyway
            log.runs, log.ranges, log.crowded = {}, [], True

    def findings(self) -> Iterator[Finding]:
        """Yield the places where sequences do not continue, log by log."""
        gap = kind_of_query("SEQUENCE_GAP")
        duplicate = kind_of_query("DUPLICATE_BATCH")
        for _, log in sorted(self._logs.items()):
            for fault in () if log.crowded else _faults(log):
                kind = duplicate if fault.is_duplicate else gap
                severity: Severity | None = "warning" if fault.is_duplicate or fault.is_restart else None
                yield Finding(kind, f"partition {fault.partition}", fault.text, fault.evidence, fault.records, severity)


def _faults(log: _Log) -> Iterator[Fault]:
    ranges = _together(log.ranges)
    starts = [first for first, _ in ranges]
    by_producer: dict[int, list[_Run]] = {}
    for (producer, _), runs in log.runs.items():
        by_producer.setdefault(producer, []).extend(runs)
    for _, all_runs in sorted(by_producer.items()):
        before: _Run | None = None
        for run in _joined(all_runs):
            if before is not None and _is_whole(ranges, starts, before.end, run.begin):
                yield from _between(log.name, before, run)
            before = run


def _together(ranges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return ranges in order, those that touch as one."""
    joined: list[list[int]] = []
    for first, end in sorted(map(tuple, ranges)):
        if joined and first <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([first, end])
    return joined


def _is_whole(ranges: Sequence[Sequence[int]], starts: Sequence[int], first: int, end: int) -> bool:
    """Return whether no offset from the one behind a run to the next run is missing."""
    at = bisect_right(starts, first - 1) - 1
    return at >= 0 and ranges[at][1] >= end


def _joined(runs: Sequence[_Run]) -> Iterator[_Run]:
    """Yield runs by offset; those that follow each other, since the log came in parts, as one."""
    last: _Run | None = None
    for run in sorted(runs, key=lambda run: (run.begin, run.end)):
        if last is not None and last.epoch == run.epoch and sequence_after(last.last, 1) == run.first:
            last = replace(last, last=run.last, end=run.end)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _between(partition: str, before: _Run, run: _Run) -> Iterator[Fault]:
    """Yield the fault between two runs of a producer, if it is one."""
    places = [
        Evidence("last batch before", file=before.file, offset=before.end - 1),
        Evidence("batch", file=run.file, offset=run.begin),
    ]
    who = f"producer {run.producer}, epoch {run.epoch}"
    if before.epoch != run.epoch:
        # Transactional producers get a new epoch when they begin, and since KIP-890 with each transaction.
        if not run.transactional and not before.transactional and run.first == 0 and run.epoch > before.epoch:
            text = (
                f"producer {run.producer} began anew with epoch {run.epoch} at offset {run.begin}; its epoch "
                f"{before.epoch} ends with sequence {before.last}. A producer does so if a batch is refused "
                "or expires: records in between may be missing"
            )
            if run.leader > before.leader:
                text += f"; the leader epoch went from {before.leader} to {run.leader}"
            yield Fault(partition, text, places, 1, is_restart=True)
    elif run.first > before.last:
        missing = run.first - before.last - 1
        text = (
            f"{who}: sequence {before.last} at offset {before.end - 1} is followed by {run.first} at offset "
            f"{run.begin}: {missing} {'record is' if missing == 1 else 'records are'} missing"
        )
        yield Fault(partition, text, places, missing)
    elif run.first != 0 or before.first == 0:
        text = f"{who}: sequence {run.first} at offset {run.begin} comes again, after {before.last}"
        yield Fault(partition, text, places, 1, is_duplicate=True)
