"""The folds of advice: messages are seen first, and then priced under the plans that were drawn from what was seen.

A plan is an overlay, and its price is that of the messages written under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.costs.advice import Prices
from kwire_cli.analysis.costs.advice_plan import overlay_document, overlay_text
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.overlaid import Overlaid
from kwire_cli.source.request_log.exchange import LeftOut, Unwritten
from kwire_cli.spec.overlay import read_overlay

if TYPE_CHECKING:
    from kwire_cli.analysis.costs.advice import Plans
    from kwire_cli.analysis.costs.advice_plan import Plan
    from kwire_cli.analysis.costs.advice_values import Message, Seen
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


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


class _Laid:
    """Definitions under the overlay of a plan."""

    def __init__(self, catalog: Catalog, plan: Plan) -> None:
        self._catalog = catalog
        self._overlay = read_overlay(overlay_text(overlay_document(catalog, plan, "")))
        self._known: dict[str, MessageSpec] = {}

    def message(self, name: str) -> MessageSpec:
        """Return the definition of a message."""
        if name not in self._known:
            self._known[name] = self._overlay.laid(self._catalog.message(name))
        return self._known[name]


class Pricing:
    """Adds up the prices of the messages with these names under plans."""

    def __init__(self, catalog: Catalog, names: frozenset[str] | None, plans: Plans) -> None:
        self._whole = Overlaid(catalog, _Laid(catalog, plans.whole))
        self._later = Overlaid(catalog, _Laid(catalog, plans.earlier))
        self._names = names
        self._rest = plans.rest
        self._size_later = 0

    @property
    def prices(self) -> Prices:
        """Return the prices so far."""
        saved, saved_later = (overlaid.before - overlaid.after for overlaid in (self._whole, self._later))
        return Prices(saved, saved_later, self._size_later)

    def add(self, subject: Message | NotWritten) -> None:
        """Price a message."""
        if isinstance(subject, NotWritten) or (self._names is not None and subject.name not in self._names):
            return
        _write(self._whole, subject)
        if subject.at >= self._rest:
            _write(self._later, subject)
            self._size_later += subject.size


def _write(overlaid: Overlaid, message: Message) -> None:
    if message.regular:
        overlaid.spans(message.name, message.version, message.entry, message.spans)
