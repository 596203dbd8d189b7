"""The messages that advice is drawn from: bodies of requests and responses, and Kafka's own messages in the records of its topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cost.advice.seen import PLACES
from kwire_cli.cost.overlaid import is_regular
from kwire_cli.source.request_log.bodies import Unwritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.body import Body
    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.bodies import Bodies
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.spec.catalog import Catalog


class Message(NamedTuple):
    """A message by its full name and version, with the spans of its layout.

    `regular` says whether its values say all that its bytes do; `guess` that its version is not known, and another's layout was taken. `at` is where
    it is among all messages: `place_of` an input and what is counted there, packets, frames or bytes. `unsaid` are bytes of records of which
    only the number is known; in `spans` there are none in their place.
    """

    name: str
    version: int
    entry: Entry
    spans: Spans
    regular: bool
    guess: bool = False
    at: int = 0
    unsaid: int = 0

    @property
    def size(self) -> int:
        """Its bytes, without header or what else stands around it."""
        return self.spans.stop - self.spans.start + self.unsaid


def place_of(number: int) -> int:
    """Where the first thing of an input would be, among several that are counted from 0."""
    return number << PLACES


def named(catalog: Catalog, messages: Iterable[str], apis: Iterable[str]) -> frozenset[str] | None:
    """The full names of these messages, and of the requests and responses of these apis; None, which is all, where none are given."""
    names = [catalog.entry(name).name for name in messages]
    for api in map(catalog.api, apis):
        names += [name for name in (api.request, api.response) if name]
    return frozenset(names) or None


def in_lines(lines: Iterable[Captured], places: Sequence[int] = (0,)) -> Iterator[Message]:
    """The bodies in the lines of a capture; lines that have none, or of which it was guessed what they are, give nothing.

    `places` are those of the capture points; of a single one all lines are.
    """
    one = places[0] if len(places) == 1 else None
    for line in lines:
        at = line.place + (places[line.origin.index] if one is None else one)
        if plain := line.plain:
            layout, spans = plain.layout, plain.spans
            yield Message(layout.message, layout.version, layout.entry, spans, is_regular(layout.entry, spans), at=at)
        elif line.is_frame and line.frame:
            yield from in_frame(line.frame, at)


def in_frame(frame: Frame, at: int = 0) -> Iterator[Message]:
    """The body of a frame, if it has one about which there is no doubt."""
    if frame.body and not frame.guess:
        yield in_body(frame.body, at)


def in_body(body: Body, at: int = 0, unsaid: int = 0) -> Message:
    """A body alone."""
    regular = not body.guess and is_regular(body.entry, body.raw)
    return Message(body.message, body.layout_version, body.entry, body.raw, regular, body.guess, at, unsaid)


def in_exchanges(exchanges: Iterable[Exchange], bodies: Bodies, place: int = 0) -> Iterator[Message | Unwritten]:
    """The bodies in a request log, written again; what can't be is given as it comes."""
    for exchange in exchanges:
        for found in bodies.of(exchange):
            yield found if isinstance(found, Unwritten) else in_body(found.body, place + exchange.start, found.unsaid)


def in_batches(items: Iterable[Batch | Gap], place: int = 0) -> Iterator[Message]:
    """The keys and values of the records of Kafka's own topics, where definitions describe them."""
    from kwire_cli.records.batch import Batch  # noqa: PLC0415 - captures need none of this
    from kwire_cli.records.payloads import has_payloads, payload_of  # noqa: PLC0415 - as above

    for item in items:
        if not isinstance(item, Batch) or not has_payloads(item):
            continue
        for record in item.records():
            found = payload_of(item, record)
            if found and found.record:
                yield from (in_body(part.body, place + item.position) for part in (found.record.key, found.record.value) if part and part.body)
