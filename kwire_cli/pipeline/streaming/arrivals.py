"""What is new in the files of a stream: from one progress to the next, and what lies between two of them.

The next one is decided by looking at the folder. What lies between two is the same whenever it is asked, so that a batch can be done again.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.pipeline.streaming.progress import FIRST, Mark, Progress, beginning_of, key_of, shortened
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.pipeline.streaming.files import Entry, Files, Portion

_TRIES = 20
"""Looks in vain at a folder that cannot be read, after which that is an error."""
REPLACED, GONE = "REPLACED", "GONE"
MEANING = {
    REPLACED: "another file has this path now, or this one was cut: it is read from its beginning",
    GONE: "the file is gone, and was not read to its end",
}


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a file that are new, and what was wrong with it."""

    path: str
    kind: Files
    start: int
    stop: int
    faults: tuple[str, ...] = ()

    def portions(self, size: int) -> Iterator[Portion]:
        """What tasks read."""
        return self.kind.parts(self.path, self.start, self.stop, size) if self.stop > self.start else iter(())


class Arrivals:
    """The files of some kinds that paths name, now and later."""

    def __init__(self, paths: Sequence[str], kinds: Sequence[Files]) -> None:
        self._paths, self._kinds = paths, kinds
        self._seen: dict[str, tuple[Mark, tuple[int, float, bool]]] = {}
        self._until: dict[str, int] | None = None
        self._unlisted = 0

    def stop_here(self) -> None:
        """Give nothing that comes from now on."""
        self._until = {path: entry.size for path, entry in self._listed().items()}

    def _listed(self) -> dict[str, Entry]:
        """The files that are there. InputError where a folder is not, or cannot be read."""
        return {entry.path: entry for kind in self._kinds for entry in kind.listed(self._paths)}

    def later(self, start: Progress, most: int) -> Progress:
        """The progress after about `most` bytes more, of the oldest files first; `start` itself where nothing has come that can be read."""
        try:
            listed = self._listed()
        except InputError:
            self._unlisted += 1
            if self._unlisted > _TRIES:
                raise
            return start  # a folder may be away for a moment: nothing in it is gone for that
        self._unlisted = 0
        marks, missing = _marks(start, listed)
        files: dict[str, Mark] = {}
        seen, unchanged, packets, left = {}, [], start.packets, most
        changed = any(mark.at < mark.size for mark in missing)
        for path, entry in sorted(listed.items(), key=lambda each: each[1].kind.order(each[1], marks[each[0]])):
            before, state = marks[path], (entry.size, entry.modified, entry.ended)
            files[path] = before
            if self._seen.get(path) == (before, state):
                seen[path] = before, state
                unchanged.append(path)
                continue
            mark = self._checked(entry, before)
            upto = entry.size if self._until is None else self._until.get(path, 0)
            at, count = entry.kind.advanced(entry, mark, left) if left > 0 and mark.at < upto else (mark.at, 0)
            if at > mark.at:
                left, packets = left - (at - mark.at), packets + count
                mark = replace(mark, at=at, size=max(entry.size, at), beginning=beginning_of(_first_bytes(path, at)))
                if entry.kind.advanced(entry, mark, 1)[0] > at:
                    left = 0  # it goes on: what is newer has to wait
            elif left > 0:
                seen[path] = mark, state
            if mark == before:
                unchanged.append(path)
                files[path] = replace(mark, size=entry.size) if not mark.at else mark
            else:
                changed = True
                files[path] = mark
        self._seen = seen
        spelled, done = shortened(files, unchanged)
        return Progress(spelled, done, packets) if changed else start

    def _checked(self, entry: Entry, mark: Mark) -> Mark:
        """The mark, or one to begin anew with where the file is another one."""
        if not mark.at:
            return mark
        first = _first_bytes(entry.path, mark.at)
        same = entry.size >= mark.at and beginning_of(first) == mark.beginning
        if (not first and entry.size) or (same and entry.size == mark.at):
            return mark  # it cannot be read just now, or has not changed
        if same and entry.kind.goes_on(entry.path):
            return mark
        if entry.kind.rewritten(entry, mark):
            return replace(mark, at=entry.size, size=entry.size, beginning=beginning_of(_first_bytes(entry.path, entry.size)))
        entry.kind.forget(entry.path)
        return Mark(turn=mark.turn + 1)

    def between(self, start: Progress, end: Progress) -> list[Range]:
        """What is new in one progress since another, in the order of paths."""
        kinds = self._kind_of(end)
        earlier = start.by_key() if any(mark.was for mark in end.files.values()) else {}
        found = []
        for path, mark in end.files.items():
            before = start.mark(path) or earlier.get(bytes.fromhex(mark.was)) or Mark()
            faults: tuple[str, ...] = (REPLACED,) if mark.turn > before.turn else ()
            at = 0 if faults else before.at
            if mark.at > at or faults:
                found.append(Range(path, kinds[path], at, mark.at, faults))
        renamed = {mark.was for mark in end.files.values()}
        for path, mark in start.files.items():
            if mark.at < mark.size and end.mark(path) is None and key_of(path).hex() not in renamed:
                found.append(Range(path, self._kinds[0], mark.at, mark.at, (GONE,)))
        return sorted(found, key=lambda each: each.path)

    def _kind_of(self, end: Progress) -> Mapping[str, Files]:
        """The kinds of files; of one that is gone meanwhile, the first one."""
        listed = {entry.path: entry.kind for entry in self._listed().values()}
        return {path: listed.get(path, self._kinds[0]) for path in end.files}


def _marks(start: Progress, listed: Iterable[str]) -> tuple[dict[str, Mark], list[Mark]]:
    """What is known of the files that are there; of those that were renamed, by their first bytes. And the marks of those that are gone."""
    known = start.by_key()
    marks: dict[str, Mark] = {}
    new = []
    for path in listed:
        mark = known.pop(key_of(path), None)
        marks[path] = replace(mark, was="") if mark and mark.was else mark or Mark()
        if mark is None:
            new.append(path)
    for path in new if known else ():
        beginnings: dict[int, int] = {}
        for key, other in known.items():
            first = min(other.at, FIRST)
            if first and first not in beginnings:
                beginnings[first] = beginning_of(_first_bytes(path, first))
            if first and beginnings[first] == other.beginning:
                marks[path] = replace(other, was=key.hex())
                del known[key]
                break
    return marks, [*known.values()]


def _first_bytes(path: str, at: int) -> bytes:
    """Of the first `at` bytes of a file the first FIRST; none where it cannot be read."""
    with contextlib.suppress(OSError, InputError), path_of(path).open("rb") as file:
        return file.read(min(at, FIRST)) or b""
    return b""
