"""The price of a message's values in a form: they are written, and the bytes are read again, for the bytes by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kwire_cli.analysis.costs.carrying import Misfit, carried
from kwire_cli.analysis.costs.forms import Form, extreme, written_form
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError
from kwire_cli.facts.costs.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.engine.program import Leaf
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.ledger import Kinds, Row
    from kwire_cli.message.decoded import Decoded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a message's values in a form: the spans of the bytes.

    `refusal` says why nothing could be written. There are no spans then.
    """

    form: Form
    spans: Spans | None = None
    lost: tuple[Misfit, ...] = ()
    filled: tuple[Misfit, ...] = ()
    refusal: str | None = None

    @property
    def size(self) -> int | None:
        """Return the bytes; None where there are none."""
        return None if self.spans is None else self.spans.stop - self.spans.start

    @property
    def rows(self) -> list[Row]:
        """Return the bytes by field and kind of leaf; together they are the message."""
        prices = Ledger()
        if self.spans is not None:
            prices.add_spans(None, "", by_leaf, self.spans)
        return prices.rows()

    @property
    def overhead(self) -> int:
        """Return the bytes that are no field's value."""
        return sum(row.prefix_bytes for row in self.rows)


def by_leaf(leaf: Leaf) -> Kinds:
    """Return the kind of a leaf, for prefix and value alike."""
    return leaf.kind, leaf.kind


def price(form: Form, value: Any) -> Price:
    """Return the price of the values in a form. Values that cannot be written at all give a refusal.

    The values are in JSON form, records as base64 text.
    """
    fit = carried(form, value)
    try:
        data = written_form(form, extreme(form.layout, fit.value, form.case) if form.case else fit.value)
    except EncodeError as error:
        return Price(form, lost=fit.lost, filled=fit.filled, refusal=str(error))
    return Price(form, walk(form.entry, data), fit.lost, fit.filled)


def price_as_given(form: Form, decoded: Decoded) -> Price:
    """Return the price of a decoded message's bytes as they came.

    Another encoder may write the same values in fewer bytes.
    """
    return Price(form, decoded.raw)


MOST_KEPT, LARGEST_KEPT = 2048, 1024


class Once(Generic[T]):
    """Results for small messages, the last MOST_KEPT different ones: captures repeat them."""

    def __init__(self) -> None:
        self._known: dict[Any, T] = {}

    def get(self, key: Any, data: bytes, make: Callable[[], T]) -> T:
        """Return the result for a message with these bytes, which `make` gives the first time."""
        found = self._known.get((key, data))
        if found is None:
            found = make()
            if len(data) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key, data] = found
        return found
