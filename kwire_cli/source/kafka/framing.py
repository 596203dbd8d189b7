"""Frames cut from streams, and the client's side of a connection."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwire_cli.message.encode import RequestHead, correlation_id, heads
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, Hints, read, says_size
from kwire_cli.source.first_bytes import names_client, reads_as_request
from kwire_cli.spec.kafka import SASL_AUTHENTICATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog


# Framing: the bytes of one direction cut at its size prefixes, and what to do where bytes are missing.
#
# Rules - A frame is a size prefix (int32, 0 to MAX_SIZE) and that many bytes
# (org.apache.kafka.common.network.NetworkReceive). - A request may say more, which brokers refuse: its beginning
# comes out as a frame that is cut, the rest is skipped. - Lost bytes inside a frame cost that frame alone: its end
# is known from its prefix. It comes out cut, with what was there before the loss. - Lost bytes that may hold
# the end of a frame, a size that is none, and a start in mid-stream cost the framing: bytes are skipped until
# a frame is recognised again. - Every byte comes out once: in a frame, skipped, or lost.

MAX_UNRECOGNISED = 1 << 20
"""Bytes that are kept while no frame is recognised in them; a frame that is longer is found by its beginning."""


BIG = 1 << 20
"""A frame of more bytes than this has to look like one, where framing was not sure from the start."""
BELIEVABLE = 16
"""Bytes of a frame that show whether it does."""


class Cut(NamedTuple):
    """A piece of one direction's bytes, as framing cuts them.

    `packet` and `time` (ns) are of the last of these bytes. `kind` is frame; skipped, for bytes in which no frame was
    recognised; or lost, for bytes that the capture does not have (`data` is empty then). `missing` is the number of
    bytes of a frame that were lost or never came, or the number of lost bytes.
    """

    kind: str
    data: bytes
    packet: int
    time: int | None
    missing: int = 0


class Search(Protocol):
    """The interface of a search for frames where framing is lost (`recognition.Recogniser`)."""

    def restart(self, at: int) -> None:
        """Frames may begin from `at` on in the buffer."""

    def find(self, buffer: bytearray, *, last: bool = False) -> int:
        """Return where a frame begins, or -1 - position if no frame begins before that position.

        `last` says that nothing follows what is in the buffer.
        """

    def skip(self, count: int) -> None:
        """The first `count` bytes of the buffer are gone."""

    def believes(self, buffer: bytearray, at: int) -> bool:
        """Return whether a frame with a large size looks like a frame."""

    def oversize(self, buffer: bytearray, at: int) -> bool | None:
        """Return whether a frame with a size over MAX_SIZE begins a request of the client; None if it may."""


class Searches(Protocol):
    """The connection of a direction (`connection.Connection`)."""

    def search(self, side: int) -> Search:
        """Return a search for the frames of a side."""


_NO_BYTES = bytearray()
"""The buffer of a direction that has no part of a frame. Nothing is put into it."""


class Framer:
    """One direction of a connection: feed it bytes and losses in order, it gives back cuts. `owner` gives a search that
    finds frames where framing is lost.
    """

    __slots__ = (
        "_found_by",
        "_owner",
        "_packet",
        "_rest",
        "_side",
        "_sure",
        "_time",
        "_wanted",
        "buffer",
        "synchronised",
    )

    def __init__(self, owner: Searches, side: int, *, synchronised: bool) -> None:
        self.buffer = _NO_BYTES
        self._owner = owner
        self._side = side
        self._found_by: Search | None = None  # most connections need none
        self.synchronised = synchronised
        self._sure = synchronised  # framing was never lost
        self._rest = 0  # bytes of a cut frame that still come, after those that were lost
        self._wanted = 0  # bytes that the buffer has when its first frame is whole; 0 where that is not known
        self._packet = 0  # of the last bytes in the buffer, as is the time
        self._time: int | None = None

    @property
    def _search(self) -> Search:
        if self._found_by is None:
            self._found_by = self._owner.search(self._side)
        return self._found_by

    @property
    def beginning(self) -> tuple[bytes, int, int | None]:
        """The bytes in the buffer, with the packet and the time of the last of them."""
        return bytes(self.buffer), self._packet, self._time

    @property
    def steady(self) -> bool:
        """Return whether the next bytes go on with the frame in the buffer, or begin a frame."""
        return self.synchronised and not self._rest

    def resume(self, rest: bytes, packet: int, time: int | None) -> None:
        """Others have cut the bytes since; `rest` is the beginning of a frame."""
        self.buffer = bytearray(rest)
        self._wanted = 0
        self._packet = packet
        self._time = time

    def feed(self, data: bytes | memoryview, packet: int, time: int | None) -> Sequence[Cut]:
        """The cuts that are complete with these bytes."""
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
        if buffer and len(buffer) + len(data) < self._wanted:  # more of a frame that is longer still
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
            rest, data = data[: self._rest], data[self._rest :]
            self._rest -= len(rest)
            yield Cut("skipped", bytes(rest), packet, time)
        if self.buffer:
            self.buffer += data
        else:
            self.buffer = bytearray(data)
        yield from self._go_on()

    def _go_on(self, *, last: bool = False) -> Iterator[Cut]:
        """Frames, for as long as framing holds or is found again."""
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
        """Yield a request over MAX_SIZE, of which only the beginning is kept."""
        data = bytes(self.buffer[at:])
        self._rest = SIZE_BYTES + size - len(data)
        self.buffer.clear()
        yield Cut("frame", data, self._packet, self._time, self._rest)

    def _lose_framing(self, at: int) -> None:
        """Frames begin at `at` in the buffer or later, nobody knows where."""
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
        """The cuts that end with the loss of the next `count` bytes."""
        if not self.synchronised and self.buffer:
            yield from self._go_on(last=True)
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
        """Yield what is left at the end: a frame that was cut off, or bytes in which no frame was recognised."""
        if not self.synchronised and self.buffer:
            yield from self._go_on(last=True)
        if not self.buffer:
            return
        missing = 0
        size = says_size(self.buffer, 0, len(self.buffer))
        if self.synchronised and size is not None and size <= MAX_SIZE:
            missing = SIZE_BYTES + size - len(self.buffer)
        yield Cut("frame" if missing else "skipped", bytes(self.buffer), self._packet, self._time, missing)
        self.buffer.clear()


# Which side of a connection is the client, by the frames of both.
#
# Rules - The side that opened the connection is the client, unless its own frames can't be requests and the
# other's surely are. - If nobody was seen to open it: the side of which a frame is a request for sure, as it
# names a client and its body fits; or whose frame reads as a request, while one of the other side has its
# correlation id, or does not read so. One that merely reads as a request may be an answer: "correlation id 1,
# error 0" is also "Produce version 1, no client id". One that is whole, of a known version, and whose body
# does not fit, says nothing.

GSSAPI_TAG = 0x60


class Sides:
    """The evidence in the frames of both sides for which side is the client.

    `opener` is the side that opened the connection. `from_start` says that nothing is missing before the first
    frames. `sure` tells whether the client that was found is beyond doubt.
    """

    __slots__ = ("_against", "_asked", "_catalog", "_for", "_from_start", "_opener", "_surely", "sure")

    def __init__(self, catalog: Catalog, opener: int | None, *, from_start: bool) -> None:
        self._catalog = catalog
        self._opener = opener
        self._from_start = from_start
        self._for = [0, 0]
        self._against = [0, 0]
        self._surely = [False, False]
        self._asked: set[tuple[int, int | None]] = set()
        self.sure = False

    def hear(self, side: int, cut: Cut) -> int | None:
        """The client, if this frame of a side decides it."""
        data = cut.data
        other = 1 - side
        opener = self._opener
        if is_first_token(cut) and (side == opener if opener is not None else self._from_start):
            return side
        reads = reads_as_request(self._catalog, data)
        if reads and side == opener:
            self.sure = True
            return side
        answered = (other, correlation_id("response", data, SIZE_BYTES)) in self._asked
        named = reads and names_client(self._catalog, data, 0, needed=True)
        whole = _request(self._catalog, data) if reads and not cut.missing else None
        fits = whole is not None and whole.sure and not whole.anomalies
        if fits or named:
            # A whole request of a known version whose body does not fit says nothing: an answer may read so too.
            self._for[side] += fits or whole is None or whole.body is None or whole.body.guess
            self._surely[side] = self._surely[side] or (named and fits)
            self._asked.add((side, correlation_id("request", data, SIZE_BYTES)))
        elif not (reads and cut.missing):
            self._against[side] += 1
        if opener is not None:
            if self._against[opener]:
                return 1 - opener if self._surely[1 - opener] else None
            return (
                None if self._surely[side] or side == opener else opener
            )  # an answer, be it that its question was lost
        for candidate in (side, other):
            if self._surely[candidate]:
                self.sure = True
                return candidate
        if answered:
            return other
        for candidate in (side, other):
            if self._for[candidate] and self._against[1 - candidate]:
                return candidate
        return None

    def guess(self, first: int) -> int:
        """The client, where nothing decides it: `first` is the side that spoke first."""
        if self._opener is not None:
            return self._opener
        votes = [mine - other for mine, other in zip(self._for, self._against, strict=True)]
        return first if votes[0] == votes[1] else votes.index(max(votes))


def surely_request(catalog: Catalog, cut: Cut) -> bool:
    """Return whether a frame is a complete request that names its client and has no anomaly."""
    data = cut.data
    named = not cut.missing and reads_as_request(catalog, data) and names_client(catalog, data, 0, needed=True)
    if not named:
        return False
    frame = _request(catalog, data)
    return frame.sure and not frame.anomalies


def _request(catalog: Catalog, data: bytes) -> Frame:
    return read(catalog, data, Hints(kind="request"), number=0, start=0, stop=len(data), prefixed=True)


def is_first_token(cut: Cut) -> bool:
    """Return whether a frame begins as the first token of GSSAPI does."""
    return len(cut.data) > SIZE_BYTES and cut.data[SIZE_BYTES] == GSSAPI_TAG


# SASL: the frames between a SaslHandshake and the end of the exchange (SaslServerAuthenticator, KIP-368).

AUTH_BYTES = "authBytes"
SCRAM_FINAL = b"v="
"""The first bytes of the last token of a SCRAM server (RFC 5802)."""


def may_be_token(catalog: Catalog, cut: Cut) -> bool:
    """Return whether a frame that a client sends during authentication may be a SaslAuthenticate request.

    Any frame may be one that does not fit exactly as the request that its header states, or that also holds a token if
    its api key and version are replaced by those of SaslAuthenticate.
    """
    frame = _request(catalog, cut.data)
    if cut.missing or not frame.sure or frame.anomalies:
        return True
    layout = heads()[0]
    head = RequestHead(*layout.unpack(cut.data, SIZE_BYTES))
    rest = cut.data[SIZE_BYTES + layout.size :]
    heads_to_try = (head._replace(api_key=SASL_AUTHENTICATE, version=each) for each in _authenticate_versions(catalog))
    return any(
        _holds_token(_request(catalog, cut.data[:SIZE_BYTES] + layout.pack(*each) + rest)) for each in heads_to_try
    )


def _holds_token(frame: Frame) -> bool:
    """Return whether a SaslAuthenticate request fits exactly, and has a token and no unknown tags."""
    if not frame.sure or frame.anomalies or frame.body is None:
        return False
    return frame.body.value.keys() == {AUTH_BYTES} and bool(frame.body.value[AUTH_BYTES])


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
        if body and body.exact and (body.value["errorCode"] or _is_last(body.value[AUTH_BYTES])):
            return True
    return False


def _is_last(token: str | None) -> bool:
    return not token or b64decode(token).startswith(SCRAM_FINAL)


def _authenticate_versions(catalog: Catalog) -> Sequence[int]:
    api = catalog.api_by_key(SASL_AUTHENTICATE)
    return [*catalog.entry(api.request).valid_versions.each()] if api and api.request and api.response else []
