"""The comparison of messages: the bytes of the same values in other forms, as an Answer."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.changed_definitions import check_fields
from kwire_cli.analysis.costs.comparison_answer import comparison_answer
from kwire_cli.analysis.costs.forms import USUAL, Choice, concerns, forms_of
from kwire_cli.analysis.costs.inputs import body_of
from kwire_cli.analysis.costs.prices import Prices, flexible_headers, skip_reason
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from kwire_cli.answer import Answer
    from kwire_cli.spec.catalog import Catalog


class MessageForms:
    """Messages in the chosen forms. Without a choice, these are the most informative forms.

    `skipped` counts the messages that cannot be written in other forms, by reason.
    """

    def __init__(self, catalog: Catalog, choice: Choice, *, by_field: bool = False) -> None:
        self.skipped: Counter[str] = Counter()
        self._catalog = catalog
        self._choice = choice
        self._by_field = by_field
        chosen = choice if choice.versions or choice.names or choice.overlays else USUAL
        self._prices = Prices(partial(forms_of, choice=chosen))

    def add(self, subject: Any) -> None:
        """Price the message of a subject."""
        body = body_of(subject)
        if (reason := skip_reason(body)) or not body:
            self.skipped[reason] += 1
        else:
            self._prices.add(body)

    @property
    def emptiness(self) -> str:
        """The reason why there is no answer, or an empty string."""
        if self._prices.found:
            return ""
        unpriced = ", ".join(f"{number} {reason}" for reason, number in self.skipped.items())
        return (
            f"there is no message to price{f' ({unpriced})' if unpriced else ''}; --api or --message, and "
            "--message-version, say what the bytes are"
        )

    def answer(self) -> Answer:
        """Return the cost and the losses of each form.

        Raises InputError if no message has a chosen field or version, or if an overlay changes no message.
        """
        choice = self._choice
        specs = list(dict.fromkeys(spec for spec, _ in self._prices.forms))
        check_fields(specs, choice.fields)
        if choice.versions and not any(version in spec.valid_versions for spec in specs for version in choice.versions):
            names = " and ".join(f"{spec.name} has versions {spec.valid_versions}" for spec in specs[:3])
            raise InputError(f"no message has one of the chosen versions; {names}")
        for name, overlay in choice.overlays:
            if not any(concerns(overlay, spec) for spec in specs):
                changed = ", ".join(overlay.messages)
                raise InputError(f"the overlay {name} does not change {specs[0].name}, but {changed}")
        several = [*self._prices.found.values()]
        return comparison_answer(
            several,
            by_field=self._by_field,
            flexible_headers=flexible_headers(self._catalog, several),
            skipped=self.skipped,
        )
