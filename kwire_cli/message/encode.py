"""Headers of frames, and messages and frames encoded from JSON.

Messages are encoded through construct, by the same declaration that the engine lowers for decoding, so both have the
same layout. Values may be in the lossless form, whose patches are inserted afterwards. Errors contain the path of the
value, but never a value that may be a secret.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.errors import EncodeError, InputError, json_kind
from kwire_cli.message.decoded import LOSSLESS_KEY, Decoded, apply, build, decode_spec, whole_frame
from kwire_cli.message.roles import FETCHED, can_hold_secrets, has_secret, redacted_value
from kwire_cli.structs import headers
from kwire_cli.structs.messages import SIZE_PREFIX
from kwire_cli.structs.numbers import RANGES, checked_int, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


# Headers of requests and responses: the header version of each message, and KIP-482's numbering in addition to Kafka's.

FLAVOURS = ("kafka", "kip482")
"""Headers as Kafka ships them, or with KIP-482's own flexible request header, whose client id is a compact string."""


@cache
def _compact_client_id(spec: MessageSpec) -> MessageSpec:
    fields = tuple(
        replace(field, flexible_versions=None) if field.name == "ClientId" else field for field in spec.fields
    )
    return replace(spec, fields=fields)


def header_spec(catalog: Catalog, kind: str, flavour: str = "kafka") -> MessageSpec:
    """Return the definition of the header of a request or response."""
    if flavour not in FLAVOURS:
        raise InputError(f"unknown header {flavour!r}; there are {' and '.join(FLAVOURS)}")
    spec = catalog.message("RequestHeader" if kind == "request" else "ResponseHeader")
    return _compact_client_id(spec) if kind == "request" and flavour == "kip482" else spec


class RequestHead(NamedTuple):
    """The beginning of every request, the same in all versions of its header."""

    api_key: int
    version: int
    correlation_id: int


_HEADS = {"request": fixed(headers.REQUEST_HEAD), "response": fixed(headers.RESPONSE_HEAD)}
_CORRELATION = {"request": fixed(headers.REQUEST_HEAD, ("correlationId",)), "response": _HEADS["response"]}


def heads() -> tuple[Fixed, Fixed]:
    """Return the layouts of the beginnings of requests and of responses, the same in all header versions."""
    return _HEADS["request"], _HEADS["response"]


def request_head(data: Any, at: int, stop: int) -> RequestHead | None:
    """Return the head of the request at `at`, read without decoding it; None if the bytes end before the head does."""
    layout = _HEADS["request"]
    return RequestHead(*layout.unpack(data, at)) if stop - at >= layout.size else None


def correlation_id(kind: str, data: Any, at: int) -> int | None:
    """Return the correlation id of the request or response at `at`; None if the bytes end before it does."""
    layout = _CORRELATION[kind]
    return int(layout.unpack(data, at)[0]) if len(data) - at >= layout.size else None


def head_size(kind: str) -> int:
    """Return the bytes of a header up to and with its correlation id."""
    return _HEADS[kind].size


def decode_header(
    catalog: Catalog, kind: str, version: int, data: Any, *, start: int, stop: int, flavour: str = "kafka"
) -> Decoded:
    """Decode the header at `start`. Bytes after it are not an anomaly."""
    return decode_spec(header_spec(catalog, kind, flavour), data, version, start=start, stop=stop, alone=False)


# Encoding: values in Kafka's JSON form back to bytes, with construct's build. The bytes are identical to Kafka's.


def encode(catalog: Catalog, value: Any, message: str, version: int) -> bytes:
    """Encode a message's body from the result of `Decoded.to_json`, also in the lossless form.

    Records are base64 text or a list of batches. Raise EncodeError with path, value and reason if a value does not fit,
    and InputError if no definition has the message or version.
    """
    return encode_spec(catalog.message(message), value, version)


def encode_spec(spec: MessageSpec, value: Any, version: int) -> bytes:
    """Encode a body as `encode` does, with the given definition."""
    try:
        if isinstance(value, dict) and LOSSLESS_KEY in value:
            return apply(spec, value, version)
        return build(spec, value, version)
    except EncodeError as error:
        raise without_secret(spec, error) from None


