"""Forms chosen, priced and compared, with headers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.forms import (
    BEST,
    WORST,
    Form,
    Price,
    by_leaf,
    integers_at,
    price as forms_price,
    price_as_given,
)
from kwire_cli.analysis.costs.overlaid import set_fields
from kwire_cli.errors import EncodeError, InputError, did_you_mean
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.message.encode import encode_spec, header_spec, header_version
from kwire_cli.message.roles import can_hold_secrets, has_secret, redacted_value
from kwire_cli.spec.model import MAX, Encoding, Versions, changed, fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH
from kwire_cli.structs.composites import UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.costs.forms import Filled, Loss
    from kwire_cli.facts.costs.ledger import Row
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.overlay import Overlay


# Which forms there are of a message: its other versions, inflexible and flexible, all fields tagged, other
# encodings of its integers, overlays.

GIVEN, INFLEXIBLE, FLEXIBLE, TAGGED = "as given", "inflexible", "flexible", "all fields tagged"


LOWEST, HIGHEST = "lowest version", "highest version"


@dataclass(frozen=True, slots=True)
class Choice:
    """The forms that are asked for. `versions` are numbers, or `ends` stands for the lowest and the highest one of each
    message.

    `fields` are paths, or their last parts, of the fields that get the encodings; none stands for every integer.
    `cases` adds best and worst.
    """

    versions: tuple[int, ...] = ()
    ends: bool = False
    both_ways: bool = False
    tagged: bool = False
    encodings: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    cases: bool = False
    overlays: tuple[tuple[str, Overlay], ...] = ()


def forms_of(spec: MessageSpec, version: int, choice: Choice) -> list[Form]:
    """The forms of a message that is given at a version: none for a version that it does not have; the same where there
    is nothing to change.
    """
    forms = [Form(f"version {other}", spec, other) for other in choice.versions if other in spec.valid_versions]
    if choice.ends:
        forms += [Form(LOWEST, spec, spec.valid_versions.low), Form(HIGHEST, spec, highest(spec))]
    if choice.both_ways:
        forms += [Form(INFLEXIBLE, spec, version, flexible=False), Form(FLEXIBLE, spec, version, flexible=True)]
    if choice.tagged:
        forms.append(Form(TAGGED, all_tagged(spec), version, flexible=True))
    for name in choice.encodings:
        forms.append(Form(name, encoded(spec, name, choice.fields), version))
    forms += [form for name, overlay in choice.overlays for form in _overlaid(spec, version, name, overlay)]
    return [variant for form in forms for variant in (form, *(_cases(form) if choice.cases else ()))]


def _cases(form: Form) -> Iterator[Form]:
    """Yield the best and the worst case of a form that has varints."""
    if integers_at(form.layout, BEST):
        yield from (replace(form, name=f"{form.name}, {case} case", case=case) for case in (BEST, WORST))


def _overlaid(spec: MessageSpec, version: int, name: str, overlay: Overlay) -> Iterator[Form]:
    """Yield the version under an overlay; where that adds versions to the message, those."""
    laid = overlay.laid(spec)
    added = [other for other in laid.valid_versions.each() if other not in spec.valid_versions]
    if not added:
        yield Form(f"overlay {name}", laid, version)
    yield from (Form(f"overlay {name}, version {other}", laid, other) for other in added)


def highest(spec: MessageSpec) -> int:
    """Return the highest version that is not still being changed."""
    return max(spec.valid_versions.high - spec.latest_version_unstable, spec.valid_versions.low)


def all_tagged(spec: MessageSpec) -> MessageSpec:
    """The definition with every field tagged in all its versions: its number is its place in its struct (an alternative
    that KIP-482 rejects).
    """

    def numbered(fields: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        return tuple(
            replace(field, tag=number, tagged_versions=Versions(0, MAX), fields=numbered(field.fields))
            for number, field in enumerate(fields)
        )

    plain = changed(spec, lambda _, field: field)  # common structs written out
    return replace(plain, fields=numbered(plain.fields))


def encoded(spec: MessageSpec, encoding: str, paths: Sequence[str] = ()) -> MessageSpec:
    """The definition with integers, those in arrays too, under an encoding: packed32, or packed at each one's own
    width.

    `paths` are those of the fields, or their last parts; none stands for all of them. Where none is a field of the
    message, it is the same object.
    """
    chosen = {path for path, field in integers(spec) if not paths or any(_meant(path, name) for name in paths)}

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in chosen:
            return field
        name = encoding + field.element_type.removeprefix("int") if encoding in OWN_WIDTH else encoding
        rows = (Encoding(field.versions, name),)
        return replace(field, element_encoding=rows) if field.is_array else replace(field, encoding=rows)

    return changed(spec, change) if chosen else spec


def integers(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Return the fields that can have an encoding, and the arrays whose elements can, with their paths."""
    return ((path, field) for path, field in fields_by_path(spec) if field.element_type in ENCODABLE_TYPES)


