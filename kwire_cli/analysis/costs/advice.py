"""Advice: which encodings and tags would have paid, drawn from messages and priced on them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice_plan import (
    NEARLY_ALWAYS,
    best,
    bytes_now,
    bytes_under,
    choose,
    default_share,
    overlay_document,
    tag_saving,
)
from kwire_cli.analysis.costs.forms import widths
from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.errors import counted
from kwire_cli.spec.reading import OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.advice_plan import Plan
    from kwire_cli.analysis.costs.advice_values import Cell, Field, Fields, Key, Seen, Texts
    from kwire_cli.answer import Block, Row
    from kwire_cli.spec.catalog import Catalog


# The advice as plain data: what each integer costs under each encoding, what could be tagged or need not be,
# which strings repeat, and what pays.


@dataclass(frozen=True, slots=True)
class Bin:
    """The values from `low` to `high`, which an encoding writes in so many bytes, and how many there were of them."""

    low: int
    high: int
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Integers:
    """The integers of one field: their bytes now and under each encoding of the field's width, and the share of them
    that is negative.

    `best` is what takes the fewest bytes: "as it is", an encoding, "tagged", or an encoding and tagged; `saving` what
    that saves.
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


@dataclass(frozen=True, slots=True)
class Taggable:
    """A mandatory field that is nearly always at its default: of so many values, this share. A tag would save these
    bytes, its headers counted.
    """

    message: str
    path: str
    type: str
    count: int
    defaults: float
    saving: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged field that is there so often, of so many structures, that it would be cheaper as a mandatory one, by
    these bytes.
    """

    message: str
    path: str
    type: str
    count: int
    present: float
    saving: int


@dataclass(frozen=True, slots=True)
class Strings:
    """The strings of one field: how many, how many different ones (the first few thousand are told apart), their bytes,
    and those of repetitions.
    """

    message: str
    path: str
    count: int
    different: int
    bytes: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Split:
    """Advice from the first messages, priced on the others: their number and bytes, and what was saved of them.

    The shares are those of negative values among the integers that it encodes, where it was drawn from and where it was
    not.
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
    """The ranges of values that take the same bytes, as writing numbers tells them, from the first to the last that has
    any.
    """
    rows = widths(field.kind, f"{encoding}{field.kind[3:]}")
    bins = [
        Bin(
            low,
            high,
            size,
            sum(times for cell, times in field.cells.items() if width(cell) == size and cell.negative == (low < 0)),
        )
        for low, high, size in rows
    ]
    filled = [at for at, row in enumerate(bins) if row.count]
    yield from bins[filled[0] : filled[-1] + 1]


def negative_share(fields: list[Field]) -> float:
    """The share of negative values among the integers of some fields."""
    total = sum(field.count for field in fields)
    return (
        sum(times for field in fields for cell, times in field.cells.items() if cell.negative) / total if total else 0.0
    )


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
    rows = [
        Strings(*key, field.count, len(field.known), field.size, field.repeated)
        for key, field in texts.items()
        if field.repeated
    ]
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

    def answer(self, top: int | None = None, histograms: int = 3) -> Answer:
        """Return the advice: what pays, `top` rows of each table, and the widths of so many integer fields."""
        return Answer("What encodings and tags would save", [*_blocks(self, top, histograms)])


