"""The messages that advice is drawn from: bodies of requests and responses, and Kafka's own messages in the records of its topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cost.overlaid import is_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.body import Body
    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap
    from kwire_cli.source.kafka.captured import Captured


class Message(NamedTuple):
    """A message by its full name and version, with the spans of its layout.

    `regular` says whether its values say all that its bytes do; `guess` that its version is not known, and another's layout was taken.
    """

    name: str
    version: int
    entry: Entry
    spans: Spans
    regular: bool
    guess: bool = False

    @property
    def size(self) -> int:
        """Its bytes, without header or what else stands around it."""
        return self.spans.stop - self.spans.start


def in_lines(lines: Iterable[Captured]) -> Iterator[Message]:
    """The bodies in the lines of a capture; lines that have none, or of which it was guessed what they are, give nothing."""
    for line in lines:
        if plain := line.plain:
            layout, spans = plain.layout, plain.spans
            yield Message(layout.message, layout.version, layout.entry, spans, is_regular(layout.entry, spans))
        elif line.is_frame and line.frame:
            yield from in_frame(line.frame)


def in_frame(frame: Frame) -> Iterator[Message]:
    """The body of a frame, if it has one about which there is no doubt."""
    if frame.body and not frame.guess:
        yield in_body(frame.body)


def in_body(body: Body) -> Message:
    """A body alone."""
    return Message(body.message, body.layout_version, body.entry, body.raw, not body.guess and is_regular(body.entry, body.raw), body.guess)


def in_batches(items: Iterable[Batch | Gap]) -> Iterator[Message]:
    """The keys and values of the records of Kafka's own topics, where definitions describe them."""
    from kwire_cli.records.batch import Batch  # noqa: PLC0415 - captures need none of this
    from kwire_cli.records.payloads import has_payloads, payload_of  # noqa: PLC0415 - as above

    for item in items:
        if not isinstance(item, Batch) or not has_payloads(item):
            continue
        for record in item.records():
            found = payload_of(item, record)
            if found and found.record:
                yield from (in_body(part.body) for part in (found.record.key, found.record.value) if part and part.body)