def check_fields(specs: Sequence[MessageSpec], paths: Sequence[str]) -> None:
    """Raise InputError for a path that is not an integer field of any of the messages."""
    integer_paths = [path for spec in specs for path, _ in integers(spec)]
    for name in paths:
        if not any(_meant(path, name) for path in integer_paths):
            close = get_close_matches(name, integer_paths, n=3, cutoff=0.4)
            raise InputError(
                f"{name!a} is not an integer field of {' or '.join(spec.name for spec in specs[:3])}"
                f"{did_you_mean(close)}"
            )


def concerns(overlay: Overlay, spec: MessageSpec) -> bool:
    """Return whether an overlay changes a message."""
    return spec.name in overlay.messages or "*" in overlay.messages


def _meant(path: str, name: str) -> bool:
    name = name.removesuffix("[]")
    return path == name or path.endswith((f".{name}", f"[].{name}"))


# The prices of many messages added up by form, beside what the same messages cost as they were given.

KINDS = {
    "string": "strings",
    "bytes": "byte buffers",
    "records": "records",
    "count": "arrays",
    "presence": "nullable structs",
    "tag-count": "tag sections",
    "tag-header": "tag headers",
    "unknown-tag": "unknown tags",
}
"""Carriers of bytes that are no value, by the kind of their spans; all other spans hold values only."""


WITHOUT_VALUE = frozenset({"count", "presence", "tag-count", "tag-header"})
VALUES = "values"


