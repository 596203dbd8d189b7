"""The library's functions for inputs: `kwire_cli.read_frames`, `read_records` and `write_records`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.message.redaction import RecordRedaction, redacting
from kwire_cli.records.codecs import Limits
from kwire_cli.records.reading import items as read_items
from kwire_cli.records.writing import write
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_input, open_records
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import IO

    from kwire_cli.message.frames import Frame
    from kwire_cli.message.library import Octets
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.schemas.serdes import Serdes
    from kwire_cli.spec.catalog import Paths


def read_frames(
    source: str | os.PathLike[str] | IO[bytes] | Octets,
    *,
    input: str = "auto",  # noqa: A002 - the name of the command's option
    api: str | int | None = None,
    version: int | None = None,
    kind: str | None = None,
    show_secrets: bool = False,
    specs: Paths | None = None,
    kafka: str | None = None,
    overlays: Paths | None = None,
    tls_keylog: Sequence[str] = (),
    serdes: Serdes | None = None,
) -> Iterator[Frame]:
    """The requests and responses in a file (a path or an open binary file) or in bytes: hex in any common form, base64
    or raw, or a packet capture.

    `input` names the form; `api`, `version` and `kind` ("request", "response") say what a frame is where it can't say
    so itself. `tls_keylog` are paths of key logs, for TLS in a capture (docs/tls.md), `serdes` the formats of records.

    `to_json` of a frame, its header and its body redacts secrets unless `show_secrets` is true; `value`, `spans` and
    `data` are what is on the wire (docs/secrets.md).
    """
    how = Reading(
        catalog=catalog(specs, kafka, overlays).with_serdes(serdes),
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
    data: str | os.PathLike[str] | IO[bytes] | Octets,
    format: str = "auto",  # noqa: A002 - the name that the issue of it has
    topic: str | None = None,
    *,
    show_secrets: bool = False,
    max_decompressed: int | None = None,
    specs: Paths | None = None,
    kafka: str | None = None,
    serdes: Serdes | None = None,
) -> Iterator[Batch | Gap]:
    """The batches of a record set or log segment (bytes-like, or a path), and the gaps between them: `item.to_json()`,
    `batch.records()`.

    They cover the bytes once and in order; what is in a batch is read when it is asked for. `format` is "auto" (by each
    magic byte), "v0", "v1", "v2", "kip98-draft" or "kip82-draft". Records of Kafka's own topics are decoded: `topic`
    names theirs; without it the folder of a file does, or the records show it, as for `kwire dump`. `max_decompressed`
    are the bytes that one batch may become, `serdes` the formats of keys and values. A file may also be text that holds
    batches in any form, such as hex.
    InputError for a file that cannot be read, and for captures, requests and responses, which `read_frames` reads;
    nothing else, whatever the bytes.

    `to_json` of a batch redacts what is secret in records of Kafka's own topics unless `show_secrets` is true; the
    records of `batch.records()` and their `repr` are what is in the bytes (docs/secrets.md).
    """
    limits = None if max_decompressed is None else Limits(output=max_decompressed, ratio=None)
    definitions = catalog(specs, kafka).with_serdes(serdes)
    how = Reading(catalog=definitions, record_format=format, topic=topic, limits=limits)
    source = open_records(data, how)
    return read_items(source if show_secrets else replace(source, hide=RecordRedaction(definitions)))


def write_records(
    items: Iterable[Mapping[str, Any]],
    format: str = "auto",  # noqa: A002 - as read_records has it
    topic: str | None = None,
    *,
    specs: Paths | None = None,
    kafka: str | None = None,
) -> bytes:
    """The bytes of a record set: `items` are what `to_json` of those of `read_records` gives, or less, written by hand
    (docs/model.md#writing-record-sets).

    `format` "auto" goes by the `magic` of each item, 2 by default. `topic` is that of Kafka's own topics to which
    `decoded` payloads belong. EncodeError where something does not fit.
    """
    return write(items, form=format, topic=topic, catalog=catalog(specs, kafka) if specs or kafka else None)
