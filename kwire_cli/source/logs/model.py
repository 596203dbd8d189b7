"""What a reader makes of a file: entries with their positions, what is odd, and what each byte is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.fixed import Fixed
    from kwire_cli.source.logs.names import Kind

HEAD, ENTRIES, COMMENT, PADDING, GAP = "head", "entries", "comment", "padding", "gap"
"""Kinds of pieces: what stands before the entries, the entries, comments, zeros of a preallocated file, and what has no meaning."""


class Entry(Protocol):
    """An entry of a file: `at` is its position in the file, in bytes."""

    @property
    def at(self) -> int:
        """The position in the file."""

    def to_json(self) -> dict[str, Any]:
        """The entry in Kafka's words, beginning with `at`."""


E_co = TypeVar("E_co", bound=Entry, covariant=True)


class Piece(NamedTuple):
    """`size` bytes from `position` on. A gap has the code of the anomaly that made it one."""

    kind: str
    position: int
    size: int
    code: str = ""


class Table(Sequence[E_co]):
    """Entries of a fixed size, read when they are asked for: an index of a broker has more than a million."""

    def __init__(self, data: memoryview, layout: Fixed, make: Callable[[int, tuple[Any, ...]], E_co], start: int = 0) -> None:
        self._data, self._layout, self._make, self._start = data, layout, make, start

    def __len__(self) -> int:
        return len(self._data) // self._layout.size

    @overload
    def __getitem__(self, index: int) -> E_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[E_co]: ...
    def __getitem__(self, index: int | slice) -> E_co | list[E_co]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index] * self._layout.size
        return self._make(self._start + at, self._layout.unpack(self._data, at))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The numbers of the entries alone, as they stand in the file."""
        return self._layout.iter_unpack(self._data)

    def __iter__(self) -> Iterator[E_co]:
        at, size, make = self._start, self._layout.size, self._make
        for row in self._layout.iter_unpack(self._data):
            yield make(at, row)
            at += size


@dataclass(frozen=True, eq=False)
class Contents(Generic[E_co]):
    """A file that was read.

    Attributes:
        kind: What the file is.
        size: Its bytes.
        entries: What it says, in its order.
        pieces: What its bytes are for; they cover the file once and in order.
        anomalies: What a correct writer would not have written; offsets are positions in the file.
        head: What stands before the entries: versions, CRCs, counts. In Kafka's words.

    """

    kind: Kind
    size: int
    entries: Sequence[E_co]
    pieces: tuple[Piece, ...]
    anomalies: tuple[Anomaly, ...] = ()
    head: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The entries in JSON form and, as `{"position","size","gap"}`, padding and gaps, in the order of the file."""
        rest = [piece for piece in self.pieces if piece.kind in {PADDING, GAP}]
        for entry in self.entries:
            while rest and rest[0].position < entry.at:
                yield _gap(rest.pop(0))
            yield entry.to_json()
        yield from (_gap(piece) for piece in rest)

    def to_json(self) -> dict[str, Any]:
        """`{"type","size", what the head says, "entries","gaps","anomalies"}`."""
        return {
            "type": self.kind.value,
            "size": self.size,
            **self.head,
            "entries": [entry.to_json() for entry in self.entries],
            "gaps": [_gap(piece) for piece in self.pieces if piece.kind in {PADDING, GAP}],
            "anomalies": [anomaly._asdict() for anomaly in self.anomalies],
        }


def _gap(piece: Piece) -> dict[str, Any]:
    return {"position": piece.position, "size": piece.size, "gap": piece.code or piece.kind.upper()}


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one kind and code as one piece, without those that have no bytes."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece.size:
            continue
        if out and (out[-1].kind, out[-1].code) == (piece.kind, piece.code):
            out[-1] = out[-1]._replace(size=out[-1].size + piece.size)
        else:
            out.append(piece)
    return tuple(out)
