"""The page of `kwire report`: the results of `analysis.report.Report` as the data of one page.

A page is one file that a browser loads completely, so its size is limited: calls up to `MOST_ROW_BYTES`, and fields and
bytes of frames up to the limit of `Details`. If calls are left out, the title contains their number and a command for
the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.ladder import answer_text, request_text
from kwire_cli.errors import counted
from kwire_cli.view.lines import escaped
from kwire_cli.view.page.answers import document_of
from kwire_cli.view.page.rows import Rows
from kwire_cli.view.page.shell import empty, input_names, page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.report import Report
    from kwire_cli.view.page.details import Details

MOST_ROW_BYTES = 16 << 20
"""Maximum size of the calls of one page in bytes."""
_COUNTS = ("requests", "errors", "bytes", "p50_us", "p99_us")
"""The counts of an interval of the time axis, in this order."""
_SEVERITIES = {"error": "error", "warning": "warning"}


def report_page(
    report: Report, details: Details, sources: Sequence[str], arguments: str, tab: str = ""
) -> Iterator[str]:
    """Yield the text of the page of a report.

    `sources` contains the inputs. `arguments` contains the inputs as typed, for the commands that the page proposes.
    The page opens with the tab `tab`, if it has this tab.
    """
    details.finish()
    [ends] = report.asked("ends") or [{"first_us": None, "last_us": None}]
    start = ends["first_us"]
    end = ends["last_us"]
    rows, left = _calls(report, details, start, arguments)
    if left is None and report.batch_count > len(report.batches):
        text = f"the first {len(report.batches):,} of {report.batch_count:,} batches"
        left = {"text": text, "command": escaped(f"kwire dump {arguments}")}
    findings = report.findings()
    level, text = _verdict(report)
    data = empty(escaped(input_names(sources)) or "standard input") | {
        "arguments": escaped(arguments),
        "tab": tab,
        "verdict": {"level": level, "text": escaped(text)},
        "start": start,
        "length": None if start is None or end is None else end - start,
        "isLocal": report.is_local,
        "brokers": [escaped(row["broker"] or "") for row in report.rows_found("brokers")],
        "applications": [
            escaped(row["client_id"] or "") for row in report.rows_found("clients") if not row["is_internal"]
        ],
        "left": left,
        "axis": _axis(report, start),
        "spans": [_span(row, start) for row in report.asked("spans")] if start is not None else [],
        "rows": rows.document() if rows.count else None,
        "answers": {name: document_of(answer) for name, answer in report.of_commands()},
    }
    title = f"{data['title']}: {text}" if findings else data["title"]
    return page(" ".join([title, *([f"({left['text']})"] if left else [])]), data, details.chunks)


def _verdict(report: Report) -> tuple[str, str]:
    """Return the level and the sentence of the most important finding."""
    for finding in report.findings("warning"):
        return _SEVERITIES[finding.severity], f"{finding.subject[:1].upper()}{finding.subject[1:]}: {finding.text}"
    return "good", "Nothing found that is wrong"


def _calls(report: Report, details: Details, start: int | None, arguments: str) -> tuple[Rows, dict[str, str] | None]:
    """Return the calls that the page has room for, and a note with a command for the others."""
    rows = Rows(start)
    lines = report.asked("calls")
    for line in lines:
        if rows.size >= MOST_ROW_BYTES:
            break
        rows.add(_row(line, details.at))
    total = lines[0]["lines"] if lines else 0
    if rows.count == total:
        return rows, None
    last = lines[rows.count - 1]
    first = (last["request"] or last["response"] or 0) + 1
    text = f"the first {rows.count:,} of {counted(total, 'call')}"
    return rows, {
        "text": text,
        "command": escaped(f"kwire report {arguments} --filter 'frame >= {first}' -o rest.html"),
    }


def _row(line: Mapping[str, Any], at: Mapping[Any, int]) -> dict[str, Any]:
    request = request_text(line["groups"], line["transactional_id"], line["asked_words"] or (), line["topics"])
    response = answer_text(line["answered_words"] or (), line["throttle_ms"])
    capture = line["capture"]
    return {
        **line,
        "frame": line["request"] or line["response"],
        "time": line["time_us"],
        "client_id": line["client"],
        "what": f"{request} → {response}".strip() if response else request,
        "throttle_ms": line["throttle_ms"] or None,
        "capture_point": capture,
        "is_wait": line["delayed"],
        "asked_at": at.get((capture, line["request"])),
        "answered_at": at.get((capture, line["response"])),
    }


def _axis(report: Report, start: int | None) -> dict[str, Any] | None:
    """Return the intervals of the time axis: the requests of each api, and the errors and percentiles of all apis."""
    rows = report.asked("intervals")
    totals = [row for row in rows if row["number"] is None]
    if start is None or not totals:
        return None
    [total] = totals
    if not total["requests"]:
        return None
    width = total["width_us"]
    first = min(row["number"] for row in rows if row["number"] is not None)
    whole = [row for row in rows if row["number"] is not None and row["api"] is None]
    apis: dict[str, dict[int, int]] = {}
    for row in rows:
        if row["api"] is not None:
            apis.setdefault(row["api"], {})[row["number"] - first] = row["requests"]
    return {
        "width": width,
        "first": first * width - start,
        "apis": [[escaped(api), counts] for api, counts in apis.items()],
        "intervals": [[row["number"] - first, *_counts(row)] for row in whole],
        "total": _counts(total),
    }


def _counts(row: Mapping[str, Any]) -> list[Any]:
    return [row[name] for name in _COUNTS]


def _span(row: Mapping[str, Any], start: int) -> dict[str, Any]:
    return {
        "kind": row["kind"],
        "subject": escaped(row["subject"]),
        "text": escaped(row["text"] or ""),
        "level": row["level"],
        "from": row["began_us"] - start,
        "to": None if row["ended_us"] is None else row["ended_us"] - start,
        "frame": row["frame"],
        "capture": row["capture"],
    }
