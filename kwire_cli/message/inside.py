"""What the fields of a request or response hold that is a message itself: payloads, and the requests and responses that Envelopes carry (KIP-590)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import in_payload
from kwire_cli.errors import InputError
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read
from kwire_cli.payload.fields import holds_payloads, payloads_of
from kwire_cli.spec.kafka import ENVELOPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.frames import Frame
    from kwire_cli.payload.model import Payload

CARRIED = {"EnvelopeRequest": "requestData", "EnvelopeResponse": "responseData"}
"""The field that is a request or response of its own, header and body without a size, by message."""


@dataclass(frozen=True)
class Forwarded:
    """A request or response in an Envelope: the bytes of the field at `path`."""

    path: str
    frame: Frame

    @property
    def type(self) -> str:
        """The name of the message, such as CreateTopicsRequest."""
        return self.frame.body.message if self.frame.body else f"{self.frame.api or self.frame.api_key} {self.frame.kind}"

    @property
    def version(self) -> int | None:
        """The version of its api."""
        return self.frame.api_version

    @property
    def anomalies(self) -> list[Anomaly]:
        """Those of its header and body; offsets count from its first byte."""
        return in_payload(self.frame.anomalies)

    def to_json(self, *, hidden: dict[str, frozenset[int]]) -> dict[str, Any]:
        """`data` has header and body as a frame's document has; `hidden` the spans to redact by part."""
        document = self.frame.to_json(hidden=hidden)
        return {"path": self.path, "type": self.type, "version": self.version, "data": {"header": document["header"], "body": document["body"]}}


def holds(message: str) -> bool:
    """Whether a message has fields that hold others."""
    return message in CARRIED or holds_payloads(message)


def inside(frame: Frame, asked: Frame | None = None) -> list[Payload | Forwarded]:
    """The messages in a frame about which there is no doubt; `asked` is a response's request, which says what an Envelope brings back."""
    body = frame.body
    if body is None or body.guess or frame.guess or not holds(body.message):
        return []
    return [*payloads_of(frame.catalog, body.spec, body.version, body.tree), *_forwarded(frame, asked)]


def _forwarded(frame: Frame, asked: Frame | None) -> Iterator[Forwarded]:
    assert frame.body  # noqa: S101 - for the type checker
    path = CARRIED.get(frame.body.message)
    at = _field_at(frame, path) if path else None
    if path is None or at is None or at[0] == at[1]:
        return
    start, stop = at
    hints = Hints(kind="request")
    if frame.kind == "response":
        inner = [each.frame for each in inside(asked) if isinstance(each, Forwarded)] if asked else []
        api = frame.catalog.api_by_key(inner[0].api_key) if inner and inner[0].api_key is not None else None
        if not api or not api.response:
            return
        hints = Hints(api, inner[0].api_version, "response")
    if _head_says_envelope(frame, start, stop):
        return  # never written, and a way to make this as deep as the input is long
    try:
        yield Forwarded(path, read(frame.catalog, frame.data, hints, number=frame.number, start=start, stop=stop, prefixed=False))
    except InputError:
        return


def _head_says_envelope(frame: Frame, start: int, stop: int) -> bool:
    from kwire_cli.message.headers import request_head  # noqa: PLC0415 - for Envelopes only

    head = request_head(frame.catalog, frame.data, start, stop) if frame.kind == "request" else None
    return head is not None and head.api_key == ENVELOPE


def _field_at(frame: Frame, path: str) -> tuple[int, int] | None:
    """Return where the value of a field stands in the data; None if the field ends early."""
    assert frame.body  # noqa: S101 - for the type checker
    return next(((span.value, span.end) for span in frame.body.spans if span.path == path and span.kind != "gap"), None)


def located(frame: Frame, found: list[Payload | Forwarded]) -> list[Anomaly]:
    """The anomalies of what is inside, with paths and offsets of the frame; of what is deeper inside, the offset of what it is in."""
    out: list[Anomaly] = []
    starts = {span.path: span.value for span in frame.body.spans} if frame.body and any(each.anomalies for each in found) else {}
    for each in found:
        for note in each.anomalies:
            path = f"{each.path}.{note.path}".rstrip(".")
            if isinstance(each, Forwarded):
                out.append(note._replace(path=path))
            elif each.path in starts:
                out.append(note._replace(path=path, offset=starts[each.path] + note.offset))
            else:
                around = max((start for outer, start in starts.items() if each.path.startswith(outer)), default=frame.start)
                out.append(note._replace(path=path, offset=around))
    return out
