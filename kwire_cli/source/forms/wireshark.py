"""Wireshark's and tshark's dumps: "copy as hex dump", with or without ASCII, `tshark -x`, and a followed stream as hex.

The other side of a followed stream is indented: every change of side is a chunk of its own.
"""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import Chunk, MismatchError, Reading
from kwire_cli.source.forms.rows import Row, assemble, scan
from kwire_cli.source.forms.tcp_payload import payloads, tcp_payload

ROW = re.compile(r"[ \t]*([0-9a-fA-F]{4,16})(?=  |\t|[ ]*$)")
"""Where a row's text begins; group 1 is its offset."""
_DETAIL = "rows of hex offset and bytes, the ASCII two or three spaces away"


def read(text: str) -> Reading:
    """Bytes of the rows; of whole packets, the TCP payload."""
    chunks = _chunks(text)
    if any(tcp_payload(chunk.data) is not None for chunk in chunks):
        return payloads(chunks)
    return Reading(chunks, _DETAIL)


def read_packets(text: str) -> Reading:
    """Bytes of the rows, as they stand."""
    return Reading(_chunks(text), _DETAIL)


def _chunks(text: str) -> tuple[Chunk, ...]:
    """A chunk for each packet, or for each change of side in a stream."""
    rows = scan(
        text,
        ROW,
        "an offset of at least four digits and two spaces",
        foreign=re.compile(r"=+$|(?:Follow|Filter): |Node [01]: |[A-Z][A-Za-z ]{0,60}\([0-9]{1,9} bytes\):"),
    )
    if len(rows) == 1 and rows[0].digits.strip("0"):
        raise MismatchError(rows[0].start, "a row on its own that does not begin at offset 0")
    return assemble(rows, (16,), row_bytes)[1]


def row_bytes(row: Row) -> bytes:
    """At most 16 bytes; exactly two spaces after the eighth are the gap in the middle, else they begin the ASCII gutter."""
    found = re.match(
        r"[ \t]+((?:[0-9a-fA-F]{2} ){7}[0-9a-fA-F]{2}  ?(?:[0-9a-fA-F]{2} ){0,7}[0-9a-fA-F]{2}|[0-9a-fA-F]{2}(?: [0-9a-fA-F]{2}){0,7})(?=  |\t| ?$)",
        row.text,
    )
    if found is None:
        good = re.match(r"[ \t]*(?:[0-9a-fA-F]{2}  ?){0,16}[0-9a-fA-F]?", row.text)
        raise MismatchError(row.body + (good.end() if good else 0), "expected bytes of two hex digits, one space apart")
    return bytes.fromhex(found[1])
