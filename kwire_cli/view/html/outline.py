"""What a page knows of one frame or batch: its bytes in buffers, and the fields in them as rows of an outline, in the order of the bytes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.view.lines import Line

MOST_NODES = 20_000
"""Fields of one frame or batch in a page where not all are asked for: what is beyond is not in it."""
MOST_BYTES = 256 << 10
"""Bytes of a buffer in a page where not all are asked for."""

CLASSES = {
    "number": "n",
    "text": "t",
    "bytes": "b",
    "null": "z",
    "meaning": "m",
    "dim": "d",
    "warning": "w",
    "secret": "s",
    "title": "h",
    "name": "k",
}
"""Classes of the style sheet by the names of styles."""


class Outline:
    """Rows (depth, name, kind, buffer, start, value, end, then text and class of each piece of what is shown) and the buffers they point into.

    Offsets are those that a buffer's bytes have in the input, or in what they were decompressed to. What is masked is never in the page.
    `left_out` counts fields for which there was no room.
    """

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.left_out = 0
        self._nodes: list[list[Any]] = []
        self._buffers: list[tuple[str, int, bytes, int]] = []
        self._masked: list[list[tuple[int, int]]] = []
        self._reached: list[int] = []

    @property
    def has_room(self) -> bool:
        """Whether another field is taken."""
        return self.full or len(self._nodes) < MOST_NODES

    def buffer(self, name: str, data: Any, start: int, stop: int) -> int:
        """The number of a new buffer: the bytes [start, stop) of the data."""
        shown = stop if self.full else min(stop, start + MOST_BYTES)
        self._buffers.append((name, start, bytes(data[start:shown]), stop - start))
        self._masked.append([])
        self._reached.append(start)
        return len(self._buffers) - 1

    def mask(self, buffer: int, start: int, stop: int) -> None:
        """Bytes that must not be seen."""
        if start < stop:
            self._masked[buffer].append((start, stop))

    def reach(self, buffer: int, end: int) -> None:
        """All up to here was told, and what is secret in it masked: where fields are left out, bytes end here too."""
        if self.has_room:
            self._reached[buffer] = max(self._reached[buffer], end)

    def node(self, depth: int, name: str, kind: str, place: tuple[int, int, int, int], line: Line) -> None:
        """A field at a place: its buffer, where it starts, where its value does, and where it ends."""
        if not self.has_room:
            self.left_out += 1
            return
        row: list[Any] = [depth, name, kind, *place]
        for text, style in line:
            if text:
                row += (text, CLASSES.get(style, ""))
        self._nodes.append(row)

    def to_json(self, anomalies: Iterable[Anomaly]) -> dict[str, Any]:
        """`{"nodes","buffers","anomalies"}`, and "leftOut" where that is not all; the bytes of a buffer are base64 text, masked ones zero."""
        buffers = [self._shown(*each, number) for number, each in enumerate(self._buffers)]
        out: dict[str, Any] = {"buffers": buffers, "nodes": self._nodes, "anomalies": [note._asdict() for note in anomalies]}
        return out | ({"leftOut": self.left_out} if self.left_out else {})

    def _shown(self, name: str, start: int, data: bytes, size: int, number: int) -> dict[str, Any]:
        clear = bytearray(data[: self._reached[number] - start] if self.left_out else data)
        ranges = []
        for a, b in self._masked[number]:
            low, high = max(a - start, 0), min(b - start, len(clear))
            if low < high:
                clear[low:high] = bytes(high - low)
                ranges.append([low, high])
        return {"name": name, "at": start, "size": size, "data": base64.b64encode(clear).decode("ascii"), "masked": ranges}
