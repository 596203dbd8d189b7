"""Damage in the logs of partitions: checksums that do not fit, bytes that are no batch, ends that are cut off."""

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
    "The checksum of a batch does not match its bytes, or bytes between batches are no batch. Kafka stops at such a "
    "place: consumers get CORRUPT_MESSAGE, and followers stop fetching.",
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
    checksums: int = 0
    gaps: int = 0
    size: int = 0
    cut: int = 0
    evidence: Bounded = field(default_factory=Bounded)
    ends: Bounded = field(default_factory=Bounded)


class DamagedLogs(Rule):
    """Batches with wrong checksums, and bytes that are no batch, by partition."""

    KINDS = (CORRUPT, CUT)

    def __init__(self) -> None:
        self._logs: defaultdict[str, _Damage] = defaultdict(_Damage)

    def log_item(self, item: LogItem) -> None:
        """Take a batch, or the bytes between two."""
        piece = item.item
        if isinstance(piece, Batch):
            if not piece.crc_valid:
                damage = self._logs[item.name]
                damage.checksums += 1
                damage.evidence.append(Evidence("batch at offset", file=item.file, offset=piece.head.base_offset))
        elif piece.code != PADDING:
            damage = self._logs[item.name]
            place = Evidence(f"{size_text(piece.size)} at byte", file=item.file, offset=piece.position)
            if piece.code == TRUNCATED:
                damage.cut += piece.size
                damage.ends.append(place)
            else:
                damage.gaps += 1
                damage.size += piece.size
                damage.evidence.append(place)

    def findings(self) -> Iterator[Finding]:
        for name, damage in self._logs.items():
            parts = []
            if damage.checksums:
                parts.append(f"{counted(damage.checksums, 'batch', 'batches')} with a wrong checksum")
            if damage.gaps:
                parts.append(f"{size_text(damage.size)} at {counted(damage.gaps, 'place')} that are no batch")
            if parts:
                places = sorted(damage.evidence, key=lambda place: (place.file, place.offset))
                count = damage.checksums + damage.gaps
                yield Finding(CORRUPT, f"partition {name}", "; ".join(parts), places, count, command="dump --verify")
            if damage.cut:
                text = (
                    f"{size_text(damage.cut)} at the end of {counted(len(damage.ends), 'file')} are less than a batch"
                )
                yield Finding(CUT, f"partition {name}", text, damage.ends, damage.cut, command="dump --verify")
