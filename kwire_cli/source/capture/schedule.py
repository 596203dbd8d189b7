"""Several captures in one order: files that were written one after the other are one capture, with one count of packets.

Files that do not overlap in time are a chain. More than one chain, as from captures on several machines, is merged by time, each in its own order.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.packet_columns import NO_TIME
from kwire_cli.source.capture.parts import PART_SIZE, Outline, Part, outline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.source.capture.pcapng import Secrets

_OVERLAP = 1_000_000_000
"""Nanoseconds by which a file may begin before the one ahead of it ends, or a tenth of what that lasts: rotations need not keep the order."""
_PACKED = 1 << 32
"""More packets than a packed file has, whose packets nobody has counted."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A part, the number of its file, its chain, and how many packets of that were before the file."""

    part: Part
    file: int
    chain: int
    before: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """All parts of all files; `faults` are files that can't be read, and why; `last` is the number of the last packet, of the only chain.

    `secrets` are what decrypts TLS in them: those of key logs, and those in the files.
    """

    files: tuple[str, ...]
    parts: tuple[Scheduled, ...]
    chains: int
    last: int
    befores: tuple[int, ...]
    faults: tuple[tuple[str, str], ...]
    secrets: tuple[Secrets, ...] = ()

    def place(self, packet: int) -> tuple[str, int]:
        """The file that a packet of the only chain is in, and its number there."""
        number = max(bisect_left(self.befores, packet) - 1, 0)
        return self.files[number], packet - self.befores[number]


Outlined = tuple[str, Outline | str]
"""A file with its outline, or why it has none."""


def outlined(path: str, size: int = PART_SIZE) -> Outlined:
    """The outline of a file that may be none."""
    try:
        return path, outline(path, size)
    except InputError as error:
        return path, error.reason


@dataclass(slots=True)
class _Chain:
    packets: int
    first: int
    latest: int


def schedule(found: Iterable[Outlined], secrets: Iterable[Secrets] = ()) -> Schedule:
    """All files in one order: by their first packets, and by name where these are at the same time or have none. `secrets` are of key logs."""
    faults = []
    good: list[tuple[str, Outline]] = []
    for path, each in found:
        if isinstance(each, str):
            faults.append((path, each))
        else:
            good.append((path, each))
    good.sort(key=lambda one: (one[1].first, one[0]))
    chains: list[_Chain] = []
    parts: list[Scheduled] = []
    befores = []
    for number, (_, each) in enumerate(good):
        which = _chain(chains, each)
        chain = chains[which]
        parts += [Scheduled(replace(part, moment=max(part.moment, chain.latest)), number, which, chain.packets) for part in each.parts]
        befores.append(chain.packets)
        chain.packets += _PACKED if each.packets is None else each.packets
        chain.first, chain.latest = each.first, max(chain.latest, each.latest)
    last = chains[0].packets if len(chains) == 1 else 0
    known = (*secrets, *(block for _, each in good for block in each.secrets))
    return Schedule(tuple(path for path, _ in good), tuple(parts), len(chains), last, tuple(befores), tuple(faults), known)


def _chain(chains: list[_Chain], each: Outline) -> int:
    """The chain that a file goes on with; a new one where it overlaps with all."""
    for number, chain in enumerate(chains):
        if each.first >= chain.latest - min(_OVERLAP, (chain.latest - chain.first) // 10):
            return number
    chains.append(_Chain(0, each.first, NO_TIME))
    return len(chains) - 1
