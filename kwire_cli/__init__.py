"""kwire: an inspector of the Apache Kafka wire protocol.

The names below are its public API; each loads what it needs when first used, so that importing this package costs
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import DecodeError, EncodeError, InputError, KwireError, SpecError
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from kwire_cli.analysis.costs.ledger import Row
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.gaps import Gap
    from kwire_cli.spec.catalog import Catalog

    Specs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

__version__ = VERSION
__all__ = [
    "DecodeError",
    "EncodeError",
    "InputError",
    "KwireError",
    "SpecError",
    "catalog",
    "columns",
    "decode",
    "encode",
    "ledger",
    "read_frames",
    "read_records",
    "write_records",
]


def catalog(specs: Specs | None = None, *, kafka: str | None = None, overlays: Specs | None = None) -> Catalog:
    """Every message definition: look up by name (`c["MetadataResponse"]`) or api (`c.api("metadata")`, `c.api(3)`).

    `specs` is a file or folder, or several, with definitions that are added or take the place of those of their name;
    `kafka` is the release ("3.9") whose layout counts where releases differ under one version number. `overlays` are
    files, or names of bundled ones, with encodings, tags and types that are laid over the definitions
    (docs/overlays.md).
    """
    from kwire_cli.spec.catalog import catalog as make  # noqa: PLC0415

    return make(specs or (), kafka, overlays or ())


def decode(
    data: Any,
    *,
    message: str,
    version: int,
    strict: bool = False,
    show_secrets: bool = False,
    specs: Specs | None = None,
    kafka: str | None = None,
    overlays: Specs | None = None,
) -> Decoded:
    """The body of a message, without header. `data` is bytes-like and is not copied.

    Lenient: the result may be partial, with a gap and an anomaly that says why. DecodeError where nothing can be
    decoded, and with `strict` for any anomaly; InputError for an unknown message.

    `to_json` redacts secrets unless `show_secrets` is true; `value`, `spans` and `data` are what is on the wire
    (docs/secrets.md).
    """
    from kwire_cli.message.decoded import checked, decode as run  # noqa: PLC0415
    from kwire_cli.message.redaction import redacting_body  # noqa: PLC0415

    definitions = catalog(specs, kafka=kafka, overlays=overlays)
    decoded_body = run(definitions, data, message, version)
    return checked(decoded_body if show_secrets else redacting_body(definitions, decoded_body), strict=strict)


def columns(
    bodies: Iterable[Any],
    *,
    message: str,
    version: int,
    specs: Specs | None = None,
    kafka: str | None = None,
    overlays: Specs | None = None,
) -> pa.StructArray:
    """Return bodies of one message and version as an Arrow array: a struct each, nested, in Kafka's names; null for a
    body that is not whole.

    Tagged fields that are left out have their defaults, unknown ones are not there, and bytes behind the last field are
    ignored. Values are what is on the wire, secrets too. Needs `kwire[fast,stores]`. InputError for an unknown message
    or version, or data that is not bytes.
    """
    from kwire_cli.message.columns import message_columns  # noqa: PLC0415

    return message_columns(catalog(specs, kafka=kafka, overlays=overlays), bodies, message, version)


def encode(
    value: Any,
    *,
    message: str,
    version: int,
    specs: Specs | None = None,
    kafka: str | None = None,
    overlays: Specs | None = None,
) -> bytes:
    """The bytes of a body, identical to Kafka's; takes what `Decoded.to_json` gives, records as base64 text or as
    batches.

    EncodeError where a value does not fit.
    """
    from kwire_cli.message.encode import encode as run  # noqa: PLC0415

    return run(catalog(specs, kafka=kafka, overlays=overlays), value, message, version)


def ledger(decoded: Decoded) -> list[Row]:
    """Return the cost of each field as rows with path, prefix_bytes, value_bytes and count.

    The bytes of all rows add up to the size of the input.
    """
    from kwire_cli.analysis.costs.ledger import ledger as run  # noqa: PLC0415

    return run(decoded)


def read_frames(
    source: Any,
    *,
    input: str = "auto",  # noqa: A002 - the name of the command's option
    api: str | int | None = None,
    version: int | None = None,
    kind: str | None = None,
    show_secrets: bool = False,
    specs: Specs | None = None,
    kafka: str | None = None,
    overlays: Specs | None = None,
    tls_keylog: Sequence[str] = (),
) -> Iterator[Frame]:
    """The requests and responses in a file (a path or an open binary file) or in bytes: hex in any common form, base64
    or raw, or a packet capture.

    `input` names the form; `api`, `version` and `kind` ("request", "response") say what a frame is where it can't say
    so itself. `tls_keylog` are paths of key logs, for TLS in a capture (docs/tls.md).

    `to_json` of a frame, its header and its body redacts secrets unless `show_secrets` is true; `value`, `spans` and
    `data` are what is on the wire (docs/secrets.md).
    """
    from kwire_cli.message.redaction import redacting  # noqa: PLC0415
    from kwire_cli.source.kinds import Kind  # noqa: PLC0415
    from kwire_cli.source.opening import open_input  # noqa: PLC0415
    from kwire_cli.source.reading import Reading  # noqa: PLC0415

    how = Reading(
        catalog=catalog(specs, kafka=kafka, overlays=overlays),
        form=input,
        api=api,
        version=version,
        kind=kind,
        key_logs=tuple(tls_keylog),
    )
    opened = open_input(source, how, takes={Kind.CAPTURE, Kind.FRAMES, Kind.BATCHES})
    if opened.kind is Kind.BATCHES:
        raise InputError("this is record batches, which read_records reads", file=opened.name)
    if opened.kind is Kind.FRAMES:
        frames = opened.subjects()
        return frames if show_secrets else (redacting(how.catalog, frame) for frame in frames)
    pairs = ((line.frame, line) for line in opened.subjects() if line.frame)
    return (frame if show_secrets else redacting(how.catalog, frame, line) for frame, line in pairs)


def read_records(
    data: Any,
    format: str = "auto",  # noqa: A002 - the name that the issue of it has
    topic: str | None = None,
    *,
    show_secrets: bool = False,
    max_decompressed: int | None = None,
    specs: Specs | None = None,
    kafka: str | None = None,
) -> Iterator[Batch | Gap]:
    """The batches of a record set or log segment (bytes-like, or a path), and the gaps between them: `item.to_json()`,
    `batch.records()`.

    They cover the bytes once and in order; what is in a batch is read when it is asked for. `format` is "auto" (by each
    magic byte), "v0", "v1", "v2", "kip98-draft" or "kip82-draft". Records of Kafka's own topics are decoded: `topic`
    names theirs; without it the folder of a file does, or the records show it, as for `kwire dump`. `max_decompressed`
    are the bytes that one batch may become. A file may also be text that holds batches in any form, such as hex.
    InputError for a file that cannot be read, and for captures, requests and responses, which `read_frames` reads;
    nothing else, whatever the bytes.

    `to_json` of a batch redacts what is secret in records of Kafka's own topics unless `show_secrets` is true; the
    records of `batch.records()` and their `repr` are what is in the bytes (docs/secrets.md).
    """
    from kwire_cli.message.redaction import RecordRedaction  # noqa: PLC0415
    from kwire_cli.records.codecs import Limits  # noqa: PLC0415
    from kwire_cli.records.reading import items  # noqa: PLC0415
    from kwire_cli.source.opening import open_records  # noqa: PLC0415
    from kwire_cli.source.reading import Reading  # noqa: PLC0415

    limits = None if max_decompressed is None else Limits(output=max_decompressed, ratio=None)
    definitions = catalog(specs, kafka=kafka)
    how = Reading(catalog=definitions, record_format=format, topic=topic, limits=limits)
    source = open_records(data, how)
    return items(source if show_secrets else replace(source, hide=RecordRedaction(definitions)))


def write_records(
    items: Any,
    format: str = "auto",  # noqa: A002 - as read_records has it
    topic: str | None = None,
    *,
    specs: Specs | None = None,
    kafka: str | None = None,
) -> bytes:
    """The bytes of a record set: `items` are what `to_json` of those of `read_records` gives, or less, written by hand
    (docs/encode-records.md).

    `format` "auto" goes by the `magic` of each item, 2 by default. `topic` is that of Kafka's own topics to which
    `decoded` payloads belong. EncodeError where something does not fit.
    """
    from kwire_cli.records.writing import write  # noqa: PLC0415

    return write(items, form=format, topic=topic, catalog=catalog(specs, kafka=kafka) if specs or kafka else None)
