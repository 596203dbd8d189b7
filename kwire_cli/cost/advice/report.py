"""The advice as plain data: what each integer costs under each encoding, what could be tagged or need not be, which strings repeat, and what pays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.advice.plan import NEARLY_ALWAYS, best, bytes_now, bytes_under, default_share, tag_saving
from kwire_cli.cost.encoded_widths import widths
from kwire_cli.spec.encodings import OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.cost.advice.plan import Plan
    from kwire_cli.cost.advice.seen import Cell, Field, Fields, Key, Seen, Texts


@dataclass(frozen=True, slots=True)
class Bin:
    """The values from `low` to `high`, which an encoding writes in so many bytes, and how many there were of them."""

    low: int
    high: int
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Integers:
    """The integers of one field: their bytes now and under each encoding of the field's width, and the share of them that is negative.

    `best` is what takes the fewest bytes: "as it is", an encoding, "tagged", or an encoding and tagged; `saving` what that saves.
    """

    message: str
    path: str
    type: str
    count: int
    negative: float
    bytes: int
    under: dict[str, int]
    best: str
    saving: int
    signed: tuple[Bin, ...]
    unsigned: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        """As a JSON document has it."""
        out: dict[str, Any] = {"message": self.message, "path": self.path, "type": self.type, "count": self.count}
        out |= {"negativeShare": round(self.negative, 6), "bytes": self.bytes, **self.under, "best": self.best, "saving": self.saving}
        return out | {"signed": [asdict(row) for row in self.signed], "unsigned": [asdict(row) for row in self.unsigned]}


@dataclass(frozen=True, slots=True)
class Taggable:
    """A mandatory field that is nearly always at its default: of so many values, this share. A tag would save these bytes, its headers counted."""

    message: str
    path: str
    type: str
    count: int
    defaults: float
    saving: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged field that is there so often, of so many structures, that it would be cheaper as a mandatory one, by these bytes."""

    message: str
    path: str
    type: str
    count: int
    present: float
    saving: int


@dataclass(frozen=True, slots=True)
class Strings:
    """The strings of one field: how many, how many different ones (the first few thousand are told apart), their bytes, and those of repetitions."""

    message: str
    path: str
    count: int
    different: int
    bytes: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Split:
    """Advice from the first messages, priced on the others: their number and bytes, and what was saved of them.

    The shares are those of negative values among the integers that it encodes, where it was drawn from and where it was not.
    """

    drawn_from: int
    messages: int
    bytes: int
    saved: int
    negative_before: float
    negative_after: float


def integers(fields: Fields) -> list[Integers]:
    """All integer fields, those that would save the most first."""
    rows = [_integers(key, field) for key, field in fields.items() if field.cells]
    return sorted(rows, key=lambda row: (-row.saving, row.message, row.path))


def _integers(key: Key, field: Field) -> Integers:
    option = best(field)
    count, now = field.count, bytes_now(field)
    name = f"{option.encoding}{field.kind[3:]}" if option.encoding else ""
    chosen = " ".join(part for part in (name, "tagged" if option.tagged else "") if part) or "as it is"
    return Integers(
        *key,
        field.kind,
        count,
        negative_share([field]),
        now,
        {encoding: bytes_under(field, encoding) for encoding in OWN_WIDTH},
        chosen,
        now - option.size,
        tuple(_bins(field, "packed", lambda cell: cell.packed)),
        tuple(_bins(field, "upacked", lambda cell: cell.upacked)),
    )


def _bins(field: Field, encoding: str, width: Callable[[Cell], int]) -> Iterator[Bin]:
    """The ranges of values that take the same bytes, as writing numbers tells them, from the first to the last that has any."""
    rows = widths(field.kind, f"{encoding}{field.kind[3:]}")
    bins = [
        Bin(low, high, size, sum(times for cell, times in field.cells.items() if width(cell) == size and cell.negative == (low < 0)))
        for low, high, size in rows
    ]
    filled = [at for at, row in enumerate(bins) if row.count]
    yield from bins[filled[0] : filled[-1] + 1]


def negative_share(fields: list[Field]) -> float:
    """The share of negative values among the integers of some fields."""
    total = sum(field.count for field in fields)
    return sum(times for field in fields for cell, times in field.cells.items() if cell.negative) / total if total else 0.0


def taggable(fields: Fields) -> list[Taggable]:
    """Mandatory fields that are nearly always at their default, and for which a tag pays; the largest saving first."""
    rows = []
    for (message, path), field in fields.items():
        share, saving = default_share(field), tag_saving(field)
        if share >= NEARLY_ALWAYS and saving > 0 and not field.present:
            count = sum(times for cell, times in field.cells.items() if cell.taggable) or field.total
            rows.append(Taggable(message, path, field.kind, count, share, saving))
    return sorted(rows, key=lambda row: (-row.saving, row.message, row.path))


def tagged(fields: Fields) -> list[Tagged]:
    """Tagged fields that would be cheaper as mandatory ones, the largest saving first."""
    rows = [
        Tagged(message, path, field.kind, field.total, field.present / field.total, field.headers - field.default_bytes)
        for (message, path), field in fields.items()
        if field.present and field.headers > field.default_bytes
    ]
    return sorted(rows, key=lambda row: (-row.saving, row.message, row.path))


def strings(texts: dict[Key, Texts]) -> list[Strings]:
    """The string fields in which any came more than once, the most repeated bytes first."""
    rows = [Strings(*key, found.count, len(found.known), found.size, found.repeated) for key, found in texts.items() if found.repeated]
    return sorted(rows, key=lambda row: (-row.repeated, row.message, row.path))


@dataclass(frozen=True, slots=True)
class Advice:
    """All of it. `saved` are the bytes that the messages lose under the `overlay`, to the byte."""

    seen: Seen
    fields: Fields
    plan: Plan
    overlay: dict[str, Any]
    saved: int
    split: Split | None

    def to_json(self, top: int | None = None) -> dict[str, Any]:
        """One document: the tables (`top` rows of each), the overlay, and what it saves."""
        seen, split = self.seen, self.split
        out: dict[str, Any] = {"messages": seen.messages, "bytes": seen.size, "asTheyAre": seen.irregular}
        out["integers"] = [row.to_json() for row in integers(self.fields)[:top]]
        out["defaults"] = [_row(row, {"defaults": "defaultShare"}) for row in taggable(self.fields)[:top]]
        out["tagged"] = [_row(row, {"present": "presentShare"}) for row in tagged(self.fields)[:top]]
        out["strings"] = [asdict(row) for row in strings(seen.texts)[:top]]
        out |= {"overlay": self.overlay, "saving": self.saved}
        names = {"drawn_from": "drawnFrom", "saved": "saving", "negative_before": "negativeShareThere", "negative_after": "negativeShareHere"}
        out["otherHalf"] = _row(split, names) if split else None
        return out


def _row(row: Any, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): round(value, 6) if isinstance(value, float) else value for key, value in asdict(row).items()}
