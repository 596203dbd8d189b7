"""Lag: how far consumers are behind the ends of partitions, by what they fetch and by what their groups commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import Evidence, between
from kwire_cli.analysis.diagnosis.fetches import MOST_OFFSET, size_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, earliest, merge_all, rate, some
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.fetches import Client, Commit, FetchCall, Partition
    from kwire_cli.analysis.diagnosis.model import Severity

LAG = FindingKind(
    "LAG",
    "info",
    "A consumer is behind the end of its partitions.",
    "Lag is the high watermark of a partition minus the offset that the group committed, or that the client asks for. "
    "If lag grows, the consumer does less than producers add.",
    "If lag grows, add members, up to the number of partitions, or make the work for a record faster. If a fetch "
    "brings few records, raise max.partition.fetch.bytes. If one partition alone lags, look at its keys.",
    ("KIP-227",),
    rank=40,
)
LEAST_LAG = 50
"""Records: less is a batch on its way."""
LEAST_TO_SHOW = 3
"""Samples: a capture that ends behind the first Fetch says nothing about lag."""
LEAST_SAMPLES = 6
LEAST_SECONDS = 3.0
"""Samples and seconds of a trend: with fewer a burst looks like growth."""
GROWTH = 1.5
"""Growth: the least lag of the last third is so many times the greatest of the first third."""
MOST_SAMPLES = 256
MOST_GROUPS = 4
"""Groups that are kept of one client."""


@dataclass
class _Track:
    """Offsets over time, thinned out where there are many, with places at growing distances."""

    samples: list[tuple[float, int]] = field(default_factory=list)
    gap: float = 0.0
    count: int = 0
    places: list[Evidence] = field(default_factory=list)

    def add(self, time: float, offset: int) -> bool:
        """Add an offset, and return whether its place is to be kept: that of the first, second, fourth, eighth, ..."""
        samples = self.samples
        if len(samples) > 1 and time - samples[-2][0] < self.gap:
            samples[-1] = time, offset
        else:
            samples.append((time, offset))
            if len(samples) > MOST_SAMPLES:
                self._thin()
        self.count += 1
        return self.count & (self.count - 1) == 0

    def _thin(self) -> None:
        self.samples = [*self.samples[:-1:2], self.samples[-1]]
        self.gap = between(self.samples[0][0], self.samples[-1][0]) / len(self.samples)

    def merge(self, other: _Track) -> None:
        self.samples = sorted([*self.samples, *other.samples])
        while len(self.samples) > MOST_SAMPLES:
            self._thin()
        self.gap = max(self.gap, other.gap)
        self.count += other.count
        self.places = earliest([*self.places, *other.places])


@dataclass
class _Fetched:
    """A client at a partition: offsets that it asked for, and the ends that it was told."""

    positions: _Track = field(default_factory=_Track)
    ends: _Track = field(default_factory=_Track)

    def merge(self, other: _Fetched) -> None:
        self.positions.merge(other.positions)
        self.ends.merge(other.ends)


class _Sample(NamedTuple):
    time: float
    lag: int
    position: int
    end: int


def _lags(positions: _Track, ends: list[tuple[float, int]], *, until_end: bool = False) -> list[_Sample]:
    """Return each position with the end that was told before it; `until_end` adds the last one with the last end."""
    samples: list[_Sample] = []
    at = -1
    for time, position in sorted(positions.samples):
        while at + 1 < len(ends) and ends[at + 1][0] <= time:
            at += 1
        if at >= 0:
            samples.append(_Sample(time, max(ends[at][1] - position, 0), position, ends[at][1]))
    if until_end and samples and ends[-1][0] > samples[-1].time:
        (time, end), position = ends[-1], samples[-1].position
        samples.append(_Sample(time, max(end - position, 0), position, end))
    return samples


def _trend(samples: list[_Sample]) -> _Trend | None:
    """Return the trend; None if the lag is small in the end."""
    if len(samples) < LEAST_TO_SHOW or samples[-1].lag < LEAST_LAG:
        return None
    third = max(len(samples) // 3, 1)
    low, high = min(sample.lag for sample in samples[-third:]), max(sample.lag for sample in samples[:third])
    seconds = between(samples[0].time, samples[-1].time)
    long = len(samples) >= LEAST_SAMPLES and seconds >= LEAST_SECONDS
    grows = long and low > GROWTH * high and low >= LEAST_LAG
    shrinks = samples[-1].lag < samples[0].lag / GROWTH
    return _Trend("grew" if grows else "shrank" if shrinks else "stayed", samples[0], samples[-1], seconds)


class _Trend(NamedTuple):
    how: str
    first: _Sample
    last: _Sample
    seconds: float

    def text(self, partition: str) -> str:
        before, after, seconds = self.first, self.last, self.seconds
        if seconds <= 0:
            return f"{partition} is {after.lag} records behind"
        by = (after.lag - before.lag) / seconds
        went = {"grew": "lag grew", "shrank": "lag shrank", "stayed": "lag went"}[self.how]
        added, done = (after.end - before.end) / seconds, (after.position - before.position) / seconds
        return (
            f"{partition}: {went} from {before.lag} to {after.lag} records in {duration(seconds)} "
            f"({'+' if by >= 0 else '-'}{rate(abs(by))} a second): {rate(added)} a second are added, "
            f"{rate(max(done, 0.0))} are done"
        )


class Lag:
    """Lag by client from Fetch, and by group from what it commits, against high watermarks of Fetch responses.

    Offsets, commits and ends come on connections of their own, and meet in `findings`.
    """

    KINDS = (LAG,)

    def __init__(self) -> None:
        self._fetched: Book[tuple[Client, Partition, str], _Fetched] = Book(_Fetched)
        self._commits: Book[tuple[str, Client, Partition], _Track] = Book(_Track)
        self._members: Book[Client, set[str]] = Book(set)

    def fetch(self, fetch: FetchCall) -> None:
        """Take a Fetch: the offsets asked for, and the ends answered."""
        call, client = fetch.call, fetch.client
        asked, answered = call.asked, call.answered
        if asked is None:
            return
        broker = call.broker
        for key, offset, answer in fetch.parts:
            fetched = self._fetched[client, key, broker]
            positions, ends = fetched.positions, fetched.ends
            if offset is not None and offset >= 0 and positions.add(asked, offset):
                positions.places.append(call.evidence(of_request=True))
            if answer is None or answered is None or answer.get("errorCode"):
                continue
            end = answer.get("highWatermark")
            if type(end) is int and 0 <= end < MOST_OFFSET:
                if offset is not None and offset >= 0 and (not ends.samples or not size_of(answer)):
                    positions.add(answered, offset)  # before the first records, or without any
                ends.add(answered, end)

    def member(self, client: Client, call: Call) -> None:
        """Take a call that says which group a client is in."""
        group = call.request.get("groupId")
        if isinstance(group, str) and group:
            groups = self._members[client]
            if len(groups) < MOST_GROUPS:
                groups.add(group)

    def commit(self, client: Client, call: Call, commits: list[Commit]) -> None:
        """Take what a group commits, or has committed, as one of its members says, which fetches."""
        of_request = call.api != "OffsetFetch"
        time = call.asked if of_request else call.answered
        if time is None:
            return
        for group, key, offset in commits:
            track = self._commits[group, client, key]
            if track.add(time, offset):
                track.places.append(call.evidence(of_request=of_request))

    def merge(self, other: Lag) -> None:
        merge_all(self._fetched, other._fetched)
        merge_all(self._commits, other._commits)
        for client, groups in other._members.items():
            self._members[client].update(groups)

    def findings(self) -> Iterator[Finding]:
        ends: dict[tuple[Client, Partition], list[tuple[float, int]]] = {}
        for (client, key, _), fetched in self._fetched.items():
            ends.setdefault((client, key), []).extend(fetched.ends.samples)
        of_group: dict[tuple[str, Partition], tuple[_Track, list[tuple[float, int]]]] = {}
        for (group, client, key), track in self._commits.items():
            if told := ends.get((client, key)):
                commits, of_members = of_group.setdefault((group, key), (_Track(), []))
                commits.merge(track)
                of_members += told
        trends: dict[tuple[str, str], list[_OfPartition]] = {}
        for (group, (topic, index)), (commits, of_members) in of_group.items():
            if trend := _trend(_lags(commits, sorted(of_members), until_end=True)):
                trends.setdefault((group, topic), []).append(_OfPartition(index, trend, commits.places))
        for (group, topic), its in sorted(trends.items()):
            yield _finding(f"group {group}", topic, its, f"groups --group {quote(group)}")
        done = set(trends)
        trends.clear()
        for (client, (topic, index), _), fetched in self._fetched.items():
            groups = self._members.get(client, set())
            if any((group, topic) in done for group in groups):
                continue
            if trend := _trend(_lags(fetched.positions, sorted(fetched.ends.samples))):
                who = f"client {client[0]}" + (f" of group {some(groups)}" if groups else "")
                trends.setdefault((who, topic), []).append(_OfPartition(index, trend, fetched.positions.places))
        for (who, topic), its in sorted(trends.items()):
            yield _finding(who, topic, its, "")


class _OfPartition(NamedTuple):
    partition: int
    trend: _Trend
    places: list[Evidence]


def _finding(who: str, topic: str, its: list[_OfPartition], command: str) -> Finding:
    its.sort(key=lambda item: (item.trend.how != "grew", -item.trend.last.lag, item.partition))
    texts = [item.trend.text(f"{topic}-{item.partition}") for item in its[:2]]
    if len(its) > len(texts):
        texts.append(f"{counted(len(its) - len(texts), 'more partition')} of {topic} behind")
    total = sum(item.trend.last.lag for item in its)
    places = earliest(dict.fromkeys(place for item in its[:2] for place in item.places))
    level: Severity | None = "warning" if its[0].trend.how == "grew" else None
    return Finding(LAG, who, "; ".join(texts), places, total, level, command)
