"""The numbers of a summary, for programs: facts, and a table for each part."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import instant
from kwire_cli.analysis.stats import Histogram, by_count
from kwire_cli.answer import Column, Fact, Table
from kwire_cli.errors import counted
from kwire_cli.records.batch import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.summary_parts import Contents, Slow

_INPUTS = (
    Column("name"),
    Column("kind"),
    Column("files", "count"),
    Column("bytes", "bytes"),
    Column("notices", "list"),
)
_BROKERS = (
    Column("broker"),
    Column("nodeId", "id"),
    Column("requests", "count"),
    Column("responses", "count"),
    Column("errors", "map"),
)
_CLIENTS = (
    Column("clientId"),
    Column("software", "list"),
    Column("addresses", "list"),
    Column("requests", "count"),
    Column("errors", "map"),
)
_APIS = (Column("api"), Column("requests", "count"), Column("share", "share"), Column("bytes", "bytes"))
_SLOWEST = (
    Column("latencySeconds", "duration"),
    Column("frame", "id"),
    Column("line", "id"),
    Column("api"),
    Column("client"),
    Column("broker"),
    Column("nodeId", "id"),
    Column("time", "instant"),
    Column("capture"),
)
_ERRORS = (Column("error"), Column("count", "count"))
_MISSING = (Column("what"), Column("count", "count"), Column("bytes", "bytes"))
_PARTITIONS = (
    Column("topic"),
    Column("partition", "id"),
    Column("files", "count"),
    Column("batches", "count"),
    Column("records", "count"),
    Column("bytes", "bytes"),
    Column("firstOffset", "id"),
    Column("lastOffset", "id"),
    Column("first", "instant"),
    Column("last", "instant"),
    Column("codecs", "map"),
    Column("formats", "map"),
    Column("gaps", "count"),
)
_LINE_FAULTS = ("DAMAGED_LINE", "DAMAGED_FILE", "LINE_TOO_LONG")


def moments_of(summary: Contents) -> tuple[str | None, str | None]:
    """Return the first and the last time: of traffic, or of records."""
    span, is_local, total = summary.course.span, summary.course.is_local, summary.logs.total()
    if span.first is not None and span.last is not None:
        return instant(span.first / 1e9, is_local=is_local), instant(span.last / 1e9, is_local=is_local)
    if total.first is not None and total.last is not None:
        return instant(total.first / 1000), instant(total.last / 1000)
    return None, None


def is_logged(summary: Contents) -> bool:
    """Return whether the traffic is that of request logs."""
    return any(facts.kind == "request-log" for facts in summary.inputs)


def clients_of(summary: Contents) -> Iterator[tuple[str | None, list[str], list[str], int, dict[str, int]]]:
    """Yield each client id with its software, addresses, requests and errors, the busiest first."""
    rows: dict[str | None, tuple[dict[str, None], dict[str, None], list[int], Counter[str]]] = {}
    for client, uses in summary.clients.spoken():
        software, addresses, requests, errors = rows.setdefault(client.client_id, ({}, {}, [0], Counter()))
        if client.software:
            software[client.software] = None
        if client.address:
            addresses[client.address] = None
        for use in uses.values():
            requests[0] += use.requests
            errors.update({str(name): count for name, count in use.errors.items()})
    for client_id, (software, addresses, requests, errors) in sorted(
        rows.items(), key=lambda row: (-row[1][2][0], row[0] or "")
    ):
        yield client_id, [*software], [*addresses], requests[0], dict(by_count(errors))


def apis_of(summary: Contents) -> list[tuple[str, int, float, int | None]]:
    """Return each api with its requests, their share, and the bytes of requests and responses."""
    requests: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for name, group in summary.stats.apis().items():
        api = name.rpartition(" ")[0] or name
        api = f"api {api}" if api.isdigit() else api
        requests[api] += group.requests
        sizes[api] += group.request_bytes + group.response_bytes
    total = sum(requests.values())
    sized = summary.course.bytes > 0
    return [
        (api, count, round(count / total, 6), sizes[api] if sized else None)
        for api, count in by_count(requests)
        if total and count
    ]


def latency_of(summary: Contents) -> Histogram:
    """Return the latencies of all apis but those that a broker holds back on purpose."""
    total = Histogram()
    for group in summary.stats.groups["api"].values():
        total.merge(group.latency)
    return total


def errors_of(summary: Contents) -> list[tuple[str, int]]:
    """Return the errors in responses with how often each came, the most frequent first."""
    errors: Counter[str] = Counter()
    for group in summary.stats.groups["api"].values():
        errors.update({str(name): count for name, count in group.errors.items()})
    return by_count(errors)


def anomalies_of(summary: Contents) -> list[tuple[str, int]]:
    """Return the anomalies of frames and of batches in them with how often each came, the most frequent first.

    Gaps, cut frames and lines of logs that cannot be read are told by `missing`.
    """
    stats = summary.stats
    told = {*_LINE_FAULTS, *summary.lacks.counts, *((TRUNCATED,) if stats.cut else ())}
    return [(code, count) for code, count in by_count(stats.anomalies) if code not in told]


def missing(summary: Contents) -> Iterator[tuple[str, int, int | None]]:
    """Yield what is not in the inputs: what it is in words, how many of it, and their bytes."""
    lacks = summary.lacks
    if lost := lacks.counts["LOST"]:
        yield f"bytes lost in {counted(lost, 'place')}", lost, lacks.sizes["LOST"]
    for code, count in by_count(lacks.counts):
        if code != "LOST":
            yield f"{counted(count, 'gap')} {code}", count, lacks.sizes[code]
    if cut := summary.stats.cut:
        yield f"{counted(cut, 'frame')} cut", cut, None
    if lacks.headless:
        yield (
            f"{lacks.headless} of {counted(lacks.connections, 'connection')} began before the capture",
            lacks.headless,
            None,
        )
    if lacks.one_sided:
        yield f"{lacks.one_sided} of {counted(lacks.connections, 'connection')} on one side only", lacks.one_sided, None
    for protocol, size in by_count(lacks.protocols):
        keys = ", not decrypted (--tls-keylog)" if protocol == "tls" and lacks.encrypted else ""
        yield f"{protocol} in place of Kafka{keys}", 1, size
    if faults := sum(summary.stats.anomalies[code] for code in _LINE_FAULTS):
        yield f"{counted(faults, 'line')} of logs that cannot be read", faults, None
    for code, count in by_count(summary.logs.gaps):
        if code != "PADDING":
            yield f"{counted(count, 'gap')} {code} between batches", count, None
    for facts in summary.inputs:
        for notice in facts.notices[:1]:
            yield notice, len(facts.notices), None


def numbers_of(summary: Contents) -> Iterator[Fact]:
    """Yield the numbers of all inputs together."""
    course, stats = summary.course, summary.stats
    first, last = moments_of(summary)
    seconds = course.span.seconds
    _, p50, _, p99, _ = latency_of(summary).points()
    second, requests = course.peak(0)
    _, size = course.peak(1)
    total = summary.logs.total()
    is_traffic = bool(stats.kinds)
    yield Fact("from", first, "instant", wide=True)
    yield Fact("to", last, "instant", wide=True)
    yield Fact("durationSeconds", seconds, "duration", wide=True)
    if is_traffic:
        yield Fact("frames", dict(by_count(stats.kinds)), "map", wide=True)
        yield Fact("anomalies", dict(by_count(stats.anomalies)) or None, "map", wide=True)
        yield Fact("requests", course.requests, "count", wide=True)
        yield Fact("bytes", course.bytes or None, "bytes", wide=True)
        yield Fact(
            "requestsPerSecond", round(course.requests / max(seconds, 1), 3) if seconds else None, "number", wide=True
        )
        yield Fact("peakRequestsPerSecond", requests or None, "count", wide=True)
        peak = None if second is None else instant(float(second), is_local=course.is_local)
        yield Fact("peakSecond", peak, "instant", wide=True)
        yield Fact("peakBytesPerSecond", size or None, "bytes", wide=True)
        yield Fact("latencyP50Seconds", p50, "duration", wide=True)
        yield Fact("latencyP99Seconds", p99, "duration", wide=True)
    if summary.logs.partitions:
        yield Fact("partitions", len(summary.logs.partitions), "count", wide=True)
        yield Fact("topics", len({topic for topic, _ in summary.logs.partitions}), "count", wide=True)
        yield Fact("batches", total.batches, "count", wide=True)
        yield Fact("records", total.records, "count", wide=True)
        yield Fact("bytes", total.bytes, "bytes", wide=True)
        yield Fact("codecs", dict(by_count(total.codecs)), "map", wide=True)


def tables_of(summary: Contents) -> Iterator[Table]:
    """Yield the tables that programs get."""
    stats = summary.stats
    yield Table(
        "inputs",
        _INPUTS,
        [(*facts[:2], facts.files, facts.size, [*facts.notices]) for facts in summary.inputs],
        wide=True,
    )
    if stats.kinds:
        brokers = [
            (name, group.node, group.requests, group.responses, {str(code): n for code, n in by_count(group.errors)})
            for name, group in dict(stats.ranked())["broker"]
        ]
        yield Table("brokers", _BROKERS, brokers, wide=True)
        yield Table("clients", _CLIENTS, [*clients_of(summary)], wide=True)
        yield Table("apis", _APIS, apis_of(summary), wide=True)
        yield Table("slowest", _SLOWEST, [_slow_row(summary, slow) for slow in summary.course.slowest], wide=True)
        yield Table("errors", _ERRORS, errors_of(summary), wide=True)
    if summary.logs.partitions:
        yield Table("partitions", _PARTITIONS, [*_partitions(summary)], wide=True)
    yield Table("missing", _MISSING, [*missing(summary)], wide=True)


def _slow_row(summary: Contents, slow: Slow) -> tuple[Any, ...]:
    number = slow.number or None  # none where connections are read apart
    places = (None, number) if is_logged(summary) else (number, None)
    return (slow.latency, *places, slow.api, slow.client, slow.broker, slow.node, slow.time, slow.capture)


def _partitions(summary: Contents) -> Iterator[tuple[Any, ...]]:
    for (topic, number), part in sorted(
        summary.logs.partitions.items(), key=lambda item: (item[0][0], item[0][1] or 0)
    ):
        yield (
            topic,
            number,
            len(part.files),
            part.batches,
            part.records,
            part.bytes,
            part.first_offset,
            part.last_offset,
            None if part.first is None else instant(part.first / 1000),
            None if part.last is None else instant(part.last / 1000),
            dict(by_count(part.codecs)),
            dict(by_count(part.formats)),
            part.gaps,
        )
