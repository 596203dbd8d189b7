"""The report of advice, and its findings for lint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice_plan import (
    NEARLY_ALWAYS,
    Predicted,
    best,
    bytes_now,
    bytes_under,
    choose,
    default_share,
    overlay_document,
    tag_saving,
)
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.advice_values import in_lines
from kwire_cli.analysis.costs.forms import widths
from kwire_cli.errors import KwireError
from kwire_cli.spec.files import Finding, Report, read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.reading import OWN_WIDTH, read_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.analysis.costs.advice_plan import Plan
    from kwire_cli.analysis.costs.advice_values import Cell, Field, Fields, Key, Message, Seen, Texts
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.files import Spot
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.reading import Definition, Item


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

    def to_json(self) -> dict[str, Any]:
        """As a JSON document has it."""
        out: dict[str, Any] = {"message": self.message, "path": self.path, "type": self.type, "count": self.count}
        out |= {
            "negativeShare": round(self.negative, 6),
            "bytes": self.bytes,
            **self.under,
            "best": self.best,
            "saving": self.saving,
        }
        return out | {
            "signed": [asdict(row) for row in self.signed],
            "unsigned": [asdict(row) for row in self.unsigned],
        }


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

    def to_json(self, top: int | None = None) -> dict[str, Any]:
        """One document: the tables (`top` rows of each), the overlay, and what it saves."""
        observations, split = self.seen, self.split
        out: dict[str, Any] = {
            "messages": observations.messages,
            "bytes": observations.size,
            "asTheyAre": observations.irregular,
        }
        out["integers"] = [row.to_json() for row in integers(self.fields)[:top]]
        out["defaults"] = [_row(row, {"defaults": "defaultShare"}) for row in taggable(self.fields)[:top]]
        out["tagged"] = [_row(row, {"present": "presentShare"}) for row in tagged(self.fields)[:top]]
        out["strings"] = [asdict(row) for row in strings(observations.texts)[:top]]
        out |= {"overlay": self.overlay, "saving": self.saved}
        names = {
            "drawn_from": "drawnFrom",
            "saved": "saving",
            "negative_before": "negativeShareThere",
            "negative_after": "negativeShareHere",
        }
        out["otherHalf"] = _row(split, names) if split else None
        return out


def _row(row: Any, names: dict[str, str]) -> dict[str, Any]:
    return {
        names.get(key, key): round(value, 6) if isinstance(value, float) else value
        for key, value in asdict(row).items()
    }


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

    def merge(self, other: Prices) -> None:
        """Add those of other messages."""
        self.saved += other.saved
        self.saved_later += other.saved_later
        self.later += other.later


def priced(catalog: Catalog, plans: Plans, messages: Iterable[Message]) -> Prices:
    """The prices of messages."""
    whole, later = Predicted(catalog, plans.whole), Predicted(catalog, plans.earlier)
    size = 0
    for message in messages:
        whole.add(message)
        if message.at >= plans.rest:
            later.add(message)
            size += message.size
    return Prices(whole.saved, later.saved, size)


def drawn(catalog: Catalog, seen: Seen, price: Callable[[Plans], Prices], *, least: int, half: bool) -> Advice:
    """The advice: wherever at least so many bytes would be saved; with `half` that of the first half. `price` looks at
    every message again.
    """
    fields, halves = seen.fields(), seen.halves()
    earlier = choose(catalog, halves.first, least=max(least // 2, 1))
    plan = earlier if half else choose(catalog, fields, least=least)
    prices = price(Plans(plan, earlier, halves.rest))
    split = None
    if seen.messages > halves.messages:
        encoded = [key for key, choice in earlier.items() if choice.encoding]
        negative = [
            negative_share([part[key] for key in encoded if key in part]) for part in (halves.first, halves.second)
        ]
        split = Split(halves.messages, seen.messages - halves.messages, prices.later, prices.saved_later, *negative)
    drawn_from = f"the first {halves.messages} of " if half else ""
    about = (
        f"Drawn by kwire advise from {drawn_from}{seen.messages} messages of {seen.size} bytes, of which "
        f"it saves {prices.saved}."
    )
    return Advice(seen, fields, plan, overlay_document(catalog, plan, about), prices.saved, split)


# What traffic says about definitions as findings of rules, for `kwire lint --traffic`.

TRAFFIC_ADVICE: dict[str, str] = {
    "TRAFFIC_MOSTLY_DEFAULT": "A mandatory field is at its default in 90 % of its values or more, and as a "
    "tagged one it "
    "would "
    "have saved bytes.",
    "TRAFFIC_INT_WOULD_SHRINK": "An integer would have taken fewer bytes as a varint of KAFKA-9927.",
    "TRAFFIC_TAG_CHEAPER_AS_FIELD": "A tagged field is there so often that its tags and sizes cost more than the field "
    "would "
    "where it "
    "is left out.",
}
"""docs/advise.md has this list."""


def traffic_findings(catalog: Catalog, lines: Iterable[Captured]) -> list[Finding]:
    """Advice from the lines of captures: the files of the definitions with the places of the fields, and what would
    have been saved.
    """
    observed = Observed(catalog)
    for message in in_lines(lines):
        observed.add(message)
    fields = observed.seen().fields()
    said: dict[str, list[tuple[str, str, str]]] = {}
    for flag in taggable(fields):
        text = f"at its default in {100 * flag.defaults:.1f} % of {_some(flag.count, 'value')}"
        text += f"; as a tagged field it would have saved {_some(flag.saving, 'byte')}"
        said.setdefault(flag.message, []).append((flag.path, "TRAFFIC_MOSTLY_DEFAULT", text))
    for row in integers(fields):
        name, size = min(((name, row.under[name]) for name in ("packed", "upacked")), key=lambda each: each[1])
        if size < row.bytes:
            text = (
                f"{_some(row.count, 'value')}, {100 * row.negative:.1f} % negative: {_some(row.bytes, 'byte')}, "
                f"and {size} as {name}{row.type[3:]}"
            )
            said.setdefault(row.message, []).append((row.path.removesuffix("[]"), "TRAFFIC_INT_WOULD_SHRINK", text))
    for each in tagged(fields):
        text = f"there in {100 * each.present:.1f} % of {_some(each.count, 'structure')}"
        text += f"; without a tag it would have saved {_some(each.saving, 'byte')}"
        said.setdefault(each.message, []).append((each.path, "TRAFFIC_TAG_CHEAPER_AS_FIELD", text))
    findings = [finding for name in sorted(said) for finding in _placed(catalog.message(name), said[name])]
    return sorted(
        findings, key=lambda finding: (finding.file or "", finding.line or 0, finding.column or 0, finding.rule)
    )


def _some(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _placed(spec: MessageSpec, said: Sequence[tuple[str, str, str]]) -> Iterator[Finding]:
    """The findings of one definition, where it stands in its file if that can be read."""
    definition = _definition(spec)
    spots = dict(_spots(definition, definition.items, "")) if definition else {}
    for path, rule, text in said:
        if definition and path in spots:
            definition.report.add(rule, text, spots[path])
            yield definition.report.findings.pop()._replace(severity="advice")
        else:
            yield Finding(rule, "advice", text, spec.file, path=f"{spec.name}.{path}")


def _definition(spec: MessageSpec) -> Definition | None:
    if not spec.file:
        return None
    try:
        text = parse(read_text(spec.file), file=spec.file, comments=True, trailing=True)
    except KwireError:
        return None
    return read_definition(text.value, Report(spec.file, text))


def _spots(definition: Definition, items: Sequence[Item], above: str) -> Iterator[tuple[str, Spot]]:
    """The places of all fields by the paths that `spec.changing` gives them; those of a common struct stand where that
    is described.
    """
    common = {struct.spec.name: struct.items for struct in definition.structs}
    for item in items:
        path = above + item.spec.json_name
        yield path, item.spot
        inside = item.items or common.get(item.spec.struct_name or "", ())
        yield from _spots(definition, inside, f"{path}[]." if item.spec.is_array else f"{path}.")
