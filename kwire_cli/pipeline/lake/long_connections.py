"""Connections with most of the bytes, cut so that several tasks read them.

The owner of a connection reads its first bytes. From then on the owner only follows the connection: it makes no rows,
and learns what the next piece has to know, which is what the reader of frames keeps and the fetch sessions. Other tasks
read the pieces. A piece begins with what was put away, at a place where the reader of frames stands between two
segments.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kwire_cli.pipeline.lake.descriptors import DESCRIBED, OWNED_BYTES, rows_of
from kwire_cli.pipeline.lake.hidden import put
from kwire_cli.pipeline.lake.windows import PACK
from kwire_cli.source.kafka.bulk_frames import Stretch
from kwire_cli.source.kafka.kept import put_away
from kwire_cli.source.packets.descriptors import Described
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.pipeline.lake.windows import Window
    from kwire_cli.source.kafka.bulk_frames import EndsReader
    from kwire_cli.source.packets.descriptors import Run
    from kwire_cli.stores import Place

KEPT = -1
"""In place of the chain: what was put away of a connection, which comes before its segments."""


def kept_row(
    point: int, ends: bytes, reader: EndsReader, state: tuple[Any, ...], *, is_over: bool = False
) -> Described:
    """Return the row of a connection that is put away, with more that is pickled."""
    kept = pickle.dumps((put_away(reader), *state))
    return Described(point, ends, KEPT, 0, NO_TIME, int(is_over), b"", kept)


@dataclass(frozen=True)
class Lengths:
    """Bytes of a connection that its owner reads itself, and bytes of each piece of what follows."""

    own: int
    piece: int


def lengths_of(window: Window, cores: int) -> Lengths | None:
    """Return at which lengths connections of a window are cut; None if one core reads all of them anyway."""
    if cores < 2:
        return None
    own = max(2 * OWNED_BYTES, window.size // (2 * cores))
    return Lengths(own, min(own // 2, PACK))


@dataclass
class Follower:
    """Follows a connection, and puts its pieces into files of the hidden folder. `learn` takes each stretch."""

    hidden: Place
    lengths: Lengths
    point: int
    ends: bytes
    reader: EndsReader
    sessions: dict[tuple[str, int], list[str]]
    learn: Callable[[Stretch], None]
    pieces: list[str] = field(default_factory=list)
    _rows: list[Described] = field(default_factory=list)
    _size: int = 0

    def follow(self, segments: Described, run: Run) -> None:
        """Take segments, which are those of a run."""
        if not self._rows:
            self._rows.append(kept_row(self.point, self.ends, self.reader, (self.sessions, None)))
        self._rows.append(segments)
        self._size += int(run.rows["size"].sum())
        for item in self.reader.take(run):
            if isinstance(item, Stretch):
                self.learn(item)
        if self._size >= self.lengths.piece:
            self.close()

    def close(self) -> None:
        """Put away the last piece."""
        if self._rows:
            name = f"_piece-{uuid4().hex}.arrow"
            put(self.hidden, name, [rows_of(self._rows)], DESCRIBED)
            self.pieces.append(name)
        self._rows, self._size = [], 0
