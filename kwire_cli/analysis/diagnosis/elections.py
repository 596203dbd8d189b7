"""Elections in the quorum of controllers: votes, epochs and leaders of the metadata log."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kwire_cli.analysis.call import Evidence, parts
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, earliest, merge_all, some, whole
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call

ELECTIONS = FindingKind(
    "ELECTIONS",
    "info",
    "The controllers elect a leader of their quorum.",
    "A voter that hears nothing from the leader for controller.quorum.fetch.timeout.ms asks the others for their "
    "votes, in a new epoch. While there is no leader, no topic is created, no leader of a partition moves and no "
    "broker is fenced.",
    "One election means that a controller stopped or started. If there are many, look at disk, network and garbage "
    "collection of the controllers. If controllers are far apart, raise controller.quorum.fetch.timeout.ms.",
    ("KIP-595", "KIP-996"),
    rank=16,
)
SNAPSHOTS = FindingKind(
    "METADATA_SNAPSHOTS",
    "info",
    "Brokers or controllers fetch snapshots of the metadata log.",
    "A node that is new, or was away for longer than the log reaches back, fetches a snapshot first.",
    "If the same node fetches snapshots again and again, see why it falls behind, and compare "
    "metadata.max.retention.bytes.",
    ("KIP-630",),
    rank=60,
)
OFTEN = 3
"""Epochs with votes from which elections are a warning: one or two are a restart."""
MOST_EVENTS = 1 << 10


class _Event(NamedTuple):
    time: float
    epoch: int
    node: int
    kind: str
    place: Evidence


class Elections(Rule):
    """Votes, epochs that began and ended, and snapshots that were fetched."""

    KINDS = (ELECTIONS, SNAPSHOTS)
    apis: ClassVar[frozenset[str]] = frozenset({"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"})

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._snapshots: Book[int, Tally] = Book(Tally)

    def call(self, call: Call) -> None:
        """Take a call between controllers."""
        api = call.api
        if api == "FetchSnapshot":
            replica = whole(call.request.get("replicaId"))
            if replica is not None and replica >= 0:
                self._snapshots[replica].add(call)
            return
        time = call.asked
        if time is None:
            return
        for _, part in parts(call.request, "topics", "partitions"):
            # ReplicaEpoch and ReplicaId were called CandidateEpoch and CandidateId before Kafka 4.0.
            epoch = next((whole(part.get(name)) for name in ("replicaEpoch", "candidateEpoch", "leaderEpoch")
                          if name in part), None)  # fmt: skip
            node = next(
                (whole(part.get(name)) for name in ("replicaId", "candidateId", "leaderId") if name in part), None
            )
            if epoch is None or node is None or min(epoch, node) < 0 or len(self._events) >= MOST_EVENTS:
                continue
            kind = "pre-vote" if api == "Vote" and part.get("preVote") is True else api
            self._events.append(_Event(time, epoch, node, kind, call.evidence(of_request=True)))

    def merge(self, other: Elections) -> None:
        self._events = sorted([*self._events, *other._events])[:MOST_EVENTS]
        merge_all(self._snapshots, other._snapshots)

    def findings(self) -> Iterator[Finding]:
        events = sorted(self._events)
        if events:
            yield _finding(events)
        for node, tally in self._snapshots.items():
            text = counted(tally.count, "FetchSnapshot request")
            text += f" in {duration(tally.span)}" if tally.count > 1 else ""
            yield Finding(SNAPSHOTS, f"node {node}", text, tally.places, tally.count)


def _finding(events: list[_Event]) -> Finding:
    votes = [event for event in events if event.kind == "Vote"]
    before = [event for event in events if event.kind == "pre-vote"]
    epochs = {event.epoch for event in votes}
    texts = []
    if before:
        texts.append(f"{counted(len(before), 'pre-vote request')} of {_nodes(before)}")
    if votes:
        texts.append(f"{counted(len(votes), 'vote request')} of {_nodes(votes)} for {_epochs(epochs)}")
    for epoch, node in sorted({(event.epoch, event.node) for event in events if event.kind == "BeginQuorumEpoch"})[-4:]:
        texts.append(f"controller {node} leads from epoch {epoch} on")
    for epoch, node in sorted({(event.epoch, event.node) for event in events if event.kind == "EndQuorumEpoch"})[-4:]:
        texts.append(f"controller {node} gave up epoch {epoch}")
    text = f"{'; '.join(texts)}; {duration(events[-1].time - events[0].time)} from first to last"
    places = earliest(event.place for event in events)
    return Finding(
        ELECTIONS, "quorum of controllers", text, places, len(epochs), "warning" if len(epochs) >= OFTEN else None
    )


def _nodes(events: list[_Event]) -> str:
    nodes = {event.node for event in events}
    return f"controller{'s' if len(nodes) > 1 else ''} {some(nodes)}"


def _epochs(epochs: set[int]) -> str:
    return f"epoch{'s' if len(epochs) > 1 else ''} {some(epochs, 6)}"
