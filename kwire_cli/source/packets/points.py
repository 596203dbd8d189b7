"""Capture points: the captures whose packets are numbered and read together.

The files of a folder form one capture point, as rotated files follow each other in time. Files that overlap in time are
captures of several places, or of one place by several processes. Nothing in them shows which packets come first, so
each of them, or each chain of rotated files, is a separate capture point.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.stores.paths import in_parallel, location, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.source.files import Naming


APART = "files that overlap in time are read apart, each as a separate capture point"
OVERLAP = 1_000_000_000
"""Nanoseconds by which a file may begin before the end of the previous file of its chain, at most a tenth of the
duration of that file: packets around a rotation can be out of order."""


class Timed(NamedTuple):
    """A capture file, the time of its first packet, and its latest time: nanoseconds since 1970 or NO_TIME."""

    path: str
    first: int
    latest: int


Chain = tuple[Timed, ...]
"""Files that follow each other in time."""


@dataclass(frozen=True, slots=True)
class Point:
    """A capture point and its files. `apart` is true if other files of its folder overlap them in time."""

    name: str
    chain: Chain
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files."""
        return tuple(file.path for file in self.chain)


def points_of_group(group: Sequence[Timed], naming: Naming) -> list[Point]:
    """Return the capture points of files with the same key: one, or one per chain if files overlap in time."""
    chains = _chains(group)
    if len(chains) == 1:
        return [Point(naming.name(group[0].path), chains[0])]
    return [Point(location(chain[0].path), chain, apart=True) for chain in chains]


def apart_notes(names: Iterable[str]) -> Iterator[str]:
    """Yield a note for each folder whose files became separate capture points."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(str(path_of(name).parent), []).append(path_of(name).name)
    for folder, files in folders.items():
        first = ", ".join(files[:2]) + (", …" if len(files) > 2 else "")
        yield f"{folder}: {APART} ({first}); mergecap puts captures of one place together"


def points_of(paths: Sequence[str], naming: Naming) -> list[Point]:
    """Return the capture points of local files or files of a store.

    Times are read only for points with several files. A file that cannot be read has no times.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        groups[naming.key(path)].append(path)
    several: list[str] = []
    for group in groups.values():
        several += group if len(group) > 1 else []
    times = dict(zip(several, in_parallel(timed, several), strict=True))
    points: list[Point] = []
    for group in groups.values():
        points += points_of_group([times.get(path) or Timed(path, NO_TIME, NO_TIME) for path in group], naming)
    return points


def timed(path: str) -> Timed:
    """Return a file with its times; NO_TIME for both if it cannot be read."""
    first: int | None = None
    latest = NO_TIME
    with contextlib.suppress(InputError):  # the reader of the file reports the error
        for batch in packets(path).batches():
            times = [NO_TIME if packet.time is None else packet.time for packet in batch]
            first = times[0] if first is None else first
            latest = max(latest, *times)
    return Timed(path, NO_TIME if first is None else first, latest)


def _chains(files: Iterable[Timed]) -> list[Chain]:
    """Return the files in chains, in the order of their first packets, and by name if these times are equal or missing.

    A file continues a chain that ends before it. If there are several, it continues the one whose last file has the
    most similar name.
    """
    chains: list[list[Timed]] = []
    latest: list[int] = []
    free: list[int] = []
    for file in sorted(files, key=lambda each: (each.first, each.path)):
        ahead = [number for number, since in enumerate(free) if file.first >= since]
        if ahead:
            at = ahead[0]
            if len(ahead) > 1:
                at = max(ahead, key=lambda number: _likeness(chains[number][-1].path, file.path))
            chains[at].append(file)
        else:
            at = len(chains)
            chains.append([file])
            latest.append(file.latest)
            free.append(file.latest)
        latest[at] = max(latest[at], file.latest)
        free[at] = latest[at] - min(OVERLAP, (latest[at] - file.first) // 10)
    return [tuple(chain) for chain in chains]


def _likeness(one: str, other: str) -> int:
    """Return the number of equal characters at the start and the end of two paths."""
    front = _common(one, other)
    return front + _common(one[front:][::-1], other[front:][::-1])


def _common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
