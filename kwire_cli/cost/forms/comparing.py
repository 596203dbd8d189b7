"""Messages as they come, each priced in the forms that were chosen; equal ones are priced once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.forms.choices import GIVEN, Choice, forms_of
from kwire_cli.cost.forms.model import Form, Price
from kwire_cli.cost.forms.pricing import price, price_as_given
from kwire_cli.cost.forms.sums import Comparison
from kwire_cli.errors import EncodeError
from kwire_cli.message.secrets import can_hold_secrets, has_secret, redacted_value
from kwire_cli.structs.tags import UNKNOWN_KEY

if TYPE_CHECKING:
    from kwire_cli.cost.forms.model import Loss
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import MessageSpec

KEPT, SMALL = 512, 1024
"""Messages whose prices are kept, and their bytes at most: captures say the same small things again and again."""


class Comparing:
    """Comparisons by message and version, in the order of their first messages. `specs` are the definitions that were met.

    With `hides` values that a form can't carry are not told of messages that hold secrets.
    """

    def __init__(self, choice: Choice, *, hides: bool = False) -> None:
        self.choice, self.hides = choice, hides
        self.found: dict[tuple[str, int], Comparison] = {}
        self.specs: dict[str, MessageSpec] = {}
        self._forms: dict[tuple[str, int], tuple[Form, list[Form]]] = {}
        self._priced: dict[tuple[str, int, bytes], tuple[Price, list[Price]]] = {}

    def add(self, decoded: Decoded) -> None:
        """One more message, whose bytes were decoded whole by the layout of their own version."""
        data = bytes(decoded.data[decoded.start : decoded.stop])
        key = decoded.message, decoded.version, data
        priced = self._priced.get(key)
        if priced is None:
            given, forms = self._forms_of(decoded.spec, decoded.version)
            priced = price_as_given(given, decoded), self._prices(decoded.spec, forms, decoded.value)
            if len(data) <= SMALL:
                if len(self._priced) >= KEPT:
                    self._priced.clear()
                self._priced[key] = priced
        self._comparison(decoded.message, decoded.version).add(*priced)

    def add_values(self, spec: MessageSpec, version: int, value: Any) -> None:
        """One more message, given as values: as given is how they are written at this version. EncodeError where they can't be."""
        given, forms = self._forms_of(spec, version)
        [as_given] = self._prices(spec, [given], value)
        if as_given.refusal:
            raise EncodeError(as_given.refusal)
        self._comparison(spec.name, version).add(as_given, self._prices(spec, forms, value))

    def _prices(self, spec: MessageSpec, forms: list[Form], value: Any) -> list[Price]:
        """Return what the forms cost, without secrets in the values that they can't carry."""
        prices = [price(form, value) for form in forms]
        if not self.hides or not can_hold_secrets(spec.name, raw_records=True):
            return prices
        return [replace(each, lost=tuple(_without_secret(spec, loss) for loss in each.lost)) for each in prices]

    @property
    def messages(self) -> int:
        """How many there were."""
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
