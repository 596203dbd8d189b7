"""An account: the bytes of the messages that belong together, by field and by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cost.kinds import Kind, in_body, in_header, in_size
from kwire_cli.cost.overhead.batch_sizes import BatchSizes
from kwire_cli.cost.sums import Part, Sums
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.structs.frames import SIZE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.cost.kinds import KindsOf
    from kwire_cli.cost.overhead.record_sets import RecordSets
    from kwire_cli.engine.program import Program
    from kwire_cli.engine.shapes import Shape
    from kwire_cli.engine.spans import Spans

MOST_KEPT = 256
"""Shapes and headers that are kept with how often they came; beyond that they are added up."""


HEADERS = {"request": "RequestHeader.", "response": "ResponseHeader."}
"""What stands before the paths of headers."""


class Account:
    """The bytes of some messages. `messages` counts them; `sizes` are the statistics of the batches in their records.

    Messages of one shape differ in nothing that counts, so shapes are counted and added up at the end.
    """

    __slots__ = ("_frames", "_headers", "_other", "_shapes", "_sums", "messages", "record_sets", "sizes")

    def __init__(self) -> None:
        self.messages = 0
        self.sizes = BatchSizes()
        self.record_sets: dict[str, RecordSets] = {}
        self._sums: dict[tuple[str, KindsOf, int], Sums] = {}
        self._shapes: dict[Shape, list[Any]] = {}
        self._headers: dict[tuple[str, int, bytes], list[Any]] = {}
        self._other: dict[tuple[str, Kind], list[int]] = {}
        self._frames = 0

    def sums(self, prefix: str, kinds: KindsOf, program: Program) -> Sums:
        """The sums of one layout, with what stands before its paths."""
        key = (prefix, kinds, id(program))
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = Sums(program)
        return found

    def frame(self) -> None:
        """Count the size prefix of a frame."""
        self._frames += 1

    def header(self, key: tuple[str, int, bytes], walked: Callable[[], Spans]) -> None:
        """Count a header: of which kind and version it is, and the bytes that decide where its spans lie, are its `key`."""
        found = self._headers.get(key)
        if found is None:
            if len(self._headers) >= MOST_KEPT:
                self._add_headers()
            found = self._headers[key] = [0, walked()]
        found[0] += 1

    def shape(self, message: str, shape: Shape) -> None:
        """Count a body of this shape."""
        found = self._shapes.get(shape)
        if found is None:
            if len(self._shapes) >= MOST_KEPT:
                self._add_shapes()
            found = self._shapes[shape] = [0, message]
        found[0] += 1

    def spans(self, prefix: str, kinds: KindsOf, spans: Spans) -> None:
        """Count spans."""
        self.sums(prefix, kinds, spans.program).add(spans)

    def other(self, path: str, kind: Kind, size: int) -> None:
        """Count bytes without spans."""
        found = self._other.setdefault((path, kind), [0, 0])
        found[0] += size
        found[1] += 1

    def _add_headers(self) -> None:
        for (kind, _, _), (times, spans) in self._headers.items():
            self.sums(HEADERS[kind], in_header, spans.program).add(spans, times)
        self._headers.clear()

    def _add_shapes(self) -> None:
        for shape, (times, message) in self._shapes.items():
            self.sums(f"{message}.", in_body, shape.spans.program).add(shape.spans, times)
        self._shapes.clear()

    def parts(self) -> Iterator[Part]:
        """All that was counted."""
        self._add_headers()
        self._add_shapes()
        if self._frames:
            entry = entry_for(SIZE_PREFIX, 0)
            sums = Sums(entry.program)
            sums.add(walk(entry, bytes(SIZE_BYTES)), self._frames)
            yield from sums.parts("", in_size)
        for (prefix, kinds, _), sums in self._sums.items():
            yield from sums.parts(prefix, kinds)
        for prefix, found in self.record_sets.items():
            yield from found.parts(prefix)
        for (path, kind), (size, count) in self._other.items():
            yield Part(path, kind, kind, 0, size, count)

    def inside(self) -> Iterator[Part]:
        """What compressed records consist of; these bytes are not on the wire."""
        for prefix, found in self.record_sets.items():
            yield from found.inside(prefix)