@dataclass(slots=True)
class Sum:
    """Messages in one form. `given` are the bytes that the very messages that could be written have as they were given.

    `form` is None if the messages are of several definitions or versions.

    `cut` of them lost some of their values; `refused` counts by reason those that could not be written. `ledger` are
    the bytes of all of them by kind of leaf. `integers` are by encoding what all of them are in a best or worst case.
    """

    name: str
    form: Form | None = None
    messages: int = 0
    size: int = 0
    given: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: dict[str, Loss] = field(default_factory=dict)
    filled: dict[str, Filled] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    integers: dict[str, int] = field(default_factory=dict)

    @property
    def version(self) -> int | None:
        """Return the version of the form."""
        return None if self.form is None else self.form.version

    @property
    def flexible(self) -> bool | None:
        """Return whether the form is flexible."""
        return None if self.form is None else self.form.is_flexible

    @property
    def when_set(self) -> Iterator[tuple[str, int]]:
        """Yield the path of each tagged field, and the bytes that setting the field to its smallest value adds.

        There are none in a form that tags fields itself, nor in a best or worst case.
        """
        if self.form and self.messages and self.name != TAGGED and not self.form.case:
            yield from ((field.path, field.size) for field in set_fields(self.form) if field.size is not None)

    @property
    def difference(self) -> int:
        """Return how many bytes more there are than as given, below 0 if there are fewer."""
        return self.size - self.given

    @property
    def overhead(self) -> int:
        """Return the bytes that are no field's value."""
        return sum(row.prefix_bytes for row in self.ledger.rows())

    def add(self, price: Price, given: int) -> None:
        """Add a message, which had so many bytes as it was given."""
        if price.spans is None:
            self.refused[price.refusal or ""] += 1
            return
        self.messages += 1
        self.size += price.size or 0
        self.given += given
        self.cut += bool(price.lost)
        self.integers |= price.form.integers
        self.ledger.add_spans(None, "", by_leaf, price.spans)
        self._add_changes(price.lost, price.filled)

    def merge(self, other: Sum, message: str) -> None:
        """Add all messages of another sum, which are of another kind: paths of what was lost begin with the message's
        name.
        """
        self.messages += other.messages
        self.size += other.size
        self.given += other.given
        self.cut += other.cut
        self.refused += other.refused
        self.integers |= other.integers
        self.ledger.merge(other.ledger)
        lost = [loss._replace(path=f"{message}.{loss.path}") for loss in other.lost.values()]
        self._add_changes(lost, [fill._replace(path=f"{message}.{fill.path}") for fill in other.filled.values()])

    def _add_changes(self, lost: Iterable[Loss], filled: Iterable[Filled]) -> None:
        for loss in lost:
            previous = self.lost.get(loss.path)
            self.lost[loss.path] = previous._replace(number=previous.number + loss.number) if previous else loss
        for fill in filled:
            had = self.filled.get(fill.path)
            self.filled[fill.path] = had._replace(number=had.number + fill.number) if had else fill

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return the number of each thing in KINDS with its overhead bytes, and last the values with their bytes.

        The number of the values is the number of fields that have a value.
        """
        totals = dict.fromkeys((*KINDS.values(), VALUES), (0, 0))
        for row, kind in self._rows():
            if kind in KINDS:
                number, size = totals[KINDS[kind]]
                totals[KINDS[kind]] = number + row.count, size + row.prefix_bytes
            if kind not in WITHOUT_VALUE:
                totals[VALUES] = (totals[VALUES][0] + row.count, totals[VALUES][1] + row.value_bytes)
        return {name: numbers for name, numbers in totals.items() if any(numbers)}

    @property
    def by_path(self) -> dict[str, tuple[int, int, int]]:
        """By field: how often it is there, bytes that are no value, and bytes of its values."""
        totals: dict[str, tuple[int, int, int]] = {}
        for row, kind in self._rows():
            number, prefix, value = totals.get(row.path, (0, 0, 0))
            number += 0 if kind == "tag-header" else row.count
            totals[row.path] = number, prefix + row.prefix_bytes, value + row.value_bytes
        return totals

    def _rows(self) -> Iterator[tuple[Row, str]]:
        return ((row, row.kinds[0]) for row in self.ledger.rows() if row.kinds)


@dataclass(slots=True)
class Comparison:
    """The messages of one name and version, or of all, in each form by its name; first as they were given."""

    message: str | None
    version: int | None
    sums: dict[str, Sum] = field(default_factory=dict)

    def add(self, given: Price, prices: Iterable[Price]) -> None:
        """Add a message: its price as given, and those in other forms."""
        size = given.size or 0
        for price in (given, *prices):
            self._sum(price.form.name, price.form).add(price, size)

    def _sum(self, name: str, form: Form | None = None) -> Sum:
        form_sum = self.sums.get(name)
        if form_sum is None:
            form_sum = self.sums[name] = Sum(name, form)
        return form_sum

    @property
    def given(self) -> Sum:
        """Return the messages as they were given."""
        return next(iter(self.sums.values()))

    @classmethod
    def of_all(cls, comparisons: Iterable[Comparison]) -> Comparison:
        """Add up comparisons of several kinds of messages: what a form has none of is missing from its count."""
        total = cls(None, None)
        for comparison in comparisons:
            for form_sum in comparison.sums.values():
                total._sum(form_sum.name).merge(form_sum, comparison.message or "")
        return total


def difference_by_kind(a: Sum, b: Sum) -> list[tuple[str, int, int, int]]:
    """Return the differences of two forms of the same messages, as rows of kind, number and bytes in each form.

    The bytes of each form add up to its size.
    """
    first, second = a.by_kind, b.by_kind
    rows = []
    for name in (*KINDS.values(), VALUES):
        many, size = first.get(name, (0, 0))
        other_many, other_size = second.get(name, (0, 0))
        if many or other_many:
            rows.append((name, max(many, other_many), size, other_size))
    return rows


# Messages as they come, each priced in the forms that were chosen; equal ones are priced once.

KEPT, SMALL = 512, 1024
"""Messages whose prices are kept, and their bytes at most: captures say the same small things again and again."""


class Comparing:
    """Comparisons by message and version, in the order of their first messages. `specs` are the definitions that were
    met.

    With `hides` values that a form can't carry are not told of messages that hold secrets.
    """

    def __init__(self, choice: Choice, *, hides: bool = False) -> None:
        self.choice, self.hides = choice, hides
        self.found: dict[tuple[str, int], Comparison] = {}
        self.specs: dict[str, MessageSpec] = {}
        self._forms: dict[tuple[str, int], tuple[Form, list[Form]]] = {}
        self._priced: dict[tuple[str, int, bytes], tuple[Price, list[Price]]] = {}

    def add(self, decoded: Decoded) -> None:
        """Add a message whose bytes were decoded whole by the layout of their own version."""
        data = bytes(decoded.data[decoded.start : decoded.stop])
        key = decoded.message, decoded.version, data
        priced = self._priced.get(key)
        if priced is None:
            form, forms = self._forms_of(decoded.spec, decoded.version)
            priced = price_as_given(form, decoded), self._prices(decoded.spec, forms, decoded.value)
            if len(data) <= SMALL:
                if len(self._priced) >= KEPT:
                    self._priced.clear()
                self._priced[key] = priced
        self._comparison(decoded.message, decoded.version).add(*priced)

    def add_values(self, spec: MessageSpec, version: int, value: Any) -> None:
        """One more message, given as values: as given is how they are written at this version. EncodeError where they
        can't be.
        """
        form, forms = self._forms_of(spec, version)
        [as_given] = self._prices(spec, [form], value)
        if as_given.refusal:
            raise EncodeError(as_given.refusal)
        self._comparison(spec.name, version).add(as_given, self._prices(spec, forms, value))

    def _prices(self, spec: MessageSpec, forms: list[Form], value: Any) -> list[Price]:
        """Return what the forms cost, without secrets in the values that they can't carry."""
        prices = [forms_price(form, value) for form in forms]
        if not self.hides or not can_hold_secrets(spec.name, raw_records=True):
            return prices
        return [replace(price, lost=tuple(_without_secret(spec, loss) for loss in price.lost)) for price in prices]

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return sum(comparison.given.messages for comparison in self.found.values())

    def _comparison(self, message: str, version: int) -> Comparison:
        return self.found.setdefault((message, version), Comparison(message, version))

    def _forms_of(self, spec: MessageSpec, version: int) -> tuple[Form, list[Form]]:
        key = spec.name, version
        if key not in self._forms:
            self.specs[spec.name] = spec
            self._forms[key] = Form(GIVEN, spec, version), forms_of(spec, version, self.choice)
        return self._forms[key]