# Advice drawn from what was seen of messages, and priced on all of them: in one process, or in parts that are
# added up.


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans to be priced: `whole` on all messages, and `earlier` on the messages from the place `rest` on.

    `earlier` is the plan of the first half.
    """

    whole: Plan
    earlier: Plan
    rest: int


@dataclass(slots=True)
class Prices:
    """Bytes that the messages lose under the plan, and those of the other half under the plan of the first; and how
    many bytes these have.
    """

    saved: int = 0
    saved_later: int = 0
    later: int = 0


def drawn(catalog: Catalog, seen: Seen, price: Callable[[Plans], Prices], *, least: int) -> Advice:
    """Return the advice: wherever at least so many bytes would be saved. `price` looks at every message again."""
    fields, halves = seen.fields(), seen.halves()
    earlier = choose(catalog, halves.first, least=max(least // 2, 1))
    plan = choose(catalog, fields, least=least)
    prices = price(Plans(plan, earlier, halves.rest))
    split = None
    if seen.messages > halves.messages:
        encoded = [key for key, choice in earlier.items() if choice.encoding]
        negative = [
            negative_share([part[key] for key in encoded if key in part]) for part in (halves.first, halves.second)
        ]
        split = Split(halves.messages, seen.messages - halves.messages, prices.later, prices.saved_later, *negative)
    about = (
        f"Drawn by kwire compare --advise from {seen.messages} messages of {seen.size} bytes, of which it saves "
        f"{prices.saved}."
    )
    return Advice(seen, fields, plan, overlay_document(catalog, plan, about), prices.saved, split)


# The answer: integers with what encodings save, the widths of their values, tags, strings, and what pays.

SHOWN = 10
"""Rows of each table that a person is shown, unless --top says otherwise."""
MOST_BARS = 20
_FIELD = (Column("message"), Column("path", "text", "field"))
_INTEGERS = (
    *_FIELD,
    Column("type", keep=7),
    Column("count", "count", "values", keep=6),
    Column("negativeShare", "share", "negative", keep=8),
    Column("bytes", "bytes"),
    *(Column(name, "bytes", keep=5) for name in OWN_WIDTH),
    Column("best"),
    Column("saving", "bytes", "saves"),
)
_WIDTHS = (
    *_FIELD,
    Column("type", wide=True),
    Column("encoding"),
    Column("low", "id", "from"),
    Column("high", "id", "to"),
    Column("bytes", "bytes"),
    Column("count", "count", "values"),
    Column("bar", "bar", " ", keep=1),
)
_DEFAULTS = (
    *_FIELD,
    Column("type", keep=2),
    Column("count", "count", "values", keep=1),
    Column("defaultShare", "share", "at default"),
    Column("saving", "bytes", "saves"),
)
_TAGGED = (
    *_FIELD,
    Column("type", keep=2),
    Column("count", "count", "structures", keep=1),
    Column("presentShare", "share", "present"),
    Column("saving", "bytes", "saves"),
)
_STRINGS = (
    *_FIELD,
    Column("count", "count", "strings", keep=1),
    Column("different", "count"),
    Column("bytes", "bytes", keep=2),
    Column("repeated", "bytes", "bytes of repetitions"),
)
_OVERLAY = (*_FIELD, Column("encoding"), Column("elementEncoding"), Column("tag", "id"), Column("taggedVersions"))


def _blocks(advice: Advice, top: int | None, histograms: int) -> Iterator[Block]:
    def table(name: str, columns: Sequence[Column], rows: list[Row], title: str) -> Table:
        note = f"… and {len(rows) - top} more" if top is not None and len(rows) > top else ""
        return Table(name, columns, rows[:top], title, shown=SHOWN if top is None else None, note=note)

    rows = integers(advice.fields)
    yield _facts(advice)
    if advice.split:
        yield _other_half(advice.split)
    yield from _charts(rows, histograms)
    yield table("integers", _INTEGERS, [_cells(row) for row in rows], "integers (bytes now, and in each encoding)")
    yield Table("widths", _WIDTHS, [*_width_rows(rows[:histograms])], "values of integers by the bytes that they take")
    mandatory, tags = taggable(advice.fields), tagged(advice.fields)
    title = "nearly always at their default: as tagged fields they would save"
    yield table("defaults", _DEFAULTS, [_row(row) for row in mandatory], title)
    title = "nearly always there: as fields without a tag they would save"
    yield table("tagged", _TAGGED, [_row(row) for row in tags], title)
    yield table("strings", _STRINGS, [_row(row) for row in strings(advice.seen.texts)], "strings that repeat")
    yield table("overlay", _OVERLAY, [*_overlay_rows(advice.overlay)], "what pays: these fields in another form")


def _facts(advice: Advice) -> Facts:
    seen = advice.seen
    facts = [
        Fact("messages", seen.messages, "count"),
        Fact("bytes", seen.size, "bytes", "bytes without headers and size prefixes"),
        Fact("changedFields", len(advice.plan), "count", "fields that pay in another form"),
        Fact("saving", advice.saved, "bytes", "saved by what pays"),
        Fact("savingShare", _share(advice.saved, seen.size), "share", "of all bytes"),
    ]
    if seen.irregular:
        title = "messages that could not be read whole or had anomalies, and stay as they are"
        facts.append(Fact("asTheyAre", seen.irregular, "count", title))
    return Facts(facts)


def _other_half(split: Split) -> Facts:
    return Facts(
        [
            Fact("drawnFrom", split.drawn_from, "count", "drawn from the first messages alone"),
            Fact("otherMessages", split.messages, "count", "tried on the other messages"),
            Fact("otherBytes", split.bytes, "bytes", "their bytes"),
            Fact("otherSaving", split.saved, "bytes", "saved of these"),
            Fact("otherSavingShare", _share(split.saved, split.bytes), "share", "of their bytes"),
            Fact("negativeShareThere", round(split.negative_before, 6), "share", "negative integers in the first"),
            Fact("negativeShareHere", round(split.negative_after, 6), "share", "negative integers in the others"),
        ]
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _cells(row: Integers) -> Row:
    under = [row.under[name] for name in OWN_WIDTH]
    negative = round(row.negative, 6)
    return row.message, row.path, row.type, row.count, negative, row.bytes, *under, row.best, row.saving


def _row(row: Taggable | Tagged | Strings) -> Row:
    return tuple(round(value, 6) if isinstance(value, float) else value for value in astuple(row))


def _width_rows(rows: Sequence[Integers]) -> Iterator[Row]:
    for row in rows:
        for encoding, bins in (("packed", row.signed), ("upacked", row.unsigned)):
            for one in bins:
                yield row.message, row.path, row.type, encoding, one.low, one.high, one.bytes, one.count, one.count


def _overlay_rows(overlay: Mapping[str, Any]) -> Iterator[Row]:
    for message, layer in overlay["messages"].items():
        for path, keys in layer["fields"].items():
            yield message, path, *(keys.get(column.name) for column in _OVERLAY[len(_FIELD) :])


def _charts(rows: Sequence[Integers], histograms: int) -> Iterator[Chart]:
    paying = [(f"{row.message} {row.path}: {row.best}", row.saving) for row in rows[:MOST_BARS] if row.saving > 0]
    if paying:
        yield Chart("bars", "What integers would save in their best form", paying)
    for row in rows[:histograms]:
        field = f"{row.message} {row.path}, {row.type}"
        note = "how many bytes its values take, and of which values"
        yield Chart("histogram", f"{field}: bytes packed (zig-zag)", _bars(row.signed), "values", note=note)
        yield Chart("histogram", f"{field}: bytes upacked (unsigned)", _bars(row.unsigned), "values")


def _bars(bins: Sequence[Bin]) -> list[tuple[str, int]]:
    return [(f"{counted(one.bytes, 'byte')}, {one.low} .. {one.high}", one.count) for one in bins]
