"""Frames, and the headers of requests and responses.

A connection carries frames: a size, a header and a body. A request's header names the api and the version of the body;
a response's header repeats the request's correlation id and nothing else, so its layout follows from the request.
The client id keeps its int16 length in flexible versions, where KIP-482 proposed a compact string.

Source: specs/RequestHeader.json and specs/ResponseHeader.json, which a test holds against these declarations. Messages
are decoded by the definitions, since `--specs` and overlays may change them; bytes that are searched for frames, and
the beginnings that all versions share, are read by the declarations here.
"""

from __future__ import annotations

from typing import Any

from kwire_cli.structs.composites import MessageStruct, Rest, SizedStruct, plain
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.messages import SIZE_PREFIX, declare
from kwire_cli.structs.tags import TagSection

FRAME_SIZE = declare(SIZE_PREFIX, 0)
FRAME = SizedStruct([*FRAME_SIZE.subcons, "headerAndBody" / Rest()], "size")


def _flexible(**kinds: Any) -> MessageStruct:
    return MessageStruct(plain(**kinds).subcons, TagSection(()), {})


_REQUEST = {"requestApiKey": "int16", "requestApiVersion": "int16", "correlationId": "int32"}
NULLABLE_STRING = Sized("string", compact=False, nullable=True)

REQUEST_HEADERS = {
    0: plain(**_REQUEST),  # ControlledShutdown version 0 only
    1: plain(**_REQUEST, clientId=NULLABLE_STRING),
    2: _flexible(**_REQUEST, clientId=NULLABLE_STRING),
}
"""Request headers by version."""
RESPONSE_HEADERS = {0: plain(correlationId="int32"), 1: _flexible(correlationId="int32")}
"""Response headers by version."""

REQUEST_HEAD = REQUEST_HEADERS[0]
RESPONSE_HEAD = RESPONSE_HEADERS[0]
"""The leading fields that the headers of all versions share."""
REQUEST_START = MessageStruct(
    [*FRAME_SIZE.subcons, *REQUEST_HEAD.subcons, "clientIdLength" / NULLABLE_STRING.prefix], None, {}
)
"""The first bytes of the frame of a request, up to the client id."""
RESPONSE_START = MessageStruct([*FRAME_SIZE.subcons, *RESPONSE_HEAD.subcons], None, {})
"""The first bytes of the frame of a response."""


def header_layout(header: MessageStruct) -> str:
    """Return the names and types of the fields of a header, separated by commas."""
    fields = [f"{field.name} {field.subcon!r}" for field in header.subcons]
    return ", ".join([*fields, *(["tag section"] if header.tags else [])])
