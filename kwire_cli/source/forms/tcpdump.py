"""`tcpdump -x`, `-X`, `-xx`, `-XX`: packets as rows of 0x offset and hex groups, each below its summary line."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import Chunk, Reading
from kwire_cli.source.forms.rows import assemble, scan
from kwire_cli.source.forms.tcp_payload import payloads
from kwire_cli.source.forms.xxd import grouped

ROW = re.compile(r"[ \t]*0x([0-9a-fA-F]{4,16}):(?=\s|$)[ \t]*")
"""Where a row's text begins; group 1 is its offset."""


def read(text: str) -> Reading:
    """The TCP payload of each packet that carries one; a packet that is not plainly TCP over IP is given whole."""
    return payloads(_packets(text))


def read_packets(text: str) -> Reading:
    """Each packet with all its headers."""
    packets = _packets(text)
    return Reading(packets, f"{len(packets)} packets, with their headers")


def _packets(text: str) -> tuple[Chunk, ...]:
    """A chunk for each packet, labelled with its summary line."""
    rows = scan(
        text,
        ROW,
        "an offset as in 0x0010:",
        # Any other line is a summary, unless it could be a broken row.
        foreign=re.compile(r"(?![ \t]*0x[0-9a-fA-F]*:)"),
        sure=True,
    )
    return assemble(rows, (16,), grouped, sure=True)[1]
