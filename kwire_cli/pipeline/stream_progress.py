"""How far files of a stream were read: what Spark keeps as the offset of a batch, in JSON.

Every batch has all of it once, so it is kept short: a file that was read to its end, and did not grow since, is 18
bytes in `done`. Files that are gone are left out.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FIRST = 4096
"""Bytes at the beginning of a file that tell it from others."""


SPELLED_OUT = 64
"""Files up to which nothing is shortened."""
_DONE = struct.Struct(">8sIIH")
"""Of a file that is done: what its path and its beginning come to, and how far it was read, in the lower bytes and the
upper."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The position up to which a file was read, and what identifies the file.

    `at` is the position in bytes. `beginning` is a hash of the file's first bytes, as far as they were read. `size`
    is the size of the file at that time. `turn` counts the earlier files with this path. `was` is the key of the
    file's path before it was renamed.
    """

    at: int = 0
    beginning: int = 0
    size: int = 0
    turn: int = 0
    was: str = ""

    def to_json(self) -> dict[str, Any]:
        """Without what says nothing."""
        fields = {name: getattr(self, name) for name in ("at", "beginning", "size", "turn", "was")}
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class Progress:
    """The marks of files by path, and by the key of their paths of those that are `done`; `packets` were in all
    captures of each capture point.
    """

    files: Mapping[str, Mark] = field(default_factory=dict)
    done: Mapping[bytes, Mark] = field(default_factory=dict)
    packets: Mapping[str, int] = field(default_factory=dict)

    def mark(self, path: str) -> Mark | None:
        """Return how far a file was read, or None for a new file."""
        return self.files.get(path) or (self.done.get(key_of(path)) if self.done else None)

    def by_key(self) -> dict[bytes, Mark]:
        """All marks by the keys of their paths."""
        return {**self.done, **{key_of(path): mark for path, mark in self.files.items()}}

    def to_json(self) -> dict[str, Any]:
        """The offset."""
        document: dict[str, Any] = {"files": {path: mark.to_json() for path, mark in self.files.items()}}
        if self.done:
            document["done"] = b64encode(
                b"".join(_DONE.pack(key, mark.beginning, *_halves(mark.at)) for key, mark in sorted(self.done.items()))
            ).decode()
        return document | ({"packets": {**self.packets}} if self.packets else {})

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Progress:
        """The same of JSON."""
        files = {path: Mark(**mark) for path, mark in offset.get("files", {}).items()}
        return cls(files, _done(offset.get("done", "")), offset.get("packets", {}))


def shortened(files: Mapping[str, Mark], unchanged: Iterable[str]) -> tuple[dict[str, Mark], dict[bytes, Mark]]:
    """The marks, where they are many without those that are done: these by key."""
    if len(files) <= SPELLED_OUT:
        return dict(files), {}
    own = {path for path in unchanged if _is_short(files[path])}
    return {path: mark for path, mark in files.items() if path not in own}, {key_of(path): files[path] for path in own}


def _is_short(mark: Mark) -> bool:
    return mark.at == mark.size and not mark.turn and not mark.was and mark.at < 1 << 48


def key_of(path: str) -> bytes:
    """Return the 8-byte key that stands for a path among files that are done."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()


def beginning_of(data: bytes) -> int:
    """Return a 32-bit hash of a file's first bytes. The hash is never 0."""
    return int.from_bytes(blake2b(data, digest_size=4).digest()) | 1


def _halves(number: int) -> tuple[int, int]:
    return number & 0xFFFFFFFF, number >> 32


@lru_cache(maxsize=8)
def _done(text: str) -> dict[bytes, Mark]:
    return {
        key: Mark(low | high << 32, beginning, low | high << 32)
        for key, beginning, low, high in _DONE.iter_unpack(b64decode(text))
    }
