"""Consumers that ask for an offset that the log does not have, and what auto.offset.reset made of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import Evidence, parts
from kwire_cli.analysis.diagnosis.fetches import MOST_OFFSET, client_of, is_replica
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, earliest, merge_events, whole
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.fetches import Client, FetchCall, Partition
    from kwire_cli.analysis.diagnosis.model import Severity

OUT_OF_RANGE = FindingKind(
    "OFFSET_OUT_OF_RANGE",
    "warning",
    "A consumer asks for an offset that its partition does not have.",
    "If the offset is below the start of the log, retention or kafka-delete-records.sh deleted records that the "
    "consumer had not read. If it is beyond the end, the topic was created again, or a leader lost records. "
    "auto.offset.reset decides where the consumer continues.",
    "If records were lost, compare the time that a consumer may be down with retention.ms and retention.bytes. Choose "
    "auto.offset.reset: latest skips the rest, earliest reads from the start of the log, none leaves it to the "
    "application.",
    rank=15,
)
CODE = 1
EARLIEST, LATEST = -2, -1
MOST_EVENTS = 32


class _Asked(NamedTuple):
    time: float
    offset: int
    broker: str
    place: Evidence


class _Listed(NamedTuple):
    time: float
    timestamp: int
    offset: int
    place: Evidence


class OutOfRange:
    """Fetches out of range by client and partition, beside the ListOffsets of that client and the ends of logs."""

    KINDS = (OUT_OF_RANGE,)

    def __init__(self) -> None:
        self._asked: Book[tuple[Client, Partition], list[_Asked]] = Book(list)
        self._listed: Book[tuple[Client, Partition], list[_Listed]] = Book(list)
        self._logs: Book[tuple[str, Partition], list[tuple[float, int, int]]] = Book(list)
        self._number = 0
        self._counts: Counter[tuple[Client, Partition]] = Counter()

    def fetch(self, fetch: FetchCall) -> None:
        """Take a Fetch: what counts is its errors, and after these where the log begins and ends."""
        time = self._time(fetch.call)
        for key, offset, answer in fetch.parts:
            if answer is None:
                continue
            if answer.get("errorCode") == CODE and offset is not None:
                pair = fetch.client, key
                asked = self._asked[pair]
                if len(asked) < MOST_EVENTS:
                    asked.append(_Asked(time, offset, fetch.call.broker, fetch.call.evidence()))
                if pair in self._asked:
                    self._counts[pair] += 1
            else:
                start, end = answer.get("logStartOffset"), answer.get("highWatermark")
                if type(start) is int and type(end) is int and 0 <= start < MOST_OFFSET:
                    logs = self._logs[fetch.call.broker, key]
                    if not logs or (logs[-1][1] != start and len(logs) < MOST_EVENTS):
                        logs.append((time, start, end))
                    else:
                        logs[-1] = time, start, end

    def other(self, call: Call) -> None:
        """Take a ListOffsets: where a consumer goes on."""
        time, request = self._time(call), call.request
        if is_replica(request):
            return
        client = client_of(call)
        wanted = {
            (call.topic(topic), whole(part.get("partitionIndex"))): whole(part.get("timestamp"))
            for topic, part in parts(request, "topics", "partitions")
        }
        for topic, part in parts(call.response, "topics", "partitions"):
            index, offset = whole(part.get("partitionIndex")), whole(part.get("offset"))
            if offset is None and isinstance(old := part.get("oldStyleOffsets"), list) and old:
                offset = whole(old[0])
            timestamp = wanted.get((call.topic(topic), index))
            if index is None or offset is None or offset < 0 or timestamp is None:
                continue
            listed = self._listed[client, (call.topic(topic), index)]
            if len(listed) < MOST_EVENTS:
                listed.append(_Listed(time, timestamp, offset, call.evidence()))

    def _time(self, call: Call) -> float:
        """Return when a call was answered; its number among all calls where a request log tells no time."""
        self._number += 1
        return self._number if call.answered is None else call.answered

    def merge(self, other: OutOfRange) -> None:
        merge_events(self._asked, other._asked, MOST_EVENTS)
        merge_events(self._listed, other._listed, MOST_EVENTS)
        merge_events(self._logs, other._logs, MOST_EVENTS)
        self._counts.update(other._counts)

    def findings(self) -> Iterator[Finding]:
        for pair, events in self._asked.items():
            (who, _), (topic, index) = pair
            first, name = min(events), f"{topic}-{index}"
            after = sorted(listed for listed in self._listed.get(pair, ()) if listed.time >= first.time)
            log = self._log_at(pair, first)
            text = f"it asked for offset {first.offset} of {name}"
            count = self._counts.get(pair, len(events))
            if count > 1:
                text += f" ({count} answers with OFFSET_OUT_OF_RANGE)"
            lost = 0
            if log is not None:
                start, end = log
                text += f"; the log begins at {start}" + (f" and ends at {end}" if end is not None else "")
                lost = max(start - first.offset, 0)
            places = [event.place for event in events]
            if after:
                text += f"; {_reset(after[0])}"
                places.append(after[0].place)
                if after[0].timestamp == LATEST and log is not None:
                    lost = max(lost, after[0].offset - max(first.offset, 0))
            if lost:
                text += f": {counted(lost, 'record')} never read"
            level: Severity = "error" if lost else "warning"
            yield Finding(OUT_OF_RANGE, f"client {who}", text, earliest(places), count, level)

    def _log_at(self, pair: tuple[Client, Partition], asked: _Asked) -> tuple[int, int | None] | None:
        """Return the start and the end of the log as told next after a time, or last before it."""
        time, logs = asked.time, sorted(self._logs.get((asked.broker, pair[1]), ()))
        for at, start, end in logs:
            if at >= time:
                return start, end
        starts = [
            listed
            for (_, key), its in self._listed.items()
            if key == pair[1]
            for listed in its
            if listed.timestamp == EARLIEST and listed.time >= time
        ]
        if starts:
            return min(starts).offset, logs[-1][2] if logs else None
        return (logs[-1][1], logs[-1][2]) if logs else None


def _reset(listed: _Listed) -> str:
    where = {EARLIEST: "earliest, the start", LATEST: "latest, the end"}.get(listed.timestamp, "a time")
    return f"auto.offset.reset took it to {where}, offset {listed.offset}"
