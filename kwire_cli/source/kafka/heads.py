"""What stands at the front of requests and responses, read without decoding them: enough to tell one from the other and to pair them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.message.frames import MAX_SIZE, NEWER, SIZE_BYTES, says_size
from kwire_cli.message.headers import RequestHead, decode_header, header_version, request_head
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog

LONGEST_CLIENT_ID = 1024
LEAST = 8
"""Bytes of the shortest request header."""
TO_CLIENT_ID = 14
"""Bytes before the text of the client id: size, api key, version, correlation id, and its length."""


def reads_as_request(catalog: Catalog, data: Any, start: int = 0) -> bool:
    """Whether the bytes at `start` begin a request: a size that can be one, a known api, a version near the known ones, a client id that is text.

    Bytes that end before the client id does are judged by what is there.
    """
    head = request_head(catalog, data, start + SIZE_BYTES, len(data))
    if head is None:
        return False
    key, version, _ = head
    size = says_size(data, start, len(data)) or 0
    api = catalog.api_by_key(key)
    if not api or not api.request or not LEAST <= size <= MAX_SIZE or version < 0:
        return False
    if version > catalog.entry(api.request).valid_versions.high + NEWER and key != API_VERSIONS:
        return False
    stop = min(start + SIZE_BYTES + size, len(data))
    goes_on = stop < start + SIZE_BYTES + size and stop - start < SIZE_BYTES + LONGEST_CLIENT_ID
    layout = header_version(catalog, "request", key, version)
    text = start + TO_CLIENT_ID
    if not layout or stop < text:
        return goes_on or _header(catalog, data, start, stop, head).complete
    # Read here and not by its definition, as this is asked of every place in bytes that may be anything.
    length = int.from_bytes(data[text - 2 : text], "big", signed=True)
    end = text + max(length, 0)
    if end + (layout > 1) > min(stop, start + SIZE_BYTES + LONGEST_CLIENT_ID):
        return goes_on
    if length < -1 or not _is_text(bytes(data[text:end])):
        return False
    return layout == 1 or not data[end] or _tags_fit(catalog, data, start, stop, head, goes_on=goes_on)


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _tags_fit(catalog: Catalog, data: Any, start: int, stop: int, head: RequestHead, *, goes_on: bool) -> bool:
    header = _header(catalog, data, start, stop, head)
    return not header.anomalies if header.complete else goes_on


def names_client(catalog: Catalog, data: Any, start: int, *, needed: bool) -> bool:
    """Whether what reads as a request at `start` has its client id whole; `needed` says that it may not be empty."""
    head = request_head(catalog, data, start + SIZE_BYTES, len(data))
    if head is None:
        return False
    header = _header(catalog, data, start, len(data), head)
    return header.complete and (not needed or bool(header.value.get("clientId")))


def _header(catalog: Catalog, data: Any, start: int, stop: int, head: RequestHead) -> Decoded:
    """The header of the request whose size stands at `start`, as far as it is there and can be a header."""
    part = bytes(data[start : min(stop, start + SIZE_BYTES + LONGEST_CLIENT_ID)])
    layout = header_version(catalog, "request", head.api_key, head.version)
    return decode_header(catalog, "request", layout, part, start=SIZE_BYTES, stop=len(part))


def is_no_request(catalog: Catalog, frame: Any) -> bool:
    """Whether a whole frame can't be a request: its api key is not known, and what stands where the client id does is none."""
    head = request_head(catalog, frame, SIZE_BYTES, len(frame))
    if head is None:
        return True
    if catalog.api_by_key(head.api_key):
        return False
    return not decode_header(catalog, "request", 1, bytes(frame), start=SIZE_BYTES, stop=len(frame)).complete
