"""A Kafka connection: takes the bytes of both directions and returns matched requests and responses.

It performs no I/O, in the manner of h11. Each direction has a framer that cuts frames out of the bytes. The connection
decides which peer is the client, and matches responses with requests by order and correlation id.

States of a connection:

- OPENING: unknown. A frame that reads as a request leads to KAFKA, the first bytes of another protocol to FOREIGN.
- KAFKA: frames with headers. A SaslHandshake version 0 leads to TOKENS if its response has no error, or if the next
  frame is not a request. A later version of SaslHandshake, or SaslAuthenticate, leads to AUTHENTICATING.
- AUTHENTICATING: the broker accepts only SaslAuthenticate (SaslServerAuthenticator). Any other frame can be a
  SaslAuthenticate with a wrong api key or missing bytes, and counts as a token. An error or the broker's last token
  leads to KAFKA. The end can be missing from the capture, or unknown for a custom mechanism, so a request that fits
  exactly leads to KAFKA too.
- TOKENS: frames that contain only a SASL token, in both directions (SaslServerAuthenticator). A frame of the client
  that reads as a request leads to KAFKA.
- FOREIGN: another protocol, until the connection ends.
- MIXED: Kafka in one direction, another protocol in the other.

Rules:

- The client is the peer that opened the connection, or whose frames read as requests (`Sides`). Ports do not matter,
  unless the caller knows the port of the broker. Frames are buffered until the client is known. If it was guessed, a
  frame that is certainly a request corrects the guess.
- Responses arrive in the order of their requests. If a correlation id is further back in the queue, the capture lacks
  the responses to the requests before it. If it is not in the queue, the capture lacks its request. Ids can be reused,
  negative or all zero, so the order is tried first.
- A Produce request with acks 0 has no response.
- A first frame that begins with 0x60, or whose key and client id do not fit a request, is a token without a handshake,
  as sent by clients of 0.9.
"""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.python_source import MalformedError
from kwire_cli.message.encode import RequestHead
from kwire_cli.message.frames import SIZE_BYTES, Frame, Hints, read
from kwire_cli.message.known_layout import Headers
from kwire_cli.message.reading import unrecognised
from kwire_cli.message.roles import roles, top_value
from kwire_cli.message.secrets import is_believed
from kwire_cli.source.first_bytes import beginning, is_no_request, reads_as_request, undecided
from kwire_cli.source.kafka.framing import (
    Cut,
    Framer,
    Sides,
    as_request,
    ends_authentication,
    is_first_token,
    may_be_token,
    surely_request,
)
from kwire_cli.source.kafka.pending import Pending
from kwire_cli.spec.kafka import PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.message.known_layout import Layouts, Plain
    from kwire_cli.source.tls.clear import Clear
    from kwire_cli.spec.catalog import Catalog

MOST_WAITING = 64
MOST_WAITING_BYTES = 1 << 20
"""Frames and bytes that are buffered while the client is unknown. Beyond these limits the client is guessed."""

NO_KEY_LOG = "there is no key log for it"
"""Why TLS that reaches this module is not decrypted. With a key log, `source.tls` removes it from the stream before."""

MOST_NAMES = 32
"""Distinct names listed for the content of a run of TLS bytes; further names are dropped."""

_WAITING = frozenset(WAITING.values())


class State(enum.Enum):
    """The kinds of bytes that a connection carries."""

    OPENING = "opening"
    KAFKA = "kafka"
    AUTHENTICATING = "authenticating"
    TOKENS = "tokens"
    FOREIGN = "foreign"
    MIXED = "mixed"
    """Kafka from one peer, another protocol from the other, such as the alert of a TLS listener."""


_GAPS = {"lost": "LOST", "skipped": "NOT_RECOGNISED"}


def _is_authentication(head: RequestHead) -> bool:
    return head.api_key == SASL_AUTHENTICATE or (head.api_key == SASL_HANDSHAKE and head.version > 0)


