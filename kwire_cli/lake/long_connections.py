"""Long connections, cut into pieces so that several tasks read them.

The owner of a connection reads its first bytes. After these it only follows the connection: it writes no rows, but
keeps the state of the frame reader and of the fetch sessions. Other tasks read the pieces. Each piece starts with the
saved state, between two segments.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING
from uuid import uuid4

from kwire_cli.lake.descriptors import DESCRIBED, OWNED_BYTES, rows_of
from kwire_cli.lake.hidden import put
from kwire_cli.lake.windows import PACK
from kwire_cli.source.kafka.bulk_frames import Stretch
from kwire_cli.source.kafka.kept import put_away
from kwire_cli.source.packets.descriptors import Described, run_of, size_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.lake.windows import Window
    from kwire_cli.source.kafka.carried import Carrier
    from kwire_cli.source.packets.descriptors import Paths
    from kwire_cli.stores.paths import Place

KEPT = -1
"""The order of the saved state of a connection, which precedes its segments."""


def kept_row(
    point: int, ends: bytes, carrier: Carrier, sessions: dict[tuple[str, int], list[str]], *, is_over: bool = False
) -> Described:
    """Return a row with the state of a connection: the state of its reader, fetch sessions, origin and carrier."""
    reader = carrier.reader
    carrier.settle()
    names = [each.name for each in fields(carrier) if each.name not in {"reader", "shows_secrets", "items"}]
    carried = {name: getattr(carrier, name) for name in names}
    kept = pickle.dumps((put_away(reader), sessions, reader.origin.earlier, carried))
    return Described(point, ends, KEPT, 0, int(is_over), b"", kept)


@dataclass(frozen=True)
class Lengths:
    """Bytes of a connection that its owner reads itself, and bytes of each piece of the rest."""

    own: int
    piece: int


def lengths_of(window: Window, cores: int) -> Lengths | None:
    """Return the lengths at which connections of a window are cut, or None if there is only one core."""
    if cores < 2:
        return None
    own = max(2 * OWNED_BYTES, window.size // (2 * cores))
    return Lengths(own, min(own // 2, PACK))


@dataclass
class Follower:
    """Follows a connection, and writes its pieces to files of the hidden folder. `learn` receives each stretch."""

    hidden: Place
    lengths: Lengths
    point: int
    carrier: Carrier
    sessions: dict[tuple[str, int], list[str]]
    learn: Callable[[Stretch], None]
    pieces: list[str] = field(default_factory=list)
    _rows: list[Described] = field(default_factory=list)
    _size: int = 0

    def follow(self, segments: Described, paths: Paths) -> None:
        """Add the next segments, in files with these paths."""
        if not self._rows:
            self._rows.append(kept_row(self.point, self.carrier.reader.ends, self.carrier, self.sessions))
        self._rows.append(segments)
        self._size += size_of(segments)
        run = run_of(segments, paths)
        for item in self.carrier.lines(self.carrier.reader.take(run)):
            if isinstance(item, Stretch):
                self.learn(item)
        self.carrier.took(run)
        if self._size >= self.lengths.piece:
            self.close()

    def close(self) -> None:
        """Write the last piece."""
        if self._rows:
            name = f"_piece-{uuid4().hex}.arrow"
            put(self.hidden, name, [rows_of(self._rows)], DESCRIBED)
            self.pieces.append(name)
        self._rows = []
        self._size = 0
