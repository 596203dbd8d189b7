"""Fields and bytes of frames and batches in a page: an entry each, packed in chunks that the page unpacks one by one.

An entry has the rows of a bounded outline and the bytes that they point into. Entries are what makes a page large, so
`Details` takes them until the packed chunks reach a number of bytes.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from kwire_cli.view.bounded_outline import BoundedOutline

CHUNK = 64
"""Entries that are packed together."""
MOST_BYTES = 12 << 20
"""Bytes of packed entries in one page."""


class Details:
    """The entries of a page, up to `most` bytes. Keys say whose they are."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.chunks: list[str] = []
        """Chunks of entries: JSON, compressed by zlib, as base64."""
        self.at: dict[Any, int] = {}
        """The numbers of entries by key."""
        self._most = most
        self._size = 0
        self._waiting: list[dict[str, Any]] = []

    @property
    def is_full(self) -> bool:
        """Return whether no more entries are taken."""
        return self._size >= self._most

    def add(self, key: Any, outline: BoundedOutline) -> None:
        """Take an entry, unless the page is full."""
        if not self.is_full:
            self.at[key] = len(self.at)
            self._waiting.append(entry(outline))
            if len(self._waiting) == CHUNK:
                self.finish()

    def finish(self) -> None:
        """Pack the entries that wait for more."""
        if self._waiting:
            packed = zlib.compress(dumps(self._waiting, indent=False).encode("utf-8", "backslashreplace"), 6)
            self.chunks.append(base64.b64encode(packed).decode("ascii"))
            self._size += len(self.chunks[-1])
            self._waiting = []


def entry(outline: BoundedOutline) -> dict[str, Any]:
    """Return the rows and the bytes of an outline as JSON: `{"nodes","buffers","anomalies"}`, and "leftOut" if not all.

    A node is a list: depth, name, kind, number of the buffer, start, value, end, then text and style of each piece of
    its line. The bytes of a buffer are base64 text, masked ones zero.
    """
    nodes = [
        [
            row.depth,
            row.name,
            row.kind,
            outline.number(row),
            *row.place,
            *(part for piece in row.line for part in piece),
        ]
        for row in outline.rows
    ]
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
