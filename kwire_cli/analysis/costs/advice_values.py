"""Values of fields in real messages, as advice counts them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from kwire_cli.analysis.costs.overlaid import is_regular
from kwire_cli.records.batch import Batch, has_payloads, payload_of
from kwire_cli.source.request_log.exchange import Unwritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Bodies, Exchange
    from kwire_cli.spec.catalog import Catalog

    Key = tuple[str, str]
    """The name of a message, and the path of a field in it as in a ledger: without indexes, the elements of an array
    with [] at the end."""


# What was seen of the fields of messages: small, without layouts, so that what several processes have seen
# can be put together, in any order.

MOST_TEXTS = 4096
"""Different strings of one field that are told apart."""


LONGEST = 64
"""Bytes of a string beyond which two are taken to be the same by their length and a hash."""
BLOCKS = 64
"""Parts into which the messages are divided, so that they can be halved although nobody knows beforehand how many there
are."""
PLACES = 64
"""Bits of a place within its input."""


class Cell(NamedTuple):
    """Integers that are alike in all that counts: their bytes now, as zig-zag and as unsigned varint of the field's
    width.

    `taggable` says that the field stands in a structure with a tag section there, and could be in that.
    """

    taggable: bool
    now: int
    packed: int
    upacked: int
    negative: bool
    default: bool


@dataclass(slots=True)
class Field:
    """Observations of one field. `cells` are for integers only.

    Other fields count where they could be tagged, and where they are. For an untagged field, `total` is how often it
    could be tagged, `defaults` how often it is at its default, and `default_bytes` the bytes of these defaults.
    `headers` is the bytes of the tags and sizes that the rest would need. For a tagged field, `total` is the number
    of structures, `present` the number of structures that have the field, and `headers` the bytes of its tags and
    sizes. `default_bytes` is then what the field would take in the other structures if it were not tagged.
    """

    kind: str
    cells: Counter[Cell] = field(default_factory=Counter)
    total: int = 0
    defaults: int = 0
    default_bytes: int = 0
    headers: int = 0
    present: int = 0

    def add(self, other: Field) -> None:
        """Count what was seen elsewhere."""
        self.cells.update(other.cells)
        for name in ("total", "defaults", "default_bytes", "headers", "present"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def count(self) -> int:
        """Return the number of integers."""
        return sum(self.cells.values())


Fields = dict["Key", Field]


def together(parts: Iterable[Fields]) -> Fields:
    """Merge the observations of several parts."""
    out: Fields = {}
    for part in parts:
        _add(out, part)
    return out


def _add(into: Fields, part: Fields) -> None:
    for key, field_counts in part.items():
        into.setdefault(key, Field(field_counts.kind)).add(field_counts)


@dataclass(slots=True)
class Texts:
    """The strings of one field: how many, their bytes, and how often each came, for as many different ones as are
    kept.
    """

    count: int = 0
    size: int = 0
    known: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """The number of occurrences of each value, and its bytes."""
    _ranked: list[tuple[int, bytes]] = field(default_factory=list)
    """A heap of them: where there are too many, those with the lowest hashes are kept, whatever came first."""

    def add(self, data: bytes) -> None:
        """Count one."""
        self.count += 1
        self.size += len(data)
        self._keep(data if len(data) <= LONGEST else _digest(data), 1, len(data))

    def _keep(self, text: bytes, times: int, size: int) -> None:
        tally = self.known.get(text)
        if tally is not None:
            self.known[text] = tally[0] + times, size
            return
        rank = -crc32(text), text
        if len(self.known) < MOST_TEXTS:
            heappush(self._ranked, rank)
        elif rank > self._ranked[0]:
            del self.known[heapreplace(self._ranked, rank)[1]]
        else:
            return
        self.known[text] = times, size

    @property
    def repeated(self) -> int:
        """Bytes of those that had come before; of strings that are not kept none are counted."""
        return sum((times - 1) * size for times, size in self.known.values())


def _digest(data: bytes) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 - long strings are rare

    return len(data).to_bytes(8, "big") + blake2b(data, digest_size=24).digest()


class Halves(NamedTuple):
    """Observations of the first half and of the rest.

    `messages` is the number of messages in the first half, and `rest` the place where the rest begins.
    """

    messages: int
    first: Fields
    second: Fields
    rest: int


@dataclass(slots=True)
class Seen:
    """Observations of all messages: their number, bytes, strings and fields.

    `irregular` counts the messages that are not regular. `blocks` are messages and their fields by place, shifted
    right by `shift` bits. `shift` is as small as possible with at most BLOCKS blocks.
    """

    messages: int = 0
    size: int = 0
    irregular: int = 0
    texts: dict[Key, Texts] = field(default_factory=dict)
    shift: int = 0
    blocks: dict[int, tuple[int, Fields]] = field(default_factory=dict)

    def add(self, at: int, messages: int, fields: Fields) -> None:
        """Count messages of one place, or of several in one block; `fields` are its own from now on."""
        self._put(at >> self.shift, messages, fields)
        while len(self.blocks) > BLOCKS:
            self._widen(self.shift + 1)

    def _put(self, block: int, messages: int, fields: Fields) -> None:
        there = self.blocks.get(block)
        if there is None:
            self.blocks[block] = messages, fields
            return
        _add(there[1], fields)
        self.blocks[block] = there[0] + messages, there[1]

    def _widen(self, shift: int) -> None:
        if shift > self.shift:
            blocks, by = self.blocks, shift - self.shift
            self.blocks, self.shift = {}, shift
            for block, (messages, fields) in blocks.items():
                self._put(block >> by, messages, fields)

    def fields(self) -> Fields:
        """Return the observations of each field, in all messages."""
        return together(fields for _, fields in self.blocks.values())

    def halves(self) -> Halves:
        """About the first half of the messages, by where they are, and the rest."""
        taken = parts = 0
        blocks = sorted(self.blocks)
        for block in blocks:
            count = self.blocks[block][0]
            if parts and abs(2 * (taken + count) - self.messages) > abs(2 * taken - self.messages):
                break
            taken += count
            parts += 1
        first, second = (together(self.blocks[block][1] for block in half) for half in (blocks[:parts], blocks[parts:]))
        return Halves(taken, first, second, (blocks[parts - 1] + 1) << self.shift if parts else 0)


# The messages that advice is drawn from: bodies of requests and responses, and Kafka's own messages in the
# records of its topics.


class Message(NamedTuple):
    """A message by its full name and version, with the spans of its layout.

    `regular` says whether its values say all that its bytes do; `guess` that its version is not known, and another's
    layout was taken. `at` is where it is among all messages: `place_of` an input and what is counted there, packets,
    frames or bytes. `unsaid` are bytes of records of which only the number is known; in `spans` there are none in their
    place.
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
    """Return the place of the first item of an input, given the input's number, counted from 0."""
    return number << PLACES


