"""The part of a payload that a definition describes: one run of the kernel and its folds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.body import Body
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.spec.findings import Report
from kwire_cli.spec.location import read_bundled
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from kwire_cli.spec.model import MessageSpec


@cache
def own_definition(name: str) -> MessageSpec:
    """A definition of kwire's own, in specs/payloads: of what Kafka writes by hand and has no definition for."""
    definition = read_definition(read_bundled(f"payloads/{name}.json"), Report(f"payloads/{name}.json"))
    assert definition  # noqa: S101 - tests lint these files
    return definition.spec


def decode_body(spec: MessageSpec, version: int, data: Any, start: int = 0, *, layout: int | None = None) -> Body:
    """The bytes of `data` from `start` on as a message; of a version that is not known by the nearest layout, as a guess.

    `layout` is the version of the layout where that is known to be another number.
    """
    valid = spec.valid_versions
    notes: tuple[Anomaly, ...] = ()
    nearest = min(max(version, valid.low), valid.high) if layout is None else layout
    if layout is None and nearest != version:
        notes = (Anomaly("UNKNOWN_VERSION", "", 0, f"{spec.name} has versions {valid}; {version} was decoded by the layout of {nearest}"),)
    entry = entry_for(spec, nearest)
    return Body(spec, version, nearest, entry, walk(entry, data, start), notes, bool(notes))
