"""Replicas that leave the in-sync set, and partitions whose leaders change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kwire_cli.analysis.call import Evidence, between, parts
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, earliest, merge_events, some, whole
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.fetches import Partition
    from kwire_cli.analysis.diagnosis.model import Severity

ISR = FindingKind(
    "ISR_CHANGES",
    "warning",
    "A replica is out of sync with its leaders.",
    "A broker that stops, or does not keep up for replica.lag.time.max.ms, leaves the in-sync replicas of its "
    "partitions. If fewer than min.insync.replicas are left, producers with acks=all get NOT_ENOUGH_REPLICAS.",
    "See whether the broker runs. Look at its disk, network and garbage collection at this time. If it is behind one "
    "leader only, look at that leader.",
    ("KIP-497",),
    rank=22,
)
LEADERS = FindingKind(
    "LEADER_CHANGES",
    "info",
    "Partitions have a new leader.",
    "Leaders move when a broker stops or is fenced, by a preferred election, or by a reassignment. Clients pause "
    "until they know the new leader.",
    "If nobody moved the leaders, see why the old leader stopped or was fenced: its log, and its BrokerHeartbeat "
    "requests.",
    ("KIP-966",),
    rank=23,
)
MOST_STATES = 64
OFTEN = 3
"""Changes of one partition from which moving leaders are a warning."""


class _State(NamedTuple):
    """How a partition was told to be: time, leader (-1: none), epoch (-1: not told), in-sync and all replicas."""

    time: float
    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    place: Evidence


class Replicas(Rule):
    """In-sync replicas and leaders of partitions over time, as Metadata and AlterPartition tell them."""

    KINDS = (ISR, LEADERS)
    apis: ClassVar[frozenset[str]] = frozenset({"Metadata", "DescribeTopicPartitions", "AlterPartition"})

    def __init__(self) -> None:
        self._states: Book[Partition, list[_State]] = Book(list)

    def call(self, call: Call) -> None:
        """Take a call that tells the in-sync replicas of partitions."""
        time, response = call.answered, call.response
        if time is None or response is None:
            return
        isr_name = "isr" if call.api == "AlterPartition" else "isrNodes"
        place: Evidence | None = None
        for topic, part in parts(response, "topics", "partitions"):
            index, leader = whole(part.get("partitionIndex")), whole(part.get("leaderId"))
            isr, replicas = part.get(isr_name), part.get("replicaNodes")
            if (
                index is None
                or leader is None
                or not isinstance(isr, list)
                or (call.api == "AlterPartition" and not isr)
            ):
                continue
            states = self._states[call.topic(topic), index]
            epoch = whole(part.get("leaderEpoch"))
            last = states[-1] if states else None
            if last and last.leader == leader and [*last.isr] == isr and (epoch is None or last.epoch == epoch):
                continue
            if len(states) < MOST_STATES:
                place = place or call.evidence()
                states.append(
                    _State(time, leader, -1 if epoch is None else epoch, _nodes(isr), _nodes(replicas), place)
                )

    def merge(self, other: Replicas) -> None:
        merge_events(self._states, other._states, MOST_STATES, _order)

    def findings(self) -> Iterator[Finding]:
        out: dict[int, list[tuple[str, _State, _State | None, _State]]] = {}
        moved: dict[int, list[tuple[str, _State, _State]]] = {}
        often = 0
        for (topic, index), unsorted in sorted(self._states.items(), key=lambda item: str(item[0])):
            states, name = sorted(unsorted, key=_order), f"{topic}-{index}"
            for node, (missing, back) in sorted(_absences(states).items()):
                out.setdefault(node, []).append((name, missing, back, states[0]))
            changes = list(_leader_changes(states))
            often = max(often, len(changes))
            for before, after in changes:
                moved.setdefault(before.leader, []).append((name, before, after))
        for node, its in out.items():
            yield _isr_finding(node, its)
        for leader, moves in moved.items():
            yield _leader_finding(leader, moves, often)


def _isr_finding(node: int, its: list[tuple[str, _State, _State | None, _State]]) -> Finding:
    name, missing, back, first = min(its, key=lambda item: (item[1].time, item[0]))
    verb = "not in" if missing is first else "left"
    if len(its) == 1:
        text = f"{verb} the in-sync replicas of {name}: "
    else:
        text = f"{verb} the in-sync replicas of {len(its)} partitions ({some(item[0] for item in its)}): {name} "
    text += ("" if missing is first else f"{_text(first.isr)} became ") + _text(missing.isr)
    returned = [item for item in its if item[2] is not None]
    if back is not None:
        text += f", and {_text(back.isr)} again {duration(between(missing.time, back.time))} later"
    if len(returned) < len(its):
        text += " until the end" if len(its) == 1 else f"; {len(its) - len(returned)} of them until the end"
    places = [place for _, gone, again, _ in its for place in (gone.place, *([again.place] if again else ()))]
    joins = all(gone is start and again is not None for _, gone, again, start in its)
    level: Severity | None = "info" if joins else None  # a new replica, or a broker that has just started
    return Finding(ISR, f"broker {node}", text, earliest(dict.fromkeys(places)), len(its), level)


def _leader_finding(leader: int, changes: list[tuple[str, _State, _State]], often: int) -> Finding:
    name, _, after = min(changes, key=lambda item: (item[2].time, item[0]))
    names = {item[0] for item in changes}
    text = (
        f"{counted(len(names), 'partition')} ({some(names)}) went from broker {leader} to "
        f"{some(item[2].leader for item in changes)}: {name} in epoch {after.epoch}"
    )
    places = earliest(dict.fromkeys(item[2].place for item in changes))
    level: Severity | None = "warning" if often >= OFTEN else None
    return Finding(LEADERS, f"broker {leader}", text, places, len(changes), level)


def _absences(states: list[_State]) -> dict[int, tuple[_State, _State | None]]:
    """Return the first absence of each replica from the in-sync ones, and its return; replicas moved away stay out."""
    replicas: set[int] = set()
    absent: dict[int, tuple[_State, _State | None]] = {}
    for state in states:
        if not state.isr:
            continue
        replicas = set(state.replicas) or replicas | set(state.isr)
        for node in replicas:
            if node not in state.isr:
                absent.setdefault(node, (state, None))
            elif node in absent and absent[node][1] is None:
                absent[node] = absent[node][0], state
    return {node: absence for node, absence in absent.items() if node in replicas}


def _leader_changes(states: list[_State]) -> Iterator[tuple[_State, _State]]:
    """Yield changes of the leader: old answers of another broker, which have a lower epoch, do not count."""
    last: _State | None = None
    for state in states:
        if state.leader < 0 or state.epoch < 0 or (last and state.epoch < last.epoch):
            continue
        if last and state.leader != last.leader:
            yield last, state
        last = state


def _nodes(values: Any) -> tuple[int, ...]:
    return tuple(value for value in values if type(value) is int)[:64] if isinstance(values, list) else ()


def _text(isr: Iterable[int]) -> str:
    return "[" + ",".join(map(str, sorted(isr))) + "]"


def _order(state: _State) -> tuple[float, int, int, tuple[int, ...]]:
    return state.time, state.epoch, state.leader, state.isr
