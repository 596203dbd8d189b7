"""What goes on between two ends, put away and taken up again: segments in, lines out, and all that is known meanwhile as bytes.

What is put away is what TCP and Kafka need to go on: holes, parts of frames, requests that wait, names. Layouts and what was read by them are not in
it: they are those of the catalogue of whoever takes it up again.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.fixed import Fixed
from kwire_cli.engine.shapes import Shape
from kwire_cli.engine.spans import Spans
from kwire_cli.message.frames import Frame
from kwire_cli.message.headers import heads
from kwire_cli.message.plain import Layout, Layouts
from kwire_cli.source.capture.events import Start
from kwire_cli.source.capture.origin import ALONE, Origin
from kwire_cli.source.capture.reading import BATCH
from kwire_cli.source.capture.tcp import Streams
from kwire_cli.source.kafka.names import Names
from kwire_cli.source.kafka.traffic import Lines
from kwire_cli.spec.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.source.capture.events import Event
    from kwire_cli.source.capture.model import Segment
    from kwire_cli.source.kafka.captured import Captured

FORM = 2
"""Of what is put away; only the same one can be taken up. It grows when what is kept changes."""
_SHOWN_AGAIN = (Frame, Spans, Shape)
"""What was read from bytes that are kept: it is read again when it is asked for."""
_OURS = ("kwire_cli.", "collections", "functools")


class Ongoing:
    """The connections between two ends. Packets are numbered over all that is captured; `starts` are the first ones of connections by number.

    `origin` says in which files they are; it is not put away.
    """

    def __init__(self, layouts: Layouts, port: int | None, origin: Origin = ALONE) -> None:
        self._streams = Streams()
        self._lines = Lines(layouts, port, Names(), self._streams.waiting_since, origin)
        self._starts: dict[int, int] = {}

    def take(self, segments: Iterable[Segment]) -> Iterator[tuple[Captured, int]]:
        """The lines that these segments complete, each with the first packet of its connection."""
        feed, idle = self._streams.feed, self._streams.idle
        events: list[Event] = []
        for number, segment in enumerate(segments, 1):
            events += idle(segment.packet - 1)
            events += feed(segment)
            if not number % BATCH:
                yield from self._told(events)
                events = []
        yield from self._told(events)

    def pass_by(self, packet: int) -> Iterator[tuple[Captured, int]]:
        """Packets up to this one were of others."""
        yield from self._told([*self._streams.idle(packet)])

    def close(self) -> Iterator[tuple[Captured, int]]:
        """Nothing more comes: what waits is given, and all connections end."""
        yield from self._told([*self._streams.flush(), *self._streams.close()])
        yield from ((line, self._starts[line.stream]) for line in self._lines.close())

    def _told(self, events: list[Event]) -> Iterator[tuple[Captured, int]]:
        for event in events:
            if type(event) is Start:
                self._starts[event.connection] = event.packet
        yield from ((line, self._starts[line.stream]) for line in self._lines.take(events))
        if not self._lines.held:
            self._starts = {number: self._starts[number] for number in self._lines.watch.connections}

    @property
    def waiting_since(self) -> int | None:
        """The lowest packet whose bytes are in no line yet, but for frames that have begun; None where there is none."""
        return self._streams.waiting_since()

    def put_away(self, layouts: Layouts) -> bytes:
        """All of it, as bytes."""
        out = io.BytesIO()
        _Pickler(out, layouts).dump(self)
        return out.getvalue()


def taken_up(kept: bytes, layouts: Layouts, origin: Origin = ALONE) -> Ongoing:
    """What was put away, by this kwire."""
    found: Ongoing = _Unpickler(io.BytesIO(kept), layouts, origin).load()
    return found


class _Pickler(pickle.Pickler):
    """Names what each process has of its own, and leaves out what can be read again."""

    def __init__(self, out: io.BytesIO, layouts: Layouts) -> None:
        super().__init__(out, protocol=5)
        self._heads = heads(layouts.catalog)

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """What stands for an object; None for one that is pickled."""
        kind = type(obj)
        if kind is Layouts or kind is Catalog:
            return (kind.__name__,)
        if kind is Layout:
            return "Layout", obj.kind, obj.api_key, obj.version
        if kind is Fixed:
            return "head", self._heads.index(obj)
        if isinstance(obj, Origin):
            return ("Origin",)
        return ("nothing",) if kind in _SHOWN_AGAIN else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, layouts: Layouts, origin: Origin) -> None:
        super().__init__(data)
        self._layouts, self._origin = layouts, origin

    def persistent_load(self, pid: Any) -> Any:
        """The object that was named."""
        what, *which = pid
        if what == "Layout":
            return self._layouts.get(*which)
        if what == "head":
            return heads(self._layouts.catalog)[which[0]]
        return {"Layouts": self._layouts, "Catalog": self._layouts.catalog, "Origin": self._origin}.get(what)

    def find_class(self, module: str, name: str) -> Any:
        """Only what is put away is taken up."""
        if module.startswith(_OURS) or (module, name) == ("builtins", "getattr"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not of a connection")
