"""The bytes of messages and of files of records, counted by owner.

`Costs` receives messages, walks their bytes, and adds them up. Well-formed bodies are counted by a reader generated for
their layout, all others by their spans. Headers are kept with the number of their occurrences. Records in messages are
expanded. `rows` yields the sums as rows of the tables in `columns`. Memory grows with owners and fields, not with
messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.python_source import MalformedError
from kwire_cli.engine.reader import counter_of
from kwire_cli.engine.spans import walk
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.columns import OF_LAYOUT, OWNERS, key_of
from kwire_cli.facts.costs.ledger import GAP_PATH, GUESS_PATH, Kind, Ledger, in_body, in_header, in_size
from kwire_cli.facts.costs.limits import Largest
from kwire_cli.facts.costs.records_in_messages import Opened, owners, places, places_in
from kwire_cli.facts.costs.subjects import is_frame, packet_of, topic_name, topics_of
from kwire_cli.message.decoded import Decoded
from kwire_cli.message.encode import decode_header
from kwire_cli.message.frames import SIZE_BYTES, Frame
from kwire_cli.message.roles import roles
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.structs.messages import SIZE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.records_in_messages import Named, Owner, Place
    from kwire_cli.facts.costs.subjects import Message
    from kwire_cli.message.known_layout import Layout, Plain, Tail
    from kwire_cli.message.roles import Roles
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.kafka.connection import Seen
    from kwire_cli.spec.catalog import Catalog

    Key = tuple[Any, ...]


MOST_KEPT = 256
"""Maximum number of different headers of an owner in memory. Beyond it, they are added to the ledger."""
HEADERS = {"request": "RequestHeader.", "response": "ResponseHeader."}
"""The prefix of the paths of header fields."""
_OTHERS = {"sasl-token": ("sasl token", Kind.SASL_TOKEN), "not-kafka": ("not kafka", Kind.NOT_KAFKA)}


@dataclass(slots=True)
class Account:
    """Counts of an owner in addition to the ledger: messages, and statistics of the batches in their records.

    `headers` are the headers that are not in the ledger yet, with the number of their occurrences. The key is the kind,
    the version, and the bytes that determine the positions of spans.
    """

    messages: int = 0
    sizes: BatchSizes = field(default_factory=BatchSizes)
    headers: dict[tuple[str, int, bytes], list[Any]] = field(default_factory=dict)


class _Counted(NamedTuple):
    """The counter of bodies of a layout. `rows` are the places of records in the last body, and of their owners."""

    owner: Key
    read: Callable[..., None]
    sums: list[int]
    rows: list[Place]


def number_of(subject: Message) -> dict[str, Any]:
    """Return the identification of a message: its frame number. A separate body has no number."""
    return {} if isinstance(subject, Decoded) else {"frame": subject.number}


def no_frame(seen: Seen) -> tuple[str, Kind]:
    """Return the path and the kind of the bytes of a line that is not a frame."""
    if seen.content and not seen.reason:
        return seen.protocol or "", Kind.TLS
    return _OTHERS.get(seen.kind) or ("gap", Kind.LOST if seen.code == "LOST" else Kind.GAP)


@dataclass
class Costs:
    """The bytes of messages and files of records by the values of `columns` (of columns.OWNERS).

    `messages` and `size` count all messages and files of records. The rows of `costs` add up to the same size.
    `file` is the input file of the messages, and `named` returns the identification of a message with the largest size.
    """

    catalog: Catalog
    columns: Sequence[str]
    limits: Limits | None = None
    file: str | None = None
    size: int = 0
    messages: int = 0
    accounts: dict[Key, Account] = field(default_factory=dict)
    largest: Largest = field(default_factory=Largest)
    named: Named = number_of
    inside: Ledger = field(default_factory=Ledger)
    """The bytes of decompressed records. They are not on the wire."""

    def __post_init__(self) -> None:
        self._key = key_of(self.columns)
        self._at = {name: self.columns.index(name) for name in ("topic", "partition", "file") if name in self.columns}
        self._splits = "topic" in self._at or "partition" in self._at
        self._is_by_layout = OF_LAYOUT.issuperset(self.columns)
        self._counted: dict[tuple[Key, Layout] | Layout, _Counted] = {}
        self.wire = Ledger()
        self._opened = Opened(
            self.wire,
            self.inside,
            lambda owner: self.account(owner).sizes,
            self.largest,
            self.limits,
            self.named,
        )

    @property
    def ledger(self) -> Ledger:
        """Return all bytes that were counted."""
        for owner, account in self.accounts.items():
            self._settle_headers(owner, account)
        return self.wire

    def rows(self) -> Iterator[tuple[str, Key]]:
        """Yield the rows, each with the name of its table."""
        for table, ledger in (("costs", self.ledger), ("unpacked_costs", self.inside)):
            for row in ledger.rows():
                numbers = row.prefix_bytes, row.value_bytes, row.count, 0
                yield table, (*self._owner(row.owner), row.path, *(row.kinds or (None, None)), *numbers)
        for key, account in self.accounts.items():
            owner = self._owner(key)
            yield "costs", (*owner, None, None, None, 0, 0, 0, account.messages)
            for sizes in account.sizes.rows():
                yield "batch_sizes", (*owner, *sizes)
        for place in self.largest.rows():
            yield "largest", place

    def _owner(self, key: Key) -> Key:
        """Return the values of all OWNERS."""
        values = dict(zip(self.columns, key, strict=True))
        return tuple(values.get(column.name) for column in OWNERS)

    def account(self, key: Key) -> Account:
        """Return the account of these values. It is created if it does not exist."""
        key_account = self.accounts.get(key)
        if key_account is None:
            key_account = self.accounts[key] = Account()
        return key_account

    def key_of(self, subject: Message) -> Key:
        """Return the values of a message."""
        key = self._key(subject)
        return self._with(key, file=self.file) if "file" in self._at else key

    def _with(self, key: Key, **values: Any) -> Key:
        out = [*key]
        for name, value in values.items():
            if name in self._at:
                out[self._at[name]] = value
        return tuple(out)

    def _owned(self, key: Key, owner: Owner) -> Key:
        """Return the values for bytes of a topic or of one of its partitions."""
        return self._with(key, topic=owner.topic, partition=owner.partition) if owner.topic else key

    # Messages

    def add(self, subject: Message) -> None:
        """Count a line of a capture, a frame or a body."""
        if isinstance(subject, Captured):
            self._line(subject)
        elif isinstance(subject, Frame):
            self.size += subject.size
            self.messages += 1
            key = self.key_of(subject)
            if subject.kind == "request":
                self._see_request(subject, subject.size)
            self._frame(subject, subject, key)
        else:
            self.size += _size(subject)
            self.messages += 1
            key = self.key_of(subject)
            self.account(key).messages += 1
            self._decoded(subject, subject, key)

    def _line(self, line: Captured) -> None:
        seen = line.seen
        self.size += seen.size
        self.messages += 1
        plain = seen.plain
        counted = None
        if plain is not None and not (self._splits and self._is_split(line)):
            counted = self._count(line, plain)
        if counted is None:
            # The readers of bodies reject tagged fields too.
            if (plain := line.plain) is None:
                self._count_irregular(line)
                return
            key = self.key_of(line)
            rows = None
        else:
            key, _, _, rows = counted
        assert plain is not None  # noqa: S101 - for the type checker
        layout = plain.layout
        if seen.kind == "request" and seen.size - SIZE_BYTES >= self.largest.sizes["request"]:
            self._see_request(line, seen.size)
        self.add_headers(key, layout, plain.tail)
        if rows:
            self._opened.add(line, f"{layout.message}.", plain.data, rows, places(layout.roles), lambda _: key)
        elif rows is None:
            self._body(line, key, layout.message, plain.spans, layout.roles)

    def add_headers(self, key: Key, layout: Layout, tail: Tail) -> None:
        """Count a message of a layout whose header ends with these bytes, without its body."""
        account = self.account(key)
        account.messages += 1
        kept = layout.kind, layout.header_version, tail.data
        header = account.headers.get(kept)
        if header is None:
            if len(account.headers) >= MOST_KEPT:
                self._settle_headers(key, account)
            account.headers[kept] = [1, _header(self.catalog, layout, tail.data)]
        else:
            header[0] += 1

    def _settle_headers(self, owner: Key, account: Account) -> None:
        """Add the bytes of headers, and of the size prefixes before them, to the ledger."""
        if frames := sum(times for times, _ in account.headers.values()):
            self.wire.add_spans(owner, "", in_size, _size_prefix(), frames)
        for (kind, _, _), (times, spans) in account.headers.items():
            self.wire.add_spans(owner, HEADERS[kind], in_header, spans, times)
        account.headers.clear()

    def _count(self, line: Captured, plain: Plain) -> _Counted | None:
        """Count a body with the reader of its layout. If the reader rejects it, return None and count nothing."""
        layout = plain.layout
        key = layout if self._is_by_layout else (self.key_of(line), layout)
        counted = self._counted.get(key)
        if counted is None:
            where = places(layout.roles).by_node if layout.has_records else {}
            owner = self.key_of(line)
            counter = counter_of(layout.entry, where)
            sums = self.wire.vector(owner, f"{layout.message}.", in_body, counter)
            counted = self._counted[key] = _Counted(owner, counter.count, sums, [])
        _, read, sums, rows = counted
        rows.clear()
        data = plain.data
        try:
            read(data, plain.start, len(data), sums, rows)
        except MalformedError:
            return None
        return counted

    def _is_split(self, subject: Message) -> bool:
        """Return whether the bytes of the body belong to several topics or partitions."""
        return self._splits and ("partition" in self._at or len(topics_of(subject)) > 1)

    def _see_request(self, subject: Message, size: int) -> None:
        self.largest.see("request", size - SIZE_BYTES, packet_of(subject), partial(self.named, subject))

    def _count_irregular(self, line: Captured) -> None:
        """Count a line that has to be decoded in full, or is not a frame."""
        wire_message = line.seen
        frame = line.frame
        key = self.key_of(line)
        if frame is None:
            path, kind = no_frame(wire_message)
            self.account(key).messages += 1
            self._other(key, path, kind, wire_message.size)
            return
        if wire_message.kind == "request":
            self._see_request(line, wire_message.size)
        self._frame(line, frame, key)

    def _frame(self, subject: Message, frame: Frame, key: Key) -> None:
        """Count a frame that was decoded in full. Its body is a guess if its api is a guess."""
        self.account(key).messages += 1
        left = frame.size
        if frame.prefix:
            self.wire.add_spans(key, "", in_size, frame.prefix.raw)
            left -= _size(frame.prefix)
        if frame.header:
            self.wire.add_spans(key, HEADERS.get(frame.kind, ""), in_header, frame.header.raw)
            left -= _size(frame.header)
        if frame.body:
            left -= _size(frame.body)
            if frame.guess:
                self._other(key, GUESS_PATH, Kind.GUESS, _size(frame.body))
            else:
                self._decoded(subject, frame.body, key)
        if left:
            self._other(key, GAP_PATH, Kind.GAP, left)

    def _other(self, key: Key, path: str, kind: Kind, size: int) -> None:
        """Count bytes without spans."""
        self.wire.add(key, path, (kind, kind), 0, size, 1)

    def _decoded(self, subject: Message, body: Decoded, key: Key) -> None:
        """Count a body that was decoded in full."""
        if body.guess:
            self._other(key, GUESS_PATH, Kind.GUESS, _size(body))
        else:
            self._body(subject, key, body.message, body.raw, roles(body.spec, body.entry))

    def _body(self, subject: Message, key: Key, message: str, spans: Spans, known: Roles) -> None:
        """Count the spans of a body, and its records."""
        layout_places = places(known)
        prefix = f"{message}." if is_frame(subject) else ""
        there: list[Key] = []
        if self._is_split(subject):
            for first, last, owner in owners(layout_places, spans, partial(topic_name, subject)):
                owned = self._owned(key, owner)
                self.wire.add_spans(owned, prefix, in_body, spans, first=first, last=last)
                there += [owned] * (last - first)
            for owned in {*there} - {key}:
                self.account(owned).messages += 1
        else:
            self.wire.add_spans(key, prefix, in_body, spans)
        if rows := places_in(spans, layout_places):
            self._opened.add(subject, prefix, spans.data, rows, layout_places, lambda at: there[at] if there else key)

    # Record sets

    def records(self, data: Any, topic: str | None, partition: int | None, form: str) -> Iterator[int]:
        """Count a record set or segment of a partition. Yield the position after each batch."""
        self.size += len(data)
        self.messages += 1
        key = self._with(tuple(None for _ in self.columns), topic=topic, partition=partition, file=self.file)
        self.account(key).messages += 1
        where = {"file": self.file} if self.file else {}
        yield from self._opened.whole(key, data, form, where)


@cache
def _size_prefix() -> Spans:
    return walk(entry_for(SIZE_PREFIX, 0), bytes(SIZE_BYTES))


@lru_cache(maxsize=1 << 12)
def _header(catalog: Catalog, layout: Layout, tail: bytes) -> Spans:
    """Return the spans of a header that ends with these bytes."""
    data = bytes(layout.tail_at) + tail
    return decode_header(catalog, layout.kind, layout.header_version, data, start=SIZE_BYTES, stop=len(data)).raw


def _size(part: Decoded) -> int:
    """Return the bytes that its spans cover."""
    return part.raw.stop - part.raw.start
