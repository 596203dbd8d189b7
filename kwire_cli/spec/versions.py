"""Version ranges of messages and fields (Kafka's `Versions` class): `none`, `3`, `0-9`, `9+`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX = 32767
"""The highest version a message can have (int16); `9+` means 9 to MAX."""


class Versions(NamedTuple):
    """The versions `low` to `high`, both included; empty where low > high."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read Kafka's notation; ValueError with a reason where it is none."""
        text = text.strip()
        if text in {"", "none"}:
            return NONE
        low, mark, high = text.partition("-")
        if text.endswith("+"):
            low, high, mark = text[:-1], str(MAX), "+"
        if not low.isascii() or not low.isdigit() or (mark and not (high.isascii() and high.isdigit())):
            raise ValueError(f"{text!r} is not a version range; expected none, 3, 0-9 or 9+")
        versions = cls(int(low), int(high) if mark else int(low))
        if versions.high > MAX or versions.low > MAX:
            raise ValueError(f"{text!r} goes beyond the highest version, {MAX}")
        return versions

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == MAX:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    def __and__(self, other: Versions) -> Versions:
        both = Versions(max(self.low, other.low), min(self.high, other.high))
        return both or NONE

    def covers(self, other: Versions) -> bool:
        """Whether every version of `other` is in this range."""
        return not other or (self.low <= other.low and other.high <= self.high)

    def each(self) -> Iterator[int]:
        """Every version, ascending."""
        return iter(range(self.low, self.high + 1))


NONE = Versions(0, -1)
