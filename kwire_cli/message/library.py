"""The library's functions for bodies of messages: `kwire_cli.decode` and `encode`.

Each function takes the catalogue for its arguments, which is cached, and calls the same code as the commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.message.bodies import decode_body
from kwire_cli.message.decoded import checked
from kwire_cli.message.encode import encode as encode_body
from kwire_cli.message.redaction import redacting_body
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap
    from typing import TypeAlias

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Paths

    Octets: TypeAlias = bytes | bytearray | memoryview | mmap
    """Data that is bytes-like. Other objects with such a buffer are taken too."""


def decode(
    data: Octets,
    *,
    message: str,
    version: int | None = None,
    strict: bool = False,
    show_secrets: bool = False,
    specs: Paths = (),
) -> Decoded:
    """Decode the body of a message, without header. `data` is bytes-like and is not copied.

    Keys and values of Kafka's own topics, and other messages that begin with their version, need no `version`.

    Decoding is lenient: the result may be partial, with a gap and an anomaly that gives the reason. Raise DecodeError
    if nothing could be decoded, and with `strict` for any anomaly. Raise InputError for an unknown message.

    `to_json` redacts secrets unless `show_secrets` is true; `value`, `spans` and `data` contain the bytes as received
    (docs/secrets.md).
    """
    definitions = catalog(specs)
    decoded_body = decode_body(definitions, data, message, version)
    return checked(decoded_body if show_secrets else redacting_body(definitions, decoded_body), strict=strict)


def encode(
    value: Mapping[str, Any],
    *,
    message: str,
    version: int,
    specs: Paths = (),
) -> bytes:
    """Encode a body, with bytes identical to Kafka's. `value` is the result of `Decoded.to_json`; its records are
    base64 text or batches.

    Raise EncodeError if a value does not fit.
    """
    return encode_body(catalog(specs), value, message, version)
