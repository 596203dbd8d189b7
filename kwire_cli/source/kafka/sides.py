"""Which side of a connection is the client, by the frames of both.

Rules
- The side that opened the connection is the client, unless its own frames can't be requests and the other's surely are.
- If nobody was seen to open it: the side of which a frame is a request for sure, as it names a client and its body fits; or whose frame reads as a
  request, while one of the other side has its correlation id, or does not read so. One that merely reads as a request may be an answer: "correlation
  id 1, error 0" is also "Produce version 1, no client id". One that is whole, of a known version, and whose body does not fit, says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.message.frames import SIZE_BYTES, Hints
from kwire_cli.message.reading import read
from kwire_cli.source.kafka.heads import names_client, reads_as_request

if TYPE_CHECKING:
    from kwire_cli.message.frames import Frame
    from kwire_cli.source.kafka.framing import Cut
    from kwire_cli.spec.catalog import Catalog

GSSAPI_TAG = 0x60


class Sides:
    """What the frames of both sides say. `opener` is the side that opened the connection; `from_start`: nothing is missing before their first frames.

    `sure` tells whether the client that was found is beyond doubt.
    """

    __slots__ = ("_against", "_asked", "_catalog", "_for", "_from_start", "_opener", "_surely", "sure")

    def __init__(self, catalog: Catalog, opener: int | None, *, from_start: bool) -> None:
        self._catalog, self._opener, self._from_start = catalog, opener, from_start
        self._for, self._against = [0, 0], [0, 0]
        self._surely = [False, False]
        self._asked: set[tuple[int, bytes]] = set()
        self.sure = False

    def hear(self, side: int, cut: Cut) -> int | None:
        """The client, if this frame of a side decides it."""
        data, other, opener = cut.data, 1 - side, self._opener
        if is_first_token(cut) and (side == opener if opener is not None else self._from_start):
            return side
        reads = reads_as_request(self._catalog, data)
        if reads and side == opener:
            self.sure = True
            return side
        answered = (other, data[SIZE_BYTES : 2 * SIZE_BYTES]) in self._asked
        named = reads and names_client(self._catalog, data, 0, needed=True)
        whole = _request(self._catalog, data) if reads and not cut.missing else None
        fits = whole is not None and whole.sure and not whole.anomalies
        if fits or named:
            # A whole request of a known version whose body does not fit says nothing: an answer may read so too.
            self._for[side] += fits or whole is None or whole.body is None or whole.body.guess
            self._surely[side] = self._surely[side] or (named and fits)
            self._asked.add((side, data[2 * SIZE_BYTES : 3 * SIZE_BYTES]))
        elif not (reads and cut.missing):
            self._against[side] += 1
        if opener is not None:
            if self._against[opener]:
                return 1 - opener if self._surely[1 - opener] else None
            return None if self._surely[side] or side == opener else opener  # an answer, be it that its question was lost
        for each in (side, other):
            if self._surely[each]:
                self.sure = True
                return each
        if answered:
            return other
        for each in (side, other):
            if self._for[each] and self._against[1 - each]:
                return each
        return None

    def guess(self, first: int) -> int:
        """The client, where nothing decides it: `first` is the side that spoke first."""
        if self._opener is not None:
            return self._opener
        votes = [mine - other for mine, other in zip(self._for, self._against, strict=True)]
        return first if votes[0] == votes[1] else votes.index(max(votes))


def surely_request(catalog: Catalog, cut: Cut) -> bool:
    """Whether a frame is a whole request that names its client, and in which nothing is odd."""
    data = cut.data
    named = not cut.missing and reads_as_request(catalog, data) and names_client(catalog, data, 0, needed=True)
    if not named:
        return False
    frame = _request(catalog, data)
    return frame.sure and not frame.anomalies


def _request(catalog: Catalog, data: bytes) -> Frame:
    return read(catalog, data, Hints(kind="request"), number=0, start=0, stop=len(data), prefixed=True)


def is_first_token(cut: Cut) -> bool:
    """Whether a frame begins as the first token of GSSAPI does."""
    return len(cut.data) > SIZE_BYTES and cut.data[SIZE_BYTES] == GSSAPI_TAG
