"""The rule for damage in the logs of partitions: wrong checksums, bytes outside of batches, truncated ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.subjects import Bounded
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import size_text
from kwire_cli.records.batch import PADDING, TRUNCATED, Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.subjects import LogItem

CORRUPT = FindingKind(
    "CORRUPT_LOG",
    "error",
    "A log has bytes that Kafka's readers refuse.",
    "The checksum of a batch does not match its bytes, or the bytes between two batches are not a valid batch. Kafka "
    "stops at such a place: consumers get CORRUPT_MESSAGE, and followers stop fetching.",
    "Compare the partition with another replica (kwire diff A B), and let the broker fetch it again from there. kwire "
    "dump --verify checks indexes and snapshots too.",
    rank=5,
)
CUT = FindingKind(
    "LOG_CUT_SHORT",
    "info",
    "A log ends in the middle of a batch.",
    "The file was copied while the broker was writing, or the broker was killed. When a broker starts, it cuts off an "
    "incomplete batch.",
    "Nothing, if the file was copied from a running broker. Otherwise the last records are lost, unless another "
    "replica has them.",
    rank=60,
)


@dataclass
class _Damage:
    """The damage of a partition: batches with a wrong checksum, bytes outside of batches, and truncated ends."""

    checksums: Bounded = field(default_factory=Bounded)
    gaps: Bounded = field(default_factory=Bounded)
    ends: Bounded = field(default_factory=Bounded)
    gap_bytes: int = 0
    end_bytes: int = 0


class DamagedLogs(Rule):
    """Batches with wrong checksums, and bytes outside of batches, by partition."""

    KINDS = (CORRUPT, CUT)

    def __init__(self) -> None:
        self._logs: defaultdict[str, _Damage] = defaultdict(_Damage)

    def log_item(self, item: LogItem) -> None:
        """Add a batch, or a gap between batches."""
        piece = item.item
        if isinstance(piece, Batch):
            if not piece.crc_valid:
                place = Evidence("batch at offset", file=item.file, offset=piece.head.base_offset)
                self._logs[item.name].checksums.append(place)
        elif piece.code != PADDING:
            damage = self._logs[item.name]
            place = Evidence(f"{size_text(piece.size)} at byte", file=item.file, offset=piece.position)
            if piece.code == TRUNCATED:
                damage.end_bytes += piece.size
                damage.ends.append(place)
            else:
                damage.gap_bytes += piece.size
                damage.gaps.append(place)

    def findings(self) -> Iterator[Finding]:
        for name, damage in self._logs.items():
            checksums, gaps, ends = (each.total for each in (damage.checksums, damage.gaps, damage.ends))
            parts = []
            if checksums:
                parts.append(f"{counted(checksums, 'batch', 'batches')} with a wrong checksum")
            if gaps:
                parts.append(f"{size_text(damage.gap_bytes)} at {counted(gaps, 'place')} that are no batch")
            if parts:
                places = sorted([*damage.checksums, *damage.gaps], key=lambda place: (place.file, place.offset))
                weight = checksums + gaps
                yield Finding(CORRUPT, f"partition {name}", "; ".join(parts), places, weight, command="dump --verify")
            if ends:
                text = f"{size_text(damage.end_bytes)} at the end of {counted(ends, 'file')} are less than a batch"
                yield Finding(CUT, f"partition {name}", text, damage.ends, damage.end_bytes, command="dump --verify")
