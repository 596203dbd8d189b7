"""First bytes of requests, responses and other protocols, examined without decoding a message.

Framing, recognition and the detection of input kinds only have to know whether bytes can begin a request, and which
protocol a connection carries. Full decoding would be slow, and would need bytes that have not arrived.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.message.encode import RequestHead, decode_header, request_head
from kwire_cli.message.frames import MAX_SIZE, NEWER, SIZE_BYTES, says_size
from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.structs.headers import REQUEST_HEAD, REQUEST_START
from kwire_cli.structs.network import PROXY_V2 as PROXY_HEADER

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog


MAX_CLIENT_ID = 1024


_MIN_REQUEST_HEAD = fixed(REQUEST_HEAD).size
"""Size of the shortest request header."""
_CLIENT_ID_LENGTH = fixed(REQUEST_START, ("clientIdLength",))
"""The size of this layout is the number of bytes before the client id."""


def client_id_length(data: Any, start: int) -> int | None:
    """Return the length of the client id in the request at `start`, or None if the bytes end before it.

    A negative length means that there is no client id.
    """
    return int(_CLIENT_ID_LENGTH.unpack(data, start)[0]) if len(data) - start >= _CLIENT_ID_LENGTH.size else None


def reads_as_request(catalog: Catalog, data: Any, start: int = 0, *, most: int = MAX_SIZE) -> bool:
    """Return whether the bytes at `start` begin a request.

    A request has a size of at most `most`, a known api, a version near the known ones, and a printable client id. If
    the bytes end before the client id does, the available fields decide.
    """
    head = request_head(data, start + SIZE_BYTES, len(data))
    if head is None:
        return False
    key, version, _ = head
    size = says_size(data, start, len(data)) or 0
    api = catalog.api_by_key(key)
    if not api or not api.request or not _MIN_REQUEST_HEAD <= size <= most or version < 0:
        return False
    if version > catalog.entry(api.request).valid_versions.high + NEWER and key != API_VERSIONS:
        return False
    stop = min(start + SIZE_BYTES + size, len(data))
    is_incomplete = stop < start + SIZE_BYTES + size and stop - start < SIZE_BYTES + MAX_CLIENT_ID
    layout = catalog.header_version("request", key, version)
    text = start + _CLIENT_ID_LENGTH.size
    length = client_id_length(data, start)
    if not layout or stop < text or length is None:
        return is_incomplete or _header(catalog, data, start, stop, head).complete
    end = text + max(length, 0)
    if end + (layout > 1) > min(stop, start + SIZE_BYTES + MAX_CLIENT_ID):
        return is_incomplete
    if length < -1 or not _is_text(bytes(data[text:end])):
        return False
    return layout == 1 or not data[end] or _tags_fit(catalog, data, start, stop, head, is_incomplete=is_incomplete)


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _tags_fit(catalog: Catalog, data: Any, start: int, stop: int, head: RequestHead, *, is_incomplete: bool) -> bool:
    header = _header(catalog, data, start, stop, head)
    return not header.anomalies if header.complete else is_incomplete


def names_client(catalog: Catalog, data: Any, start: int, *, needed: bool) -> bool:
    """Return whether the probable request at `start` has a complete client id.

    If `needed` is set, the client id must not be empty.
    """
    head = request_head(data, start + SIZE_BYTES, len(data))
    if head is None:
        return False
    header = _header(catalog, data, start, len(data), head)
    return header.complete and (not needed or bool(header.value.get("clientId")))


def _header(catalog: Catalog, data: Any, start: int, stop: int, head: RequestHead) -> Decoded:
    """Return the available part of the header of a request whose size is at `start`."""
    part = bytes(data[start : min(stop, start + SIZE_BYTES + MAX_CLIENT_ID)])
    layout = catalog.header_version("request", head.api_key, head.version)
    return decode_header(catalog, "request", layout, part, start=SIZE_BYTES, stop=len(part))


def is_no_request(catalog: Catalog, frame: Any) -> bool:
    """Return whether a complete frame cannot be a request.

    This is so if its api key is unknown and its client id is invalid, or if it is too short for a header.
    """
    head = request_head(frame, SIZE_BYTES, len(frame))
    if head is None:
        return True
    if catalog.api_by_key(head.api_key):
        return False
    return not decode_header(catalog, "request", 1, bytes(frame), start=SIZE_BYTES, stop=len(frame)).complete


PROXY_V2 = b"\r\n\r\n\0\r\nQUIT\n"
_PROXY_LENGTH = fixed(PROXY_HEADER, ("length",))
"""The size of this layout is the size of the fixed header; the value is the number of bytes after it."""


BEGINNINGS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("tls", (b"\x16\x03\x00", b"\x16\x03\x01", b"\x16\x03\x02", b"\x16\x03\x03", b"\x15\x03")),
    (
        "http",
        (
            b"GET ",
            b"POST ",
            b"PUT ",
            b"HEAD ",
            b"DELETE ",
            b"OPTIONS ",
            b"CONNECT ",
            b"PATCH ",
            b"TRACE ",
            b"HTTP/",
            b"PRI * HTTP/2",
        ),
    ),
    ("ssh", (b"SSH-",)),
    ("proxy", (b"PROXY TCP", b"PROXY UNKNOWN", PROXY_V2)),
    ("smtp", (b"EHLO ", b"HELO ", b"220 ")),
    ("redis", (b"*1\r\n$", b"*2\r\n$", b"*3\r\n$", b"+OK\r\n", b"+PONG\r\n")),
    ("zookeeper", (b"ruok", b"stat", b"srvr", b"mntr", b"imok")),
)
"""Protocols that can appear on a Kafka port (TLS, HTTP, headers of load balancers), by their first bytes. As size
prefixes these bytes exceed the maximum size of a frame."""

_STARTS = tuple(chain.from_iterable(starts for _, starts in BEGINNINGS))
LONGEST = max(map(len, _STARTS))


class Beginning(NamedTuple):
    """A protocol, and the size of its header before another protocol. The size is 0 if it continues to the end of the
    connection.
    """

    protocol: str
    prefix: int


def beginning(data: bytes | bytearray) -> Beginning | None:
    """Return the protocol of a direction's first bytes. Return None if they can be Kafka, or are too few."""
    head = bytes(data[:LONGEST])
    for protocol, starts in BEGINNINGS:
        if head.startswith(starts):
            return Beginning(protocol, _proxy_size(data) if protocol == "proxy" else 0)
    return None


