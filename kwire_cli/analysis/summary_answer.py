"""The answer of a summary: sentences for people that fill at most one screen, and tables for programs."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import zone_of
from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS as FINDINGS, count_facts, row_of
from kwire_cli.analysis.stats import by_count
from kwire_cli.analysis.summary_next import proposals
from kwire_cli.analysis.summary_tables import (
    anomalies_of,
    apis_of,
    clients_of,
    errors_of,
    is_logged,
    latency_of,
    missing,
    moments_of,
    numbers_of,
    tables_of,
)
from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import long_duration
from kwire_cli.source.logs.model import file_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kwire_cli.analysis.diagnosis.model import Finding
    from kwire_cli.analysis.stats import Group
    from kwire_cli.analysis.summary_parts import Contents, InputFacts, Slow
    from kwire_cli.answer import Block, Level

MOST_FINDINGS = 5
"""Findings of a summary: the others are those of kwire diagnose."""
MOST_NAMES, MOST_ERRORS, MOST_INPUTS = 4, 4, 2
LONGEST_TEXT, LONGEST_NAME, LONGEST_PATH = 170, 40, 100
"""Characters of a finding, which then takes two lines of 100 columns, of a name, and of the path of the only input."""
_LEAST_AVERAGE = 2.0
"""Seconds of traffic that have an average beside a peak."""
_LEAST_RATE = 0.001
"""Requests a second below which an average is by the hour."""
_WHOLE = 100
"""A rate from which on a fraction says nothing."""
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_KINDS = {"capture": "capture", "request-log": "log", "folder": "logs", "batches": "logs"}
_WHAT = {"capture": "packet capture", "request-log": "request log", "folder": "log directory", "batches": "segment"}
_NEXT = (Column("command"),)


def summary_answer(summary: Contents, arguments: str, commands: Collection[str] | None) -> Answer:
    """Return the answer: what the input is, what is in it, the findings, and what to type next."""
    findings = summary.diagnosis.findings()
    following = proposals(summary, findings, arguments, commands)
    spoken = [Fact(name, text, level=level, spoken=True) for name, text, level in _sentences(summary)]
    counts, *said = count_facts(findings, "none by the rules of kwire diagnose")
    about = [*numbers_of(summary), counts]
    blocks: list[Block] = [
        Facts(spoken),
        Facts([fact for fact in about if fact.value is not None]),
        *tables_of(summary),
        Table("findings", FINDINGS, [row_of(finding) for finding in findings], wide=True),
        Table("next", _NEXT, [(command,) for command in following], wide=True),
        Facts([*said, *_spoken_findings(findings, arguments)]),
        Facts([Fact("next" if not at else " ", command, spoken=True) for at, command in enumerate(following)]),
    ]
    return Answer("summary", blocks)


# For people: a line or two for each part.


def _sentences(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    yield from _inputs(summary)
    if when := _when(summary):
        yield "time", when, ""
    if summary.logs.partitions:
        yield from _logs(summary)
    if summary.stats.kinds:
        yield from _traffic(summary)
    if lacks := [*missing(summary)]:
        text = "; ".join(f"{what}{f' ({_size(size)})' if size else ''}" for what, _, size in lacks)
        yield "missing", text, "warning"


def _inputs(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    by_kind: dict[str, list[InputFacts]] = {}
    for facts in summary.inputs:
        by_kind.setdefault(facts.kind, []).append(facts)
    for kind, inputs in by_kind.items():
        sizes = [facts.size for facts in inputs if facts.size]
        files = sum(facts.files for facts in inputs)
        what = _WHAT.get(kind, kind)
        most = LONGEST_PATH if len(inputs) == 1 else LONGEST_NAME
        words = [_some([_tail(facts.name, most) for facts in inputs], MOST_INPUTS), what]
        if files > 1:
            words.append(f"{files} files")
        if sizes:
            words.append(_size(sum(sizes)))
        if kind == "capture":
            kinds = summary.stats.kinds
            words.append(counted(kinds["request"] + kinds["response"], "frame"))
        yield _KINDS.get(kind, "input"), ", ".join(words), ""


def _when(summary: Contents) -> str:
    total = summary.logs.total()
    first, last = moments_of(summary)
    if first is None or last is None:
        return ""
    day = last[:10] if last[:10] != first[:10] else ""
    ends = f"{_clock(first)} to {_clock(last, day=bool(day))}{zone_of(first, last)}"
    span = summary.course.span.seconds
    if span is None and total.first is not None and total.last is not None:
        span = (total.last - total.first) / 1000
    return f"{ends} ({_duration(span)})" if span is not None else ends


def _clock(text: str, *, day: bool = True) -> str:
    return text[:23].replace("T", " ") if day else text[11:23]


def _logs(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    logs, total = summary.logs, summary.logs.total()
    sizes = Counter({_partition(*key): partition.bytes for key, partition in logs.partitions.items()})
    topics = Counter({topic: 0 for topic, _ in logs.partitions})
    for (topic, _), partition in logs.partitions.items():
        topics[topic] += partition.bytes
    names = [f"{_cut(name)} {_size(size)}" for name, size in by_count(topics)]
    yield "topics", f"{len(topics)}: {_some(names, MOST_NAMES)}", ""
    biggest = f"; the largest is {by_count(sizes)[0][0]}" if len(sizes) > 1 else ""
    unused = sum(1 for file in total.files if file_name(PurePath(file).name).suffix)
    beside = f" ({unused} not in use)" if unused else ""
    what = f"{counted(len(sizes), 'partition')}, {counted(len(total.files), 'file')}{beside}{biggest}"
    yield "disk", what, ""
    rate = f", {total.records / total.batches:.1f} records a batch" if total.batches else ""
    batches = counted(total.batches, "batch", "batches")
    yield "records", f"{counted(total.records, 'record')} in {batches}, {_size(total.bytes)}{rate}", ""
    codecs = [f"{name} in {counted(count, 'batch', 'batches')}" for name, count in by_count(total.codecs)]
    formats = [name for name, _ in by_count(total.formats)]
    if codecs:
        yield "codecs", f"{_some(codecs, MOST_NAMES)}; format {', '.join(formats)}", ""


def _traffic(summary: Contents) -> Iterator[tuple[str, str, Level]]:
    stats, course = summary.stats, summary.course
    ranked = dict(stats.ranked())
    brokers = ranked["broker"]
    if brokers:
        names = [_broker(name or "", group.node, one_sided=_is_one_sided(group)) for name, group in brokers]
        yield "brokers", f"{len(names)}: {_some(names, MOST_NAMES)}", ""
    clients = [*clients_of(summary)]
    if clients:
        names = [_client(*client[:3]) for client in clients]
        yield "clients", f"{len(names)}: {_some(names, MOST_NAMES)}", ""
    if apis := apis_of(summary):
        shares = [f"{_cut(name)} {100 * share:.0f} %" for name, _, share, _ in apis]
        yield "traffic", "; ".join([_some(shares, MOST_NAMES, "apis"), *_rates(summary)]), ""
    latency = latency_of(summary)
    if latency.count:
        text = f"p50 {_duration(latency.percentile(0.5))}, p99 {_duration(latency.percentile(0.99))}"
        yield "latency", f"{text}{_slowest(course.slowest, 'line' if is_logged(summary) else 'frame')}", ""
    if errors := errors_of(summary):
        yield "errors", _some([f"{count} {name}" for name, count in errors], MOST_ERRORS), ""
    if anomalies := anomalies_of(summary):
        yield "anomalies", _some([f"{count} {code}" for code, count in anomalies], MOST_ERRORS), "warning"


def _is_one_sided(group: Group) -> bool:
    return not group.responses and not group.logged


def _broker(name: str, node: int | None, *, one_sided: bool) -> str:
    words = [f"node {node}"] if node is not None else []
    words += ["no responses in the capture"] if one_sided else []
    return f"{_cut(name)} ({', '.join(words)})" if words else _cut(name)


def _client(client_id: str | None, software: Sequence[str], addresses: Sequence[str]) -> str:
    words = [*software[:2], _some(list(addresses), 1, "addresses")]
    return f"{_cut(client_id or 'without id')} ({', '.join(filter(None, words))})"


def _rates(summary: Contents) -> Iterator[str]:
    course = summary.course
    seconds = course.span.seconds
    if not seconds or not course.requests:
        return
    _, requests = course.peak(0)
    _, size = course.peak(1)
    rate = course.requests / seconds
    often, unit = (rate, "s") if rate >= _LEAST_RATE else (rate * 3600, "h")
    shown = f"{often:.0f}" if often >= _WHOLE else f"{often:.3g}"
    average = f", {shown}/{unit} on average" if seconds >= _LEAST_AVERAGE else ""
    yield f"{counted(requests, 'request')} in the busiest second{average}"
    if size:
        yield f"{_size(size)}/s at the peak"


def _slowest(slowest: Sequence[Slow], place: str) -> str:
    if not slowest:
        return ""
    slow = slowest[0]
    broker = slow.broker if slow.node is None else f"node {slow.node}"
    whose = f"{_cut(slow.client)} at {_cut(broker)}"
    where = f"{place} {slow.number}, " if slow.number else ""
    return f"; slowest: {where}{slow.api} {_duration(slow.latency)} by {whose}"


def _spoken_findings(findings: Sequence[Finding], arguments: str) -> Iterator[Fact]:
    """Yield the findings that matter most, each cut to two lines, and how many more there are."""
    for finding in findings[:MOST_FINDINGS]:
        level = finding.level
        text = f"{finding.kind.code}  {finding.subject}: {finding.text}"
        heading = level.upper() if level == "error" else level
        yield Fact(level, _cut(text, LONGEST_TEXT), title=heading, level=level, spoken=True)
    more = len(findings) - MOST_FINDINGS
    if findings:
        rest = f"{more} more, and the evidence" if more > 0 else "the evidence, and what to do"
        yield Fact("…", f"{rest}: kwire diagnose {arguments}", spoken=True)


def _some(names: Sequence[str], most: int, what: str = "") -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    rest = f"{more} more{f' {what}' if what and more > 1 else ''}"
    return ", ".join([*names[:most], *([rest] if more > 0 else [])])


def _cut(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text, or its beginning if it is longer: names come from outside."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _tail(path: str, most: int) -> str:
    """Return a path, or its end if it is longer: the end tells files apart."""
    return path if len(path) <= most else f"…{path[1 - most :]}"


def _size(size: float) -> str:
    return next((f"{size / unit:.3g} {name}" for unit, name in _UNITS if size >= unit), counted(int(size), "byte"))


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
