"""Lines of a broker's request log, and the detection of request logs.

Kafka's logger writes JSON after the mark `Completed request:`. The layout of the log can put a time before it and the
name of the logger after it, write only the JSON, or write lines that are JSON themselves and contain the message as a
string. `logged_in` finds the request's JSON and its time in all of these.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.files import OPENING, unpacked_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MARK = b"Completed request:"
"""The text that Kafka's logger writes before the JSON."""


KEY = b'"requestHeader"'
"""A key of each request, to recognise lines that are only JSON."""
LONGEST = 64 << 20
"""Maximum size of a line. Responses are no longer than a frame, so a log with longer lines is corrupt."""
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:\s?(Z|[+-]\d\d:?\d\d))?(?!\d)")
_PREFIX = 200
"""Bytes before the mark that are searched for a time."""
MILLISECONDS = 1e11
"""Numbers above this are milliseconds, others seconds: seconds reach it in the year 5138, milliseconds did in 1973."""
_CLOCKS = ("@timestamp", "timestamp", "time", "ts", "timeMillis", "instant")
"""Keys of the time in lines that are JSON."""


class TextLine(NamedTuple):
    """A line of a file, counted from 1. `data` is None if the line is longer than LONGEST. `start` is its position in
    the uncompressed file.
    """

    number: int
    data: bytes | None
    start: int = 0


class Logged(NamedTuple):
    """The JSON of a request, and its time in the log. The time is ISO 8601, with Z if the log states a time zone."""

    text: bytes
    time: str | None


def lines_of(pieces: Iterable[bytes]) -> Iterator[TextLine]:
    """Yield all lines of a file, including a last line without a newline. At most LONGEST bytes are in memory."""
    number = 1
    start = 0
    held = bytearray()
    size = 0
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for part in lines:
            size += len(part)
            if size > LONGEST:
                yield TextLine(number, None, start)
            else:
                yield TextLine(number, bytes(held) + part if held else part, start)
            number += 1
            start += size + 1
            size = 0
            held.clear()
        size += len(rest)
        if size > LONGEST:
            held.clear()
        else:
            held += rest
    if size:
        yield TextLine(number, None if size > LONGEST else bytes(held), start)


def logged_in(data: bytes) -> Logged | None:
    """Return the request in a line: after Kafka's mark, as a line of JSON, or in a string of a JSON log line.

    Return None if the line contains no request.
    """
    at = data.find(MARK)
    if data.lstrip()[:1] == b"{":
        return _in_json_line(data, wrapped=at >= 0)
    if at < 0:
        return None
    return Logged(_object(data[at + len(MARK) :]), _stamp(data[max(0, at - _PREFIX) : at]))


def _in_json_line(data: bytes, *, wrapped: bool) -> Logged | None:
    if not wrapped:
        return Logged(data, None) if KEY in data else None
    from orjson import JSONDecodeError, loads  # noqa: PLC0415 - only for JSON logs

    try:
        log_entry = loads(data)
    except JSONDecodeError:
        return Logged(data, None)  # the reader of the line reports the error
    message = _marked_string(log_entry)
    logged = None
    if message and message.lstrip()[:1] != "{":
        logged = logged_in(message.encode("utf-8", "surrogatepass"))
    return logged and Logged(logged.text, _entry_time(log_entry) or logged.time)


def _marked_string(log_entry: dict[str, Any]) -> str | None:
    for text in log_entry.values():
        if isinstance(text, str) and MARK.decode() in text:
            return text
    return None


def _object(data: bytes) -> bytes:
    """Return the JSON up to its last brace. The layout may append the name of the logger."""
    data = data.strip()
    return data[: data.rfind(b"}") + 1] if data.startswith(b"{") and b"}" in data else data


def _entry_time(log_entry: dict[str, Any]) -> str | None:
    """Return the time of a JSON log line: a string, seconds or milliseconds since 1970, or an `instant` of log4j."""
    from kwire_cli.source.kafka.captured import time_text  # noqa: PLC0415 - start-up counts

    for key in _CLOCKS:
        value: Any = log_entry.get(key)
        if isinstance(value, dict):
            value = value.get("epochSecond")
        if isinstance(value, str) and (stamp := _stamp(value.encode("utf-8", "replace"))):
            return stamp
        if type(value) in {int, float} and abs(value) < MILLISECONDS * 1000:
            return time_text(round(value * 1e6 if abs(value) > MILLISECONDS else value * 1e9))
    return None


def _stamp(text: bytes) -> str | None:
    """Return the last time in a string, with microseconds. It is in UTC if the string has a time zone, otherwise it is
    unchanged.
    """
    matches = list(_STAMP.finditer(text))
    if not matches:
        return None
    day, clock, fraction, zone = (part and part.decode() for part in matches[-1].groups())
    try:
        at = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0')[:6].ljust(6, '0')}{zone or ''}")
        if zone:
            at = at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}{'Z' if zone else ''}"


_CUT = re.compile(rb'\{\s*(?:"isForwarded"\s*:\s*(?:true|false)\s*,\s*)?"requestHeader"\s*:\s*\{\s*"\w+"\s*:')
"""The first keys of a logged request, for lines whose JSON is truncated."""
_TEXT = re.compile(rb"(?:RequestHeader\(|Name:).*")
"""The format that Kafka wrote before 2.8."""
_LOGGED = re.compile(rb"\d\d:\d\d:\d\d|\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
"""A time or a level, as in lines of any logger."""
_NEAR = 100
_CONTINUATIONS = (b" ", b"\t", b"{", b"Caused by:", b"java.", b"org.apache.kafka.")
"""Starts of lines that continue a logged line, and of lines of JSON logs."""


def is_request_log(first: bytes) -> bool:
    """Return whether the first bytes of a file, compressed or not, belong to a request log.

    The form of the lines decides. Requests must be at least as many as lines that no logger writes, so that notes that
    quote some request lines are not taken for a log.
    """
    start = unpacked_start(first, OPENING) or b""
    if MARK not in start and KEY not in start:
        return False
    requests = 0
    foreign = 0
    for line in start.split(b"\n"):
        if not line.strip():
            continue
        if _is_request(line):
            requests += 1
        elif not line.startswith(_CONTINUATIONS) and not _LOGGED.search(line[:_NEAR]):
            foreign += 1
    return requests > 0 and requests >= foreign


def _is_request(line: bytes) -> bool:
    """Return whether a line is a logged request: as JSON, as truncated JSON, or in the format of old brokers."""
    if MARK not in line and KEY not in line:
        return False
    logged = logged_in(line)
    if logged is None:
        return False
    from orjson import JSONDecodeError, loads  # noqa: PLC0415 - start-up counts

    try:
        document: Any = loads(logged.text)
    except JSONDecodeError:
        return bool(_CUT.match(logged.text) or _TEXT.match(logged.text))
    header = document.get("requestHeader") if isinstance(document, dict) else None
    return isinstance(header, dict) and "requestApiKey" in header
