"""The answer of `kwire compare --advise`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.advice import NEARLY_ALWAYS, Field, Written
from kwire_cli.analysis.costs.forms import widths
from kwire_cli.analysis.costs.registry import GIVEN, UNTAGGED, VARIANTS
from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.errors import counted
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.advice import Advice, Key, Layers, Split
    from kwire_cli.answer import Block, Row

SHOWN = 10
"""Rows of each table for display without --top."""
MOST_BARS = 20


class Integers(NamedTuple):
    """The integers of one field: the share of negative values, their bytes now and in each encoding, the form with the
    fewest bytes, and the bytes that it saves.
    """

    message: str
    path: str
    type: str
    number: int
    negative: float
    bytes: int
    fixed: int
    packed: int
    upacked: int
    best: str
    saving: int


def integers(fields: Mapping[Key, Field], written: Written) -> list[Integers]:
    """Return all fields of integers, the largest saving first."""
    rows = []
    for (message, path), field in fields.items():
        if field.kind not in ENCODABLE_TYPES or not field.count:
            continue
        best = field.best
        sizes = field.sizes
        name = "as it is"
        if best != GIVEN:
            encoding, is_tagged = VARIANTS[best]
            name = " ".join([f"{encoding}{field.kind[3:]}"] * bool(encoding) + ["tagged"] * is_tagged)
        negative = round(written.negative_share([(message, path)]), 6)
        under = (sizes["fixed"], sizes["packed"], sizes["upacked"])
        numbers = (field.kind, field.count, negative, sizes[GIVEN], *under)
        rows.append(Integers(message, path, *numbers, name, field.saving(best)))
    return _sorted(rows)


def taggable(fields: Mapping[Key, Field]) -> list[Row]:
    """Return the mandatory fields that are nearly always at their default, and for which a tag pays."""
    return _sorted(
        (*key, field.kind, field.taggable, round(field.default_share, 6), saving)
        for key, field in fields.items()
        if field.default_share >= NEARLY_ALWAYS and (saving := field.saving("tagged")) > 0
    )


def tagged(fields: Mapping[Key, Field]) -> list[Row]:
    """Return the tagged fields that would be cheaper as mandatory ones."""
    return _sorted(
        (*key, field.kind, field.structures, round(field.present / field.structures, 6), saving)
        for key, field in fields.items()
        if field.structures and (saving := field.saving(UNTAGGED)) > 0
    )


def strings(written: Written) -> list[Row]:
    """Return the fields whose strings repeat: strings, different ones, bytes, and the bytes of repetitions."""
    rows = []
    for key, texts in written.texts.items():
        different = [(size, times) for (digest, size), times in texts.items() if digest]
        if repeated := sum((times - 1) * size for size, times in different):
            size = sum(size * times for (_, size), times in texts.items())
            rows.append((*key, texts.total(), len(different), size, repeated))
    return _sorted(rows)


def _sorted(rows: Any) -> list[Any]:
    return sorted(rows, key=lambda row: (-row[-1], row[0], row[1]))


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


def advice_answer(advice: Advice, top: int | None = None, histograms: int = 3) -> Answer:
    """Return the advice with `top` rows of each table, and the widths of the first `histograms` fields of integers."""
    return Answer("What encodings and tags would save", [*_blocks(advice, top, histograms)])


def _blocks(advice: Advice, top: int | None, histograms: int) -> Iterator[Block]:
    def table(name: str, columns: Sequence[Column], rows: Sequence[Row], title: str) -> Table:
        note = f"… and {len(rows) - top} more" if top is not None and len(rows) > top else ""
        return Table(name, columns, rows[:top], title, shown=SHOWN if top is None else None, note=note)

    fields = advice.fields
    written = advice.written
    rows = integers(fields, written)
    bins = [(row, [*_bins(row, written)]) for row in rows[:histograms]]
    yield _facts(advice)
    if advice.split:
        yield _split_facts(advice.split)
    paying = [(f"{row.message} {row.path}: {row.best}", row.saving) for row in rows[:MOST_BARS] if row.saving > 0]
    if paying:
        yield Chart("bars", "What integers would save in their best form", paying)
    for row, cells in bins:
        yield from _histograms(row, cells)
    yield table("integers", _INTEGERS, rows, "integers (bytes now, and in each encoding)")
    width_rows = [(row.message, row.path, row.type, *cell, cell[-1]) for row, cells in bins for cell in cells]
    yield Table("widths", _WIDTHS, width_rows, "values of integers by the bytes that they take")
    title = "nearly always at their default: as tagged fields they would save"
    yield table("defaults", _DEFAULTS, taggable(fields), title)
    title = "nearly always there: as fields without a tag they would save"
    yield table("tagged", _TAGGED, tagged(fields), title)
    yield table("strings", _STRINGS, strings(written), "strings that repeat")
    yield table("overlay", _OVERLAY, [*_overlay(advice.layers)], "what pays: these fields in another form")


def _facts(advice: Advice) -> Facts:
    facts = [
        Fact("messages", advice.messages, "count"),
        Fact("bytes", advice.size, "bytes", "bytes without headers and size prefixes"),
        Fact("changedFields", advice.changed_fields, "count", "fields that pay in another form"),
        Fact("saving", advice.saved, "bytes", "saved by what pays"),
        Fact("savingShare", _share(advice.saved, advice.size), "share", "of all bytes"),
    ]
    if advice.irregular:
        title = "messages that could not be read whole or had anomalies, and stay as they are"
        facts.append(Fact("asTheyAre", advice.irregular, "count", title))
    return Facts(facts)


def _split_facts(split: Split) -> Facts:
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


def _bins(row: Integers, written: Written) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the ranges of values that take the same bytes in an encoding, from the first to the last with values."""
    for encoding in ("packed", "upacked"):
        cells = written.widths[row.message, row.path, encoding]
        bins = [
            (encoding, low, high, size, cells[size, low < 0])
            for low, high, size in widths(row.type, f"{encoding}{row.type[3:]}")
        ]
        filled = [at for at, (*_, count) in enumerate(bins) if count]
        yield from bins[filled[0] : filled[-1] + 1]


def _histograms(row: Integers, bins: Sequence[tuple[str, int, int, int, int]]) -> Iterator[Chart]:
    field = f"{row.message} {row.path}, {row.type}"
    note = "how many bytes its values take, and of which values"
    for encoding, what, said in (("packed", "packed (zig-zag)", note), ("upacked", "upacked (unsigned)", "")):
        bars = [
            (f"{counted(size, 'byte')}, {low} .. {high}", count)
            for name, low, high, size, count in bins
            if name == encoding
        ]
        yield Chart("histogram", f"{field}: bytes {what}", bars, "values", note=said)


def _overlay(layers: Layers) -> Iterator[Row]:
    for message, layer in layers.items():
        for path, keys in layer["fields"].items():
            yield message, path, *(keys.get(column.name) for column in _OVERLAY[len(_FIELD) :])
