"""Frames and bodies that come without a capture, as what can be counted and grouped like its lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.message.record_fields import RecordsAs
from kwire_cli.message.roles import role_values, roles, top_value, topics_in
from kwire_cli.source.capture.origin import ALONE

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame


class _Seen(NamedTuple):
    kind: str
    size: int
    code: str | None = None


@dataclass(frozen=True)
class Loose:
    """A frame, or a body alone, with the properties of a line of a capture. `frame` is None for a body."""

    frame: Frame | None
    body: Decoded | None
    number: int

    plain = request = stream = src = dst = None
    origin = ALONE
    names = RecordsAs()
    """Nothing is known of topic ids, but of the one that is always the same."""

    @property
    def place(self) -> int:
        """Its number, in place of a packet's."""
        return self.number

    @property
    def kind(self) -> str:
        """request, response or unknown; for a body what its definition says."""
        return self.frame.kind if self.frame else self.body.spec.type if self.body else "unknown"

    @property
    def is_frame(self) -> bool:
        """Whether it is a request or a response."""
        return self.frame is not None and self.frame.kind != "unknown"

    @property
    def seen(self) -> Any:
        """Its kind and size."""
        return _Seen(self.kind, self.frame.size if self.frame else self.body.stop - self.body.start if self.body else 0)

    @property
    def api_key(self) -> int | None:
        """The key of its api."""
        return self.frame.api_key if self.frame else self.body.spec.api_key if self.body else None

    @property
    def api(self) -> str | None:
        """The name of its api."""
        return self.frame.api if self.frame else None

    @property
    def api_version(self) -> int | None:
        """The version of its api."""
        return self.frame.api_version if self.frame else None

    @property
    def client_id(self) -> str | None:
        """The client id in its header."""
        header = self.frame.header if self.frame and self.frame.kind == "request" else None
        found: str | None = top_value(roles(header.spec, header.entry), header.raw, "clientId") if header else None
        return found

    @cached_property
    def topics(self) -> list[str]:
        """The topics in it, by name or id."""
        if self.body is None or self.body.guess:
            return []
        names, ids = topics_in(role_values(roles(self.body.spec, self.body.entry), self.body.raw))
        return list(dict.fromkeys([*names, *map(self.names.topic, ids)]))
