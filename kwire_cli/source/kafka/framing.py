"""Framing of the bytes of one direction, evidence for which peer is the client, and SASL tokens.

A frame is a size prefix (int32, 0 to MAX_SIZE) and that many bytes (org.apache.kafka.common.network.NetworkReceive). A
`Framer` cuts a stream at these prefixes, and continues after lost bytes:

- Bytes that are lost inside a frame damage only that frame, because its end is known from its size. It is emitted as a
  truncated frame with the bytes before the loss.
- If lost bytes can contain the end of a frame, at an invalid size, and at a start in mid-stream, framing is lost. Bytes
  are skipped until a frame is recognised again.
- A request can have a larger size, which brokers refuse. Its start is emitted as a truncated frame, the rest is
  skipped.
- Each byte is emitted once: in a frame, as skipped, or as lost.

`Sides` decides which peer is the client:

- The peer that opened the connection is the client.
- If the opening was not captured, the client is the peer with a frame that is certainly a request, because it has a
  client id and its body fits. Otherwise it is the peer whose frame reads as a request, if a frame of the other peer has
  the same correlation id, or does not read as a request.
- A frame that only reads as a request may be a response: "correlation id 1, error 0" is also "Produce version 1, no
  client id". A complete frame of a known version whose body does not fit is not evidence for either.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.message.encode import correlation_id
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, Hints, read, says_size
from kwire_cli.source.first_bytes import names_client, reads_as_request
from kwire_cli.source.kafka.recognition import BIG, Recogniser
from kwire_cli.spec.kafka import SASL_AUTHENTICATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.message.frames import Frame
    from kwire_cli.source.kafka.recognition import Owner
    from kwire_cli.spec.catalog import Catalog


MAX_UNRECOGNISED = 1 << 20
"""Bytes that are buffered while no frame is recognised in them. A longer frame is recognised by its start."""


BELIEVABLE = 16
"""Bytes of a frame that this check needs."""


class Cut(NamedTuple):
    """A piece of one direction's bytes.

    Attributes:
        kind: frame; skipped, for bytes without a recognised frame; lost, for bytes that the capture lacks.
        data: The bytes. Empty if they were lost.
        packet: The packet of the last byte.
        time: The time of that packet in nanoseconds.
        missing: The number of lost bytes. For a frame, the number of its bytes that were lost or did not arrive.

    """

    kind: str
    data: bytes
    packet: int
    time: int | None
    missing: int = 0


_NO_BYTES = bytearray()
"""The buffer of a direction without an incomplete frame. All such directions share it, so it must stay empty."""


@dataclass(slots=True, eq=False, repr=False)
class Framer:
    """Cuts one direction of a connection into frames. Feed it bytes and losses in order. `owner` is the connection.

    Attributes:
        started: Whether the first bytes were not of another protocol.
        early: The first bytes while they are too few to identify the protocol.
        is_foreign: Whether the direction carries another protocol on a connection of Kafka.

    """

    _owner: Owner
    _side: int
    synchronised: bool
    buffer: bytearray = field(default_factory=lambda: _NO_BYTES)
    started: bool = field(init=False)
    early: Cut | None = None
    is_foreign: bool = False
    _lazy_search: Recogniser | None = None  # most connections need none
    _sure: bool = field(init=False)  # framing was never lost
    _rest: int = 0  # bytes of a truncated frame that follow the lost bytes
    _wanted: int = 0  # size of the first frame in the buffer; 0 if unknown
    _packet: int = 0  # packet and time of the last bytes in the buffer
    _time: int | None = None

    def __post_init__(self) -> None:
        self.started = not self.synchronised
        self._sure = self.synchronised

    @property
    def _search(self) -> Recogniser:
        if self._lazy_search is None:
            self._lazy_search = Recogniser(self._owner, self._side)
        return self._lazy_search

    @property
    def beginning(self) -> tuple[bytes, int, int | None]:
        """The bytes in the buffer, with the packet and the time of the last byte."""
        return bytes(self.buffer), self._packet, self._time

    @property
    def steady(self) -> bool:
        """Return whether the next bytes continue the frame in the buffer, or begin a frame."""
        return self.started and self.synchronised and not self._rest

    def resume(self, rest: bytes, packet: int, time: int | None) -> None:
        """Continue after another reader. `rest` is the start of an incomplete frame."""
        self.buffer = bytearray(rest)
        self._wanted = 0
        self._packet = packet
        self._time = time

    def feed(self, data: bytes | memoryview, packet: int, time: int | None) -> Sequence[Cut]:
        """Return the cuts that are complete with these bytes."""
        buffer = self.buffer
        if (
            not buffer
            and self.synchronised
            and not self._rest
            and says_size(data, 0, len(data)) == len(data) - SIZE_BYTES
        ):
            return (tuple.__new__(Cut, ("frame", bytes(data), packet, time, 0)),)  # most segments are one frame
        self._packet = packet
        self._time = time
        if buffer and len(buffer) + len(data) < self._wanted:  # the frame is still incomplete
            buffer += data
            return ()
        cuts = list(self._feed(data, packet, time))
        if not self.buffer:
            self.buffer = _NO_BYTES
            self._packet = 0
            self._time = None
        return cuts

    def _feed(self, data: bytes | memoryview, packet: int, time: int | None) -> Iterator[Cut]:
        self._wanted = 0
        if self._rest:
            rest = data[: self._rest]
            data = data[self._rest :]
            self._rest -= len(rest)
            yield Cut("skipped", bytes(rest), packet, time)
        if self.buffer:
            self.buffer += data
        else:
            self.buffer = bytearray(data)
        yield from self._cut_frames()

    def _cut_frames(self, *, last: bool = False) -> Iterator[Cut]:
        """Yield frames until the buffer has no complete frame, or framing is lost and not found again."""
        while True:
            if not self.synchronised:
                yield from self._find(last=last)
                if not self.synchronised:
                    return
            yield from self._frames()
            if self.synchronised:
                return

    def _frames(self) -> Iterator[Cut]:
        buffer = self.buffer
        at = 0
        while len(buffer) - at >= SIZE_BYTES:
            size = says_size(buffer, at, len(buffer)) or 0
            if not 0 <= size <= MAX_SIZE:
                oversize = self._sure and size > MAX_SIZE and self._search.oversize(buffer, at)
                if oversize is None:
                    break
                if oversize:
                    yield from self._begin_oversize(at, size)
                    return
                del buffer[:at]
                self._lose_framing(1)
                return
            end = at + SIZE_BYTES + size
            if end > len(buffer):
                if (
                    size > BIG
                    and not self._sure
                    and len(buffer) - at >= BELIEVABLE
                    and not self._search.believes(buffer, at)
                ):
                    del buffer[:at]
                    self._lose_framing(1)
                    return
                self._wanted = end - at if size <= BIG or len(buffer) - at >= BELIEVABLE else 0
                break
            yield Cut("frame", bytes(buffer[at:end]), self._packet, self._time)
            at = end
        if at:
            del buffer[:at]

    def _begin_oversize(self, at: int, size: int) -> Iterator[Cut]:
        """Yield the buffered start of a request over MAX_SIZE. The rest will be skipped."""
        data = bytes(self.buffer[at:])
        self._rest = SIZE_BYTES + size - len(data)
        self.buffer.clear()
        yield Cut("frame", data, self._packet, self._time, self._rest)

    def _lose_framing(self, at: int) -> None:
        """Start the search for a frame, at `at` in the buffer or later."""
        self.synchronised = False
        self._sure = False
        self._wanted = 0
        self._search.restart(at)

    def _find(self, *, last: bool) -> Iterator[Cut]:
        position = self._search.find(self.buffer, last=last)
        if position >= 0:
            self.synchronised = True
            yield from self._skip(position)
        elif -1 - position > MAX_UNRECOGNISED:
            self._search.skip(-1 - position)
            yield from self._skip(-1 - position)

    def _skip(self, count: int) -> Iterator[Cut]:
        if count:
            data = bytes(self.buffer[:count])
            del self.buffer[:count]
            yield Cut("skipped", data, self._packet, self._time)

    def lose(self, count: int, packet: int, time: int | None) -> Iterator[Cut]:
        """Yield the cuts that the loss of the next `count` bytes completes."""
        if not self.synchronised and self.buffer:
            yield from self._cut_frames(last=True)
        self._packet = packet
        self._time = time
        self._wanted = 0
        if self._rest:
            lost_of_rest = min(self._rest, count)
            self._rest -= lost_of_rest
            framing_held = count == lost_of_rest
        elif self.synchronised and len(self.buffer) >= SIZE_BYTES:
            missing = SIZE_BYTES + (says_size(self.buffer, 0, len(self.buffer)) or 0) - len(self.buffer)
            yield Cut("frame", bytes(self.buffer), packet, time, missing)
            self.buffer.clear()
            self._rest = max(missing - count, 0)
            framing_held = count <= missing
        else:
            framing_held = False
            yield from self._skip(len(self.buffer))
        yield Cut("lost", b"", packet, time, count)
        if not framing_held:
            self._rest = 0
            self._lose_framing(0)

    def end(self) -> Iterator[Cut]:
        """Yield the rest at the end: a truncated frame, or bytes without a recognised frame."""
        if not self.synchronised and self.buffer:
            yield from self._cut_frames(last=True)
        if not self.buffer:
            return
        missing = 0
        size = says_size(self.buffer, 0, len(self.buffer))
        if self.synchronised and size is not None and size <= MAX_SIZE:
            missing = SIZE_BYTES + size - len(self.buffer)
        yield Cut("frame" if missing else "skipped", bytes(self.buffer), self._packet, self._time, missing)
        self.buffer.clear()


GSSAPI_TAG = 0x60


@dataclass(slots=True, eq=False, repr=False)
class Sides:
    """Collects evidence from the frames of both directions for which peer is the client.

    `opener` is the peer that opened the connection. `from_start` is true if no bytes are missing before the first
    frames. `sure` is true if the client is certain.
    """

    _catalog: Catalog
    _opener: int | None
    _from_start: bool
    _for: list[int] = field(default_factory=lambda: [0, 0])
    _against: list[int] = field(default_factory=lambda: [0, 0])
    _request_ids: set[tuple[int, int | None]] = field(default_factory=set)
    sure: bool = False

    def hear(self, side: int, cut: Cut) -> int | None:
        """Add a frame of a peer. Return the client if it is now known."""
        if self._opener is not None:
            self.sure = True
            return self._opener
        if is_first_token(cut) and self._from_start:
            return side
        data = cut.data
        other = 1 - side
        reads = reads_as_request(self._catalog, data)
        matched = (other, correlation_id("response", data, SIZE_BYTES)) in self._request_ids
        named = reads and names_client(self._catalog, data, 0, needed=True)
        complete = as_request(self._catalog, data) if reads and not cut.missing else None
        fits = complete is not None and complete.sure and not complete.anomalies
        if fits and named:
            self.sure = True
            return side
        if fits or named:
            # A complete request of a known version whose body does not fit proves nothing: responses can read so too.
            self._for[side] += fits or complete is None or complete.body is None or complete.body.guess
            self._request_ids.add((side, correlation_id("request", data, SIZE_BYTES)))
        elif not (reads and cut.missing):
            self._against[side] += 1
        if matched:
            return other
        for candidate in (side, other):
            if self._for[candidate] and self._against[1 - candidate]:
                return candidate
        return None

    def guess(self, first: int) -> int:
        """Return the more likely client. If the evidence is balanced, return `first`, the peer that sent first."""
        if self._opener is not None:
            return self._opener
        votes = [mine - other for mine, other in zip(self._for, self._against, strict=True)]
        return first if votes[0] == votes[1] else votes.index(max(votes))


def surely_request(catalog: Catalog, cut: Cut) -> bool:
    """Return whether a frame is a complete request with a client id and without anomalies."""
    data = cut.data
    named = not cut.missing and reads_as_request(catalog, data) and names_client(catalog, data, 0, needed=True)
    if not named:
        return False
    frame = as_request(catalog, data)
    return frame.sure and not frame.anomalies


def as_request(catalog: Catalog, data: bytes) -> Frame:
    """Return a frame, decoded as a request."""
    return read(catalog, data, Hints(kind="request"), number=0, start=0, stop=len(data), prefixed=True)


def is_first_token(cut: Cut) -> bool:
    """Return whether a frame begins like the first token of GSSAPI."""
    return len(cut.data) > SIZE_BYTES and cut.data[SIZE_BYTES] == GSSAPI_TAG


AUTH_BYTES = "authBytes"
SCRAM_FINAL = b"v="
"""The first bytes of the last token of a SCRAM server (RFC 5802)."""


def may_be_token(catalog: Catalog, cut: Cut) -> bool:
    """Return whether a frame that a client sends during authentication may be a damaged SaslAuthenticate request.

    This is so if the frame does not fit exactly as the request in its header.
    """
    frame = as_request(catalog, cut.data)
    return bool(cut.missing or not frame.sure or frame.anomalies)


def ends_authentication(catalog: Catalog, data: bytes, version: int | None) -> bool:
    """Return whether a response ends a SASL exchange: with an error, or with the last token of the broker.

    The last token of PLAIN, OAUTHBEARER and GSSAPI is empty. The last token of a custom mechanism is unknown. Without a
    valid version all versions are tried.
    """
    api = catalog.api_by_key(SASL_AUTHENTICATE)
    versions = _authenticate_versions(catalog)
    for each in [version] if version in versions else versions:
        hints = Hints(api, each, "response")
        body = read(catalog, data, hints, number=0, start=0, stop=len(data), prefixed=True).body
        if body and body.exact:
            token = body.value[AUTH_BYTES]
            if body.value["errorCode"] or not token or b64decode(token).startswith(SCRAM_FINAL):
                return True
    return False


def _authenticate_versions(catalog: Catalog) -> Sequence[int]:
    api = catalog.api_by_key(SASL_AUTHENTICATE)
    if api and api.request and api.response:
        return list(catalog.entry(api.request).valid_versions.each())
    return []
