"""Bodies without a header, such as a key or value of an internal topic, copied from a log.

The header of a request names its version. Records of Kafka's own topics, and messages in fields of other messages,
begin with their version instead. So their version need not be known: it is read, and the body follows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.message.decoded import Decoded, as_bytes, decode
from kwire_cli.message.frames import EVIDENCE
from kwire_cli.message.guess import bits_of
from kwire_cli.records.kafka_topics import COORDINATORS, has_version_prefix, part_readings, version_before

if TYPE_CHECKING:
    from kwire_cli.engine.values import Body
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


def decode_body(catalog: Catalog, data: Any, message: str, version: int | None = None) -> Decoded:
    """Decode bytes that are one body. Without a version, read it from the bytes before the body.

    If the body does not fit, the anomaly FITS_OTHERWISE names what fits.

    Raises:
        InputError: No definition has the message, the data is not bytes, or there is no version, neither as an argument
            nor before the body.

    """
    start = 0
    if version is None:
        version, start = _prefix(catalog.message(message), as_bytes(data))
    body = decode(catalog, data, message, version, start=start)
    if body.raw.well_formed:
        return body
    from kwire_cli.message.fits import body_note, prefix_note  # noqa: PLC0415 - only for bytes that do not fit

    note = body_note(body) or ([] if start else prefix_note(catalog, body))
    return replace(body, notes=(*body.notes, *note))


def likeliest_record(catalog: Catalog, data: bytes) -> tuple[str, Decoded] | None:
    """Return the likeliest key or value of a coordinator's topic in some bytes, with the topic.

    None if no key or value fits to the last byte, or if random bytes are nearly as likely.
    """
    candidates = []
    for topic in COORDINATORS:
        candidates += [(bits, topic, body) for bits, body in _weighed(catalog, topic, data)[:1]]
    if not candidates:
        return None
    bits, topic, body = min(candidates, key=lambda candidate: candidate[:2])
    if 8.0 * len(data) - bits < EVIDENCE:
        return None
    return topic, Decoded(body.spec, body.version, body.layout_version, body.entry, body.raw, body.notes, body.guess)


def _weighed(catalog: Catalog, topic: str, data: bytes) -> list[tuple[float, Body]]:
    """Return the readings of some bytes that reach the last one, with the information in their values in bits."""
    candidates = []
    for record in part_readings(catalog, topic, data):
        part = record.value or record.key
        if part and part.body and part.exact and not record.anomalies:
            candidates.append((bits_of(catalog, part.body.tree), part.body))
    return sorted(candidates, key=lambda candidate: candidate[0])


def _prefix(spec: MessageSpec, data: Any) -> tuple[int, int]:
    """Return the version before a body, and where the body begins."""
    if not has_version_prefix(spec):
        raise InputError(f"{spec.name} needs a version: {spec.valid_versions}")
    prefix = version_before(spec, data)
    if prefix is None or prefix[0] not in spec.valid_versions:
        raise InputError(
            f"the bytes do not begin with a version of {spec.name} ({spec.valid_versions}); "
            "--message-version N reads bytes without it"
        )
    return prefix
