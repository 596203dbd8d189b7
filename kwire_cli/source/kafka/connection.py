"""A Kafka connection: the bytes of both sides in, requests and responses in pairs out. No I/O, in the manner of h11.

States of a connection

- OPENING: not known yet. A frame that reads as a request -> KAFKA; a side that begins as another protocol does ->
  FOREIGN.
- KAFKA: frames with headers. A SaslHandshake version 0 that is answered without error, or is followed by a frame that
  is no request -> TOKENS. A SaslHandshake of a later version, or a SaslAuthenticate -> AUTHENTICATING.
- AUTHENTICATING: the broker accepts only SaslAuthenticate (SaslServerAuthenticator), so any other frame may be a
  SaslAuthenticate with a wrong api key or missing bytes, and counts as a token. An error, or the last token of the
  broker -> KAFKA. The end may be lost, or unknown for a custom mechanism: a request that fits exactly, and that does
  not also fit as SaslAuthenticate -> KAFKA.
- TOKENS: frames that hold a SASL token alone, both ways (SaslServerAuthenticator). A frame of the client that reads as
  a request -> KAFKA.
- FOREIGN: another protocol, to the end.

Rules
- The client is the side that opened the connection, or whose frames read as requests (`sides`); ports do not matter,
  unless the broker's is given. While nothing is known yet, frames wait. Where it was a guess, a frame that is a request
  for sure corrects it.
- Responses come in the order of their requests. A correlation id further down the queue shows that the answers before
  it are in bytes that the capture lacks; one that is nowhere in it has lost its request. Ids may be reused, negative or
  all zero: the order decides first.
- A Produce request with acks 0 has no response.
- A first frame that begins with 0x60, or is no request by key and client id, is a token without a handshake, as clients
  of 0.9 send it.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

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
    ends_authentication,
    is_first_token,
    may_be_token,
    surely_request,
)
from kwire_cli.source.kafka.pending import Pending
from kwire_cli.source.kafka.recognition import Recogniser
from kwire_cli.spec.kafka import PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.message.known_layout import Layouts, Plain
    from kwire_cli.source.tls.clear import Clear

MOST_WAITING, MOST_WAITING_BYTES = 64, 1 << 20
"""Frames, and bytes, that wait for a client to be found; then it is guessed."""

NO_KEY_LOG = "there is no key log for it"
"""Why TLS is not decrypted that comes here; where there is one it is taken out of the stream before (`source.tls`)."""

MOST_NAMES = 32
"""Different things that bytes of TLS are called at most."""

_WAITING = frozenset(WAITING.values())


class State(enum.Enum):
    """The kinds of bytes that a connection carries."""

    OPENING = "opening"
    KAFKA = "kafka"
    AUTHENTICATING = "authenticating"
    TOKENS = "tokens"
    FOREIGN = "foreign"
    MIXED = "mixed"
    """Kafka's from one side, another protocol's from the other, such as the alert of a listener for TLS."""


_SIDES = (1, 2)
_NO_SIDE, _BOTH_SIDES = 0, 3
"""Sets of sides, as bits: a list for each connection would take more memory."""


class _Early(NamedTuple):
    """The first bytes of a side, too few to tell what they are; packet and time of the last of them."""

    data: bytes
    packet: int
    time: int | None


_GAPS = {"lost": "LOST", "skipped": "NOT_RECOGNISED"}


def _is_authentication(head: RequestHead) -> bool:
    return head.api_key == SASL_AUTHENTICATE or (head.api_key == SASL_HANDSHAKE and head.version > 0)


class Seen:
    """Something on a connection: `kind` is request, response, sasl-token, not-kafka or gap; `side` is the sender (0 or
    1).

    `head` is a request's, for a response that of its request (None if that was not seen); `request` is a response's
    request. `missing` bytes of a frame were lost. `size` counts all bytes, of a gap those that are lost too. `code`
    says why bytes are a gap. `plain` is a frame in which there is nothing odd up to its body. Of another protocol,
    `content` names what its bytes are, and `reason` says why they could not be read. `in_flight` counts the requests
    that wait for their responses when this one is sent, itself among them. `delayed` says of a response that the broker
    may have held it back on purpose: its api waits, or an earlier request of the connection did, since a broker takes
    the requests of a connection one after the other. `given_up` is LIMIT or UNANSWERED for a request for whose response
    nobody waits any more, and for a response that came after its request was given up. `line` is the caller's, to
    find a request again when its response comes.
    """

    __slots__ = (
        "code",
        "content",
        "data",
        "delayed",
        "frame",
        "given_up",
        "head",
        "in_flight",
        "kind",
        "line",
        "missing",
        "packet",
        "plain",
        "protocol",
        "reason",
        "request",
        "side",
        "size",
        "time",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        side: int,
        cut: Cut,
        *,
        head: RequestHead | None = None,
        request: Seen | None = None,
        protocol: str | None = None,
    ) -> None:
        what, self.data, self.packet, self.time, self.missing = cut
        self.kind, self.side, self.protocol = kind, side, protocol
        self.head, self.request = head, request
        self.size = len(self.data) if what != "lost" else self.missing
        self.code = None if what == "frame" else _GAPS[what]
        self.in_flight: int | None = None
        self.delayed = False
        self.given_up: str | None = None
        self.line: Any = None
        self.plain: Plain | None = None
        self.frame: Frame | None = None
        self.content: tuple[str, ...] = ()
        self.reason: str | None = None


class Connection:
    """One TCP connection. `client` is the side that opened it, if that was seen; `broker` the side that is the broker,
    if that is known for sure.

    `software` is what the client says that it is; names are learnt by others. `from_start`: nothing was said before
    what is seen. `delayed_until` is when the last response came that the broker may have held back on purpose, in
    nanoseconds. `key` tells the connection from others, also in other captures.
    """

    __slots__ = (
        "_begun",
        "_clear",
        "_doubtful",
        "_early",
        "_foreign",
        "_framers",
        "_headers",
        "_heard",
        "_served",
        "_sides",
        "_strange",
        "_waiting",
        "catalog",
        "client",
        "delayed_until",
        "from_start",
        "key",
        "layouts",
        "pending",
        "software",
        "state",
    )  # fmt: skip

    def __init__(
        self,
        layouts: Layouts,
        *,
        from_start: bool = True,
        client: int | None = None,
        broker: int | None = None,
        key: int = 0,
    ) -> None:
        self.layouts, self.catalog = layouts, layouts.catalog
        self.key = key
        self._headers = Headers(self.catalog)
        self.state = State.OPENING
        self.client: int | None = None if broker is None else 1 - broker
        self.from_start = from_start
        self._sides = Sides(self.catalog, client, from_start=from_start) if broker is None else None
        self.software: str | None = None
        self.delayed_until: int | None = None
        self._doubtful = False
        self._begun = _NO_SIDE if from_start else _BOTH_SIDES
        self._early: dict[int, _Early] | None = None
        self._waiting: list[tuple[int, Cut]] | None = None
        self._served = False
        self.pending: Pending[Seen] = Pending()
        self._framers: tuple[Framer, ...] = (
            Framer(self, 0, synchronised=from_start),
            Framer(self, 1, synchronised=from_start),
        )
        self._heard = False  # the broker has said something
        self._foreign: Seen | None = None
        self._clear: Clear | None = None
        self._strange = _NO_SIDE  # the sides that speak another protocol on a connection of Kafka's
        if self.client is not None:
            self.state = State.KAFKA

    def feed(self, side: int, data: bytes | memoryview, packet: int, time: int | None) -> Iterable[Seen]:
        """Return what is complete with these bytes from `side`."""
        if self.state is State.KAFKA and self._begun & _SIDES[side]:
            cuts = self._framers[side].feed(data, packet, time)
            if len(cuts) == 1:  # as most are
                return (self._seen(side, cuts[0]),)
            return [self._seen(side, cut) for cut in cuts] if cuts else ()
        return self._feed(side, data, packet, time)

    def _feed(self, side: int, data: bytes | memoryview, packet: int, time: int | None) -> Iterator[Seen]:
        if self.state is State.FOREIGN or self._strange & _SIDES[side]:
            yield from self._more_foreign(side, bytes(data), packet, time)
            return
        yield from self._flush_foreign()
        if not self._begun & _SIDES[side]:
            before = self._pop_early(side)
            early = (before.data if before else b"") + data
            if undecided(early):
                self._keep_early(side, _Early(early, packet, time))
                return
            yield from self._begin(side, early, packet, time)
            return
        yield from self._cuts(side, self._framers[side].feed(data, packet, time))

    @property
    def steady(self) -> bool:
        """Return whether only requests and responses can come next, and their senders are certain."""
        certain = (
            self.state is State.KAFKA
            and self._begun == _BOTH_SIDES
            and not self._doubtful
            and self._served
            and self._heard
        )
        return certain and all(framer.steady for framer in self._framers) and self.pending.all_known

    @property
    def rests(self) -> tuple[bytes, bytes]:
        """The beginnings of frames that have come from both sides."""
        if not self._framers:
            return b"", b""
        one, other = self._framers
        return bytes(one.buffer), bytes(other.buffer)

    @property
    def is_kafka(self) -> bool:
        """Return whether the connection is known to be Kafka's, and no authentication is under way."""
        return self.state is State.KAFKA

    @property
    def is_foreign(self) -> bool:
        """Return whether the connection carries another protocol."""
        return self.state is State.FOREIGN

    def beginning(self, side: int) -> tuple[bytes, int, int | None]:
        """Return the beginning of a frame that has come from a side, with its last packet and the time of that."""
        return self._framers[side].beginning

    def is_begun(self, side: int) -> bool:
        """Return whether what has come of a frame from a side, if anything, surely begins a frame: a request of the
        client that asked before, or the response to a request that waits.
        """
        data, start = self.beginning(side)[0], self.layouts.response_head
        if not data:
            return True
        if side == self.client:
            hints = Hints(kind="request")
            frame = read(self.catalog, data, hints, number=0, start=0, stop=len(data), prefixed=True)
            return self._is_of_client(frame)
        wanted = start.unpack(data, SIZE_BYTES)[0] if len(data) >= SIZE_BYTES + start.size else None
        return any(seen.head is not None and seen.head.correlation_id == wanted for seen in self.pending)

    def search(self, side: int) -> Recogniser:
        """Return a search for the frames of a side, for where framing is lost."""
        return Recogniser(self, side)

    def resume(self, rests: Sequence[tuple[bytes, int, int | None]], pending: Sequence[Cut]) -> list[Seen]:
        """Others have read what came since: the beginnings of frames from both sides with their packets and times, and
        the requests that wait.
        """
        for framer, rest in zip(self._framers, rests, strict=True):
            framer.resume(*rest)
        self.pending.clear()
        assert self.client is not None  # noqa: S101 - for the type checker: it was steady
        return [self._seen(self.client, cut) for cut in pending]

    def lose(self, side: int, count: int, packet: int, time: int | None) -> Iterator[Seen]:
        """Yield what ends with the loss of the next `count` bytes from `side`."""
        if self.state is State.FOREIGN or self._strange & _SIDES[side]:
            yield from self._flush_foreign()
            self._clear = None
            yield Seen("gap", side, Cut("lost", b"", packet, time, count))
            return
        yield from self._force_begin(side)
        yield from self._cuts(side, self._framers[side].lose(count, packet, time))

    def end(self) -> Iterator[Seen]:
        """Yield what is left at the end of the connection or the capture."""
        for side, framer in enumerate(self._framers):
            yield from self._force_begin(side)
            yield from self._cuts(side, framer.end())
        if self.state is State.OPENING:
            yield from self._settle()
        yield from self._flush_foreign()
        self.pending.give_up_all()
        self._framers = ()  # they refer to the connection

    # What the bytes are

    def _begin(self, side: int, data: bytes, packet: int, time: int | None) -> Iterator[Seen]:
        """The first bytes of a side: Kafka's, another protocol's, or a PROXY header before one of them."""
        opening = beginning(data)
        if opening and opening.prefix:
            rest = data[opening.prefix :]
            yield Seen("not-kafka", side, Cut("frame", data[: opening.prefix], packet, time), protocol=opening.protocol)
            if rest and not undecided(rest):
                yield from self._begin(side, rest, packet, time)
            elif rest:
                self._keep_early(side, _Early(rest, packet, time))
            return
        self._begun |= _SIDES[side]
        if opening and self.state is State.OPENING:
            self.state = State.FOREIGN
            yield from self._settle_foreign(opening.protocol)
            yield from self._more_foreign(side, data, packet, time, opening.protocol)
            return
        if opening:
            self._strange |= _SIDES[side]
            self._begun &= ~_SIDES[side]
            if self.state is State.KAFKA:
                self.state = State.MIXED
            yield from self._more_foreign(side, data, packet, time, opening.protocol)
            return
        yield from self._cuts(side, self._framers[side].feed(data, packet, time))

    def _keep_early(self, side: int, early: _Early) -> None:
        if self._early is None:
            self._early = {}
        self._early[side] = early

    def _pop_early(self, side: int) -> _Early | None:
        return self._early.pop(side, None) if self._early else None

    def _force_begin(self, side: int) -> Iterator[Seen]:
        self._begun |= _SIDES[side]
        if early := self._pop_early(side):
            yield from self._cuts(side, self._framers[side].feed(*early))

    def _settle_foreign(self, protocol: str) -> Iterator[Seen]:
        for side, cut in self._waiting or ():
            yield Seen("not-kafka", side, cut, protocol=protocol)
        self._waiting = None

    def _more_foreign(
        self, side: int, data: bytes, packet: int, time: int | None, protocol: str | None = None
    ) -> Iterator[Seen]:
        """Bytes of another protocol, as one piece for as long as the same side speaks; they are counted, not kept."""
        own = before = self._foreign
        if before and before.side != side:
            self._foreign = None
            yield before
        if own is None or own.side != side:
            protocol_name = protocol or (before.protocol if before else None)
            own = self._foreign = Seen("not-kafka", side, Cut("frame", b"", packet, time), protocol=protocol_name)
            encrypted = protocol_name == "tls" and self.state is State.FOREIGN  # the alert of a listener is not
            own.reason = NO_KEY_LOG if encrypted else None
        own.size += len(data)
        own.packet, own.time = packet, time
        if protocol == "tls":
            from kwire_cli.source.tls.clear import Clear  # noqa: PLC0415 - most captures have none

            self._clear = self._clear or Clear()
        if self._clear and (names := [*self._clear.feed(side, data)]):
            own.content = tuple(dict.fromkeys((*own.content, *names)))[:MOST_NAMES]

    def _flush_foreign(self) -> Iterator[Seen]:
        if piece := self._foreign:
            self._foreign = None
            yield piece

    # Who is who

    def _cuts(self, side: int, cuts: Iterable[Cut]) -> Iterator[Seen]:
        for cut in cuts:
            if self.state is not State.OPENING:
                yield self._seen(side, cut)
                continue
            waiting = self._waiting = self._waiting or []
            waiting.append((side, cut))
            if cut.kind == "frame" and self._sides:
                self.client = self._sides.hear(side, cut)
            if self.client is not None:
                yield from self._settle()
            elif len(waiting) >= MOST_WAITING or sum(len(each.data) for _, each in waiting) >= MOST_WAITING_BYTES:
                if any(each.kind == "frame" for _, each in waiting):
                    yield from self._settle()
                else:
                    yield from self._let_go()  # no frame yet: they are gaps whoever the client is

    def _settle(self) -> Iterator[Seen]:
        """Take the waiting frames for what they are, now that the client is known; or has to be guessed."""
        if self._sides:
            if self.client is None:
                self.client = self._sides.guess(self._waiting[0][0] if self._waiting else 0)
            self._doubtful = not self._sides.sure
            self._sides = None  # the evidence is of no use any more
        self.state = State.KAFKA
        yield from self._let_go()

    def _let_go(self) -> Iterator[Seen]:
        waiting, self._waiting = self._waiting, None
        for side, cut in waiting or ():
            yield self._seen(side, cut)

    def _turned(self, side: int, cut: Cut) -> bool:
        """Swap the sides if a frame shows that they were confused, and return whether they were.

        The frame is surely a request, but would have been an answer without a question.
        """
        if not self._doubtful or not surely_request(self.catalog, cut):
            return False
        self.client, self._doubtful, self.state = side, False, State.KAFKA
        self.pending.give_up_all()
        return True

    def _seen(self, side: int, cut: Cut) -> Seen:
        if cut.kind != "frame":
            return Seen("gap", side, cut)
        return self._from_client(side, cut) if side == self.client else self._from_broker(side, cut)

    def _from_client(self, side: int, cut: Cut) -> Seen:
        data, layout = cut.data, self.layouts.request_head
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
            or (whole and (head is None or (not self._served and is_no_request(self.catalog, cut.data))))
        ):
            self.state = State.TOKENS
            return Seen("sasl-token", side, cut)
        self._served = True
        if is_authentication and reads_as_request(self.catalog, data):
            self.state = State.AUTHENTICATING
        request = Seen("request", side, cut, head=head)
        if head and whole and (body_layout := self.layouts.get("request", head[0], head[1])):
            request.plain = self._headers.plain(body_layout, data, head[2])
        if head is None or not (head[0] == PRODUCE and self._without_answer(request)):
            self.pending.add(request, heard=self._heard)
        request.in_flight = len(self.pending)
        return request

    def _follows_handshake(self, cut: Cut) -> bool:
        """Return whether a frame is the token behind a SaslHandshake version 0 of which the capture lacks the
        answer.
        """
        last = self.pending.last
        if last is None or last.head is None or last.head[:2] != (SASL_HANDSHAKE, 0):
            return False
        return not reads_as_request(self.catalog, cut.data)

    def _from_broker(self, side: int, cut: Cut) -> Seen:
        if self.state is State.TOKENS:
            return self._from_client(side, cut) if self._turned(side, cut) else Seen("sasl-token", side, cut)
        self._heard = True
        data, start = cut.data, self.layouts.response_head
        wanted = start.unpack(data, SIZE_BYTES)[0] if len(data) >= SIZE_BYTES + start.size else None
        request = self.pending.pop(wanted)
        if request is None and self._turned(side, cut):
            return self._from_client(side, cut)
        if self.state is State.AUTHENTICATING and self._is_token(data, request):
            return Seen("sasl-token", side, cut)
        response = Seen("response", side, cut, head=request.head if request else None, request=request)
        head = response.head
        if head and request:
            response.delayed = self._delayed(head.api_key, request.time, cut.time)
        if request is None and (late := self.pending.pop_given_up(wanted)):
            response.head = head = late.head
            response.given_up = late.why
        if head:
            if wanted is not None and not cut.missing and (layout := self.layouts.get("response", head[0], head[1])):
                response.plain = self._headers.plain(layout, data, wanted)
            if head.api_key == SASL_HANDSHAKE:
                self._answer_handshake(head.version, self._field(response, "errorCode"))
        return response

    def _is_token(self, data: bytes, request: Seen | None) -> bool:
        """Return whether a frame of the broker answers a token, and note the end of authentication."""
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

    def _delayed(self, api_key: int, asked: int | None, answered: int | None) -> bool:
        if api_key in _WAITING:
            self.delay(answered)
            return True
        return asked is not None and self.delayed_until is not None and asked < self.delayed_until

    def delay(self, until: int | None) -> None:
        """Note when a response came that the broker may have held back on purpose."""
        if until is not None:
            self.delayed_until = max(until, self.delayed_until or 0)

    # What belongs together

    def _without_answer(self, seen: Seen) -> bool:
        return bool(self._field(seen, "acks") == 0)

    def _field(self, seen: Seen, name: str) -> Any:
        try:
            if seen.plain:
                return seen.plain.top(name)
        except MalformedError:
            pass
        body = self.frame(seen).body
        return None if body is None else top_value(roles(body.spec, body.entry), body.raw, name)

    def frame(self, seen: Seen) -> Frame:
        """A request or response, decoded once."""
        if seen.frame is None:
            hints = Hints(kind=seen.kind)
            if seen.kind == "response" and seen.head and (api := self.catalog.api_by_key(seen.head.api_key)):
                hints = Hints(api, seen.head.version, "response")
            frame = read(self.catalog, seen.data, hints, number=0, start=0, stop=len(seen.data), prefixed=True)
            seen.frame = frame if is_believed(frame) or self._is_of_client(frame) else unrecognised(frame)
        return seen.frame

    def _is_of_client(self, frame: Frame) -> bool:
        """Return whether a request names the same client as an earlier request of the connection."""
        return (
            frame.kind == "request"
            and frame.header is not None
            and self._headers.names(frame.header.value.get("clientId"))
        )
