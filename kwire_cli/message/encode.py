"""Encoding: values in Kafka's JSON form back to bytes, through construct's build. Byte-identical to what Kafka writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.errors import EncodeError, InputError
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

LOSSLESS_KEY = "_lossless"
"""The key in a value under which the bytes stand that JSON can't carry."""


def encode(catalog: Catalog, value: Any, message: str, version: int) -> bytes:
    """The bytes of a message's body. Takes what `Decoded.to_json` gives, the lossless form too.

    EncodeError with path, value and reason where a value does not fit; InputError for a message or version that no definition has.
    """
    return encode_spec(catalog.message(message), value, version)


def encode_spec(spec: MessageSpec, value: Any, version: int) -> bytes:
    """As `encode`, with the definition itself."""
    if version not in spec.valid_versions:
        raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")
    if isinstance(value, dict) and LOSSLESS_KEY in value:
        from kwire_cli.message.lossless import apply  # noqa: PLC0415 - only what was decoded with --lossless needs it

        return apply(spec, value, version)
    return build(spec, value, version)


def build(spec: MessageSpec, value: Any, version: int, *, lenient: bool = False) -> bytes:
    """The bytes of a value without anything lossless; `lenient` lets pass what only faulty peers write (null where it is not allowed)."""
    try:
        return bytes(declare(spec, version).build(value, lenient=lenient))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None