def named(catalog: Catalog, messages: Iterable[str], apis: Iterable[str]) -> frozenset[str] | None:
    """The full names of these messages, and of the requests and responses of these apis; None, which is all, where none
    are given.
    """
    names = [catalog.entry(name).name for name in messages]
    for api in map(catalog.api, apis):
        names += [name for name in (api.request, api.response) if name]
    return frozenset(names) or None


def in_lines(lines: Iterable[Captured], places: Sequence[int] = (0,)) -> Iterator[Message]:
    """Yield the bodies in the lines of a capture; lines that have none, or of which it was guessed what they are, give
    nothing.

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


def in_frame(frame: Frame, at: int) -> Iterator[Message]:
    """Yield the body of a frame, if it has one about which there is no doubt."""
    if frame.body and not frame.guess:
        yield in_body(frame.body, at)


def in_body(body: Body, at: int = 0, unsaid: int = 0) -> Message:
    """Return a body alone."""
    regular = not body.guess and not body.is_early and is_regular(body.entry, body.raw)
    return Message(body.message, body.layout_version, body.entry, body.raw, regular, body.guess, at, unsaid)


def in_exchanges(exchanges: Iterable[Exchange], bodies: Bodies, place: int = 0) -> Iterator[Message | Unwritten]:
    """Yield the bodies in a request log, written again; what can't be is given as it comes."""
    for exchange in exchanges:
        for message in bodies.of(exchange):
            yield (
                message
                if isinstance(message, Unwritten)
                else in_body(message.body, place + exchange.start, message.unsaid)
            )


def in_batches(items: Iterable[Batch | Gap], place: int = 0) -> Iterator[Message]:
    """Yield the keys and values of the records of Kafka's own topics, where definitions describe them."""
    for item in items:
        if not isinstance(item, Batch) or not has_payloads(item):
            continue
        for record in item.records():
            payload = payload_of(item, record)
            if payload and payload.record:
                yield from (
                    in_body(part.body, place + item.position)
                    for part in (payload.record.key, payload.record.value)
                    if part and part.body
                )
