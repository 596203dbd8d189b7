"""Encoding: values in Kafka's JSON form back to bytes, through construct's build. Byte-identical to what Kafka writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.batches import with_bytes
from kwire_cli.structs.frames import SIZE_PREFIX
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import RANGES, checked_int
from kwire_cli.structs.places import shown

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

LOSSLESS_KEY = "_lossless"
"""The key in a value under which the bytes stand that JSON can't carry."""


def encode(catalog: Catalog, value: Any, message: str, version: int) -> bytes:
    """The bytes of a message's body. Takes what `Decoded.to_json` gives, the lossless form too; records as base64 text or as a list of batches.

    EncodeError with path, value and reason where a value does not fit; InputError for a message or version that no definition has.
    """
    return encode_spec(catalog.message(message), value, version)


def encode_spec(spec: MessageSpec, value: Any, version: int) -> bytes:
    """As `encode`, with the definition itself."""
    try:
        if isinstance(value, dict) and LOSSLESS_KEY in value:
            from kwire_cli.message.lossless import apply  # noqa: PLC0415 - only what was decoded with --lossless needs it

            return apply(spec, value, version)
        return build(spec, value, version)
    except EncodeError as error:
        raise without_secret(spec, error) from None


def without_secret(spec: MessageSpec, error: EncodeError) -> EncodeError:
    """Return the error without the value that it tells of, where that may be a secret or have one in it."""
    from kwire_cli.message.secrets import can_hold_secrets, has_secret, redacted_value  # noqa: PLC0415 - errors are rare, and it decodes

    if not can_hold_secrets(spec.name, raw_records=True) or not has_secret(spec, error.path):
        return error
    return EncodeError(error.reason.replace(shown(error.value), redacted_value(spec, error.path, error.value)), path=error.path)


def encode_document(catalog: Catalog, document: Any) -> bytes:
    """The bytes of what the command prints as JSON: a body with its message and version, or a whole frame.

    A frame gets its size prefix unless it says `"prefixed": false`. EncodeError where something is missing or does not fit.
    """
    if not isinstance(document, dict):
        raise EncodeError(f"a document is an object, not {type(document).__name__}", value=document)
    if LOSSLESS_KEY in document:
        from kwire_cli.message.lossless import whole_frame  # noqa: PLC0415

        return whole_frame(document[LOSSLESS_KEY])
    if "message" in document:
        return encode(catalog, _needed(document, "body"), _text(document, "message"), _integer(document, "version"))
    kind, version = _text(document, "kind"), _integer(document, "apiVersion")
    if kind not in {"request", "response"}:
        raise EncodeError(f"kind is request or response, not {shown(kind)}", path="kind", value=kind)
    api = catalog.api(_text(document, "api") if document.get("api") is not None else _integer(document, "apiKey"))
    message = api.request if kind == "request" else api.response
    if not message:
        raise InputError(f"no definition of the {kind} of {api.name} is known")
    body = encode(catalog, _needed(document, "body"), message, _integer({"bodyVersion": version} | document, "bodyVersion"))
    data = _header(catalog, document, kind, api.key, version) + body
    return data if document.get("prefixed") is False else build(SIZE_PREFIX, {"size": len(data)}, 0) + data


def _header(catalog: Catalog, document: dict[str, Any], kind: str, api_key: int, version: int) -> bytes:
    from kwire_cli.message.headers import header_spec, header_version  # noqa: PLC0415 - headers decode too, which a body does not need

    fields = _needed(document, "header")
    if not isinstance(fields, dict):
        raise EncodeError("the header is an object", path="header", value=fields)
    layout = _integer(fields, "headerVersion") if "headerVersion" in fields else header_version(catalog, kind, api_key, version)
    names = {"requestApiKey": api_key, "requestApiVersion": version} if kind == "request" else {}
    value = names | {key: v for key, v in fields.items() if key not in {"headerVersion", "flavour"}}
    try:
        return encode_spec(header_spec(catalog, kind, fields.get("flavour", "kafka")), value, layout)
    except EncodeError as error:
        raise EncodeError(error.reason, path=f"header.{error.path}".rstrip("."), value=error.value) from None


def _needed(document: dict[str, Any], key: str) -> Any:
    if key in document and document[key] is None:
        raise EncodeError("it is null", path=key)
    if key not in document:
        raise EncodeError('it is missing; a document has "message", "version", "body", or "kind", "api", "apiVersion", "header", "body"', path=key)
    return document[key]


def _text(document: dict[str, Any], key: str) -> str:
    value = _needed(document, key)
    if not isinstance(value, str):
        raise EncodeError(f"it is a name, not {shown(value)}", path=key, value=value)
    return value


def _integer(document: dict[str, Any], key: str) -> int:
    low, high = RANGES["int16"]
    return checked_int(_needed(document, key), low, high, "int16", f" -> {key}")


def build(spec: MessageSpec, value: Any, version: int, *, lenient: bool = False) -> bytes:
    """The bytes of a value without anything lossless; `lenient` lets pass what only faulty peers write (null where it is not allowed)."""
    if version not in spec.valid_versions:
        raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")
    try:
        return bytes(declare(spec, version).build(with_bytes(spec, value), lenient=lenient))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None
