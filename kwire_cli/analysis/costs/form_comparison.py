"""The prices of many messages by form, added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.carrying import count_misfits
from kwire_cli.analysis.costs.definition_costs import set_fields
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import Once, Price, by_leaf, price as forms_price, price_as_given
from kwire_cli.analysis.costs.registry import GIVEN, TAGGED, forms_of
from kwire_cli.errors import EncodeError
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.message.encode import encode_spec, header_spec, header_version
from kwire_cli.message.roles import can_hold_secrets, has_secret, redacted_value
from kwire_cli.structs.composites import UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.analysis.costs.carrying import Misfit
    from kwire_cli.analysis.costs.registry import Choice
    from kwire_cli.facts.costs.ledger import Row
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


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
    lost: dict[str, Misfit] = field(default_factory=dict)
    filled: dict[str, Misfit] = field(default_factory=dict)
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
        count_misfits(self.lost, price.lost)
        count_misfits(self.filled, price.filled)

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
        for own, others in ((self.lost, other.lost), (self.filled, other.filled)):
            count_misfits(own, (one._replace(path=f"{message}.{one.path}") for one in others.values()))

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


class Comparing:
    """Comparisons by message and version, in the order of their first messages. `specs` are their definitions."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.found: dict[tuple[str, int], Comparison] = {}
        self.specs: dict[str, MessageSpec] = {}
        self._forms: dict[tuple[str, int], tuple[Form, list[Form]]] = {}
        self._priced: Once[tuple[Price, list[Price]]] = Once()

    def add(self, decoded: Decoded) -> None:
        """Add a message whose bytes were decoded whole by the layout of their own version."""
        data = bytes(decoded.data[decoded.start : decoded.stop])

        def priced() -> tuple[Price, list[Price]]:
            form, forms = self._forms_of(decoded.spec, decoded.version)
            return price_as_given(form, decoded), self._prices(decoded.spec, forms, decoded.value)

        prices = self._priced.get((decoded.message, decoded.version), data, priced)
        self._comparison(decoded.message, decoded.version).add(*prices)

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
        if not can_hold_secrets(spec.name, raw_records=True):
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


def _without_secret(spec: MessageSpec, loss: Misfit) -> Misfit:
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
