"""The price of a message's values in a form: the values are written, and the bytes are read again.

`price` converts values to a form, writes them, and reads the bytes to count them by field. `Prices` does so for many
messages: each is written in the forms of its definition and version, and equal messages are written once. A `Total` is
the sum of messages in one form.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.carrying import carried, count_misfits
from kwire_cli.analysis.costs.forms import FLEXIBLE, GIVEN, Form, written_form
from kwire_cli.errors import EncodeError
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.message.encode import header_spec
from kwire_cli.message.roles import can_hold_secrets, has_secret, redacted_value
from kwire_cli.structs.composites import UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cli.analysis.costs.carrying import Misfit
    from kwire_cli.engine.program import Leaf
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.ledger import Kinds
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

TAG_HEADER = "tag-header"
MOST_KEPT = 2048
"""Maximum number of different messages whose prices are kept."""
LARGEST_KEPT = 1024
"""Maximum size of a message whose prices are kept, in bytes."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a message's values in a form: the spans of the bytes.

    If the values could not be written, `refusal` is the reason and `spans` is None. `more` is the number of bytes that
    the tag sections of the form take in addition to the spans.
    """

    form: Form
    spans: Spans | None = None
    lost: tuple[Misfit, ...] = ()
    refusal: str | None = None
    more: int = 0

    @property
    def size(self) -> int | None:
        """Return the number of bytes, or None if the values could not be written."""
        return None if self.spans is None else self.spans.stop - self.spans.start + self.more

    def add_to(self, ledger: Ledger, times: int = 1) -> None:
        """Add the bytes of a message that occurs `times` times."""
        if self.spans is not None:
            ledger.add_spans(None, "", by_leaf, self.spans, times)
        if self.more:
            ledger.add(None, "_tags", ("tag-count", "tag-count"), times * self.more, 0, 0)


def by_leaf(leaf: Leaf) -> Kinds:
    """Return the kind of a leaf, for prefix and value alike."""
    return leaf.kind, leaf.kind


def price(form: Form, value: Any) -> Price:
    """Return the price of the values in a form, which is a refusal if they cannot be written.

    The values are in JSON form, records as base64 text. Secrets among the lost values are redacted.
    """
    fit = carried(form, value)
    lost = tuple(_without_secret(form.source or form.spec, loss) for loss in fit.lost)
    try:
        data = written_form(form, fit.value)
    except EncodeError as error:
        return Price(form, lost=lost, refusal=str(error))
    spans = form.read(data)
    return Price(form, spans, lost, more=len(data) - len(spans.data))


def _without_secret(spec: MessageSpec, loss: Misfit) -> Misfit:
    """Redact a value that is or contains a secret, and the contents of unknown tags."""
    if not can_hold_secrets(spec.name, raw_records=True):
        return loss
    secret = has_secret(spec, loss.path) or loss.path.endswith(UNKNOWN_KEY)
    return loss._replace(value=redacted_value(spec, loss.path, loss.value)) if secret else loss


def skip_reason(decoded: Decoded | None) -> str:
    """Return the reason why a message cannot be written in other forms, or an empty string."""
    if not decoded:
        return "not known as a request or response"
    if not decoded.exact:
        return "not decoded completely by their own version"
    lossy = any(anomaly.code == "INVALID_UTF8" for anomaly in decoded.anomalies)
    return "with text that is not UTF-8" if lossy else ""


@dataclass(slots=True)
class Total:
    """The sum of messages in one form. `given` is the original size of the messages that could be written.

    `form` is None if the messages have several definitions or versions. `cut` is the number of messages that lost
    values. `refused` counts, by reason, the messages that could not be written. `ledger` contains the bytes of all
    messages by kind of leaf.
    """

    name: str
    form: Form | None = None
    messages: int = 0
    size: int = 0
    given: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: dict[str, Misfit] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def message(self) -> str | None:
        """Return the name of the message in the form."""
        return self.form.spec.name if self.form else None

    @property
    def version(self) -> int | None:
        """Return the version of the form."""
        return self.form.version if self.form else None

    @property
    def tried(self) -> int:
        """Return the number of messages, including messages that could not be written."""
        return self.messages + self.refused.total()

    @property
    def lost_values(self) -> int:
        """Return the number of values that the form has no field for."""
        return sum(loss.number for loss in self.lost.values())

    @property
    def difference(self) -> int:
        """Return the number of additional bytes, negative if the form saves bytes."""
        return self.size - self.given

    @property
    def by_path(self) -> dict[str, tuple[int, int, int]]:
        """Return the number of values, the bytes outside the values, and the bytes of the values, by field."""
        totals: dict[str, tuple[int, int, int]] = {}
        for row in self.ledger.rows():
            number, prefix, value = totals.get(row.path, (0, 0, 0))
            number += 0 if row.kinds and row.kinds[0] == TAG_HEADER else row.count
            totals[row.path] = number, prefix + row.prefix_bytes, value + row.value_bytes
        return totals

    def add(self, price: Price, given: Price, times: int = 1) -> None:
        """Add a message that occurs `times` times. It is refused if it cannot be written in the original form."""
        if refusal := given.refusal or price.refusal:
            self.refused[refusal] += times
            return
        self.messages += times
        self.size += times * (price.size or 0)
        self.given += times * (given.size or 0)
        self.cut += times * bool(price.lost)
        price.add_to(self.ledger, times)
        count_misfits(self.lost, price.lost)

    def merge(self, other: Total) -> None:
        """Add the messages of another kind. Paths of lost values begin with the name of the message."""
        self.messages += other.messages
        self.size += other.size
        self.given += other.given
        self.cut += other.cut
        self.refused += other.refused
        self.ledger.merge(other.ledger)
        lost = (one._replace(path=f"{other.message}.{one.path}") for one in other.lost.values())
        count_misfits(self.lost, lost)


if TYPE_CHECKING:
    Totals = dict[str, Total]
    """Messages in each form, by the name of the form. The other forms are compared with the first one."""


def add_prices(totals: Totals, prices: Sequence[Price], times: int = 1) -> None:
    """Add a message by its price in each form."""
    for one in prices:
        if one.form.name not in totals:
            totals[one.form.name] = Total(one.form.name, one.form)
        totals[one.form.name].add(one, prices[0], times)


def merged(several: Iterable[Totals]) -> Totals:
    """Add up the messages of several kinds. A form counts the messages that it has been tried on."""
    whole: Totals = {}
    for totals in several:
        for name, total in totals.items():
            whole.setdefault(name, Total(name)).merge(total)
    return whole


def given_total(totals: Totals) -> Total:
    """Return the messages in the first form."""
    return next(iter(totals.values()))


class Prices:
    """Messages in the forms that `forms_of` returns for their definition and version.

    A form named GIVEN is the original bytes. Small messages are written once, since captures repeat them. `found` has
    the totals of each message, by its name and the versions of its forms.
    """

    def __init__(self, forms_of: Callable[[MessageSpec, int], Sequence[Form]]) -> None:
        self.found: dict[tuple[str, tuple[int, ...]], Totals] = {}
        self.forms: dict[tuple[MessageSpec, int], tuple[Form, ...]] = {}
        self._forms_of = forms_of
        self._known: dict[tuple[MessageSpec, int, bytes], list[Price]] = {}

    def forms_at(self, spec: MessageSpec, version: int) -> tuple[Form, ...]:
        """Return the forms of a message."""
        if (spec, version) not in self.forms:
            self.forms[spec, version] = tuple(self._forms_of(spec, version))
        return self.forms[spec, version]

    def prices(self, decoded: Decoded, version: int | None = None) -> list[Price]:
        """Return the price of a message in each form of its own version, or of another version."""
        data = bytes(decoded.data[decoded.start : decoded.stop])
        key = decoded.spec, decoded.version if version is None else version, data
        found = self._known.get(key)
        if found is None:
            found = [
                Price(form, decoded.raw) if form.name == GIVEN else price(form, decoded.value)
                for form in self.forms_at(*key[:2])
            ]
            if len(data) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key] = found
        return found

    def add(self, decoded: Decoded, times: int = 1) -> bool:
        """Add a message that was decoded completely by the layout of its version. Return False if it has no forms."""
        forms = self.forms_at(decoded.spec, decoded.version)
        if forms:
            key = forms[0].spec.name, tuple(form.version for form in forms)
            add_prices(self.found.setdefault(key, {}), self.prices(decoded), times)
        return bool(forms)


def flexible_headers(catalog: Catalog, several: Iterable[Totals]) -> int:
    """Return the number of bytes that flexible versions add to the headers of messages.

    Return 0 if the messages are not written in a flexible form.
    """
    total = 0
    for totals in several:
        first = given_total(totals)
        if FLEXIBLE in totals and first.form:
            total += first.messages * header_difference(catalog, first.form.spec)
    return total


def header_difference(catalog: Catalog, spec: MessageSpec) -> int:
    """Return the number of bytes that a flexible version adds to the header of a message; 0 without a header."""
    if spec.type not in {"request", "response"} or spec.api_key is None:
        return 0
    plain = int(spec.type == "request")
    flexible = spec.flexible_versions & spec.valid_versions
    version = catalog.header_version(spec.type, spec.api_key, flexible.low) if flexible else plain + 1
    header = header_spec(catalog, spec.type)
    sizes = [price(Form("header", header, number), {}).size or 0 for number in (plain, version)]
    return sizes[1] - sizes[0]
