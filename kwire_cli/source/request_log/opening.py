"""Telling a request log from any other text by the form of its first lines."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from kwire_cli.source.packing import unpacked_start
from kwire_cli.source.request_log.lines import KEY, MARK, logged_in

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED = 3
"""Request logs that a text names."""
OPENING = 64 << 10
"""Bytes of a file, packed or not, that are looked at: other loggers may have written its first lines."""
_CUT = re.compile(rb'\{\s*(?:"isForwarded"\s*:\s*(?:true|false)\s*,\s*)?"requestHeader"\s*:\s*\{\s*"\w+"\s*:')
"""The first keys of a logged request, where the JSON of a line does not end."""
_TEXT = re.compile(rb"(?:RequestHeader\(|Name:).*")
"""The text that Kafka wrote before 2.8."""
_LOGGED = re.compile(rb"\d\d:\d\d:\d\d|\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
"""What lines of any logger have near their beginning: a time or a level."""
_NEAR = 100
_GOES_ON = (b" ", b"\t", b"{", b"Caused by:", b"java.", b"org.apache.kafka.")
"""What lines begin with that go on with a logged line, and lines of logs that are JSON."""


def is_request_log(first: bytes) -> bool:
    """Return whether the first bytes of a file, packed or not, are those of a request log.

    Lines with a request decide by their form, and there must be as many of them as lines that no logger writes. So a
    text that quotes such lines, or names what they begin with, is none.
    """
    start = unpacked_start(first, OPENING) or b""
    if MARK not in start and KEY not in start:
        return False
    requests = others = 0
    for line in start.split(b"\n"):
        if not line.strip():
            continue
        if _is_request(line):
            requests += 1
        elif not line.startswith(_GOES_ON) and not _LOGGED.search(line[:_NEAR]):
            others += 1
    return requests > 0 and requests >= others


def beside_captures(logs: Sequence[str], what: str) -> str:
    """Say what becomes of request logs that are given with captures, which may show the same exchanges."""
    names = [*(os.fsencode(log).decode("utf-8", "replace") for log in logs[:NAMED]), *([f"{len(logs) - NAMED} more"] if len(logs) > NAMED else [])]
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