@dataclass(slots=True, eq=False, repr=False)
class Seen:
    """A request, response, SASL token, gap, or run of bytes of another protocol.

    Attributes:
        kind: request, response, sasl-token, not-kafka or gap.
        side: The sender, 0 or 1.
        head: The header of a request. For a response, the header of its request, None if that was not captured.
        request: The request of a response.
        missing: The number of bytes of a frame that were lost.
        size: The number of bytes. For a gap this includes the lost bytes.
        code: The code of a gap, None for other kinds.
        plain: The frame read through its layout. Set if it has no anomalies up to its body.
        content: The parts of another protocol's bytes that could be named.
        reason: Why other parts could not be read.
        in_flight: The number of requests that wait for a response when a request is sent, including itself.
        delayed: Whether the broker may have held a response back on purpose. This is so if its api waits, or if the api
            of an earlier request of the connection does, since a broker processes a connection's requests in order.
        given_up: LIMIT or UNANSWERED for a request that no longer waits for its response, and for a response that
            arrives after that.
        line: Belongs to the caller, to find the line of a request when its response arrives.

    """

    kind: str
    side: int
    cut: InitVar[Cut]
    head: RequestHead | None = None
    request: Seen | None = None
    protocol: str | None = None
    data: bytes = field(init=False)
    packet: int = field(init=False)
    time: int | None = field(init=False)
    missing: int = field(init=False)
    size: int = field(init=False)
    code: str | None = field(init=False)
    in_flight: int | None = None
    delayed: bool = False
    given_up: str | None = None
    line: Any = None
    plain: Plain | None = None
    frame: Frame | None = None
    content: tuple[str, ...] = ()
    reason: str | None = None

    def __post_init__(self, cut: Cut) -> None:
        cut_kind, self.data, self.packet, self.time, self.missing = cut
        self.size = len(self.data) if cut_kind != "lost" else self.missing
        self.code = None if cut_kind == "frame" else _GAPS[cut_kind]


