"""Frames, and the headers of requests and responses.

A connection carries frames: a size, a header and a body. A request's header names the api and the version of the body;
a response's header repeats the request's correlation id and nothing else, so its layout follows from the request.
The client id keeps its int16 length in flexible versions, where KIP-482 proposed a compact string.

Source: specs/RequestHeader.json and specs/ResponseHeader.json, which a test holds against these declarations. Messages
are decoded by the definitions, since `--specs` and overlays may change them; bytes that are searched for frames, and
the beginnings that all versions share, are read by the declarations here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
COMPACT_NULLABLE_STRING = Sized("string", compact=True, nullable=True)

REQUEST_HEADERS = {
    0: plain(**_REQUEST),  # ControlledShutdown version 0 only
    1: plain(**_REQUEST, clientId=NULLABLE_STRING),
    2: _flexible(**_REQUEST, clientId=NULLABLE_STRING),
}
"""Request headers by version, as shipped."""
KIP482_REQUEST_HEADERS = {0: REQUEST_HEADERS[1], 1: _flexible(**_REQUEST, clientId=COMPACT_NULLABLE_STRING)}
"""Request headers as KIP-482 proposed and numbered them."""
RESPONSE_HEADERS = {0: plain(correlationId="int32"), 1: _flexible(correlationId="int32")}
"""Response headers by version; KIP-482 numbers them as Kafka does."""

REQUEST_HEAD = REQUEST_HEADERS[0]
RESPONSE_HEAD = RESPONSE_HEADERS[0]
"""The leading fields that the headers of all versions share."""
REQUEST_START = MessageStruct(
    [*FRAME_SIZE.subcons, *REQUEST_HEAD.subcons, "clientIdLength" / NULLABLE_STRING.prefix], None, {}
)
"""The first bytes of the frame of a request, up to the client id."""
RESPONSE_START = MessageStruct([*FRAME_SIZE.subcons, *RESPONSE_HEAD.subcons], None, {})
"""The first bytes of the frame of a response."""


class HeaderKind(NamedTuple):
    """A header with its version in Kafka and in KIP-482; None if one of the two has no such header."""

    of: str
    kafka: int | None
    kip482: int | None
    declaration: MessageStruct

    @property
    def layout(self) -> str:
        """The names and types of the fields, separated by commas."""
        fields = [f"{field.name} {field.subcon!r}" for field in self.declaration.subcons]
        return ", ".join([*fields, *(["tag section"] if self.declaration.tags else [])])


HEADERS = (
    HeaderKind("request", 0, None, REQUEST_HEADERS[0]),
    HeaderKind("request", 1, 0, REQUEST_HEADERS[1]),
    HeaderKind("request", 2, None, REQUEST_HEADERS[2]),
    HeaderKind("request", None, 1, KIP482_REQUEST_HEADERS[1]),
    HeaderKind("response", 0, 0, RESPONSE_HEADERS[0]),
    HeaderKind("response", 1, 1, RESPONSE_HEADERS[1]),
)
