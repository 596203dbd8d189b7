"""Sequences of idempotent producers in logs: gaps, repeated batches, and producers that began anew."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.model import Finding, Rule, kind_of_query
from kwire_cli.errors import counted
from kwire_cli.message.roles import is_internal
from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import RESTARTED, ProducerState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.questions.rule_files import Severity
    from kwire_cli.records.producers import Problem

MOST_FAULTS = 1 << 14
"""Faults of a log that are kept: the first ones."""


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


@dataclass
class _Log:
    """A log. `files` and `starts` are the files that were read, and the offsets at which they begin."""

    state: ProducerState
    files: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def file_of(self, offset: int) -> str:
        return self.files[max(bisect_right(self.starts, offset) - 1, 0)]


class LogSequences(Rule):
    """Sequences in logs, each read in the order of its offsets. The kinds are those of queries over captures."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], _Log] = {}

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log. Brokers write to their own topics without sequences that go on."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid or is_internal(item.topic or ""):
            return
        base = batch.head.base_offset
        log = self._logs.get(item.log)
        if log is None:
            log = self._logs[item.log] = _Log(ProducerState(base))
        if base < log.state.next_offset:  # an earlier part of the log, or another one
            log.state = ProducerState(base)
            log.files.clear()
            log.starts.clear()
        if not log.files or log.files[-1] != item.file:
            log.files.append(item.file)
            log.starts.append(base)
        for problem in log.state.append(batch).problems:
            if problem.code in _FAULTS and len(log.faults) < MOST_FAULTS:
                log.faults.append(_fault(item, batch, problem, log))

    def findings(self) -> Iterator[Finding]:
        """Yield the places where sequences do not go on, log by log."""
        gap = kind_of_query("SEQUENCE_GAP")
        duplicate = kind_of_query("DUPLICATE_BATCH")
        for _, log in sorted(self._logs.items()):
            for fault in log.faults:
                kind = duplicate if fault.is_duplicate else gap
                severity: Severity | None = "warning" if fault.is_duplicate or fault.is_restart else None
                yield Finding(kind, f"partition {fault.partition}", fault.text, fault.evidence, fault.records, severity)


_FAULTS = frozenset({RESTARTED, "SEQUENCE_GAP", "SEQUENCE_DUPLICATE"})


def _fault(item: LogItem, batch: Batch, problem: Problem, log: _Log) -> Fault:
    head = batch.head
    last = problem.last_sequence
    end = problem.last_offset
    places = [
        Evidence("last batch before", file=log.file_of(end), offset=end),
        Evidence("batch", file=item.file, offset=head.base_offset),
    ]
    who = f"producer {head.producer_id}, epoch {head.producer_epoch}"
    here = f"{head.base_sequence} at offset {head.base_offset}"
    if problem.code == RESTARTED:
        text = (
            f"producer {head.producer_id} began anew with epoch {head.producer_epoch} at offset {head.base_offset}; "
            f"its epoch {problem.epoch} ends with sequence {last}. A producer does so if a batch is refused or "
            "expires: records in between may be missing"
        )
        if head.leader_epoch > problem.leader_epoch:
            text += f"; the leader epoch went from {problem.leader_epoch} to {head.leader_epoch}"
        return Fault(item.name, text, places, 1, is_restart=True)
    if problem.code == "SEQUENCE_DUPLICATE":
        text = f"{who}: sequence {here} comes again, after {last}"
        return Fault(item.name, text, places, 1, is_duplicate=True)
    missing = counted(problem.missing, "record is", "records are")
    if problem.epoch != head.producer_epoch or last < 0:
        return Fault(item.name, f"{who} begins with sequence {here}: {missing} missing", places[1:], problem.missing)
    text = f"{who}: sequence {last} at offset {end} is followed by {here}: {missing} missing"
    return Fault(item.name, text, places, problem.missing)
