"""Clients that find no coordinator for their group or transactional id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.call import host_of, parts
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, earliest, merge_all, some
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity

NOT_FOUND = FindingKind(
    "COORDINATOR_NOT_FOUND",
    "warning",
    "A client finds no working coordinator.",
    "The coordinator of a group is the leader of a partition of __consumer_offsets, the coordinator of a "
    "transactional id that of a partition of __transaction_state. Clients wait for a moment while the topic is "
    "created or a broker loads the partition. They wait for long only if the partition has no leader, or the topic "
    "cannot be created.",
    "Run kafka-topics.sh --describe --topic __consumer_offsets: each partition needs a leader. In a new cluster, "
    "compare offsets.topic.replication.factor with the number of brokers.",
    rank=25,
)
LATE = FindingKind(
    "COORDINATOR_LATE",
    "info",
    "A client waits for a coordinator for a moment.",
    "In a new cluster, the first request for a group or a transaction creates the coordinator's topic. A broker that "
    "becomes the coordinator first loads its partition. Clients ask again.",
    "Nothing, if it is over in two seconds.",
    rank=80,
)
ERRORS = frozenset({"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"})
RARE = frozenset({"FindCoordinator", "JoinGroup", "InitProducerId", "OffsetFetch", "ConsumerGroupHeartbeat"})
"""Apis whose success is kept in any case: what failed before may have been on another connection."""
LEAST, LEAST_SECONDS = 4, 3.0
"""Answers and their time: a new cluster makes the topic in a second or two at the first request."""
LONG = 30.0
"""Seconds from which a client without a coordinator is an error."""


@dataclass
class _Failed(Tally):
    errors: set[str] = field(default_factory=set)
    apis: set[str] = field(default_factory=set)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Failed):
            self.errors |= other.errors
            self.apis |= other.apis


class Coordinators(Rule):
    """Answers without a coordinator, by client and group or transactional id."""

    KINDS = (NOT_FOUND, LATE)
    apis: ClassVar[frozenset[str]] = frozenset(
        {
            "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch",
            "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "InitProducerId",
            "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn",
        }
    )  # fmt: skip

    def __init__(self) -> None:
        self._failed: Book[tuple[str, str, str], _Failed] = Book(_Failed)
        self._worked: Book[tuple[str, str, str], list[float]] = Book(list)

    def call(self, call: Call) -> None:
        """Take a call: whether the coordinator did what it was asked for."""
        errors = call.errors
        if not errors:
            time = call.answered
            if time is not None and (self._failed or call.api in RARE):
                for key in self._keys(call):
                    if key in self._failed or call.api in RARE:
                        times = self._worked[key]
                        times[:] = [max(time, *times)] if times else [time]
            return
        if not ERRORS.isdisjoint(errors):
            names = sorted(str(error) for error in errors if error in ERRORS)
            for key in self._keys(call):
                failed = self._failed[key]
                failed.add(call)
                failed.errors.update(names)
                failed.apis.add(call.api)

    def _keys(self, call: Call) -> list[tuple[str, str, str]]:
        request = call.request
        keys = request.get("coordinatorKeys")
        names = [
            *(request.get(name) for name in ("key", "groupId", "transactionalId")),
            *(keys if isinstance(keys, list) else ()),
            *(group.get("groupId") for (group,) in parts(request, "groups")),
        ]
        who, host = call.who, host_of(call.client)
        return [(who, host, name) for name in dict.fromkeys(filter(_is_text, names[:16]))]

    def merge(self, other: Coordinators) -> None:
        merge_all(self._failed, other._failed)
        for key, times in other._worked.items():
            self._worked[key][:] = [max([*self._worked[key], *times])]

    def findings(self) -> Iterator[Finding]:
        by_client: dict[tuple[str, str, bool], list[tuple[_Failed, str, bool]]] = {}
        for key, failed in self._failed.items():
            worked = max(self._worked.get(key, [0.0]), default=0.0)
            over = failed.last is not None and worked >= failed.last
            loops = failed.count >= LEAST and failed.span >= LEAST_SECONDS
            by_client.setdefault((*key[:2], loops), []).append((failed, key[2], over))
        for (who, _, loops), its in by_client.items():
            total, span = sum(failed.count for failed, _, _ in its), max(failed.span for failed, _, _ in its)
            apis = {api for failed, _, _ in its for api in failed.apis}
            errors = {error for failed, _, _ in its for error in failed.errors}
            text = (
                f"{counted(total, 'answer')} ({some(apis)}) for {some(name for _, name, _ in its)}"
                f"{f' in {duration(span)}' if span else ''}: {some(errors)}"
            )
            over = all(its_over for _, _, its_over in its)
            text += "; the coordinator answered afterwards" if over else ""
            level: Severity | None = "error" if loops and span >= LONG and not over else None
            places = earliest(dict.fromkeys(place for failed, _, _ in its for place in failed.places))
            yield Finding(NOT_FOUND if loops else LATE, f"client {who}", text, places, total, level)


def _is_text(name: object) -> bool:
    return isinstance(name, str) and name != ""
