"""Telling a request log by its first bytes."""

from __future__ import annotations

from kwire_cli.source.packing import unpacked_start

MARK = b"Completed request:"
"""What Kafka's logger writes before the JSON."""
KEY = b'"requestHeader"'
"""What stands in each line that is JSON alone."""
OPENING = 64 << 10
"""Bytes of a file, packed or not, that are looked at: other loggers may have written its first lines."""


def is_request_log(first: bytes) -> bool:
    """Whether the first bytes of a file, packed or not, are those of a request log."""
    start = unpacked_start(first, OPENING) or b""
    return MARK in start or any(line.lstrip().startswith(b"{") and KEY in line for line in start.split(b"\n"))
