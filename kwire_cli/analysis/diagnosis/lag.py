"""Lag: how far consumers are behind the ends of partitions, by what they fetch and by what their groups commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.calls import Evidence, between
from kwire_cli.analysis.diagnosis.fetches import MOST_OFFSET, size_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, duration, earliest, merge_all, plural, rate, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.calls import Call
    from kwire_cli.analysis.diagnosis.fetches import Client, Commit, FetchCall, Partition

LAG = FindingKind(
    "LAG",
    "info",
    "A consumer is behind the end of its partitions.",
    "The lag is the high watermark of a partition less the offset that the group committed, or that the client asks "
    "for. A lag that grows says that the consumer does less than producers add.",
    "Where lag grows: add members, up to the number of partitions, or make the work for a record faster; raise "
    "max.partition.fetch.bytes where a fetch brings few records. Where one partition alone lags, look at its keys.",
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
MOST_PLACES = 4
MOST_ENDS = 1 << 16


class _Sample(NamedTuple):
    time: float
    lag: int
    position: int
    end: int


@dataclass
class _Series:
    """Samples of one consumer at one partition, thinned out where there are many."""

    samples: list[_Sample] = field(default_factory=list)
    gap: float = 0.0
    broker: str = ""
    places: list[Evidence] = field(default_factory=list)

    def add(self, time: float, position: int, end: int, place: Callable[[], Evidence]) -> None:
        samples, lag = self.samples, max(end - position, 0)
        if not samples or (lag >= LEAST_LAG and lag > 2 * samples[-1].lag and len(self.places) < MOST_PLACES):
            self.places.append(place())
        if len(samples) > 1 and time - samples[-2].time < self.gap:
            samples[-1] = _Sample(time, lag, position, end)
            return
        samples.append(_Sample(time, lag, position, end))
        if len(samples) > MOST_SAMPLES:
            self._thin()

    def _thin(self) -> None:
        self.samples = [*self.samples[:-1:2], self.samples[-1]]
        self.gap = between(self.samples[0].time, self.samples[-1].time) / len(self.samples)

    def merge(self, other: _Series) -> None:
        self.samples = sorted([*self.samples, *other.samples])
        while len(self.samples) > MOST_SAMPLES:
            self._thin()
        self.gap = max(self.gap, other.gap)
        self.broker = self.broker or other.broker
        self.places = earliest([*self.places, *other.places])

    def trend(self) -> _Trend | None:
        """Return the trend; None if the lag is small in the end."""
        samples = self.samples
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


class _Ends:
    """The last end of each partition at each broker: two clusters may have topics of one name."""

    def __init__(self) -> None:
        self.ends: dict[tuple[str, Partition], tuple[float, int]] = {}

    def add(self, key: tuple[str, Partition], time: float, end: int) -> None:
        if key in self.ends or len(self.ends) < MOST_ENDS:
            self.ends[key] = time, end

    def merge(self, other: _Ends) -> None:
        for key, end in other.ends.items():
            self.ends[key] = max(end, self.ends.get(key, end))


class Lag:
    """Lag by client from Fetch, and by group from what it commits, against high watermarks of Fetch responses."""

    KINDS = (LAG,)

    def __init__(self) -> None:
        self._ends = _Ends()
        self._clients: Book[tuple[Client, Partition], _Series] = Book(_Series)
        self._groups: Book[tuple[str, Partition], _Series] = Book(_Series)
        self._members: Book[Client, set[str]] = Book(set)

    def fetch(self, fetch: FetchCall) -> None:
        """Take a Fetch: what is asked for is behind the end that was answered before."""
        call, client = fetch.call, fetch.client
        asked, answered = call.asked, call.answered
        if asked is None:
            return
        ends, broker = self._ends.ends, call.broker
        for key, offset, answer in fetch.parts:
            known = ends.get((broker, key))
            if known is not None and offset is not None and offset >= 0:
                series = self._clients[client, key]
                series.broker = broker
                series.add(asked, offset, known[1], lambda: call.evidence(of_request=True))
            if answer is None or answered is None or answer.get("errorCode"):
                continue
            end = answer.get("highWatermark")
            if type(end) is int and 0 <= end < MOST_OFFSET:
                if offset is not None and offset >= 0 and (known is None or not size_of(answer)):
                    series = self._clients[client, key]
                    series.broker = broker
                    series.add(answered, offset, end, call.evidence)
                self._ends.add((broker, key), answered, end)

    def member(self, client: Client, call: Call) -> None:
        """Take a call that says which group a client is in."""
        group = call.request.get("groupId")
        if isinstance(group, str) and group:
            groups = self._members[client]
            if len(groups) < MOST_PLACES:
                groups.add(group)

    def commit(self, client: Client, call: Call, commits: list[Commit]) -> None:
        """Take what a group commits, or has committed, as one of its members says, which fetches."""
        of_request = call.api != "OffsetFetch"
        time, ends = call.asked if of_request else call.answered, self._ends.ends
        if time is None:
            return
        for group, key, offset in commits:
            fetched = self._clients.get((client, key))
            end = None if fetched is None else ends.get((fetched.broker, key))
            if fetched is not None and end is not None:
                series = self._groups[group, key]
                series.broker = fetched.broker
                series.add(time, offset, end[1], lambda: call.evidence(of_request=of_request))

    def merge(self, other: Lag) -> None:
        self._ends.merge(other._ends)
        merge_all(self._clients, other._clients)
        merge_all(self._groups, other._groups)
        for client, groups in other._members.items():
            self._members[client].update(groups)

    def findings(self) -> Iterator[Finding]:
        done: set[tuple[str, str]] = set()
        trends: dict[tuple[str, str], list[tuple[int, _Trend, _Series]]] = {}
        for (group, (topic, index)), series in self._groups.items():
            if trend := self._until_end(series, (topic, index)).trend():
                trends.setdefault((group, topic), []).append((index, trend, series))
        for (group, topic), its in sorted(trends.items()):
            done.add((group, topic))
            yield _finding(f"group {group}", topic, its, f"groups --group {group}")
        trends.clear()
        for (client, (topic, index)), series in self._clients.items():
            groups = self._members.get(client, set())
            if not any((group, topic) in done for group in groups) and (trend := series.trend()):
                who = f"client {client[0]}" + (f" of group {some(groups)}" if groups else "")
                trends.setdefault((who, topic), []).append((index, trend, series))
        for (who, topic), its in sorted(trends.items()):
            yield _finding(who, topic, its, "")

    def _until_end(self, series: _Series, key: Partition) -> _Series:
        """Return the samples of a group with one more: its last commit against the last end."""
        known, samples = self._ends.ends.get((series.broker, key)), series.samples
        if known is None or not samples or known[0] <= samples[-1].time:
            return series
        position = samples[-1].position
        last = _Sample(known[0], max(known[1] - position, 0), position, known[1])
        return _Series([*samples, last], series.gap, series.broker, series.places)


def _finding(who: str, topic: str, its: list[tuple[int, _Trend, _Series]], command: str) -> Finding:
    its.sort(key=lambda item: (item[1].how != "grew", -item[1].last.lag, item[0]))
    texts = [trend.text(f"{topic}-{index}") for index, trend, _ in its[:2]]
    if more := len(its) - 2 if len(its) > 2 else 0:
        texts.append(f"{plural(more, 'more partition')} of {topic} behind")
    grew = its[0][1].how == "grew"
    total = sum(trend.last.lag for _, trend, _ in its)
    places = earliest(dict.fromkeys(place for _, _, series in its[:2] for place in series.places))
    return Finding(LAG, who, "; ".join(texts), places, total, "warning" if grew else None, command)
