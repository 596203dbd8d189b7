"""Lines of a broker's request log, and whether an input is one."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.files import OPENING, unpacked_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# The lines of a file in pieces, and what in a line is a logged request, whatever the log's layout puts around
# it.

MARK = b"Completed request:"
"""The text that Kafka's logger writes before the JSON."""


KEY = b'"requestHeader"'
"""A key in each line that is JSON alone."""
LONGEST = 64 << 20
"""Bytes of a line beyond which it is no line: a response is at most as long as a frame, and a log that holds such is
broken."""
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:\s?(Z|[+-]\d\d:?\d\d))?(?!\d)")
_PREFIX = 200
"""Bytes before the mark in which a time is looked for."""
MILLISECONDS = 1e11
"""What is more than this is no number of seconds: they reach it in the year 5138, milliseconds did so in 1973."""
_CLOCKS = ("@timestamp", "timestamp", "time", "ts", "timeMillis", "instant")
"""Keys that the time of a line has where a log is itself JSON."""


class TextLine(NamedTuple):
    """A line from its file, counted from 1; `data` is None where it was longer than LONGEST. `start` is where it begins
    in the file, unpacked.
    """

    number: int
    data: bytes | None
    start: int = 0


class Logged(NamedTuple):
    """The JSON of a request as text, and the time that the log gives it: ISO 8601, with a Z where the log says its
    zone.
    """

    text: bytes
    time: str | None


def lines_of(pieces: Iterable[bytes], start: int = 0) -> Iterator[TextLine]:
    """All lines of a file that comes in pieces, from this byte on; the last one without an end too. No more than
    LONGEST bytes are held.
    """
    number = 1
    held = bytearray()
    size = 0
    for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for part in whole:
            size += len(part)
            yield TextLine(number, None if size > LONGEST else bytes(held) + part if held else part, start)
            number, start, size = number + 1, start + size + 1, 0
            held.clear()
        size += len(rest)
        if size > LONGEST:
            held.clear()
        else:
            held += rest
    if size:
        yield TextLine(number, None if size > LONGEST else bytes(held), start)


def logged_in(data: bytes) -> Logged | None:
    """The request in a line: behind Kafka's mark, as a line of JSON alone, or as text within the JSON of the log. None
    where there is none.
    """
    at = data.find(MARK)
    if data.lstrip()[:1] == b"{":
        return _bare(data, wrapped=at >= 0)
    if at < 0:
        return None
    return Logged(_object(data[at + len(MARK) :]), _stamp(data[max(0, at - _PREFIX) : at]))


def _bare(data: bytes, *, wrapped: bool) -> Logged | None:
    if not wrapped:
        return Logged(data, None) if KEY in data else None
    from orjson import JSONDecodeError, loads  # noqa: PLC0415 - only for such logs

    try:
        around = loads(data)
    except JSONDecodeError:
        return Logged(data, None)  # whoever reads it says what is wrong
    inner = next((text for text in around.values() if isinstance(text, str) and text.find(MARK.decode()) >= 0), None)
    logged = logged_in(inner.encode("utf-8", "surrogatepass")) if inner and inner.lstrip()[:1] != "{" else None
    return logged and Logged(logged.text, _clock(around) or logged.time)


def _object(data: bytes) -> bytes:
    """Up to the last brace: the layout may put the logger's name behind it."""
    data = data.strip()
    return data[: data.rfind(b"}") + 1] if data.startswith(b"{") and b"}" in data else data


def _clock(around: dict[str, Any]) -> str | None:
    """The time in a log that is itself JSON: as text, as seconds or milliseconds since 1970, or as log4j's
    `instant`.
    """
    from kwire_cli.source.kafka.captured import time_text  # noqa: PLC0415 - start-up counts

    for key in _CLOCKS:
        value: Any = around.get(key)
        if isinstance(value, dict):
            value = value.get("epochSecond")
        if isinstance(value, str) and (stamp := _stamp(value.encode("utf-8", "replace"))):
            return stamp
        if type(value) in {int, float} and abs(value) < MILLISECONDS * 1000:
            return time_text(round(value * 1e6 if abs(value) > MILLISECONDS else value * 1e9))
    return None


def _stamp(text: bytes) -> str | None:
    """The last time in a text, with microseconds; in UTC where it has a zone, and without one as the broker's clock
    showed it.
    """
    matches = [*_STAMP.finditer(text)][-1:]
    if not matches:
        return None
    day, clock, fraction, zone = (part and part.decode() for part in matches[0].groups())
    try:
        at = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0')[:6].ljust(6, '0')}{zone or ''}")
        at = at.astimezone(UTC) if zone else at
    except (ValueError, OverflowError):
        return None
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}{'Z' if zone else ''}"


# Telling a request log from any other text by the form of its first lines.

NAMED = 3
"""Request logs that a text names."""


_CUT = re.compile(rb'\{\s*(?:"isForwarded"\s*:\s*(?:true|false)\s*,\s*)?"requestHeader"\s*:\s*\{\s*"\w+"\s*:')
"""The first keys of a logged request, where the JSON of a line does not end."""
_TEXT = re.compile(rb"(?:RequestHeader\(|Name:).*")
"""The text that Kafka wrote before 2.8."""
_LOGGED = re.compile(rb"\d\d:\d\d:\d\d|\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
"""Text near the beginning of lines of any logger: a time or a level."""
_NEAR = 100
_GOES_ON = (b" ", b"\t", b"{", b"Caused by:", b"java.", b"org.apache.kafka.")
"""The beginning of lines that continue a logged line, and of lines of logs that are JSON."""


def is_request_log(first: bytes) -> bool:
    """Return whether the first bytes of a file, packed or not, are those of a request log.

    Lines with a request decide by their form, and there must be as many of them as lines that no logger writes. So a
    text that quotes such lines, or names what they begin with, is none.
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
        elif not line.startswith(_GOES_ON) and not _LOGGED.search(line[:_NEAR]):
            foreign += 1
    return requests > 0 and requests >= foreign


def beside_captures(logs: Sequence[str], what: str) -> str:
    """Say what becomes of request logs that are given with captures, which may show the same exchanges."""
    names = [
        *(os.fsencode(log).decode("utf-8", "replace") for log in logs[:NAMED]),
        *([f"{len(logs) - NAMED} more"] if len(logs) > NAMED else []),
    ]
    return f"captures may show the same exchanges as request logs given with them ({', '.join(names)}): {what}"


def _is_request(line: bytes) -> bool:
    """Return whether a line has the form of a logged request: JSON, JSON that was cut, or the text of old brokers."""
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
