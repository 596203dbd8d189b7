"""The numbers of a summary for programs: facts, and a table for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import instant
from kwire_cli.answer import Column, Fact, Table, by_count
from kwire_cli.errors import counted
from kwire_cli.questions.traffic import rows_of, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.analysis.summary_parts import Contents
    from kwire_cli.answer import Kind

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
    Column("isInternal", "flag"),
)
_APIS = (Column("api"), Column("requests", "count"), Column("share", "share"), Column("bytes", "bytes"))
_GROUPS = (
    Column("group"),
    Column("members", "count"),
    Column("lag", "count"),
    Column("commits", "count"),
    Column("commitsPerSecond", "number"),
    Column("state"),
)
_SLOWEST = (
    Column("servedSeconds", "duration"),
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
_ERRORS = (
    Column("client"),
    Column("api"),
    Column("topics", "list"),
    Column("error"),
    Column("count", "count"),
    Column("calls", "count"),
)
_QUERIED = {
    "brokers": _BROKERS,
    "clients": _CLIENTS,
    "groups": _GROUPS,
    "errors": _ERRORS,
    "apis": _APIS,
    "slowest": _SLOWEST,
}
"""Tables that contain the rows of the query with the same name."""
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


_NUMBERS: tuple[tuple[str, Kind], ...] = (
    ("requests", "count"),
    ("bytes", "bytes"),
    ("requestsPerSecond", "number"),
    ("peakRequestsPerSecond", "count"),
    ("peakSecond", "instant"),
    ("peakBytesPerSecond", "bytes"),
    ("latencyP50Seconds", "duration"),
    ("latencyP99Seconds", "duration"),
)
"""Facts that are columns of `course.sql`."""
_AMOUNTS: tuple[tuple[str, Kind], ...] = (("batches", "count"), ("records", "count"), ("bytes", "bytes"))
"""Facts about logs."""


def moments_of(summary: Contents) -> tuple[str | None, str | None, float | None]:
    """Return the first and the last time of traffic, or of records, and the seconds between them."""
    course = summary.course
    total = summary.logs.total
    if course is not None and course["first_time"] is not None:
        first = course["first_time"]
        last = course["last_time"]
        return time_text(first), time_text(last), (last - first).total_seconds()
    if total.first is not None and total.last is not None:
        return instant(total.first / 1000), instant(total.last / 1000), (total.last - total.first) / 1000
    return None, None, None


def missing(summary: Contents) -> Iterator[tuple[str, int, int | None]]:
    """Yield the parts of traffic and logs that the inputs lack: a description, the number of places, and the bytes."""
    rows = summary.rows_found("missing")
    for row in sorted(rows, key=lambda row: row["name"] != "LOST"):
        count = row["places"]
        size = row["bytes"]
        if row["what"] == "gap":
            lost = f"bytes lost in {counted(count, 'place')}"
            yield lost if row["name"] == "LOST" else f"{counted(count, 'gap')} {row['name']}", count, size
    course = summary.course
    if course is not None and course["cut_frames"]:
        yield f"{counted(course['cut_frames'], 'frame')} cut", course["cut_frames"], None
    for row in rows:
        count = row["places"]
        total = counted(row["total"] or 0, "connection")
        if row["what"] == "headless":
            yield f"{count} of {total} began before the capture", count, None
        elif row["what"] == "one-sided":
            yield f"{count} of {total} on one side only", count, None
    for row in rows:
        if row["what"] in {"foreign", "encrypted"}:
            keys = ", not decrypted (--tls-keylog)" if row["what"] == "encrypted" else ""
            yield f"{row['name']} in place of Kafka{keys}", 1, row["bytes"]
    if faults := summary.faults.total():
        yield f"{counted(faults, 'line')} of logs that cannot be read", faults, None
    for code, count in by_count(summary.logs.gaps):
        if code != "PADDING":
            yield f"{counted(count, 'gap')} {code} between batches", count, None
    for facts in summary.inputs:
        for notice in facts.notices[:1]:
            yield notice, len(facts.notices), None


def anomalies_of(summary: Contents) -> list[tuple[str, int]]:
    """Return the anomalies of frames and of their batches, the most frequent first, without gaps and truncated frames.

    `missing` returns the latter.
    """
    gaps = {row["name"] for row in summary.rows_found("missing")} | {"TRUNCATED"}
    rows = summary.rows_found("anomalies")
    return [(row["code"], row["occurrences"]) for row in rows if row["code"] not in gaps]


def numbers_of(summary: Contents) -> Iterator[Fact]:
    """Yield the total numbers of all inputs."""
    first, last, seconds = moments_of(summary)
    total = summary.logs.total
    yield Fact("from", first, "instant", wide=True)
    yield Fact("to", last, "instant", wide=True)
    yield Fact("durationSeconds", seconds, "duration", wide=True)
    if course := summary.course:
        kinds = {row["kind"]: row["lines"] for row in summary.rows_found("kinds")}
        anomalies = {row["code"]: row["occurrences"] for row in summary.rows_found("anomalies")}
        yield Fact("frames", kinds, "map", wide=True)
        yield Fact("anomalies", anomalies or None, "map", wide=True)
        rate = round(course["requests"] / max(seconds, 1), 3) if seconds else None
        columns = [Column(name, kind) for name, kind in _NUMBERS]
        [values] = rows_of(columns, [{**course, "requests_per_second": rate}])
        for (name, kind), value in zip(_NUMBERS, values, strict=True):
            yield Fact(name, value, kind, wide=True)
    if summary.logs.partitions:
        yield Fact("partitions", len(summary.logs.partitions), "count", wide=True)
        yield Fact("topics", len({topic for topic, _ in summary.logs.partitions}), "count", wide=True)
        for name, kind in _AMOUNTS:
            yield Fact(name, getattr(total, name), kind, wide=True)
        yield Fact("codecs", dict(by_count(total.codecs)), "map", wide=True)


def tables_of(summary: Contents) -> Iterator[Table]:
    """Yield the tables for programs."""
    yield Table("inputs", _INPUTS, rows_of(_INPUTS, [facts._asdict() for facts in summary.inputs]), wide=True)
    if summary.course:
        for name, columns in _QUERIED.items():
            yield Table(name, columns, rows_of(columns, summary.rows_found(name)), wide=True)
    if summary.logs.partitions:
        yield Table("partitions", _PARTITIONS, rows_of(_PARTITIONS, _partitions(summary)), wide=True)
    yield Table("missing", _MISSING, [*missing(summary)], wide=True)


def _partitions(summary: Contents) -> Iterator[Mapping[str, Any]]:
    """Yield the partitions of logs as rows of a query."""
    partitions = summary.logs.partitions
    for (topic, number), part in sorted(partitions.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        yield {
            **vars(part),
            "topic": topic,
            "partition": number,
            "files": len(part.files),
            "first": None if part.first is None else instant(part.first / 1000),
            "last": None if part.last is None else instant(part.last / 1000),
            "codecs": dict(by_count(part.codecs)),
            "formats": dict(by_count(part.formats)),
        }