def _without_secret(spec: MessageSpec, loss: Loss) -> Loss:
    """The same, without its value where that is a secret or has one in it; nobody knows what is in unknown tags."""
    secret = has_secret(spec, loss.path) or loss.path.endswith(UNKNOWN_KEY)
    return loss._replace(value=redacted_value(spec, loss.path, loss.value)) if secret else loss


# What flexible versions cost beside the body: the tag section of their headers.

PLAIN = {"request": 1, "response": 0}


FLEXIBLE_HEADERS = {"request": 2, "response": 1}
"""The versions of headers; which one a response to ApiVersions has, the catalogue knows."""
_VALUE = {"requestApiKey": 0, "requestApiVersion": 0, "correlationId": 0, "clientId": None}


def header_difference(catalog: Catalog, spec: MessageSpec) -> int:
    """The bytes that the header of a flexible version of a message has more than that of an inflexible one; 0 of what
    has no header.
    """
    if spec.type not in PLAIN or spec.api_key is None:
        return 0
    flexible = spec.flexible_versions & spec.valid_versions
    version = (
        header_version(catalog, spec.type, spec.api_key, flexible.low) if flexible else FLEXIBLE_HEADERS[spec.type]
    )
    return _size(catalog, spec.type, version) - _size(catalog, spec.type, PLAIN[spec.type])


def _size(catalog: Catalog, kind: str, version: int) -> int:
    header = header_spec(catalog, kind)
    names = {field.json_name for field in header.fields if version in field.versions}
    return len(encode_spec(header, {name: value for name, value in _VALUE.items() if name in names}, version))
