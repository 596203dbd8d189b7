"""Fields and bytes of frames and batches in a page: one entry each, compressed in chunks.

An entry contains the rows of a bounded outline and the bytes that they point into. Entries are the largest part of a
page, so they are compressed, the page decompresses a chunk when one of its entries is opened, and `Details` accepts
entries only up to a total size of the chunks.
"""

from __future__ import annotations

import base64
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from kwire_cli.view.bounded_outline import of_line
from kwire_cli.view.json import dumps
from kwire_cli.view.rows import Field

if TYPE_CHECKING:
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.bounded_outline import BoundedOutline

CHUNK = 64
"""Entries of one chunk."""
MOST_BYTES = 12 << 20
"""Maximum size of the chunks in one page. Further entries are dropped."""


class Details:
    """The entries of lines of captures in a page, up to `most` bytes, by capture point and number."""

    def __init__(self, redaction: Redaction, most: int = MOST_BYTES) -> None:
        self.chunks: list[str] = []
        """Chunks of entries: JSON, compressed with zlib, in base64."""
        self.at: dict[Any, int] = {}
        """The numbers of entries by capture point and number of the line."""
        self._redaction = redaction
        self._most = most
        self._size = 0
        self._waiting: list[dict[str, Any]] = []

    @property
    def is_full(self) -> bool:
        """Return whether further entries are dropped."""
        return self._size >= self._most

    def add(self, line: Captured) -> bool:
        """Add a line, unless the page is full. Return whether there is room for another one."""
        if not self.is_full:
            hidden = self._redaction.line(line)
            outline = of_line(self._redaction.catalog, line, hidden, self._redaction.record, full=False)
            self.at[line.origin.capture, line.number] = len(self.at)
            self._waiting.append(entry(outline))
            if len(self._waiting) == CHUNK:
                self.finish()
        return not self.is_full

    def finish(self) -> None:
        """Compress the remaining entries of an incomplete chunk."""
        if self._waiting:
            packed = zlib.compress(dumps(self._waiting, indent=False).encode("utf-8", "backslashreplace"), 6)
            self.chunks.append(base64.b64encode(packed).decode("ascii"))
            self._size += len(self.chunks[-1])
            self._waiting = []


def entry(outline: BoundedOutline) -> dict[str, Any]:
    """Return the rows and the bytes of an outline as JSON.

    The keys are nodes, buffers and anomalies, and leftOut if the outline is not complete. A node is a list: depth,
    name, kind, number of the buffer, start, value, end, then text and style of each piece of its line. The bytes of a
    buffer are base64. Masked bytes are zero.
    """
    nodes = []
    for row in outline.rows:
        line = row.line
        if isinstance(row, Field) and (about := row.about):
            line = [*line, (f"  {about}", "dim")]
        pieces = chain.from_iterable(line)
        nodes.append([row.depth, row.name, row.kind, outline.number(row), *row.place, *pieces])
    buffers = [
        {
            "name": buffer.name,
            "at": buffer.at,
            "size": buffer.size,
            "data": base64.b64encode(buffer.data).decode("ascii"),
            "masked": buffer.masked,
        }
        for buffer in outline.buffers
    ]
    document = {"buffers": buffers, "nodes": nodes, "anomalies": [note._asdict() for note in outline.anomalies]}
    return document | ({"leftOut": outline.left_out} if outline.left_out else {})
