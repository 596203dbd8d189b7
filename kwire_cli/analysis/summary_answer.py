"""The answer of a summary: sentences for people that fill at most one screen, and tables for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import instant
from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS as FINDINGS
from kwire_cli.analysis.diagnosis.model import SEVERITIES
from kwire_cli.analysis.stats import Histogram, by_count
from kwire_cli.analysis.summary_next import proposals
from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kwire_cli.analysis.diagnosis.model import Finding
    from kwire_cli.analysis.stats import Group
    from kwire_cli.analysis.summary import InputFacts, Summary
    from kwire_cli.analysis.summary_parts import Slow
    from kwire_cli.answer import Block, Level

MOST_FINDINGS = 5
"""Findings of a summary: the others are those of kwire diagnose."""
MOST_NAMES, MOST_ERRORS, MOST_INPUTS = 4, 4, 2
LONGEST_TEXT, LONGEST_NAME, LONGEST_PATH = 170, 40, 100
"""Characters of a finding, which then takes two lines of 100 columns, of a name, and of the path of the only input."""
_LEAST_AVERAGE = 2.0
"""Seconds of traffic that have an average beside a peak."""
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_KINDS = {"capture": "capture", "request-log": "log", "folder": "logs", "batches": "logs"}
_WHAT = {"capture": "packet capture", "request-log": "request log", "folder": "log directory", "batches": "segment"}
_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "info": "info"}
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
_NEXT = (Column("command"),)


def summary_answer(summary: Summary, arguments: str, commands: Collection[str] | None) -> Answer:
    """Return the answer: what the input is, what is in it, the findings, and what to type next."""
    findings = summary.diagnosis.findings()
    following = proposals(summary, findings, arguments, commands)
    spoken = [Fact(name, text, level=level, spoken=True) for name, text, level in _sentences(summary)]
    about = [*_numbers(summary), Fact("findings", _by_level(findings), "map", wide=True)]
    blocks: list[Block] = [
        Facts(spoken),
        Facts([fact for fact in about if fact.value is not None]),
        *_tables(summary),
        Table("findings", FINDINGS, list(summary.diagnosis.answer().tables[0].rows), wide=True),
        Table("next", _NEXT, [(command,) for command in following], wide=True),
        Facts([*_spoken_findings(findings, arguments)]),
        Facts([Fact("next" if not at else " ", command, spoken=True) for at, command in enumerate(following)]),
    ]
    return Answer("summary", blocks)


# For people: a line or two for each part.


def _sentences(summary: Summary) -> Iterator[tuple[str, str, Level]]:
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


def _inputs(summary: Summary) -> Iterator[tuple[str, str, Level]]:
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


def _when(summary: Summary) -> str:
    total = summary.logs.total()
    first, last = _moments(summary)
    if first is None or last is None:
        return ""
    day = last[:10] if last[:10] != first[:10] else ""
    ends = f"{_clock(first)} to {_clock(last, day=bool(day))} UTC"
    span = summary.course.span.seconds
    if span is None and total.first is not None and total.last is not None:
        span = (total.last - total.first) / 1000
    return f"{ends} ({_duration(span)})" if span is not None else ends


def _moments(summary: Summary) -> tuple[str | None, str | None]:
    """Return the first and the last time: of traffic, or of records."""
    span, total = summary.course.span, summary.logs.total()
    if span.first is not None and span.last is not None:
        return instant(span.first / 1e9), instant(span.last / 1e9)
    if total.first is not None and total.last is not None:
        return instant(total.first / 1000), instant(total.last / 1000)
    return None, None


def _clock(text: str, *, day: bool = True) -> str:
    return text[:23].replace("T", " ") if day else text[11:23]


def _logs(summary: Summary) -> Iterator[tuple[str, str, Level]]:
    logs, total = summary.logs, summary.logs.total()
    sizes = Counter({_partition(*key): partition.bytes for key, partition in logs.partitions.items()})
    topics = Counter({topic: 0 for topic, _ in logs.partitions})
    for (topic, _), partition in logs.partitions.items():
        topics[topic] += partition.bytes
    names = [f"{_cut(name)} {_size(size)}" for name, size in by_count(topics)]
    yield "topics", f"{len(topics)}: {_some(names, MOST_NAMES)}", ""
    biggest = f"; the largest is {by_count(sizes)[0][0]}" if len(sizes) > 1 else ""
    what = f"{counted(len(sizes), 'partition')}, {counted(len(total.files), 'file')}{biggest}"
    yield "disk", what, ""
    rate = f", {total.records / total.batches:.1f} records a batch" if total.batches else ""
    batches = counted(total.batches, "batch", "batches")
    yield "records", f"{counted(total.records, 'record')} in {batches}, {_size(total.bytes)}{rate}", ""
    codecs = [f"{name} in {counted(count, 'batch', 'batches')}" for name, count in by_count(total.codecs)]
    formats = [name for name, _ in by_count(total.formats)]
    if codecs:
        yield "codecs", f"{_some(codecs, MOST_NAMES)}; format {', '.join(formats)}", ""


def _traffic(summary: Summary) -> Iterator[tuple[str, str, Level]]:
    stats, course = summary.stats, summary.course
    ranked = dict(stats.ranked())
    brokers = ranked["broker"]
    if brokers:
        names = [_broker(name, group.node, one_sided=_is_one_sided(group)) for name, group in brokers]
        yield "brokers", f"{len(names)}: {_some(names, MOST_NAMES)}", ""
    clients = [*_clients(summary)]
    if clients:
        names = [_client(*client[:3]) for client in clients]
        yield "clients", f"{len(names)}: {_some(names, MOST_NAMES)}", ""
    if apis := _apis(summary):
        shares = [f"{_cut(name)} {100 * share:.0f}%" for name, _, share, _ in apis]
        yield "traffic", "; ".join([_some(shares, MOST_NAMES, "apis"), *_rates(summary)]), ""
    latency = _latency(summary)
    if latency.count:
        text = f"p50 {_duration(latency.percentile(0.5))}, p99 {_duration(latency.percentile(0.99))}"
        yield "latency", f"{text}{_slowest(course.slowest, 'line' if _is_logged(summary) else 'frame')}", ""
    if errors := _errors(summary):
        yield "errors", _some([f"{count} {name}" for name, count in errors], MOST_ERRORS), ""


def _is_logged(summary: Summary) -> bool:
    """Return whether the traffic is that of request logs."""
    return any(facts.kind == "request-log" for facts in summary.inputs)


def _is_one_sided(group: Group) -> bool:
    return not group.responses and not group.logged


def _broker(name: str, node: int | None, *, one_sided: bool) -> str:
    words = [f"node {node}"] if node is not None else []
    words += ["no responses in the capture"] if one_sided else []
    return f"{_cut(name)} ({', '.join(words)})" if words else _cut(name)


def _client(client_id: str | None, software: Sequence[str], addresses: Sequence[str]) -> str:
    words = [*software[:2], _some(list(addresses), 1, "addresses")]
    return f"{_cut(client_id or 'without id')} ({', '.join(filter(None, words))})"


def _clients(summary: Summary) -> Iterator[tuple[str | None, list[str], list[str], int, dict[str, int]]]:
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


def _apis(summary: Summary) -> list[tuple[str, int, float, int | None]]:
    """Return each api with its requests, their share, and the bytes of requests and responses."""
    requests: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for name, group in summary.stats.groups["api"].items():
        api = name.rpartition(" ")[0] or name
        api = f"api {api}" if api.isdigit() else api
        requests[api] += group.requests
        sizes[api] += group.request_bytes + group.response_bytes
    total = sum(requests.values())
    sized = summary.course.bytes > 0
    return [
        (api, count, count / total, sizes[api] if sized else None)
        for api, count in by_count(requests)
        if total and count
    ]


def _rates(summary: Summary) -> Iterator[str]:
    course = summary.course
    seconds = course.span.seconds
    if not seconds or not course.requests:
        return
    _, requests = course.peak(0)
    _, size = course.peak(1)
    average = f", {course.requests / seconds:.3g}/s on average" if seconds >= _LEAST_AVERAGE else ""
    yield f"{counted(requests, 'request')} in the busiest second{average}"
    if size:
        yield f"{_size(size)}/s at the peak"


def _latency(summary: Summary) -> Histogram:
    total = Histogram()
    for group in summary.stats.groups["api"].values():
        total.merge(group.latency)
    return total


def _slowest(slowest: Sequence[Slow], place: str) -> str:
    if not slowest:
        return ""
    slow = slowest[0]
    broker = slow.broker if slow.node is None else f"node {slow.node}"
    whose = f"{_cut(slow.client)} at {_cut(broker)}"
    return f"; slowest: {place} {slow.number}, {slow.api} {_duration(slow.latency)} by {whose}"


def _errors(summary: Summary) -> list[tuple[str, int]]:
    errors: Counter[str] = Counter()
    for group in summary.stats.groups["api"].values():
        errors.update({str(name): count for name, count in group.errors.items()})
    return by_count(errors)


def missing(summary: Summary) -> Iterator[tuple[str, int, int | None]]:
    """Yield what is not in the inputs: what it is in words, how many of it, and their bytes."""
    lacks = summary.lacks
    if lost := lacks.counts["LOST"]:
        yield f"bytes lost in {counted(lost, 'place')}", lost, lacks.sizes["LOST"]
    for code, count in by_count(lacks.counts):
        if code != "LOST":
            yield f"{counted(count, 'gap')} {code}", count, lacks.sizes[code]
    if cut := summary.stats.anomalies["TRUNCATED"] - lacks.counts["TRUNCATED"]:
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


_LINE_FAULTS = ("DAMAGED_LINE", "DAMAGED_FILE", "LINE_TOO_LONG")


def _by_level(findings: Iterable[Finding]) -> dict[str, int]:
    levels = Counter(finding.level for finding in findings)
    return {level: levels[level] for level in SEVERITIES if levels[level]}


def _spoken_findings(findings: Sequence[Finding], arguments: str) -> Iterator[Fact]:
    """Yield the findings that matter most, each cut to two lines, and how many more there are."""
    counts = [
        counted(count, level) if level != "info" else f"{count} info" for level, count in _by_level(findings).items()
    ]
    yield Fact("findings", ", ".join(counts) or "none by the rules of kwire diagnose", spoken=True)
    for finding in findings[:MOST_FINDINGS]:
        level = finding.level
        text = f"{finding.kind.code}  {finding.subject}: {finding.text}"
        heading = level.upper() if level == "error" else level
        yield Fact(level, _cut(text, LONGEST_TEXT), title=heading, level=_LEVELS[level], spoken=True)
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
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        words = (f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes), f"{rest} s" * bool(rest and not hours))
        return " ".join(filter(None, words))
    return f"{hours // 24} days"


def _partition(topic: str, partition: int | None) -> str:
    return topic if partition is None else f"{topic}-{partition}"


# For programs: the same in numbers.


def _numbers(summary: Summary) -> Iterator[Fact]:
    course, stats = summary.course, summary.stats
    first, last = _moments(summary)
    seconds = course.span.seconds
    latency = _latency(summary)
    second, requests = course.peak(0)
    _, size = course.peak(1)
    total = summary.logs.total()
    is_traffic = bool(stats.kinds)
    yield Fact("from", first, "instant", wide=True)
    yield Fact("to", last, "instant", wide=True)
    yield Fact("durationSeconds", seconds, "duration", wide=True)
    if is_traffic:
        yield Fact("frames", dict(by_count(stats.kinds)), "map", wide=True)
        yield Fact("requests", course.requests, "count", wide=True)
        yield Fact("bytes", course.bytes or None, "bytes", wide=True)
        yield Fact("requestsPerSecond", course.requests / max(seconds, 1) if seconds else None, "number", wide=True)
        yield Fact("peakRequestsPerSecond", requests or None, "count", wide=True)
        yield Fact("peakSecond", None if second is None else instant(float(second)), "instant", wide=True)
        yield Fact("peakBytesPerSecond", size or None, "bytes", wide=True)
        yield Fact("latencyP50Seconds", latency.percentile(0.5), "duration", wide=True)
        yield Fact("latencyP99Seconds", latency.percentile(0.99), "duration", wide=True)
    if summary.logs.partitions:
        yield Fact("partitions", len(summary.logs.partitions), "count", wide=True)
        yield Fact("topics", len({topic for topic, _ in summary.logs.partitions}), "count", wide=True)
        yield Fact("batches", total.batches, "count", wide=True)
        yield Fact("records", total.records, "count", wide=True)
        yield Fact("bytes", total.bytes, "bytes", wide=True)
        yield Fact("codecs", dict(by_count(total.codecs)), "map", wide=True)


def _tables(summary: Summary) -> Iterator[Table]:
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
        yield Table("clients", _CLIENTS, [*_clients(summary)], wide=True)
        yield Table("apis", _APIS, _apis(summary), wide=True)
        yield Table("slowest", _SLOWEST, [_slow_row(summary, slow) for slow in summary.course.slowest], wide=True)
        yield Table("errors", _ERRORS, _errors(summary), wide=True)
    if summary.logs.partitions:
        yield Table("partitions", _PARTITIONS, [*_partitions(summary)], wide=True)
    yield Table("missing", _MISSING, [*missing(summary)], wide=True)


def _slow_row(summary: Summary, slow: Slow) -> tuple[Any, ...]:
    places = (None, slow.number) if _is_logged(summary) else (slow.number, None)
    return (round(slow.latency, 9), *places, slow.api, slow.client, slow.broker, slow.node, slow.time, slow.capture)


def _partitions(summary: Summary) -> Iterator[tuple[Any, ...]]:
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
