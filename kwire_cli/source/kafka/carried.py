"""The state that a connection carries from one capture file to the next, as JSON: no pickles, no names of classes.

A connection is steady if both sides are certain, no segment waits and no hole is open. It carries little: the next
sequence numbers, the requests without a response, and incomplete frames. The reader of the next file gets
segments that are built from these. Any other connection carries its segments since it began or was last steady. The
number of lines that were already emitted is carried too, so that they are not emitted again.

Bytes that may contain a secret are not carried, unless secrets are wanted: tokens, requests and responses with a secret
field, records of Kafka's own topics, incomplete frames whose header does not belong to the connection, and bytes that
are not decoded yet. Records of TLS are carried. The next file reads a connection that is not carried as one whose
beginning is missing.

Packets of the next file are counted from FIRST on. Carried packets have lower numbers, with the same distances between
them: decisions that wait for some packets are made as in one file.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.message.roles import may_hold_secrets
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.connection import State
from kwire_cli.source.packets.model import MASK, NO_TIME, Counts, Place, Segment, turned
from kwire_cli.structs.network import ACK, PSH, SYN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
    from kwire_cli.source.kafka.connection import Connection
    from kwire_cli.source.packets.descriptors import Run
    from kwire_cli.source.packets.tcp_direction import Half

    Item = Stretch | Captured

FIRST = 1 << 20
MOST_BYTES = 64 << 10
"""Maximum size of the segments that a connection carries."""
MOST_SEGMENTS = 4096
MOST_PENDING = 1 << 20
"""Maximum size of the pending requests that a steady connection carries."""


@dataclass
class Carrier:
    """Follows a connection, to return the state that the next file needs.

    `steady` is the last steady state, or None if it was not needed or never occurred. `segments` are the segments since
    then, `items` the stretches and lines since then, and `messages` the messages of those that are settled, with None
    for uncertain lines. `given` is the number of lines until then. A connection is `lost` if it has more than it may
    carry. `shows_secrets` allows to carry secrets.
    """

    reader: EndsReader
    shows_secrets: bool = False
    steady: dict[str, Any] | None = None
    segments: list[list[Any]] = field(default_factory=list)
    given: int = 0
    lost: bool = False
    size: int = 0
    latest: int = NO_TIME
    """The time of the last packet in nanoseconds."""
    messages: set[str | None] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)

    def lines(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, and record them."""
        for item in items:
            self.items.append(item)
            yield item

    def settle(self) -> None:
        """Add the messages of the items. Most connections end before their messages are needed."""
        self.messages.update(*map(_messages, self.items))
        self.items = []

    def took(self, run: Run) -> None:
        """Record segments that the reader has processed."""
        if len(run.rows):
            self.latest = max(self.latest, int(run.rows["time"].max()))
        if self.reader.is_over:
            self._begin(None)
            return
        self.size += int(run.rows["size"].sum())
        if self.size > MOST_BYTES or len(self.segments) + len(run.rows) > MOST_SEGMENTS:
            self._begin(_steady(self.reader))
            self.lost = self.steady is None
        elif not self.lost:
            self.segments += [self._row(segment) for segment in run.segments(self.reader.ends)]

    def _begin(self, steady: dict[str, Any] | None) -> None:
        self.steady = steady
        self.segments = []
        self.size = 0
        self.messages = set()
        self.items = []
        self.given = self.reader.lines.count
        self.lost = False

    def _row(self, segment: Segment) -> list[Any]:
        packet, time, ends, sequence, acknowledgment, flags, payload, missing = segment
        place = self.reader.origin.place(packet)
        numbers = (int(ends != self.reader.ends), sequence, acknowledgment, flags, missing)
        return [_text(payload), packet, time, *place, *numbers]

    def state(self, last: int) -> dict[str, Any] | None:
        """Return the state after packet `last` of the capture, or None if the connection is over."""
        if self.reader.is_over:
            return None
        steady = _steady(self.reader)
        if not self.shows_secrets and self._holds_secrets(is_steady=steady is not None):
            return {"lost": True}
        if steady is None and self.lost:
            return {"lost": True}
        state = {"steady": steady} if steady else {"steady": self.steady, "segments": self.segments}
        return {**state, "given": 0 if steady else self.reader.lines.count - self.given, "last": last}

    def _holds_secrets(self, *, is_steady: bool) -> bool:
        """Return whether the pending requests, the incomplete frames or the segments may contain secrets."""
        data: list[bytes] = []
        messages: set[str | None] = set()
        if not is_steady:
            data += [b64decode(row[0]) for row in self.segments]
            self.settle()
            messages |= self.messages
        for connection in self.reader.connections:
            if connection.state is State.FOREIGN:
                continue
            if not all(map(connection.is_begun, (0, 1))):
                return True
            begun = [connection.beginning(side)[0] for side in (0, 1)]
            data += [*(seen.data for seen in connection.pending), *begun]
            keys = [seen.head.api_key for seen in connection.pending if seen.head]
            asked = begun[connection.client or 0]
            if len(asked) >= _API_KEY_END and connection.client is not None:
                keys.append(int.from_bytes(asked[SIZE_BYTES:_API_KEY_END], "big"))
            for key in keys:
                api = connection.catalog.named_api(key)
                messages |= {api.request, api.response} if api else {None}
        everything = b"".join(data)
        states = {connection.state for connection in self.reader.connections}
        if not everything or (everything.startswith(_TLS) and states <= {State.FOREIGN}):
            return False
        if not is_steady and (not states <= {State.KAFKA} or self.reader.streams.has_holes):
            return True
        return any(message is None or may_hold_secrets(message, everything) for message in messages)


