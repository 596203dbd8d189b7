"""What came of other values of linger.ms and batch.size: batches, bytes and waiting under each pair, and the pair that would have served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST = 0.9
"""Of the saving that the best pair reaches, what a smaller one has to reach to be the one that would have served."""


class Setting(NamedTuple):
    """A pair to try: milliseconds and bytes."""

    linger: int
    batch_size: int


@dataclass(slots=True)
class Made:
    """What came of a setting: bytes as if nothing were compressed, and on the wire as they would be; how long records waited in all, milliseconds."""

    batches: int = 0
    bytes: int = 0
    wire: float = 0.0
    waited: int = 0


@dataclass(slots=True)
class Tried:
    """What a producer sent beside what it would have sent under each setting; `client` is its client id, None for all together.

    `partitions` counts those that it sent to, for each of its producer ids. `payload` are the bytes of keys, values and headers, which are the same
    whatever the batches. `by_record` counts the records with a time of their own; the others have that of their request or batch. `older` counts
    those that came in another format than v2, in which they are written here. `packed` says that some are compressed.
    """

    client: str | None
    made: dict[Setting, Made]
    sent: Made = field(default_factory=Made)
    records: int = 0
    partitions: int = 0
    payload: int = 0
    by_record: int = 0
    older: int = 0
    packed: bool = False

    def saved(self, made: Made) -> int:
        """Bytes less than what was sent, without compression."""
        return self.sent.bytes - made.bytes

    @property
    def best(self) -> Setting | None:
        """The smallest pair that reaches most of the saving; None where none saves anything."""
        most = max((self.saved(made) for made in self.made.values()), default=0)
        if most <= 0:
            return None
        return min(setting for setting, made in self.made.items() if self.saved(made) >= MOST * most)

    def merge(self, other: Tried) -> None:
        """Add another producer."""
        for mine, theirs in ((self.sent, other.sent), *((made, other.made[setting]) for setting, made in self.made.items())):
            mine.batches += theirs.batches
            mine.bytes += theirs.bytes
            mine.wire += theirs.wire
            mine.waited += theirs.waited
        self.records += other.records
        self.partitions += other.partitions
        self.payload += other.payload
        self.by_record += other.by_record
        self.older += other.older
        self.packed = self.packed or other.packed

    def to_json(self, *, settings: bool = True) -> dict[str, Any]:
        """All numbers; without `settings` those of the best pair alone."""
        out: dict[str, Any] = {"records": self.records, "partitions": self.partitions, "recordsWithOwnTime": self.by_record}
        out["recordsOfOtherFormats"] = self.older
        out["sent"] = self._numbers(self.sent)
        if settings:
            out["settings"] = [self._pair(each) for each in self.made]
        return out | {"wouldHaveServed": self.best and self._pair(self.best)}

    def _pair(self, setting: Setting) -> dict[str, Any]:
        made = self.made[setting]
        out = {"linger.ms": setting.linger, "batch.size": setting.batch_size, **self._numbers(made), "savedBytes": self.saved(made)}
        return out | {"meanWaitSeconds": round(made.waited / self.records / 1000, 6) if self.records else None}

    def _numbers(self, made: Made) -> dict[str, Any]:
        out: dict[str, Any] = {"batches": made.batches, "bytes": made.bytes, "overheadBytes": made.bytes - self.payload}
        return out | {"wireBytes": round(made.wire), "wireIsEstimated": self.packed and made is not self.sent}


@dataclass(frozen=True, slots=True)
class Outcome:
    """All producers together, and each of them, those that sent the most first."""

    total: Tried
    producers: list[Tried]

    def to_json(self) -> dict[str, Any]:
        """All numbers of all together, and of each producer the pair that would have served."""
        each = [{"client": tried.client, **tried.to_json(settings=False)} for tried in self.producers]
        return {**self.total.to_json(), "producers": each}
