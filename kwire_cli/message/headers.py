"""Headers of requests and responses: which version goes with which message, and KIP-482's own numbering beside Kafka's."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import Decoded, decode_spec
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

FLAVOURS = ("kafka", "kip482")
"""Headers as Kafka ships them, or with KIP-482's own flexible request header, whose client id is a compact string."""


class HeaderKind(NamedTuple):
    """A header as both Kafka and KIP-482 number it; None where one of them has none. `layout` lists its fields and their types."""

    of: str
    kafka: int | None
    kip482: int | None
    layout: str


HEADERS = (
    HeaderKind("request", 0, None, "RequestApiKey int16, RequestApiVersion int16, CorrelationId int32"),
    HeaderKind("request", 1, 0, "as 0, then ClientId nullable string (int16 length)"),
    HeaderKind("request", 2, None, "as 1, then a tag section; ClientId keeps its int16 length"),
    HeaderKind("request", None, 1, "as 1 with ClientId a compact nullable string, then a tag section"),
    HeaderKind("response", 0, 0, "CorrelationId int32"),
    HeaderKind("response", 1, 1, "as 0, then a tag section"),
)


@cache
def _compact_client_id(spec: MessageSpec) -> MessageSpec:
    fields = tuple(replace(field, flexible_versions=None) if field.name == "ClientId" else field for field in spec.fields)
    return replace(spec, fields=fields)


def header_spec(catalog: Catalog, kind: str, flavour: str = "kafka") -> MessageSpec:
    """The definition of the header of a request or response."""
    if flavour not in FLAVOURS:
        raise InputError(f"unknown header {flavour!r}; there are {' and '.join(FLAVOURS)}")
    spec = catalog.message("RequestHeader" if kind == "request" else "ResponseHeader")
    return _compact_client_id(spec) if kind == "request" and flavour == "kip482" else spec


def header_version(catalog: Catalog, kind: str, api_key: int, version: int) -> int:
    """The header version that Kafka uses with a version of a request or response (ApiMessageType)."""
    return catalog.request_header_version(api_key, version) if kind == "request" else catalog.response_header_version(api_key, version)


class RequestHead(NamedTuple):
    """What every request begins with, in all versions of its header."""

    api_key: int
    version: int
    correlation_id: int


@cache
def _head_layout(catalog: Catalog, kind: str) -> Fixed:
    return fixed(declare(header_spec(catalog, kind), 0))


def request_head(catalog: Catalog, data: Any, at: int, stop: int) -> RequestHead | None:
    """The head of the request at `at`, read without decoding it; None where the bytes end before it does."""
    layout = _head_layout(catalog, "request")
    return RequestHead(*layout.unpack(data, at)) if stop - at >= layout.size else None


@cache
def heads(catalog: Catalog) -> tuple[Fixed, Fixed]:
    """What requests and what responses begin with in all versions of their headers."""
    return _head_layout(catalog, "request"), _head_layout(catalog, "response")


@cache
def head_size(catalog: Catalog, kind: str) -> int:
    """The bytes of a header up to and with its correlation id."""
    return _head_layout(catalog, kind).size


def decode_header(catalog: Catalog, kind: str, version: int, data: Any, *, start: int, stop: int, flavour: str = "kafka") -> Decoded:
    """The header at `start`; what follows it is not an anomaly of the header's."""
    return decode_spec(header_spec(catalog, kind, flavour), data, version, start=start, stop=stop, alone=False)
