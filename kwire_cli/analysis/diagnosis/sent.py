"""Sequences that idempotent producers sent, by connection: batches that came again, and what was acknowledged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import host_of
from kwire_cli.records.batch import sequence_after

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.records.batch import Batch, Head

REMEMBERED = 5
"""Batches of a producer and partition in which a broker looks for one that comes again."""
MOST_STRETCHES = 1 << 14
"""Stretches that are kept, of all producers together."""
MOST_CONNECTIONS = 64
"""Stretches of a producer and partition that are kept: the newest ones."""
_UNTIMED = -1.0


class Sender(NamedTuple):
    """A producer in a partition. What a proxy passes on, from another host or at another point, is not sent again."""

    producer_id: int
    epoch: int
    topic: str
    partition: int
    point: str | None
    host: str

    @property
    def place(self) -> str:
        """The partition's name, such as `orders-0`."""
        return f"{self.topic}-{self.partition}"


class Refusal(NamedTuple):
    """A batch that was refused as out of order, and the last sequence that its connection saw acknowledged before."""

    time: float
    client: str
    sequence: int
    acknowledged: tuple[float, int] | None


@dataclass(slots=True)
class Stretch:
    """The batches of a producer in a partition on one connection, as far as later ones are judged by them.

    `first` are the first REMEMBERED different sequences with their places, `last` the last ones, the newest last.
    """

    connection: Hashable
    begin: float
    client: str
    batches: int = 0
    first: list[tuple[int, Evidence]] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    acknowledged: tuple[float, int] | None = None
    """When the last acknowledgement came, and the sequence that it is about."""
    refusal: Refusal | None = None
    """The first one."""

    @property
    def order(self) -> tuple[float, str]:
        """The key that sorts stretches by time."""
        return self.begin, str(self.connection)

    def send(self, call: Call, sequence: int) -> bool:
        """Take a batch; return whether it came before on this connection."""
        self.batches += 1
        if len(self.first) < REMEMBERED and all(sequence != before for before, _ in self.first):
            self.first.append((sequence, call.evidence(of_request=True)))
        return _remember(self.last, sequence)


class Sent:
    """All stretches. They are judged in the order of their times, so parts can be merged in any order."""

    def __init__(self) -> None:
        self._senders: dict[Sender, list[Stretch]] = {}
        self._count = 0
        self._dropped: Counter[str] = Counter()
        """Batches by client whose stretches are no longer kept."""

    def add(self, call: Call, sender: Sender, batch: Batch, *, refused: bool, acknowledged: bool) -> bool:
        """Take a batch of a call; return whether it came before on this connection."""
        stretches = self._senders.get(sender)
        if stretches is None:
            stretches = self._senders[sender] = []
        connection = call.connection
        stretch = next((own for own in reversed(stretches) if own.connection == connection), None)
        if stretch is None:
            stretch = Stretch(connection, _UNTIMED if call.asked is None else call.asked, call.who)
            stretches.append(stretch)
            self._count += 1
            self._drop(sender)
        again = stretch.send(call, batch.head.base_sequence)
        time = _UNTIMED if call.answered is None else call.answered
        if refused and stretch.refusal is None:
            stretch.refusal = Refusal(time, call.who, batch.head.base_sequence, stretch.acknowledged)
        elif acknowledged:
            stretch.acknowledged = time, batch.last_sequence
        return again

    def _drop(self, sender: Sender) -> None:
        """Drop the oldest stretches of a producer if it has too many, and the first producers if all have."""
        own = self._senders[sender]
        if len(own) > MOST_CONNECTIONS:
            own.sort(key=lambda stretch: stretch.order)
            self._forget(own[:-MOST_CONNECTIONS])
            del own[:-MOST_CONNECTIONS]
        while self._count > MOST_STRETCHES and len(self._senders) > 1:
            first = next(iter(self._senders))
            if first == sender:
                self._senders[first] = self._senders.pop(first)  # as the last one
            else:
                self._forget(self._senders.pop(first))

    def _forget(self, stretches: list[Stretch]) -> None:
        self._count -= len(stretches)
        for stretch in stretches:
            self._dropped[stretch.client] += stretch.batches

    def merge(self, other: Sent) -> None:
        """Take in the stretches of another part."""
        self._dropped.update(other._dropped)
        for sender, stretches in other._senders.items():
            self._senders.setdefault(sender, []).extend(stretches)
            self._count += len(stretches)
            self._drop(sender)

    def batches(self) -> Counter[str]:
        """Return the number of batches by client."""
        totals = Counter(self._dropped)
        for stretches in self._senders.values():
            for stretch in stretches:
                totals[stretch.client] += stretch.batches
        return totals

    def repeats(self) -> Iterator[tuple[str, str, Evidence]]:
        """Yield batches that came before on another connection: client, partition and place."""
        for sender, stretches in self._senders.items():
            if len(stretches) == 1:
                continue
            last: list[int] = []
            for stretch in sorted(stretches, key=lambda own: own.order):
                for sequence, place in stretch.first:
                    if _remember(last, sequence):
                        yield stretch.client, sender.place, place
                for sequence in stretch.last:
                    _remember(last, sequence)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return the text about the first refusal of each client and partition."""
        first: dict[tuple[str, str], tuple[float, str]] = {}
        for sender, stretches in self._senders.items():
            for stretch in stretches:
                if refusal := stretch.refusal:
                    key = refusal.client, sender.place
                    told = refusal.time, _refused(sender, refusal, _acknowledged(refusal, stretch, stretches))
                    first[key] = min(first.get(key, told), told)
        return {key: text for key, (_, text) in first.items()}


def sender_of(call: Call, topic: str, partition: int, head: Head) -> Sender:
    """Return who sends a batch, and to which partition."""
    return Sender(head.producer_id, head.producer_epoch, topic, partition, call.point, host_of(call.client))


def _remember(last: list[int], sequence: int) -> bool:
    """Put a sequence behind the last ones; return whether it is among them."""
    again = sequence in last
    if again:
        last.remove(sequence)
    elif len(last) >= REMEMBERED:
        del last[0]
    last.append(sequence)
    return again


def _acknowledged(refusal: Refusal, own: Stretch, stretches: list[Stretch]) -> int | None:
    """Return the sequence that was acknowledged last before a refusal, on any connection."""
    before = [
        stretch.acknowledged
        for stretch in stretches
        if stretch is not own and stretch.acknowledged and stretch.acknowledged[0] <= refusal.time
    ]
    if refusal.acknowledged is not None:
        before.append(refusal.acknowledged)
    return max(before)[1] if before else None


def _refused(sender: Sender, refusal: Refusal, acknowledged: int | None) -> str:
    """Return what was refused, and what was acknowledged before."""
    text = f"sequence {refusal.sequence} of producer {sender.producer_id}, epoch {sender.epoch}, was refused"
    if acknowledged is None:
        return text
    if sequence_after(acknowledged, 1) == refusal.sequence:
        return f"{text} though {acknowledged} was acknowledged: the broker has lost records that it acknowledged"
    return f"{text}; the last one that was acknowledged is {acknowledged}"
