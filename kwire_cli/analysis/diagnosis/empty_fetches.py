"""Fetches that bring nothing although records are there, and fetches that wait for more than there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.diagnosis.fetches import MOST_OFFSET, size_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, earliest, merge_all, some, whole
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.diagnosis.fetches import Client, FetchCall, Partition

EMPTY = FindingKind(
    "EMPTY_FETCHES",
    "warning",
    "A consumer gets no records although its partition has more.",
    "The high watermark is beyond the offset in the request, but the answers are empty. There are three causes. With "
    "read_committed, an open transaction holds records back (the last stable offset). A quota empties answers. In a "
    "request with many partitions, the first ones can use up its size.",
    "Open transaction: see whose it is (kwire transactions --open), and its transaction.timeout.ms. Quota: see the "
    "finding THROTTLED. Size: raise fetch.max.bytes, or max.partition.fetch.bytes for records larger than that.",
    ("KIP-98", "KIP-74"),
    rank=42,
)
SLOW = FindingKind(
    "SLOW_FETCH",
    "warning",
    "A consumer gets its records late because it waits for fetch.min.bytes.",
    "A broker holds a Fetch back until fetch.min.bytes are there, or fetch.max.wait.ms have passed. There were "
    "records, but fewer bytes than that, so they came when the time had passed. The broker is not slow.",
    "Set fetch.min.bytes to 1, or fetch.max.wait.ms to the delay that you accept. Leave both where throughput matters "
    "more than delay.",
    rank=35,
)
LEAST_EMPTY = 3
"""Empty answers at the same offset: one or two are a race of the high watermark with the read."""
HELD_LONG = 10.0
"""Seconds for which a transaction holds records back before that is a warning."""
LEAST_STUCK = 2.0
LEAST_SLOW = 2
SLOW_WAIT, LATE = 500, 1000
"""Milliseconds: below the first (the default of fetch.max.wait.ms) waiting is not told, from the second on it is a
warning."""
WAITED = 0.8
"""A Fetch that took this share of its longest wait has waited for bytes."""
_REASONS = {
    "transaction": "an open transaction holds the records back: the last stable offset is {stable}",
    "throttled": "the broker throttles the client",
    "size": "other partitions used up the size of the answers",
    "other": "no transaction, quota or size explains it",
}


@dataclass
class _Empty(Tally):
    end: int = 0
    stable: int = -1

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Empty):
            self.end, self.stable = max(self.end, other.end), max(self.stable, other.stable)


@dataclass
class _Slow(Tally):
    wait_ms: int = 0
    least: int = 0
    most_bytes: int = 0
    fetches: int = 0
    topics: set[str] = field(default_factory=set)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Slow):
            self.wait_ms, self.least = max(self.wait_ms, other.wait_ms), max(self.least, other.least)
            self.most_bytes = max(self.most_bytes, other.most_bytes)
            self.fetches += other.fetches
            self.topics |= other.topics


class EmptyFetches:
    """Empty answers by client, partition and offset, and late ones by client."""

    KINDS = (EMPTY, SLOW)

    def __init__(self) -> None:
        self._empty: Book[tuple[Client, Partition, int, str], _Empty] = Book(_Empty)
        self._slow: Book[Client, _Slow] = Book(_Slow)

    def fetch(self, fetch: FetchCall) -> None:
        """Take a Fetch."""
        total, empty = 0, []
        for key, offset, answer in fetch.parts:
            if answer is None:
                continue
            size = size_of(answer)
            total += size
            if size or offset is None:
                continue
            end = answer.get("highWatermark")
            if type(end) is int and MOST_OFFSET > end > offset >= 0 and not answer.get("errorCode"):
                empty.append((key, offset, answer))
        for key, offset, answer in empty:
            self._take_empty(fetch, key, offset, answer, total)
        least = whole(fetch.request.get("minBytes"))
        if least is not None and least > 1 and fetch.response is not None:
            self._take_wait(fetch, least, total)

    def _take_empty(self, fetch: FetchCall, key: Partition, offset: int, answer: dict[str, Any], total: int) -> None:
        if (whole(answer.get("preferredReadReplica")) or -1) >= 0:
            return  # the client is sent to a replica near it
        stable = whole(answer.get("lastStableOffset"))
        if fetch.request.get("isolationLevel") == 1 and stable is not None and 0 <= stable <= offset:
            reason = "transaction"
        elif fetch.call.throttle > 0:
            reason = "throttled"
        else:
            most = whole(fetch.request.get("maxBytes"))
            reason = "size" if most and total * 2 > most else "other"
        empty = self._empty[fetch.client, key, offset, reason]
        empty.add(fetch.call)
        empty.end = max(empty.end, answer["highWatermark"])
        empty.stable = max(empty.stable, -1 if stable is None else stable)

    def _take_wait(self, fetch: FetchCall, least: int, total: int) -> None:
        wait, latency = whole(fetch.request.get("maxWaitMs")), fetch.call.latency
        if not wait or wait < SLOW_WAIT or latency is None:
            return
        slow = self._slow[fetch.client]
        slow.fetches += 1
        if 0 < total < least and latency * 1000 >= WAITED * wait:
            slow.add(fetch.call)
            slow.wait_ms, slow.least = max(slow.wait_ms, wait), max(slow.least, least)
            slow.most_bytes = max(slow.most_bytes, total)
            if len(slow.topics) < 8:
                slow.topics.update(part.key[0] for part in fetch.parts)

    def merge(self, other: EmptyFetches) -> None:
        merge_all(self._empty, other._empty)
        merge_all(self._slow, other._slow)

    def findings(self) -> Iterator[Finding]:
        stuck: dict[tuple[Client, str], list[tuple[_Empty, str, int]]] = {}
        for (client, (topic, index), offset, reason), empty in self._empty.items():
            if empty.count >= LEAST_EMPTY and (reason == "transaction" or empty.span >= LEAST_STUCK):
                stuck.setdefault((client, reason), []).append((empty, f"{topic}-{index}", offset))
        for ((who, _), reason), its in stuck.items():
            yield _empty_finding(who, reason, its)
        for (who, _), slow in self._slow.items():
            if slow.count < LEAST_SLOW:
                continue
            text = (
                f"{slow.count} of {counted(slow.fetches, 'fetch', 'fetches')} waited {slow.wait_ms / 1000:g} s for "
                f"{slow.least} bytes and brought {slow.most_bytes} bytes at most"
            )
            yield Finding(SLOW, f"client {who}", text, slow.places, slow.count, "info" if slow.wait_ms < LATE else None)


def _empty_finding(who: str, reason: str, its: list[tuple[_Empty, str, int]]) -> Finding:
    worst, name, offset = max(its, key=lambda item: (item[0].span, item[0].count, item[1], item[2]))
    text = (
        f"{counted(worst.count, 'empty answer')} in {duration(worst.span)} at offset {offset} of {name}, "
        f"whose high watermark is {worst.end}: {_REASONS[reason].format(stable=worst.stable)}"
    )
    if len(its) > 1:
        text += f"; {counted(len(its) - 1, 'more offset')} of {some(name for _, name, _ in its)}"
    short = reason == "throttled" or (reason == "transaction" and worst.span < HELD_LONG)
    places = earliest(place for empty, _, _ in its for place in empty.places)
    weight = sum(empty.count for empty, _, _ in its)
    command = "transactions" if reason == "transaction" else ""
    return Finding(EMPTY, f"client {who}", text, places, weight, "info" if short else None, command)
