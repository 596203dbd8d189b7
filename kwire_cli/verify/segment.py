"""A segment: its log, and its indexes with their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.source.logs.names import Kind
from kwire_cli.source.logs.reading import read_log_file
from kwire_cli.verify.faults import Fault, from_anomalies
from kwire_cli.verify.indexes import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck, ascending_offsets, ascending_times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.logs.files import File, Partition
    from kwire_cli.source.logs.model import Contents

INDEXES = (Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX)


_MOST_OFFSETS = 1 << 31
"""So many offsets a segment can have: the indexes count them from its base offset with an int32."""


class Segment:
    """A segment's log and its indexes.

    Args:
        part: The partition that it is of.
        log: Its log.
        base: Its first offset, by the name of the log.
        following: That of the next segment; None for the last.

    """

    def __init__(self, part: Partition, log: File, base: int, following: int | None) -> None:
        self.log, self.base, self.is_last = log.path, base, following is None
        self.after = base + _MOST_OFFSETS if following is None else min(following, base + _MOST_OFFSETS)
        self.files = {kind: part.at(kind, base) for kind in INDEXES}
        self.contents: dict[Kind, Contents[Any]] = {kind: read_log_file(file.path) for kind, file in self.files.items() if file}
        entries = {kind: self.contents[kind].entries if kind in self.contents else () for kind in INDEXES}
        paths = {kind: log.path.with_suffix(f".{kind}") for kind in INDEXES}
        odd = {kind for kind, contents in self.contents.items() if contents.anomalies}
        # An index in which nothing is odd ascends.
        offsets = ascending_offsets(entries[Kind.INDEX], base) if Kind.INDEX in odd else entries[Kind.INDEX]
        times = ascending_times(entries[Kind.TIME_INDEX], base) if Kind.TIME_INDEX in odd else entries[Kind.TIME_INDEX]
        self.offsets = OffsetIndexCheck(paths[Kind.INDEX], offsets)
        self.times = TimeIndexCheck(paths[Kind.TIME_INDEX], times)
        self.aborted = TransactionIndexCheck(paths[Kind.TRANSACTION_INDEX], log.path, entries[Kind.TRANSACTION_INDEX])

    def own_faults(self) -> Iterator[Fault]:
        """What is odd in the indexes by themselves."""
        for kind, contents in self.contents.items():
            file = self.files[kind]
            if file:
                yield from from_anomalies(file.path, contents.anomalies)

    def lost(self, end: int) -> None:
        """The bytes up to here are no good batch."""
        self.offsets.lost(end)
        self.times.lost()

    def last_faults(self, size: int) -> Iterator[Fault]:
        """The log has been read."""
        yield from self.offsets.end(size)
        yield from self.times.end()
        yield from self.aborted.end()