@dataclass(slots=True, eq=False, repr=False)
class Connection:
    """One TCP connection.

    Attributes:
        layouts: The layouts of frames.
        from_start: Whether the capture contains the connection from its first byte.
        client: The peer that is the client, if that is known. Without, `opener` opened the connection, if a SYN or
            SYN-ACK was seen.
        key: Identifies the connection, also in other captures.
        software: The name and version of the client's software. `Names` sets it.
        delayed_until: The time of the last response that the broker may have held back on purpose, in nanoseconds.

    """

    layouts: Layouts
    from_start: bool = True
    client: int | None = None
    opener: InitVar[int | None] = None
    key: int = 0
    catalog: Catalog = field(init=False)
    state: State = State.OPENING
    software: str | None = None
    delayed_until: int | None = None
    pending: Pending[Seen] = field(default_factory=Pending)
    headers: Headers = field(init=False)
    _framers: tuple[Framer, ...] = field(init=False)
    _sides: Sides | None = None
    _doubtful: bool = False
    _waiting: list[tuple[int, Cut]] | None = None
    _has_request: bool = False
    _broker_responded: bool = False
    _foreign: Seen | None = None
    _clear: Clear | None = None

    def __post_init__(self, opener: int | None) -> None:
        self.catalog = self.layouts.catalog
        self.headers = Headers(self.catalog)
        self._framers = Framer(self, 0, self.from_start), Framer(self, 1, self.from_start)
        if self.client is None:
            self._sides = Sides(self.catalog, opener, self.from_start)
        else:
            self.state = State.KAFKA

    def feed(self, side: int, data: bytes | memoryview, packet: int, time: int | None) -> Iterable[Seen]:
        """Return the events that are complete with these bytes from `side`."""
        framer = self._framers[side]
        if self.state is State.KAFKA and framer.started:
            cuts = framer.feed(data, packet, time)
            if len(cuts) == 1:  # the usual case
                return (self._to_event(side, cuts[0]),)
            return [self._to_event(side, cut) for cut in cuts] if cuts else ()
        return self._feed(side, data, packet, time)

    def _feed(self, side: int, data: bytes | memoryview, packet: int, time: int | None) -> Iterator[Seen]:
        framer = self._framers[side]
        if self.state is State.FOREIGN or framer.is_foreign:
            yield from self._add_foreign(side, bytes(data), packet, time)
            return
        yield from self._flush_foreign()
        if framer.started:
            yield from self._cuts(side, framer.feed(data, packet, time))
            return
        early = (framer.early.data if framer.early else b"") + data
        framer.early = None
        if undecided(early):
            framer.early = Cut("skipped", early, packet, time)
        else:
            yield from self._begin(side, early, packet, time)

    @property
    def steady(self) -> bool:
        """Return whether only requests and responses can follow, and both peers are certain."""
        certain = self.state is State.KAFKA and not self._doubtful and self._has_request and self._broker_responded
        return certain and all(framer.steady for framer in self._framers) and self.pending.all_known

    @property
    def rests(self) -> tuple[bytes, bytes]:
        """The incomplete frames of both directions."""
        if not self._framers:
            return b"", b""
        one, other = self._framers
        return bytes(one.buffer), bytes(other.buffer)

    def beginning(self, side: int) -> tuple[bytes, int, int | None]:
        """Return the incomplete frame of a direction, with its last packet and the time of that packet."""
        return self._framers[side].beginning

    def is_begun(self, side: int) -> bool:
        """Return whether the incomplete frame of a direction certainly is the start of a frame.

        This is so if there is no incomplete frame, if it is a request with a client id that an earlier request had, or
        if it is the response to a pending request.
        """
        data = self.beginning(side)[0]
        start = self.layouts.response_head
        if not data:
            return True
        if side == self.client:
            return self._is_of_client(as_request(self.catalog, data))
        wanted = start.unpack(data, SIZE_BYTES)[0] if len(data) >= SIZE_BYTES + start.size else None
        return any(seen.head is not None and seen.head.correlation_id == wanted for seen in self.pending)

    def resume(self, rests: Sequence[tuple[bytes, int, int | None]], pending: Sequence[Cut]) -> list[Seen]:
        """Continue after another reader. `rests` are the incomplete frames of both directions with their packets and
        times, `pending` the requests without a response.
        """
        for framer, rest in zip(self._framers, rests, strict=True):
            framer.resume(*rest)
        self.pending.clear()
        assert self.client is not None  # noqa: S101 - for the type checker: a steady connection has a client
        return [self._to_event(self.client, cut) for cut in pending]

    def lose(self, side: int, count: int, packet: int, time: int | None) -> Iterator[Seen]:
        """Yield the events that the loss of the next `count` bytes from `side` completes."""
        if self.state is State.FOREIGN or self._framers[side].is_foreign:
            yield from self._flush_foreign()
            self._clear = None
            yield Seen("gap", side, Cut("lost", b"", packet, time, count))
            return
        yield from self._force_begin(side)
        yield from self._cuts(side, self._framers[side].lose(count, packet, time))

    def end(self) -> Iterator[Seen]:
        """Yield the remaining events at the end of the connection or the capture."""
        for side, framer in enumerate(self._framers):
            yield from self._force_begin(side)
            yield from self._cuts(side, framer.end())
        if self.state is State.OPENING:
            yield from self._settle()
        yield from self._flush_foreign()
        self.pending.give_up_all()
        self._framers = ()  # they refer to the connection, a reference cycle

    # Protocols
    def _begin(self, side: int, data: bytes, packet: int, time: int | None) -> Iterator[Seen]:
        """Yield the events of the first bytes of a direction: Kafka, another protocol, or a PROXY header before one."""
        opening = beginning(data)
        framer = self._framers[side]
        if opening and opening.prefix:
            rest = data[opening.prefix :]
            yield Seen("not-kafka", side, Cut("frame", data[: opening.prefix], packet, time), protocol=opening.protocol)
            if rest and not undecided(rest):
                yield from self._begin(side, rest, packet, time)
            elif rest:
                framer.early = Cut("skipped", rest, packet, time)
            return
        framer.started = True
        if opening and self.state is State.OPENING:
            self.state = State.FOREIGN
            for waiting_side, cut in self._waiting or ():
                yield Seen("not-kafka", waiting_side, cut, protocol=opening.protocol)
            self._waiting = None
            yield from self._add_foreign(side, data, packet, time, opening.protocol)
            return
        if opening:
            framer.is_foreign = True
            framer.started = False
            if self.state is State.KAFKA:
                self.state = State.MIXED
            yield from self._add_foreign(side, data, packet, time, opening.protocol)
            return
        yield from self._cuts(side, framer.feed(data, packet, time))

    def _force_begin(self, side: int) -> Iterator[Seen]:
        framer = self._framers[side]
        framer.started = True
        if early := framer.early:
            framer.early = None
            yield from self._cuts(side, framer.feed(early.data, early.packet, early.time))

    def _add_foreign(
        self, side: int, data: bytes, packet: int, time: int | None, protocol: str | None = None
    ) -> Iterator[Seen]:
        """Merge bytes of another protocol into one event per run of a direction. The bytes are counted, not stored."""
        own = self._foreign
        before = own
        if before and before.side != side:
            self._foreign = None
            yield before
        if own is None or own.side != side:
            protocol_name = protocol or (before.protocol if before else None)
            own = Seen("not-kafka", side, Cut("frame", b"", packet, time), protocol=protocol_name)
            self._foreign = own
            # A TLS alert on a Kafka connection comes from a TLS listener and is not encrypted.
            encrypted = protocol_name == "tls" and self.state is State.FOREIGN
            own.reason = NO_KEY_LOG if encrypted else None
        own.size += len(data)
        own.packet = packet
        own.time = time
        if protocol == "tls":
            from kwire_cli.source.tls.clear import Clear  # noqa: PLC0415 - most captures have none

            self._clear = self._clear or Clear()
        if self._clear and (names := [*self._clear.feed(side, data)]):
            own.content = tuple(dict.fromkeys((*own.content, *names)))[:MOST_NAMES]

    def _flush_foreign(self) -> Iterator[Seen]:
        if piece := self._foreign:
            self._foreign = None
            yield piece

    # Client and broker

    def _cuts(self, side: int, cuts: Iterable[Cut]) -> Iterator[Seen]:
        for cut in cuts:
            if self.state is not State.OPENING:
                yield self._to_event(side, cut)
                continue
            if self._waiting is None:
                self._waiting = []
            waiting = self._waiting
            waiting.append((side, cut))
            if cut.kind == "frame" and self._sides:
                self.client = self._sides.hear(side, cut)
            if self.client is not None:
                yield from self._settle()
            elif len(waiting) >= MOST_WAITING or sum(len(each.data) for _, each in waiting) >= MOST_WAITING_BYTES:
                if any(each.kind == "frame" for _, each in waiting):
                    yield from self._settle()
                else:
                    yield from self._emit_waiting()  # without a frame these are gaps, whichever peer is the client

    def _settle(self) -> Iterator[Seen]:
        """Emit the buffered frames. If the client is still unknown, guess it."""
        if self._sides:
            if self.client is None:
                self.client = self._sides.guess(self._waiting[0][0] if self._waiting else 0)
            self._doubtful = not self._sides.sure
            self._sides = None  # releases the evidence
        self.state = State.KAFKA
        yield from self._emit_waiting()

    def _emit_waiting(self) -> Iterator[Seen]:
        waiting = self._waiting
        self._waiting = None
        for side, cut in waiting or ():
            yield self._to_event(side, cut)

    def _swap_peers_if_confused(self, side: int, cut: Cut) -> bool:
        """Swap client and broker if a frame proves that they were confused. Return whether they were swapped.

        The proof is a frame that is certainly a request, but matches no request as a response.
        """
        if not self._doubtful or not surely_request(self.catalog, cut):
            return False
        self.client = side
        self._doubtful = False
        self.state = State.KAFKA
        self.pending.give_up_all()
        return True

    def _to_event(self, side: int, cut: Cut) -> Seen:
        if cut.kind != "frame":
            return Seen("gap", side, cut)
        return self._from_client(side, cut) if side == self.client else self._from_broker(side, cut)

    def _from_client(self, side: int, cut: Cut) -> Seen:
        data = cut.data
        layout = self.layouts.request_head
        head = (
            tuple.__new__(RequestHead, layout.unpack(data, SIZE_BYTES))
            if len(data) >= SIZE_BYTES + layout.size
            else None
        )
        if self.state is State.TOKENS:
            if not reads_as_request(self.catalog, cut.data):
                return Seen("sasl-token", side, cut)
            self.state = State.KAFKA
        is_authentication = head is not None and _is_authentication(head)
        if self.state is State.AUTHENTICATING and not is_authentication:
            if may_be_token(self.catalog, cut):
                return Seen("sasl-token", side, cut)
            self.state = State.KAFKA
        whole = not cut.missing
        if (
            is_first_token(cut)
            or self._follows_handshake(cut)
            or (whole and (head is None or (not self._has_request and is_no_request(self.catalog, cut.data))))
        ):
            self.state = State.TOKENS
            return Seen("sasl-token", side, cut)
        self._has_request = True
        if is_authentication and reads_as_request(self.catalog, data):
            self.state = State.AUTHENTICATING
        request = Seen("request", side, cut, head=head)
        if head and whole and (body_layout := self.layouts.get("request", head[0], head[1])):
            request.plain = self.headers.plain(body_layout, data, head[2])
        if head is None or head[0] != PRODUCE or self._field(request, "acks") != 0:
            self.pending.add(request, heard=self._broker_responded)
        request.in_flight = len(self.pending)
        return request

    def _follows_handshake(self, cut: Cut) -> bool:
        """Return whether a frame is the token after a SaslHandshake version 0 whose response is missing from the
        capture.
        """
        last = self.pending.last
        if last is None or last.head is None or last.head[:2] != (SASL_HANDSHAKE, 0):
            return False
        return not reads_as_request(self.catalog, cut.data)

    def _from_broker(self, side: int, cut: Cut) -> Seen:
        if self.state is State.TOKENS:
            swapped = self._swap_peers_if_confused(side, cut)
            return self._from_client(side, cut) if swapped else Seen("sasl-token", side, cut)
        self._broker_responded = True
        data = cut.data
        start = self.layouts.response_head
        wanted = start.unpack(data, SIZE_BYTES)[0] if len(data) >= SIZE_BYTES + start.size else None
        request = self.pending.pop(wanted)
        if request is None and self._swap_peers_if_confused(side, cut):
            return self._from_client(side, cut)
        if self.state is State.AUTHENTICATING and self._is_token(data, request):
            return Seen("sasl-token", side, cut)
        response = Seen("response", side, cut, head=request.head if request else None, request=request)
        head = response.head
        if head and request:
            response.delayed = self._delayed(head.api_key, request.time, cut.time)
        if request is None and (late := self.pending.pop_given_up(wanted)):
            head = late.head
            response.head = head
            response.given_up = late.why
        if head:
            if wanted is not None and not cut.missing and (layout := self.layouts.get("response", head[0], head[1])):
                response.plain = self.headers.plain(layout, data, wanted)
            if head.api_key == SASL_HANDSHAKE:
                self._answer_handshake(head.version, self._field(response, "errorCode"))
        return response

    def _is_token(self, data: bytes, request: Seen | None) -> bool:
        """Return whether a frame of the broker is the response to a token. End authentication if it was the last."""
        head = request.head if request else None
        if (head is None or head.api_key == SASL_AUTHENTICATE) and ends_authentication(
            self.catalog, data, head.version if head else None
        ):
            self.state = State.KAFKA
        return head is None

    def _answer_handshake(self, version: int, error: int | None) -> None:
        if error == 0 and version == 0:
            self.state = State.TOKENS
        elif error and self.state is State.AUTHENTICATING:
            self.state = State.KAFKA

    def _delayed(self, api_key: int, request_time: int | None, response_time: int | None) -> bool:
        if api_key in _WAITING:
            self.delay(response_time)
            return True
        return request_time is not None and self.delayed_until is not None and request_time < self.delayed_until

    def delay(self, until: int | None) -> None:
        """Record the time of a response that the broker may have held back on purpose."""
        if until is not None:
            self.delayed_until = max(until, self.delayed_until or 0)

    # Decoding

    def _field(self, seen: Seen, name: str) -> Any:
        try:
            if seen.plain:
                return seen.plain.top(name)
        except MalformedError:
            pass
        body = self.frame(seen).body
        return None if body is None else top_value(roles(body.spec, body.entry), body.raw, name)

    def frame(self, seen: Seen) -> Frame:
        """Return a request or response, decoded in full. The result is cached."""
        if seen.frame is None:
            hints = Hints(kind=seen.kind)
            if seen.kind == "response" and seen.head and (api := self.catalog.api_by_key(seen.head.api_key)):
                hints = Hints(api, seen.head.version, "response")
            frame = read(self.catalog, seen.data, hints, number=0, start=0, stop=len(seen.data), prefixed=True)
            seen.frame = frame if is_believed(frame) or self._is_of_client(frame) else unrecognised(frame)
        return seen.frame

    def _is_of_client(self, frame: Frame) -> bool:
        """Return whether a request has the client id of an earlier request of the connection."""
        return (
            frame.kind == "request"
            and frame.header is not None
            and self.headers.names(frame.header.value.get("clientId"))
        )
