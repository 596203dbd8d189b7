"""Records in the fields of messages, opened: their bytes in place of the field's value, and how near they come to limits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.overhead.places import PARTITION, RECORDS, number_at, topic_at
from kwire_cli.cost.overhead.record_sets import RecordSets
from kwire_cli.spec.kafka import FETCH, PRODUCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.codec.model import Limits
    from kwire_cli.cost.overhead.account import Account
    from kwire_cli.cost.overhead.limits import Largest
    from kwire_cli.cost.overhead.places import Places
    from kwire_cli.cost.overhead.record_sets import Told
    from kwire_cli.engine.spans import Spans

    Row = tuple[int, int, int, int]
    """The number of a span, its node, and where its value begins and ends."""
    OnRecords = Callable[[Any, str | None, int | None, Told], None]
    """The request (None for a segment), topic and partition of a batch that a producer sent, and what is told of it."""

    Named = Callable[[Any], dict[str, Any]]
    """How a message is named where something is said of it: {"frame": 12}."""


def rows_of(spans: Spans, found: Places) -> list[Row]:
    """The spans that say where records are and whose."""
    wanted = found.by_node
    return [(at, node, spans.value[at], spans.end[at]) for at, node in enumerate(spans.node) if node in wanted]


class Opened:
    """Opens records. `largest` gets what limits count, and `named` says where; `on_records` is told of every batch that a producer sends."""

    def __init__(self, largest: Largest, limits: Limits | None, on_records: OnRecords | None, named: Named) -> None:
        self.largest, self._limits, self._on_records, self._named = largest, limits, on_records, named
        self._place: tuple[Any, str | None, int | None] = None, None, None

    def add(self, subject: Any, prefix: str, data: Any, rows: list[Row], found: Places, account_of: Callable[[int], tuple[Account, Any]]) -> None:
        """Count the records of a message. `account_of` gives the account of a span, and the sums that its field was counted in."""
        topic: tuple[int, int, int] | None = None
        partition: tuple[int, int] | None = None
        total, packet = 0, subject.place
        produce = subject.kind == "request" and subject.api_key == PRODUCE
        fetched = _fetched(subject) if subject.kind == "response" and subject.api_key == FETCH else None

        def where() -> dict[str, Any]:
            place = {"topic": named(), "partition": numbered()}
            return self._named(subject) | {name: value for name, value in place.items() if value is not None}

        def named() -> str | None:
            return topic and topic_at(found, topic[0], data[topic[1] : topic[2]], subject.names.topic)

        def numbered() -> int | None:
            return partition and number_at(data[partition[0] : partition[1]])

        for at, node, value, end in rows:
            role = found.by_node[node]
            if role == PARTITION:
                partition = value, end
            elif role != RECORDS:
                topic = node, value, end
            elif size := end - value:
                total += size
                account, sums = account_of(at)
                sums.move(node, size)
                sets = self._sets(account, f"{prefix}{sums.program.leaves[node].path}[].", produce=produce)
                if produce and self._on_records:
                    self._place = subject, named(), numbered()
                sets.largest_batch = sets.largest_record = 0
                sets.add(data, value, end)
                self._see_batches(sets, packet, where)
                if produce:
                    self.largest.see("append", size, packet, where)
                elif fetched:
                    self.largest.see(f"{fetched}-partition", size, packet, where, partial(_asked, subject.request, "partitionMaxBytes"))
        if produce:
            self.largest.see("request-batches", total, packet, partial(self._named, subject))
        elif fetched:
            self.largest.see(fetched, total, packet, partial(self._named, subject), partial(_asked, subject.request, "maxBytes"))

    def whole(self, account: Account, data: Any, form: str, where: dict[str, Any], topic: str | None, partition: int | None) -> Iterator[int]:
        """Count a record set or segment of a partition; gives where reading stands after each batch."""
        sets = account.record_sets.get("")
        if sets is None:
            told = self._told if self._on_records else None
            sets = account.record_sets[""] = RecordSets(account.sizes, form=form, limits=self._limits, on_batch=told, produced=True)
        self._place = None, topic, partition
        sets.largest_batch = sets.largest_record = 0
        at = 0
        for end in sets.steps(data, 0, len(data)):
            self._see_batches(sets, 0, partial(dict, where, position=at))
            yield end
            at = end
        self.largest.see("append", len(data), 0, lambda: where)

    def _sets(self, account: Account, prefix: str, *, produce: bool) -> RecordSets:
        found = account.record_sets.get(prefix)
        if found is None:
            told = self._told if produce and self._on_records else None
            found = account.record_sets[prefix] = RecordSets(account.sizes, limits=self._limits, on_batch=told, produced=produce)
        return found

    def _told(self, told: Told) -> None:
        assert self._on_records  # noqa: S101 - for the type checker
        self._on_records(*self._place, told)

    def _see_batches(self, sets: RecordSets, packet: int, where: Callable[[], dict[str, Any]]) -> None:
        sizes = self.largest.sizes
        if sets.largest_batch >= sizes["batch"]:
            self.largest.see("batch", sets.largest_batch, packet, where)
        if sets.produced and sets.largest_record >= sizes["record"]:
            self.largest.see("record", sets.largest_record, packet, where)


def _fetched(response: Any) -> str:
    """Whether the records of a Fetch response are fetched by a consumer or replicated by a follower, which says its node id."""
    return "replicated" if any(number >= 0 for number in _numbers(response.request, "replicaId")) else "fetched"


def _asked(request: Any, name: str) -> int | None:
    """The largest number in the fields of this name of a request."""
    return max(_numbers(request, name), default=None)


def _numbers(request: Any, name: str) -> list[int]:
    found = request.read if request else None
    if not found:
        return []
    _, spans = found
    wanted = {leaf.id for leaf in spans.program.leaves if leaf.name == name and leaf.kind == "int32"}
    return [number_at(spans.data[spans.value[at] : spans.end[at]]) for at, node in enumerate(spans.node) if node in wanted]
