"""The folds of advice: messages are seen first, and then priced under the plans that were drawn from what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
        self._observed = Observed(catalog)
        self._names = names
        self.left_out = LeftOut()

    @property
    def seen(self) -> Seen:
        """Return what was seen so far."""
        return self._observed.seen()

    def add(self, subject: Message | NotWritten) -> None:
        """See a message."""
        if isinstance(subject, NotWritten):
            self.left_out.add(*subject)
        elif self._names is None or subject.name in self._names:
            self._observed.add(subject)


class Pricing:
    """Adds up the prices of the messages with these names under plans."""

    def __init__(self, catalog: Catalog, names: frozenset[str] | None, plans: Plans) -> None:
        self._whole = Predicted(catalog, plans.whole)
        self._later = Predicted(catalog, plans.earlier)
        self._names = names
        self._rest = plans.rest
        self._size_later = 0

    @property
    def prices(self) -> Prices:
        """Return the prices so far."""
        return Prices(self._whole.saved, self._later.saved, self._size_later)

    def add(self, subject: Message | NotWritten) -> None:
        """Price a message."""
        if isinstance(subject, NotWritten) or (self._names is not None and subject.name not in self._names):
            return
        self._whole.add(subject)
        if subject.at >= self._rest:
            self._later.add(subject)
            self._size_later += subject.size
