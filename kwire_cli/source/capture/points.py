"""Capture points: which files were captured at the same place, and so are one capture.

By default the files of a folder are: rotated files follow each other in time, and files that overlap in time are merged.
Files of a folder that overlap and hold the same connections twice can't be one capture (see `sketches`): each chain of
rotated files is then a capture point of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain as joined
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.capture.files import packets
from kwire_cli.source.capture.model import NO_TIME
from kwire_cli.source.capture.sketches import Sketch, contradict, sketch
from kwire_cli.stores import in_parallel, location, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MERGED = "merged"
"""The name of the point that `--merge-points` puts all others together to."""
APART = "files that overlap in time hold the same connections, so each is a capture point of its own"
OVERLAP = 1_000_000_000
"""Nanoseconds by which a file may begin before the one ahead of it ends, or a tenth of what that lasts: rotations need
not keep the order."""
_FIELD = re.compile(r"\{(name|stem|parent(?:\.parent)*)\}")
_BRACED = re.compile(r"\{[A-Za-z_][\w.]*\}")


class Timed(NamedTuple):
    """A capture file, the time of its first packet, and its latest time: nanoseconds since 1970 or NO_TIME."""

    path: str
    first: int
    latest: int


Chain = tuple[Timed, ...]
"""Files that follow each other in time."""


@dataclass(frozen=True, slots=True)
class Point:
    """A capture point and its files. `apart` says that other files of its folder hold the same connections."""

    name: str
    chains: tuple[Chain, ...]
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, chain by chain."""
        return tuple(file.path for file in joined.from_iterable(self.chains))


@dataclass(frozen=True, slots=True)
class Naming:
    """The rule that gives a file its capture point; the file's folder by default.

    `template` is a text with fields of the path (`{parent}`), or a regular expression. `merged` makes all files one point.
    """

    template: str | None = None
    merged: bool = False

    def __post_init__(self) -> None:
        unknown = [field for field in _BRACED.findall(self.template or "") if not _FIELD.fullmatch(field)]
        if unknown:
            raise InputError(f"--capture-point {self.template!r}: a path has no field {unknown[0]}; {_FORMS}")
        if self.template is not None and not _FIELD.search(self.template):
            try:
                re.compile(self.template)
            except re.error as error:
                raise InputError(f"--capture-point {self.template!r}: not a regular expression ({error}); {_FORMS}") from None

    def name(self, path: str) -> str:
        """Return the name of a file's capture point.

        Raises:
            InputError: The regular expression does not match the path.

        """
        if self.merged:
            return MERGED
        if self.template is None:
            return location(path_of(path).parent)
        whole = location(path_of(path).absolute())
        if _FIELD.search(self.template):
            return _FIELD.sub(lambda match: _field(whole, match[1]), self.template)
        found = re.search(self.template, whole)
        if found is None:
            raise InputError(f"--capture-point {self.template!r} does not match this path; {_FORMS}", file=path)
        return "/".join(group or "" for group in found.groups()) if found.groups() else found[0]

    def key(self, path: str) -> str:
        """Return a text that is the same for all files of a capture point, however their folder is written."""
        if self.merged or self.template is not None:
            return self.name(path)
        return os.path.normpath(folder) if "://" not in (folder := str(path_of(path).absolute().parent)) else folder


_FORMS = "it takes {parent}, {parent.parent}, {name}, {stem}, or a regular expression such as broker-\\d+"


def _field(path: str, name: str) -> str:
    """A field of a path: the name of the file, without its suffix, or of a folder above it."""
    place = path_of(path)
    if name == "name":
        return place.name
    if name == "stem":
        return place.name.partition(".")[0] or place.name
    for _ in name.split("."):
        place = place.parent
    return place.name


def capture_points(files: Iterable[Timed], naming: Naming, sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None) -> list[Point]:
    """Return the capture points of files, in the order in which their first files were given.

    `sketched` makes sketches of files that overlap in time; by default one after the other.
    """
    groups: dict[str, list[Timed]] = {}
    for file in files:
        groups.setdefault(naming.key(file.path), []).append(file)
    points: list[Point] = []
    for group in groups.values():
        name, together = naming.name(group[0].path), _chains(group)
        strict = [] if naming.merged else _chains(group, strict=True)
        if len(strict) > 1 and _hold_the_same(strict, sketched or _one_by_one):
            points += [Point(location(chain[0].path), (chain,), apart=True) for chain in strict]
        else:
            points.append(Point(name, tuple(together)))
    return points


def apart_notes(names: Iterable[str]) -> Iterator[str]:
    """Return what to say of files that became capture points of their own, a text for each folder."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(str(path_of(name).parent), []).append(path_of(name).name)
    for folder, files in folders.items():
        first = ", ".join(files[:2]) + (", …" if len(files) > 2 else "")
        yield f"{folder}: {APART} ({first}); --merge-points puts them together"


def points_of(paths: Sequence[str], naming: Naming, known: Mapping[str, Timed] | None = None) -> list[Point]:
    """Return the capture points of files that lie on this machine or a store.

    Files are looked through only if several are of the same point, and not those with `known` times. A file that cannot be read has no times.
    """
    keys = [naming.key(path) for path in paths]
    several = {key for key, count in Counter(keys).items() if count > 1}
    times = dict(known or {})
    unknown = [path for path, key in zip(paths, keys, strict=True) if key in several and path not in times]
    times.update(zip(unknown, in_parallel(timed, unknown), strict=True))
    return capture_points((times.get(path) or Timed(path, NO_TIME, NO_TIME) for path in paths), naming)


def timed(path: str) -> Timed:
    """Return a file with its times; NO_TIME for both if it cannot be read."""
    first: int | None = None
    latest = NO_TIME
    with contextlib.suppress(InputError):  # reading it says why
        for batch in packets(path).batches():
            times = [NO_TIME if packet.time is None else packet.time for packet in batch]
            first = times[0] if first is None else first
            latest = max(latest, *times)
    return Timed(path, NO_TIME if first is None else first, latest)


def _chains(files: Iterable[Timed], *, strict: bool = False) -> list[Chain]:
    """Return the files in chains, by their first packets, and by name if these are at the same time or have none.

    A file goes on with the chain that it follows; of several with the one whose last file has the most similar name.
    In `strict` chains no file begins at the time of the file before it: these may be copies.
    """
    chains: list[list[Timed]] = []
    latest: list[int] = []
    free: list[int] = []
    for file in sorted(files, key=lambda each: (each.first, each.path)):
        ahead = [number for number, since in enumerate(free) if file.first >= since]
        if strict:
            ahead = [number for number in ahead if file.first != chains[number][-1].first]
        if ahead:
            at = max(ahead, key=lambda number: _likeness(chains[number][-1].path, file.path)) if len(ahead) > 1 else ahead[0]
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
    """Return how many characters at the beginning and the end of two paths are the same."""
    front = _common(one, other)
    return front + _common(one[front:][::-1], other[front:][::-1])


def _common(one: str, other: str) -> int:
    return next((at for at, (own, theirs) in enumerate(zip(one, other, strict=False)) if own != theirs), min(len(one), len(other)))


def _hold_the_same(chains: list[Chain], sketched: Callable[[Sequence[str]], Iterable[Sketch]]) -> bool:
    """Whether any two chains hold the same connections."""
    files = sorted(((file.first, number, file.path) for number, chain in enumerate(chains) for file in chain))
    found = sketched([path for _, _, path in files])
    return contradict((number, first, each) for (first, number, _), each in zip(files, found, strict=True))


def _one_by_one(paths: Sequence[str]) -> Iterable[Sketch]:
    return map(sketch, paths)