_API_KEY_END = SIZE_BYTES + 2
_TLS = b"\x16\x03"
"""The first bytes of a TLS handshake."""


def _messages(item: Item) -> set[str | None]:
    """Return the messages in a stretch or a line; None for an uncertain line."""
    if isinstance(item, Captured):
        is_known = item.kind in {"request", "response"} and not item.guess
        return {item.message if is_known else None}
    return {frames.layout.message for frames in item.frames}


def _text(data: bytes | memoryview) -> str:
    return b64encode(data).decode()


def _steady(reader: EndsReader) -> dict[str, Any] | None:
    """Return the state of a steady connection, or None if the connection is not steady."""
    found = reader.steady
    if found is None:
        return None
    connection, half = found
    if sum(len(seen.data) for seen in connection.pending) > MOST_PENDING:
        return None
    client = connection.client or 0
    halves = {half.direction: half, half.peer.direction: half.peer}
    ends = {half.direction: reader.ends, half.peer.direction: turned(reader.ends)}
    rests = []
    for side in (client, 1 - client):
        data, packet, time = connection.beginning(side)
        rests.append([_text(data), packet, time, *reader.origin.place(packet)])
    return {
        "key": connection.key,
        "client": _text(ends[client]),
        "next": [halves[client].next, halves[1 - client].next],
        "rests": rests,
        "pending": [
            [_text(seen.data), seen.packet, seen.time, *seen.line.where, seen.line.number]
            for seen in connection.pending
        ],
        "software": connection.software,
        "delayed_until": connection.delayed_until,
        "packet": half.connection.last,
        "frames": reader.lines.count,
        "life": _life(reader, connection, [halves[client], halves[1 - client]]),
    }


def _life(reader: EndsReader, connection: Connection, halves: Sequence[Half]) -> dict[str, Any]:
    """Return what the history of a connection (`Life`) needs from before, with the client first."""
    tcp = halves[0].connection
    (stream,) = reader.lines.watch.connections.values()
    return {
        "opened": connection.from_start,
        "spoke": any(stream.places),
        "syns": tcp.syns,
        "first": ["", tcp.packet, tcp.began, *reader.origin.place(tcp.packet)],
        "sides": [[half.isn, *half.counts[:_SUMS]] for half in halves],
    }


_SUMS = Counts._fields.index("shut_since")
"""The number of fields of `Counts` that are sums."""


