"""The library functions for inputs: `kwire_cli.read_frames`, `read_records` and `write_records`.

They use the readers of the commands, so both have equal results. Inputs of another kind raise an error that names the
function to use.
"""

from __future__ import annotations

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
    specs: Paths = (),
    tls_keylog: Sequence[str] = (),
    serdes: Serdes | None = None,
) -> Iterator[Frame]:
    """Return the requests and responses in a file or in bytes: hex in any common form, base64, raw bytes, or a capture.

    Secrets are redacted in `to_json` of a frame, its header and its body, unless `show_secrets` is true. `value`,
    `spans` and `data` are never redacted (docs/secrets.md).

    Args:
        source: A path, an open binary file, or bytes.
        input: The form of the input.
        api: The api of a frame that does not contain it.
        version: The version of a frame that does not contain it.
        kind: "request" or "response", for a frame that does not show it.
        show_secrets: Whether secrets are not redacted.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        tls_keylog: Paths of key logs, for TLS in a capture (docs/captures.md).
        serdes: The formats of keys and values of records.

    """
    how = Reading(
        catalog=catalog(specs).with_serdes(serdes),
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
    format: str = "auto",  # noqa: A002 - a name of the public interface
    topic: str | None = None,
    *,
    show_secrets: bool = False,
    max_decompressed: int | None = None,
    specs: Paths = (),
    serdes: Serdes | None = None,
) -> Iterator[Batch | Gap]:
    """Return the batches of a record set or log segment, and the gaps between them.

    Batches and gaps together cover all bytes, in order. Records are decoded lazily, by `item.to_json()` or
    `batch.records()`. Secrets in records of Kafka's internal topics are redacted in `to_json`, unless `show_secrets` is
    true. The records of `batch.records()` are never redacted (docs/secrets.md).

    Args:
        data: Bytes, a path, or an open binary file. A file may be text with encoded batches, such as hex.
        format: "auto" (by each magic byte), "v0", "v1", "v2", "kip98-draft" or "kip82-draft".
        topic: The topic of the records, whose schema decodes records of Kafka's internal topics. By default it is
            detected from the folder of a file or from the records, as for `kwire dump`.
        show_secrets: Whether secrets are not redacted.
        max_decompressed: The maximum size of one decompressed batch in bytes.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        serdes: The formats of keys and values.

    Raises:
        InputError: The file cannot be read, or is a capture or contains requests and responses, which `read_frames`
            reads. No bytes of a record set raise an error.

    """
    limits = None if max_decompressed is None else Limits(output=max_decompressed, ratio=None)
    definitions = catalog(specs).with_serdes(serdes)
    hide = None if show_secrets else RecordRedaction(definitions)
    how = Reading(catalog=definitions, record_format=format, topic=topic, limits=limits, hide=hide)
    return read_items(open_records(data, how))


def write_records(
    items: Iterable[Mapping[str, Any]],
    format: str = "auto",  # noqa: A002 - a name of the public interface
    topic: str | None = None,
    *,
    specs: Paths = (),
) -> bytes:
    """Return the bytes of a record set. `items` have the form of `to_json` of the items of `read_records`, or less, if
    written by hand (docs/model.md#writing-record-sets).

    `format` "auto" uses the `magic` of each item, 2 by default. `topic` is the internal topic whose schema encodes
    `decoded` payloads. EncodeError is raised if a value does not fit.
    """
    return write(items, form=format, topic=topic, catalog=catalog(specs))
