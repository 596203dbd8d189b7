"""The sentences of a summary: a line or two for each part, at most one screen in all."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import zone_of
from kwire_cli.analysis.summary_tables import anomalies_of, missing, moments_of
from kwire_cli.answer import Fact, by_count
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import long_duration, size_text
from kwire_cli.source.logs.model import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.summary_parts import Contents, InputFacts
    from kwire_cli.answer import Level
    from kwire_cli.questions.diagnose import Finding

MOST_FINDINGS = 5
"""Maximum number of findings in a summary. kwire diagnose shows all."""
MOST_NAMES = 4
MOST_ERRORS = 3
MOST_INPUTS = 2
LONGEST_TEXT = 170
"""Maximum length of a finding in characters, which is two lines of 100 columns with indentation."""
LONGEST_NAME = 40
LONGEST_PATH = 100
"""Maximum length of the path of the only input. Paths of several inputs are cut to LONGEST_NAME."""
LONGEST_WORD = 24
"""Maximum length of a name in an error."""
_LEAST_AVERAGE = 2.0
"""Minimum duration of traffic in seconds for which an average rate is shown in addition to the peak."""
_LEAST_RATE = 0.001
"""Minimum rate in requests per second. A lower average is shown per hour."""
_WHOLE = 100
"""Minimum rate that is shown without a fraction."""
_KINDS = {"capture": "capture", "request-log": "log", "folder": "logs", "batches": "logs"}
_WHAT = {"capture": "packet capture", "request-log": "request log", "folder": "log directory", "batches": "segment"}


def sentences(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    """Yield the name, the text and the level of each line."""
    yield from _inputs(summary)
    if when := _when(summary):
        yield "time", when, ""
    if summary.logs.partitions:
        yield from _logs(summary)
    if summary.course:
        yield from _traffic(summary)
    if lacks := [*missing(summary)]:
        text = "; ".join(f"{what}{f' ({size_text(size)})' if size else ''}" for what, _, size in lacks)
        yield "missing", text, "warning"


def _inputs(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    by_kind: dict[str, list[InputFacts]] = {}
    for facts in summary.inputs:
        by_kind.setdefault(facts.kind, []).append(facts)
    for kind, inputs in by_kind.items():
        sizes = [facts.bytes for facts in inputs if facts.bytes]
        files = sum(facts.files for facts in inputs)
        what = _WHAT.get(kind, kind)
        most = LONGEST_PATH if len(inputs) == 1 else LONGEST_NAME
        words = [_list_first([_tail(facts.name, most) for facts in inputs], MOST_INPUTS), what]
        if files > 1:
            words.append(f"{files} files")
        if sizes:
            words.append(size_text(sum(sizes)))
        if kind == "capture":
            kinds = {row["kind"]: row["lines"] for row in summary.rows_found("kinds")}
            words.append(counted(kinds.get("request", 0) + kinds.get("response", 0), "frame"))
        yield _KINDS.get(kind, "input"), ", ".join(words), ""


def _when(summary: Contents) -> str:
    first, last, seconds = moments_of(summary)
    if first is None or last is None:
        return ""
    day = last[:10] if last[:10] != first[:10] else ""
    ends = f"{_clock(first)} to {_clock(last, day=bool(day))}{zone_of(first, last)}"
    return f"{ends} ({_duration(seconds)})"


def _clock(text: str, *, day: bool = True) -> str:
    return text[:23].replace("T", " ") if day else text[11:23]


def _logs(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    logs = summary.logs
    total = logs.total
    sizes = Counter({_partition(*key): partition.bytes for key, partition in logs.partitions.items()})
    topics = Counter({topic: 0 for topic, _ in logs.partitions})
    for (topic, _), partition in logs.partitions.items():
        topics[topic] += partition.bytes
    names = [f"{_cut(name)} {size_text(size)}" for name, size in by_count(topics)]
    yield "topics", f"{len(topics)}: {_list_first(names, MOST_NAMES)}", ""
    biggest = f"; the largest is {by_count(sizes)[0][0]}" if len(sizes) > 1 else ""
    unused = sum(1 for file in total.files if file_name(PurePath(file).name).suffix)
    note = f" ({unused} not in use)" if unused else ""
    what = f"{counted(len(sizes), 'partition')}, {counted(len(total.files), 'file')}{note}{biggest}"
    yield "disk", what, ""
    rate = f", {total.records / total.batches:.1f} records a batch" if total.batches else ""
    batches = counted(total.batches, "batch", "batches")
    yield "records", f"{counted(total.records, 'record')} in {batches}, {size_text(total.bytes)}{rate}", ""
    codecs = [f"{name} in {counted(count, 'batch', 'batches')}" for name, count in by_count(total.codecs)]
    formats = [name for name, _ in by_count(total.formats)]
    if codecs:
        yield "codecs", f"{_list_first(codecs, MOST_NAMES)}; format {', '.join(formats)}", ""


def _traffic(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    if brokers := summary.rows_found("brokers"):
        names = [_broker(row["broker"] or "", row["node_id"], one_sided=not row["responses"]) for row in brokers]
        yield "brokers", f"{len(names)}: {_list_first(names, MOST_NAMES)}", ""
    if clients := summary.rows_found("clients"):
        yield "clients", _clients(clients), ""
    if apis := summary.rows_found("apis"):
        shares = [f"{_cut(row['api'])} {100 * row['share']:.0f} %" for row in apis]
        yield "traffic", "; ".join([_list_first(shares, MOST_NAMES, "apis"), *_rates(summary)]), ""
    course = summary.course
    if course is not None and course["latency_p50_seconds"] is not None:
        text = f"p50 {_duration(course['latency_p50_seconds'])}, p99 {_duration(course['latency_p99_seconds'])}"
        yield "latency", f"{text}{_slowest(summary)}", ""
    if errors := summary.rows_found("errors"):
        yield "errors", _list_first([_error(row) for row in errors], MOST_ERRORS), ""
    if groups := summary.rows_found("groups"):
        bad = any(row["state"] not in {"OK", None} for row in groups)
        yield "groups", _list_first([_group(row) for row in groups], MOST_NAMES), "warning" if bad else ""
    if anomalies := anomalies_of(summary):
        yield "anomalies", _list_first([f"{count} {code}" for code, count in anomalies], MOST_ERRORS), "warning"


def _clients(clients: Sequence[Mapping[str, Any]]) -> str:
    """Return the applications by name, and the number of clients in brokers and controllers."""
    applications = [row for row in clients if not row["is_internal"]]
    names = [_client(row["client_id"], row["software"], row["addresses"]) for row in applications]
    internal = len(clients) - len(applications)
    parts = []
    if names:
        parts.append(f"{len(names)}: {_list_first(names, MOST_NAMES)}")
    if internal:
        parts.append(f"{counted(internal, 'client')} in brokers and controllers")
    return "; ".join(parts)


def _error(row: Mapping[str, Any]) -> str:
    client = _cut(row["client"], LONGEST_WORD)
    api = _cut(row["api"], LONGEST_WORD)
    error = _cut(row["error"])
    topics = [_cut(topic, LONGEST_WORD) for topic in row["topics"]]
    about = f" {_list_first(topics, 2)}" if topics else ""
    return f"{client} {api}{about}: {row['count']} of {row['calls']} {error}"


def _group(row: Mapping[str, Any]) -> str:
    words = [counted(row["members"], "member")]
    words += [f"lag {row['lag']:,}"] if row["lag"] is not None else []
    words += [f"{row['commits_per_second']:.3g} commits/s"] if row["commits_per_second"] else []
    state = f": {row['state']}" if row["state"] else ""
    return f"{_cut(row['group'])} ({', '.join(words)}){state}"


def _broker(name: str, node: int | None, *, one_sided: bool) -> str:
    words = [f"node {node}"] if node is not None else []
    words += ["no responses in the capture"] if one_sided else []
    return f"{_cut(name)} ({', '.join(words)})" if words else _cut(name)


def _client(client_id: str | None, software: Sequence[str], addresses: Sequence[str]) -> str:
    words = [*software[:2], _list_first(list(addresses), 1, "addresses")]
    return f"{_cut(client_id or 'without id')} ({', '.join(filter(None, words))})"


def _rates(summary: Contents) -> Iterator[str]:
    course = summary.course
    _, _, seconds = moments_of(summary)
    if course is None or not seconds or not course["requests"]:
        return
    rate = course["requests"] / seconds
    often, unit = (rate, "s") if rate >= _LEAST_RATE else (rate * 3600, "h")
    shown = f"{often:.0f}" if often >= _WHOLE else f"{often:.3g}"
    average = f", {shown}/{unit} on average" if seconds >= _LEAST_AVERAGE else ""
    yield f"{counted(course['peak_requests_per_second'] or 0, 'request')} in the busiest second{average}"
    if course["peak_bytes_per_second"]:
        yield f"{size_text(course['peak_bytes_per_second'])}/s at the peak"


def _slowest(summary: Contents) -> str:
    """Return the call for which its broker took longest."""
    for row in summary.rows_found("slowest")[:1]:
        broker = row["broker"] if row["node_id"] is None else f"node {row['node_id']}"
        place = f"line {row['line']}, " if row["line"] else f"frame {row['frame']}, "
        whose = f"{_cut(row['client'])} at {_cut(broker)}"
        return f"; slowest: {place}{row['api']} {_duration(row['served_seconds'])} by {whose}"
    return ""


def spoken_findings(findings: Sequence[Finding], arguments: str) -> Iterator[Fact]:
    """Yield the most important findings, each cut to two lines, and the number of further findings."""
    for finding in findings[:MOST_FINDINGS]:
        level = finding.severity
        text = f"{finding.rule.code}  {finding.subject}: {finding.text}"
        heading = level.upper() if level == "error" else level
        yield Fact(level, _cut(text, LONGEST_TEXT), title=heading, level=level, spoken=True)
    more = len(findings) - MOST_FINDINGS
    if findings:
        rest = f"{more} more, and the evidence" if more > 0 else "the evidence, and what to do"
        yield Fact("…", f"{rest}: kwire diagnose {arguments}", spoken=True)


def _list_first(names: Sequence[str], most: int, what: str = "") -> str:
    """Return the first `most` names, and the number of further names."""
    more = len(names) - most
    rest = f"{more} more{f' {what}' if what and more > 1 else ''}"
    return ", ".join([*names[:most], *([rest] if more > 0 else [])])


def _cut(text: str, most: int = LONGEST_NAME) -> str:
    """Return a string, cut to `most` characters. Names in an input may be of any length."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _tail(path: str, most: int) -> str:
    """Return a path, or its end if it is longer than `most` characters. The end identifies the file."""
    return path if len(path) <= most else f"…{path[1 - most :]}"


def _duration(seconds: float | None) -> str:
    """Return seconds in the unit that fits: `1.9 ms`, `38 s`, `4 min 12 s`, `2 h 5 min`, `3 days`."""
    if seconds is None:
        return ""
    if seconds < 60:
        scaled, unit = (seconds * 1000, "ms") if seconds < 1 else (seconds, "s")
        return f"{scaled:.3g} {unit}"
    return long_duration(seconds)


def _partition(topic: str, partition: int | None) -> str:
    return topic if partition is None else f"{topic}-{partition}"
