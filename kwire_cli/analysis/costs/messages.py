"""Messages of any input, as advice reads them: bodies of frames, and Kafka's messages in records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.python_source import MalformedError
from kwire_cli.engine.reader import SKIP, reader_of
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form, anomalies, value
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

    `guess` says that the version is not known or may still change. If a request log has only the sizes of records,
    `unsaid` counts their bytes, and the records in the spans are empty.
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
    """Yield the body of a frame, unless it is a guess."""
    if frame.body and not frame.guess:
        yield in_body(frame.body)


def in_body(body: Body, unsaid: int = 0) -> Message:
    """Return a body."""
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


def is_regular(entry: Entry, spans: Spans) -> bool:
    """Return whether the values say everything that the bytes do.

    They do if everything was read, and if any correct writer would write these very bytes.
    """
    try:
        reader_of(entry, SKIP)(spans.data, spans.start, spans.stop)
    except MalformedError:
        return spans.lost < 0 and spans.used == spans.stop and not anomalies(build(entry, spans))
    return True


def values_of(entry: Entry, spans: Spans) -> dict[str, Any] | None:
    """Return the values of a regular message in Kafka's JSON form, records as base64 text; None for any other."""
    try:
        return reader_of(entry)(spans.data, spans.start, spans.stop).value
    except MalformedError:
        if not is_regular(entry, spans):
            return None
    tree = build(entry, spans)
    body: dict[str, Any] = value(tree.root, tree, Form())
    return body
