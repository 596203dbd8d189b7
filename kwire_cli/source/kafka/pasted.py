"""Frames without a capture as lines, so that the columns of frames are read from both in the same way.

A pasted frame has no time, no addresses and no request. Without a connection, only its own bytes show where the frame
begins: if they leave doubt, the header and the body may be bytes of a secret, and no column has their values.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.message.frames import HEAD
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.packets.model import Place

if TYPE_CHECKING:
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.message.roles import Roles
    from kwire_cli.spec.catalog import Catalog

_UNKNOWN: Any = None
"""The addresses of a pasted frame, and the place of its bytes."""


class PastedFrame(Captured):
    """A frame without a capture, without numbers that may be bytes of a secret."""

    __slots__ = ("_hidden",)

    source = "pasted"

    def __init__(self, frame: Frame, redaction: Redaction) -> None:
        kind = "response" if frame.kind == "response" else "request"
        cut = Cut("frame", frame.data[frame.start : frame.stop], _UNKNOWN, None, 0)
        connection = _connection(redaction.catalog)
        super().__init__(Seen(kind, 0, cut), _UNKNOWN, _UNKNOWN, _UNKNOWN, connection, Names())
        self.number = frame.number
        self._where = Place(None, None)
        self._hidden = redaction.frame(frame)
        self._frame = frame.shown(self._hidden)

    def hidden(self, redaction: Redaction) -> dict[str, frozenset[int]]:  # noqa: ARG002 - known from the start
        """Return the spans of secrets by part."""
        return self._hidden

    @property
    def read(self) -> tuple[Roles, Spans] | None:
        """The body's spans and the roles in them; None if the body may be bytes of a secret."""
        return None if HEAD in self._hidden else super().read

    def _header(self, name: str) -> Any:
        return None if HEAD in self._hidden else super()._header(name)


@lru_cache(maxsize=4)
def _connection(catalog: Catalog) -> Connection:
    return Connection(Layouts(catalog))
