"""The answer of `kwire compare --advise`: integers in each encoding, fields that a tag would omit, and an overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice import NEARLY_ALWAYS
from kwire_cli.analysis.costs.forms import FORMS, GIVEN, TAGGED
from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.analysis.costs.advice import Advice, Field, Key, Layers, Split
    from kwire_cli.answer import Block, Row

SHOWN = 10
"""Number of rows of each table that are displayed without --top."""
MOST_BARS = 20


def integers(advice: Advice) -> list[Row]:
    """Return the rows of _INTEGERS, the largest saving first."""
    rows = []
    for (message, path), field in advice.fields.items():
        if field.kind not in ENCODABLE_TYPES or not field.count:
            continue
        best = field.best
        name = "as it is"
        if best != GIVEN:
            encoding = FORMS[best].encoding
            width = f"{encoding}{field.kind.removeprefix('int')}"
            name = best.replace(encoding, width, 1).replace(" and ", " ") if encoding else best
        negative = round(field.negative / field.count, 6)
        sizes = [field.values[form] for form in (GIVEN, *OWN_WIDTH)]
        rows.append((message, path, field.kind, field.count, negative, *sizes, name, field.saving(best)))
    return _sorted(rows)


def taggable(fields: Mapping[Key, Field]) -> list[Row]:
    """Return the mandatory fields that are nearly always at their default, and for which a tag pays."""
    return _sorted(
        (*key, field.kind, field.taggable, round(field.default_share, 6), saving)
        for key, field in fields.items()
        if field.default_share >= NEARLY_ALWAYS and (saving := field.saving(TAGGED)) > 0
    )


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
_DEFAULTS = (
    *_FIELD,
    Column("type", keep=2),
    Column("count", "count", "values", keep=1),
    Column("defaultShare", "share", "at default"),
    Column("saving", "bytes", "saves"),
)
_OVERLAY = (*_FIELD, Column("encoding"), Column("elementEncoding"), Column("tag", "id"), Column("taggedVersions"))


def advice_answer(advice: Advice) -> Answer:
    """Return the advice as tables."""
    return Answer("What encodings and tags would save", [*_blocks(advice)])


def _blocks(advice: Advice) -> Iterator[Block]:
    rows = integers(advice)
    yield _facts(advice)
    if advice.split:
        yield _split_facts(advice.split)
    bars = [(f"{message} {path}: {best}", saving) for message, path, *_, best, saving in rows[:MOST_BARS] if saving > 0]
    if bars:
        yield Chart("bars", "What integers would save in their best form", bars)
    yield Table("integers", _INTEGERS, rows, "integers (bytes now, and in each encoding)", shown=SHOWN)
    title = "nearly always at their default: as tagged fields they would save"
    yield Table("defaults", _DEFAULTS, taggable(advice.fields), title, shown=SHOWN)
    title = "what pays: these fields in another form"
    yield Table("overlay", _OVERLAY, [*_overlay(advice.layers)], title, shown=SHOWN)


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
        ]
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _overlay(layers: Layers) -> Iterator[Row]:
    for message, layer in layers.items():
        for path, keys in layer["fields"].items():
            yield message, path, *(keys.get(column.name) for column in _OVERLAY[len(_FIELD) :])
