"""Which versions of a message read some bytes exactly: to the last byte, and without an anomaly.

A label can be wrong: the version of a request, an option, a line of a log. Each version has a layout, and few layouts
read the bytes of another one to the end. So the versions that do are the likeliest explanation of bytes that do not fit
their label. Trying a version costs a run of the kernel: try the versions only for bytes that do not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, is_regular
from kwire_cli.errors import KwireError

if TYPE_CHECKING:
    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.model import MessageSpec


def fits(entry: Entry, data: Any, start: int = 0, stop: int | None = None) -> bool:
    """Return whether a layout reads the bytes [start, stop) to the last one, without an anomaly."""
    spans = walk(entry, data, start, stop, strict=True)
    return spans.well_formed and (is_regular(spans) or not anomalies(build(entry, spans)))


def fitting_versions(spec: MessageSpec, data: Any, start: int = 0, stop: int | None = None) -> list[int]:
    """Return the versions of a message that read the bytes [start, stop) to the last one, without an anomaly.

    A header is not part of the bytes. The versions are ascending. A reserved message, which has no valid version, fits
    nothing. To choose among several layouts of one version, use `fits`.
    """
    versions = []
    for version in spec.valid_versions.each():
        try:
            entry = entry_for(spec, version)
        except KwireError:  # a version that cannot be declared
            continue
        if fits(entry, data, start, stop):
            versions.append(version)
    return versions
