"""The parts of several captures in one order, by capture point.

Files of a point that do not overlap in time are a chain, and packets are counted over it. More than one chain is merged
by time, each in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.model import NO_TIME
from kwire_cli.source.capture.origin import FileRow, InRow, Merged
from kwire_cli.source.capture.parts import PART_SIZE, Outline, Part, outline
from kwire_cli.source.capture.points import Naming, Timed, capture_points
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cli.source.capture.origin import Origin
    from kwire_cli.source.capture.pcapng import Secrets
    from kwire_cli.source.capture.sketches import Sketch

_PACKED = 1 << 32
"""More packets than a packed file has, whose packets nobody has counted."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A part, the numbers of its file, its point and its chain in that, and how many packets of the chain were before the file."""

    part: Part
    file: int
    chain: int
    before: int
    point: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """A capture point: its name, the files of each chain, whether other files of its folder hold the same connections."""

    name: str
    chains: tuple[FileRow, ...]
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, chain by chain."""
        return tuple(file for chain in self.chains for file in chain.files)

    @property
    def last(self) -> int:
        """The number of the last packet, if there is one chain only, else 0."""
        return self.chains[0].packets if len(self.chains) == 1 else 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """All parts of all files, and the capture points; `faults` are files that cannot be read, and why.

    `secrets` are what decrypts TLS in them: those of key logs, and those in the files.
    """

    files: tuple[str, ...]
    parts: tuple[Scheduled, ...]
    points: tuple[Planned, ...]
    faults: tuple[tuple[str, str], ...]
    secrets: tuple[Secrets, ...] = ()

    def origin(self, number: int) -> Origin:
        """Return where the packets of a point are: for files that are merged this knows what it is told."""
        point = self.points[number]
        named = {"capture": point.name if len(self.points) > 1 else None, "several": len(self.files) > 1, "index": number}
        if len(point.chains) > 1:
            return Merged(point.chains, point.name, **named)
        return InRow(point.chains[0], point.name, **named)


Outlined = tuple[str, Outline | str]
"""A file with its outline, or why it has none."""


def outlined(path: str, size: int = PART_SIZE) -> Outlined:
    """The outline of a file that may be none."""
    try:
        return path, outline(path, size)
    except InputError as error:
        return path, error.reason


def schedule(
    found: Iterable[Outlined],
    secrets: Iterable[Secrets] = (),
    naming: Naming | None = None,
    sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None,
) -> Schedule:
    """Put all files in one order, by capture point. `secrets` are of key logs; `naming` and `sketched` are as for `capture_points`."""
    faults: list[tuple[str, str]] = []
    outlines: dict[str, Outline] = {}
    for path, each in found:
        if isinstance(each, str):
            faults.append((path, each))
        else:
            outlines[path] = each
    times = [Timed(path, each.first, each.latest) for path, each in outlines.items()]
    files: list[str] = []
    parts: list[Scheduled] = []
    points: list[Planned] = []
    for point in capture_points(times, naming or Naming(), sketched):
        rows = []
        for number, chain in enumerate(point.chains):
            befores: list[int] = []
            packets, latest = 0, NO_TIME
            for path, _, _ in chain:
                each = outlines[path]
                parts += [Scheduled(replace(part, moment=max(part.moment, latest)), len(files), number, packets, len(points)) for part in each.parts]
                files.append(path)
                befores.append(packets)
                packets += _PACKED if each.packets is None else each.packets
                latest = max(latest, each.latest)
            rows.append(FileRow(tuple(location(file.path) for file in chain), tuple(befores), packets))
        points.append(Planned(point.name, tuple(rows), point.apart))
    known = (*secrets, *(block for path in files for block in outlines[path].secrets))
    return Schedule(tuple(files), tuple(parts), tuple(points), tuple(faults), known)
