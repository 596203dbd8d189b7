"""What would fit: the versions of a message, and of its header, that read bytes which do not fit their label.

A label is obeyed: bytes that are labelled Fetch response 1 are decoded as that. If they do not fit, all versions of the
message are tried, with all versions of the header. The versions that read the bytes to the last one, without an
anomaly, are reported as the anomaly FITS_OTHERWISE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.fits import fitting_versions
from kwire_cli.errors import counted
from kwire_cli.message.decoded import decode
from kwire_cli.message.encode import decode_header, header_spec
from kwire_cli.records.kafka_topics import has_version_prefix, version_before
from kwire_cli.spec.model import header_version_of, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


MAX_HEADER = 1024
"""The most bytes of a header that fits: the zeros of a body read as thousands of tags."""


class Fit(NamedTuple):
    """A version of a message, and the version of the header before it, that fit some bytes."""

    header_version: int
    version: int


def frame_fits(catalog: Catalog, kind: str, spec: MessageSpec, data: Any, start: int, stop: int) -> list[Fit]:
    """Return the versions of a request or response, header included, that fit the bytes [start, stop).

    `kind` is request or response, `spec` the definition of the body.
    """
    fits = []
    for number in header_spec(catalog, kind).valid_versions.each():
        header = decode_header(catalog, kind, number, data, start=start, stop=min(stop, start + MAX_HEADER))
        if header.complete and not header.raw.flags and not header.anomalies:
            versions = fitting_versions(spec, data, header.raw.used, stop)
            fits += [Fit(number, version) for version in versions]
    return fits


def body_note(body: Decoded) -> list[Anomaly]:
    """Return FITS_OTHERWISE for a body without a header that does not fit its version; empty if no version fits."""
    versions = fitting_versions(body.spec, body.data, body.start, body.stop)
    return [fits_note(f"as version {_numbers(versions)}", body.start)] if versions else []


def prefix_note(catalog: Catalog, body: Decoded) -> list[Anomaly]:
    """Return FITS_OTHERWISE if the body fits after the version that it begins with."""
    prefix = version_before(body.spec, body.data) if has_version_prefix(body.spec) else None
    if prefix is None or not prefix[1] or prefix[0] not in body.spec.valid_versions:
        return []
    version, start = prefix
    if not decode(catalog, body.data, body.message, version, start=start).raw.well_formed:
        return []
    return [fits_note(f"after the version {version} in its first {counted(start, 'byte')}", body.start)]


def frame_note(catalog: Catalog, spec: MessageSpec, version: int, header: Decoded, stop: int) -> list[Anomaly]:
    """Return FITS_OTHERWISE for a request or response that does not fit as `version`; empty if nothing fits."""
    kind = "request" if header.message == "RequestHeader" else "response"
    fits = frame_fits(catalog, kind, spec, header.data, header.start, stop)
    return [fits_note(_words(spec, version, fits), header.start)] if fits else []


def fits_note(words: str, start: int) -> Anomaly:
    """Return the anomaly FITS_OTHERWISE; `words` specify the label that fits the bytes."""
    return Anomaly("FITS_OTHERWISE", "", start, f"fits exactly {words}")


def _words(spec: MessageSpec, version: int, fits: list[Fit]) -> str:
    """Return the fits as text, if they change one thing: the version, with Kafka's header version for it, or the
    header.
    """
    versions = [fit.version for fit in fits if fit.header_version == header_version_of(spec, fit.version)]
    headers = [fit.header_version for fit in fits if fit.version == version]
    if headers:
        other = f"; as version {_numbers(versions)} too" if versions else ""
        own = header_version_of(spec, version)
        return f"with header version {_numbers(headers)}; Kafka writes version {own}{other}"
    if versions:
        return f"as version {_numbers(versions)}"
    others = []
    for number in sorted({fit.header_version for fit in fits}):
        versions = [fit.version for fit in fits if fit.header_version == number]
        others.append(f"as version {_numbers(versions)} with header version {number}")
    return " or ".join(others)


def _numbers(versions: Iterable[int]) -> str:
    *before, last = map(str, ranges(versions))
    return f"{', '.join(before)} or {last}" if before else last
