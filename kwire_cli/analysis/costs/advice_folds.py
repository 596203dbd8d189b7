"""The folds of advice: messages are seen first, and then priced under the plans that were drawn from what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.advice import Prices
from kwire_cli.analysis.costs.advice_plan import Predicted
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.source.request_log.exchange import LeftOut, Unwritten

if TYPE_CHECKING:
    from kwire_cli.analysis.costs.advice import Plans
    from kwire_cli.analysis.costs.advice_values import Message, Seen
    from kwire_cli.spec.catalog import Catalog


class NotWritten(NamedTuple):
    """A body of a request log that cannot be written as bytes, and its place."""

    place: str
    body: Unwritten


class Seeing:
    """Sees the messages with these names, by default all of them. `left_out` are bodies that cannot be written."""

    def __init__(self, catalog: Catalog, names: frozenset[str] | None = None) -> None:
        self._observed, self._names = Observed(catalog), names
        self._seen, self.left_out = self._observed.seen(), LeftOut()

    @property
    def seen(self) -> Seen:
        """Return what was seen so far."""
        return self._observed.seen() if "_observed" in self.__dict__ else self._seen

    def add(self, subject: Message | NotWritten) -> None:
        """See a message."""
        if isinstance(subject, NotWritten):
            self.left_out.add(*subject)
        elif self._names is None or subject.name in self._names:
            self._observed.add(subject)

    def merge(self, other: Seeing) -> None:
        """Add what others saw."""
        self.seen.merge(other.seen)
        self.left_out.merge(other.left_out)

    def __getstate__(self) -> dict[str, Any]:
        return {"_seen": self.seen, "left_out": self.left_out}


class Pricing:
    """Adds up the prices of the messages with these names under plans."""

    def __init__(self, catalog: Catalog, names: frozenset[str] | None, plans: Plans) -> None:
        self._whole, self._later = Predicted(catalog, plans.whole), Predicted(catalog, plans.earlier)
        self._names, self._rest = names, plans.rest
        self._prices = Prices()

    @property
    def prices(self) -> Prices:
        """Return the prices so far."""
        if "_whole" not in self.__dict__:
            return self._prices
        merged = self._prices
        return Prices(merged.saved + self._whole.saved, merged.saved_later + self._later.saved, merged.later)

    def add(self, subject: Message | NotWritten) -> None:
        """Price a message."""
        if isinstance(subject, NotWritten) or (self._names is not None and subject.name not in self._names):
            return
        self._whole.add(subject)
        if subject.at >= self._rest:
            self._later.add(subject)
            self._prices.later += subject.size

    def merge(self, other: Pricing) -> None:
        """Add the prices of other messages."""
        self._prices.merge(other.prices)

    def __getstate__(self) -> dict[str, Any]:
        return {"_prices": self.prices}
