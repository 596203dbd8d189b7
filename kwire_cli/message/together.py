"""Messages of many kinds that lie in one buffer, walked by the compiled engine: those of each definition and version together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kwire_cli.engine.compiled import Walk, jobs_of, octets, walk_many
from kwire_cli.engine.lower import entry_for
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.model import MessageSpec


class Place(NamedTuple):
    """A body: what it is, and where it lies."""

    spec: MessageSpec
    version: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Group:
    """The bodies of one definition and version: `which` are their numbers among all that were given, in order; job k of `walk` is the k-th of them.

    `layout_version` differs from `version` where that is unknown and the nearest known layout served; then `guess` is true.
    """

    spec: MessageSpec
    version: int
    layout_version: int
    entry: Entry
    walk: Walk
    which: npt.NDArray[np.int64]

    @property
    def guess(self) -> bool:
        """Whether the layout is that of another version."""
        return self.version != self.layout_version


def together(data: Any, places: Iterable[Place]) -> Iterator[Group]:
    """The groups of bodies in `data`, a bytes-like, by their first ones. InputError for a definition without versions."""
    groups: dict[tuple[int, int], list[tuple[int, Place]]] = {}
    for number, place in enumerate(places):
        groups.setdefault((id(place.spec), place.version), []).append((number, place))
    buffer = octets(data) if len(data) else octets(b"\0")
    for same in groups.values():
        spec, version = same[0][1].spec, same[0][1].version
        valid = spec.valid_versions
        if not valid:
            raise InputError(f"{spec.name} is reserved: no version of it is valid")
        layout = min(max(version, valid.low), valid.high)
        entry = entry_for(spec, layout)
        jobs = jobs_of(entry, [place.start for _, place in same], [place.stop for _, place in same])
        yield Group(spec, version, layout, entry, walk_many(entry.program, buffer, jobs), np.array([number for number, _ in same], np.int64))