def without_secret(spec: MessageSpec, error: EncodeError) -> EncodeError:
    """Return the error without its value if the value may be or contain a secret."""
    if not (can_hold_secrets(spec.name) or spec.name in FETCHED) or not has_secret(spec, error.path):
        return error
    return EncodeError(
        error.reason.replace(shown(error.value), redacted_value(spec, error.path, error.value)), path=error.path
    )


def encode_document(
    catalog: Catalog, document: Any, write: Callable[[MessageSpec, Any, int], bytes] = encode_spec
) -> bytes:
    """Encode a document that the command prints as JSON: a body with its message and version, or a whole frame.

    `write` encodes the body, and the header of a frame. A frame gets its size prefix unless it has
    `"prefixed": false`, and a body with `"versionPrefix": true` gets its version. Raises EncodeError if something is
    missing or does not fit.
    """
    if not isinstance(document, dict):
        raise EncodeError(f"a document is an object, not {json_kind(document)}", value=document)
    if LOSSLESS_KEY in document:
        return whole_frame(document[LOSSLESS_KEY])
    if "message" in document:
        spec = catalog.message(_text(document, "message"))
        value = _needed(document, "body")
        version = _integer(document, "version")
        body = write(spec, value, version)
        if document.get("versionPrefix") is not True:
            return body
        from kwire_cli.records.kafka_topics import version_prefix  # noqa: PLC0415 - few bodies have a prefix

        return version_prefix(spec, version) + body
    kind, version = _text(document, "kind"), _integer(document, "apiVersion")
    if kind not in {"request", "response"}:
        raise EncodeError(f"kind is request or response, not {shown(kind)}", path="kind", value=kind)
    api = catalog.api(_text(document, "api") if document.get("api") is not None else _integer(document, "apiKey"))
    message = api.request if kind == "request" else api.response
    if not message:
        raise InputError(f"no definition of the {kind} of {api.name} is known")
    body_version = _integer({"bodyVersion": version} | document, "bodyVersion")
    body = write(catalog.message(message), _needed(document, "body"), body_version)
    data = _header(catalog, document, (kind, api.key, version), write) + body
    return data if document.get("prefixed") is False else build(SIZE_PREFIX, {"size": len(data)}, 0) + data


def _header(
    catalog: Catalog,
    document: dict[str, Any],
    message: tuple[str, int, int],
    write: Callable[[MessageSpec, Any, int], bytes],
) -> bytes:
    """Return the header of a message, which is its kind, api key and version."""
    kind, api_key, version = message
    fields = _needed(document, "header")
    if not isinstance(fields, dict):
        raise EncodeError("the header is an object", path="header", value=fields)
    layout = (
        _integer(fields, "headerVersion")
        if "headerVersion" in fields
        else catalog.header_version(kind, api_key, version)
    )
    names = {"requestApiKey": api_key, "requestApiVersion": version} if kind == "request" else {}
    value = names | {key: v for key, v in fields.items() if key not in {"headerVersion", "flavour"}}
    try:
        return write(header_spec(catalog, kind, fields.get("flavour", "kafka")), value, layout)
    except EncodeError as error:
        raise EncodeError(error.reason, path=f"header.{error.path}".rstrip("."), value=error.value) from None


def _needed(document: dict[str, Any], key: str) -> Any:
    if key in document and document[key] is None:
        raise EncodeError("it is null", path=key)
    if key not in document:
        raise EncodeError(
            'it is missing; a document is {"message": "HeartbeatRequest", "version": 4, "body": {…}}, or has "kind", '
            '"api", "apiVersion", "header" and "body", as kwire decode prints a frame',
            path=key,
        )
    return document[key]


def _text(document: dict[str, Any], key: str) -> str:
    value = _needed(document, key)
    if not isinstance(value, str):
        raise EncodeError(f"it is a name, not {shown(value)}", path=key, value=value)
    return value


def _integer(document: dict[str, Any], key: str) -> int:
    low, high = RANGES["int16"]
    return checked_int(_needed(document, key), low, high, "int16", f" -> {key}")
