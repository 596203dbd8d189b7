"""Messages of any input, as advice and what-ifs read them: bodies of frames, and Kafka's messages in records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.records.batch import Batch, has_payloads, payload_of
from kwire_cli.source.request_log.exchange import Unwritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Bodies, Exchange


class Message(NamedTuple):
    """A message by its full name and version, with the spans of its layout.

    `guess` says that the version is not known or may still change. `unsaid` counts the bytes of records of which only
    the size is known; the spans have empty records in their place.
    """

    name: str
    version: int
    entry: Entry
    spans: Spans
    guess: bool = False
    unsaid: int = 0

    @property
    def size(self) -> int:
        """Return the bytes of the message, without headers."""
        return self.spans.stop - self.spans.start + self.unsaid


def in_lines(lines: Iterable[Captured]) -> Iterator[Message]:
    """Yield the bodies in the lines of a capture. Lines without a body, and guessed ones, are left out."""
    for line in lines:
        if plain := line.plain:
            layout = plain.layout
            yield Message(layout.message, layout.version, layout.entry, plain.spans)
        elif line.is_frame and line.frame:
            yield from in_frame(line.frame)


def in_frame(frame: Frame) -> Iterator[Message]:
    """Yield the body of a frame, if there is no doubt about what it is."""
    if frame.body and not frame.guess:
        yield in_body(frame.body)


def in_body(body: Body, unsaid: int = 0) -> Message:
    """Return a body alone."""
    return Message(body.message, body.layout_version, body.entry, body.raw, body.guess or body.is_early, unsaid)


def in_exchanges(exchanges: Iterable[Exchange], bodies: Bodies) -> Iterator[Message | Unwritten]:
    """Yield the bodies in a request log, written as bytes, and those that cannot be written."""
    for exchange in exchanges:
        for message in bodies.of(exchange):
            yield message if isinstance(message, Unwritten) else in_body(message.body, message.unsaid)


def in_batches(items: Iterable[Batch | Gap]) -> Iterator[Message]:
    """Yield the keys and values of the records of Kafka's topics, where definitions describe them."""
    for item in items:
        if not isinstance(item, Batch) or not has_payloads(item):
            continue
        for record in item.records():
            payload = payload_of(item, record)
            if payload and payload.record:
                yield from (
                    in_body(part.body) for part in (payload.record.key, payload.record.value) if part and part.body
                )
