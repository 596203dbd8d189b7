"""Members of groups that commit far more often than they need to."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, merge_all, rate
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.fetches import Client, Commit, Partition

TOO_OFTEN = FindingKind(
    "COMMITS_TOO_OFTEN",
    "warning",
    "A consumer commits its offsets far more often than necessary.",
    "Each commit is a record in __consumer_offsets that all replicas write. A consumer that commits after each record "
    "waits for a round trip each time, and delivery is still at-least-once.",
    "Commit after each poll, or every few seconds (auto.commit.interval.ms is 5 s by default). After a crash the "
    "records since the last commit come again; the application has to tolerate that in any case.",
    rank=44,
)
LEAST_COMMITS = 30
MOST_A_SECOND = 5.0
"""Commits a second of one member: 25 times what auto.commit.interval.ms gives by default, and five times of what a
commit a second gives."""
MOST_PARTITIONS = 256


@dataclass
class _Commits(Tally):
    """Commits of a member, and the least and the greatest offset of each partition."""

    offsets: dict[Partition, tuple[int, int]] = field(default_factory=dict)

    def take(self, key: Partition, offset: int) -> None:
        known = self.offsets.get(key)
        if known is not None:
            self.offsets[key] = min(known[0], offset), max(known[1], offset)
        elif len(self.offsets) < MOST_PARTITIONS:
            self.offsets[key] = offset, offset

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Commits):
            for key, (low, high) in other.offsets.items():
                self.take(key, low)
                self.take(key, high)

    @property
    def records(self) -> int:
        return sum(high - low for low, high in self.offsets.values())


class Commits:
    """Commits by group and member."""

    KINDS = (TOO_OFTEN,)

    def __init__(self) -> None:
        self._commits: Book[tuple[str, Client], _Commits] = Book(_Commits)

    def commit(self, client: Client, call: Call, offsets: list[Commit]) -> None:
        """Take an OffsetCommit."""
        if offsets:
            commits = self._commits[offsets[0][0], client]
            commits.add(call, of_request=True)
            for _, key, offset in offsets:
                commits.take(key, offset)

    def merge(self, other: Commits) -> None:
        merge_all(self._commits, other._commits)

    def findings(self) -> Iterator[Finding]:
        for (group, (who, _)), commits in self._commits.items():
            if commits.count < LEAST_COMMITS or commits.rate < MOST_A_SECOND:
                continue
            topics = {topic for topic, _ in commits.offsets}
            of = f" of {topics.pop()}" if len(topics) == 1 else ""
            per = f", {rate(commits.records / (commits.count - 1))} records{of} apart" if commits.records else ""
            text = (
                f"{counted(commits.count, 'commit')} in {duration(commits.span)} ({rate(commits.rate)} a second){per}"
            )
            yield Finding(
                TOO_OFTEN, f"client {who} of group {group}", text, commits.places, commits.count,
                command=f"groups --group {quote(group)}",
            )  # fmt: skip
