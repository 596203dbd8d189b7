"""Leader epochs of batches: never falling, and those of the leader-epoch-checkpoint."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kwire_cli.verify.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.records.batch import Batch
    from kwire_cli.source.logs.checkpoints import LeaderEpoch
    from kwire_cli.stores import Place


_NEVER = 1 << 63


class LeaderEpochCheck:
    """The epochs of a partition's batches. `entries` are those of the checkpoint, ascending; none where it has none or can't be relied on.

    Batches of the epoch `current` before the offset `until` are right and need not be shown.
    """

    def __init__(self, file: Place, entries: Sequence[LeaderEpoch]) -> None:
        self.file, self._entries = str(file), entries
        self._starts = [entry.start_offset for entry in entries]
        self._highest = -1
        self._told: set[tuple[int, int]] = set()
        self.current, self.until = -1, _NEVER

    def batch(self, log: Place, batch: Batch) -> Iterator[Fault]:
        """A good batch; formats v0 and v1 have no epochs."""
        head = batch.head
        epoch = head.leader_epoch
        if epoch < 0:
            return
        if epoch < self._highest:
            text = f"leader epoch {epoch} after {self._highest}"
            yield Fault("LEADER_EPOCH_ORDER", str(log), batch.position, head.base_offset, text)
        self._highest = max(self._highest, epoch)
        self.current = -1
        if not self._entries:
            self.current = self._highest
            return
        at = bisect_right(self._starts, head.base_offset) - 1
        # The first entry moves to the log start offset; a segment may begin before that, with this epoch or older ones.
        entry = self._entries[max(at, 0)]
        right = epoch == entry.epoch if at >= 0 else epoch <= entry.epoch
        if right and epoch == self._highest:
            self.current, self.until = epoch, self._starts[at + 1] if at + 1 < len(self._starts) else _NEVER
        if not right and (entry.epoch, epoch) not in self._told:
            self._told.add((entry.epoch, epoch))
            text = f"the batch at offset {head.base_offset} is of leader epoch {epoch}, and by the checkpoint of {entry.epoch}"
            yield Fault("LEADER_EPOCH_CHECKPOINT", self.file, entry.at, head.base_offset, text)

    def end(self, end_offset: int) -> Iterator[Fault]:
        """The log ends before this offset."""
        for entry in self._entries:
            if entry.start_offset > end_offset:
                text = f"epoch {entry.epoch} begins at offset {entry.start_offset}, and the log ends before {end_offset}"
                yield Fault("LEADER_EPOCH_CHECKPOINT", self.file, entry.at, entry.start_offset, text)
