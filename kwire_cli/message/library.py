"""The library's functions for bodies of messages: `kwire_cli.decode`, `encode` and `columns`.

Each function takes the catalogue for its arguments, which is cached, and calls the same code as the commands. Arrow and
numpy are imported in `columns`, because they belong to an extra.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import entry_for
from kwire_cli.errors import InputError
from kwire_cli.message.bodies import decode_body
from kwire_cli.message.decoded import as_bytes, checked
from kwire_cli.message.encode import encode as encode_body
from kwire_cli.message.redaction import redacting_body
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import check_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from mmap import mmap
    from typing import TypeAlias

    import pyarrow as pa

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
    specs: Paths | None = None,
    kafka: str | None = None,
    overlays: Paths | None = None,
) -> Decoded:
    """Decode the body of a message, without header. `data` is bytes-like and is not copied.

    Keys and values of Kafka's own topics, and other messages that begin with their version, need no `version`.

    Decoding is lenient: the result may be partial, with a gap and an anomaly that gives the reason. Raise DecodeError
    if nothing could be decoded, and with `strict` for any anomaly. Raise InputError for an unknown message.

    `to_json` redacts secrets unless `show_secrets` is true; `value`, `spans` and `data` contain the bytes as received
    (docs/secrets.md).
    """
    definitions = catalog(specs, kafka, overlays)
    decoded_body = decode_body(definitions, data, message, version)
    return checked(decoded_body if show_secrets else redacting_body(definitions, decoded_body), strict=strict)


def encode(
    value: Mapping[str, Any],
    *,
    message: str,
    version: int,
    specs: Paths | None = None,
    kafka: str | None = None,
    overlays: Paths | None = None,
) -> bytes:
    """Encode a body, with bytes identical to Kafka's. `value` is the result of `Decoded.to_json`; its records are
    base64 text or batches.

    Raise EncodeError if a value does not fit.
    """
    return encode_body(catalog(specs, kafka, overlays), value, message, version)


def columns(
    bodies: Iterable[Octets],
    *,
    message: str,
    version: int,
    specs: Paths | None = None,
    kafka: str | None = None,
    overlays: Paths | None = None,
) -> pa.StructArray:
    """Return bodies of one message and version as an Arrow array: a struct each, nested, in Kafka's names; null for a
    body that is not whole, or that only an earlier layout of the version reads.

    Tagged fields that are left out have their defaults, unknown ones are omitted, and bytes after the last field are
    ignored. Values are as received, including secrets. Needs `kwire[lake]`. Raise InputError for an unknown message
    or version, for data that is not bytes, and if a package of the extras is missing.
    """
    definitions = catalog(specs, kafka, overlays)
    spec = definitions.message(message)
    check_version(spec, version)
    try:
        import numpy as np  # noqa: PLC0415 - an extra
        import pyarrow as pa  # noqa: PLC0415 - an extra

        from kwire_cli.engine.arrow import columns as arrow_columns  # noqa: PLC0415 - it needs the extra
        from kwire_cli.engine.compiled import jobs_of, octets, walk_many  # noqa: PLC0415 - as above
    except ImportError as error:
        raise InputError(f"columns need numba and pyarrow ({error}): pip install 'kwire[lake]'") from None
    parts = [as_bytes(body) for body in bodies]
    ends = [*accumulate(map(len, parts))]
    entry = entry_for(spec, version)
    structs, whole = arrow_columns(
        entry,
        walk_many(entry.program, octets(b"".join(parts) or b"\0"), jobs_of(entry, [0, *ends[:-1]][: len(ends)], ends)),
    )
    kept = np.ones(len(whole), bool)
    if definitions.early_releases(spec.name, version):
        kept[:] = [not decode_body(definitions, parts[number], message, version).is_early for number in whole]
    if len(whole) == len(parts) and kept.all():
        return structs
    rows = np.zeros(len(parts), np.int64)
    rows[whole] = np.arange(len(whole))
    missing = np.ones(len(parts), bool)
    missing[whole] = ~kept
    return structs.take(pa.array(rows, mask=missing))