def _go_on_with_life(reader: EndsReader, life: Mapping[str, Any], last: int) -> None:
    """Restore the history of the only connection of a reader."""
    half = reader.streams.calm(reader.ends)
    if half is None:
        return
    (stream,) = reader.lines.watch.connections.values()
    connection = stream.connection
    connection.from_start = life["opened"]
    stream.places = [int(life["spoke"])] * 2
    tcp = half.connection
    tcp.syns = life["syns"]
    _, tcp.packet, tcp.began, *_ = _renumbered(reader, life["first"], last)
    client = connection.client or 0
    for each in (half, half.peer):
        each.isn, *sums = life["sides"][each.direction ^ client]
        each.counts = Counts(*sums)


def go_on(reader: EndsReader, state: dict[str, Any], *, shows_secrets: bool = False) -> tuple[Carrier, list[Captured]]:
    """Feed a new reader with the state of a connection. Return its carrier, and the lines that are complete now and
    were not given before.

    The reader's origin counts packets from FIRST on.
    """
    carrier = Carrier(reader, shows_secrets)
    if state.get("lost"):
        return carrier, []
    last = state["last"]
    if steady := state["steady"]:
        steady = {
            **steady,
            "rests": [_renumbered(reader, row, last) for row in steady["rests"]],
            "pending": [_renumbered(reader, row, last) for row in steady["pending"]],
            "packet": _number(steady["packet"], last),
        }
        _feed_steady(reader, steady)
        if "life" in steady:  # a lake of an older kwire has none
            _go_on_with_life(reader, steady["life"], last)
        reader.lines.count = steady["frames"]
        carrier.steady = steady
    carrier.given = reader.lines.count
    for row in state.get("segments", ()):
        data, packet, *rest = _renumbered(reader, row, last)
        carrier.segments.append([data, packet, *rest])
        carrier.size += len(b64decode(data))
    lines = reader.feed([_segment(row, reader.ends) for row in carrier.segments])
    carrier.items += lines
    return carrier, lines[state["given"] :]


def _renumbered(reader: EndsReader, row: list[Any], last: int) -> list[Any]:
    """Return a carried row with the number that its packet has now. Record its place in the origin."""
    data, packet, time, file, place, *rest = row
    number = _number(packet, last)
    reader.origin.earlier[number] = Place(file, place)
    return [data, number, time, file, place, *rest]


def _number(packet: int, last: int) -> int:
    return max(FIRST + min(packet - last, 0), 1)


def _segment(row: list[Any], ends: bytes) -> Segment:
    data, packet, time, _, _, is_turned, sequence, acknowledgment, flags, missing = row
    own = turned(ends) if is_turned else ends
    return Segment(packet, time, own, sequence, acknowledgment, flags, b64decode(data), missing)


def _feed_steady(reader: EndsReader, state: dict[str, Any]) -> None:
    up, down = state["next"]
    client = b64decode(state["client"])
    broker = turned(client)
    rest, answer = state["rests"]
    sent = [(b64decode(row[0]), row[1], row[2]) for row in (*state["pending"], rest) if row[0]]
    begun = b64decode(answer[0])
    start = (up - sum(len(data) for data, *_ in sent)) & MASK
    begin = (down - len(begun)) & MASK
    packet, time = (sent[0][1], sent[0][2]) if sent else (state["packet"], None)
    made = [
        Segment(packet, time, client, (start - 1) & MASK, 0, SYN, b""),
        Segment(packet, time, broker, (begin - 1) & MASK, start, SYN | ACK, b""),
        Segment(packet, time, client, start, begin, ACK, b""),
    ]
    at = start
    for data, number, when in sent:
        made.append(Segment(number, when, client, at, begin, ACK | PSH, data))
        at = (at + len(data)) & MASK
    if begun:
        made.append(Segment(answer[1], answer[2], broker, begin, at, ACK | PSH, begun))
    reader.feed(made)
    for connection in reader.connections:
        connection.key = state["key"]
        connection.software = state["software"]
        connection.delayed_until = state["delayed_until"]
        for seen, row in zip(connection.pending, state["pending"], strict=False):
            seen.line.number = row[-1]
            seen.line.software = state["software"]