def spoken(size: int) -> str | None:
    """Return the protocol whose first four bytes a peer read as this frame size, or None if there is no such
    protocol.
    """
    head = size.to_bytes(SIZE_BYTES, "big")
    for protocol, starts in BEGINNINGS:
        if any(start.startswith(head) or head.startswith(start) for start in starts):
            return protocol
    return None


def undecided(data: bytes | bytearray) -> bool:
    """Return whether more bytes are needed to identify the protocol.

    This is so for an incomplete start of a known protocol, and for an incomplete PROXY line.
    """
    head = bytes(data[:LONGEST])
    if len(head) < LONGEST and any(start.startswith(head) and len(head) < len(start) for start in _STARTS):
        return True
    opening = beginning(data)
    return opening is not None and opening.protocol == "proxy" and opening.prefix == 0 and len(data) < 256


def _proxy_size(data: bytes | bytearray) -> int:
    """Return the size of a PROXY protocol header (version 1 or 2), or 0 if it is incomplete."""
    if data.startswith(PROXY_V2):
        if len(data) < _PROXY_LENGTH.size:
            return 0
        size = _PROXY_LENGTH.size + int(_PROXY_LENGTH.unpack(data)[0])
        return size if size <= len(data) else 0
    return bytes(data[:256]).find(b"\r\n") + 2 if b"\r\n" in data[:256] else 0
