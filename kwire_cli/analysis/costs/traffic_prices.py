"""Messages of real traffic priced before and after a change of their definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.definition_costs import given_cost
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import Once
from kwire_cli.spec.evolution.layout import layout_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.analysis.costs.definition_costs import Cost
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import MessageSpec


@dataclass(slots=True)
class PricedMessages:
    """The bytes of messages of one kind in two forms, without headers.

    `refused` messages cannot be written in one of the forms, and have no bytes here. `lost` counts the values that
    the new form has no place for.
    """

    old: Form
    new: Form
    messages: int = 0
    old_size: int = 0
    new_size: int = 0
    lost: int = 0
    refused: int = 0

    @property
    def difference(self) -> int:
        """Return the number of additional bytes."""
        return self.new_size - self.old_size

    @property
    def share(self) -> float | None:
        """Return the share of the difference in the old bytes."""
        return self.difference / self.old_size if self.old_size else None

    def add(self, cost: Cost) -> None:
        """Count a message."""
        self.messages += 1
        if cost.old.size is None or cost.new.size is None:
            self.refused += 1
            return
        self.old_size += cost.old.size
        self.new_size += cost.new.size
        self.lost += sum(loss.number for loss in cost.new.lost)


def compared_versions(old: MessageSpec, new: MessageSpec, version: int) -> tuple[int, int] | None:
    """Return the versions of two definitions in which a message of a version is priced: its own if the layout of that
    version changed, else the highest ones if these differ. None if the change does not concern the message.
    """
    before, after = old.valid_versions, new.valid_versions
    known = version in before and version in after
    if known and layout_at(old, version).wire != layout_at(new, version).wire:
        return version, version
    return (before.high, after.high) if before and after and (before.high != after.high or not known) else None


class Change:
    """A changed message, and its traffic in the forms of before and after.

    A message of a version whose layout changed is priced at this version in both. Any other message is priced at the
    highest versions of both definitions, which programs speak that know them, if these differ. `versions` are two
    versions of one definition to compare instead.
    """

    def __init__(
        self,
        old: MessageSpec,
        new: MessageSpec,
        renamed: Mapping[str, str] | None = None,
        versions: tuple[int, int] | None = None,
    ) -> None:
        self._old, self._new, self._renamed, self._fixed = old, new, renamed, versions
        self._traffic: dict[tuple[int, int], PricedMessages] = {}
        self._versions: dict[int, tuple[int, int] | None] = {}
        self._costs: Once[Cost] = Once()

    @property
    def traffic(self) -> list[PricedMessages]:
        """Return the traffic by the versions in which it is compared, in their order."""
        return [self._traffic[versions] for versions in sorted(self._traffic)]

    def add(self, decoded: Decoded) -> bool:
        """Add a message that was decoded whole. Return False if the change does not concern its version."""
        if decoded.version not in self._versions:
            self._versions[decoded.version] = self._fixed or compared_versions(self._old, self._new, decoded.version)
        versions = self._versions[decoded.version]
        if versions is None:
            return False
        if versions not in self._traffic:
            old, new = versions
            self._traffic[versions] = PricedMessages(Form("before", self._old, old), Form("after", self._new, new))
        self._traffic[versions].add(self._cost(versions, decoded))
        return True

    def _cost(self, versions: tuple[int, int], decoded: Decoded) -> Cost:
        """Return the cost of a message. Equal messages are priced once."""
        data = bytes(decoded.data[decoded.start : decoded.stop])
        forms = self._traffic[versions]
        return self._costs.get(versions, data, lambda: given_cost(forms.old, forms.new, decoded.value, self._renamed))


def price_traffic(changes: Mapping[str, Change], messages: Iterable[Decoded]) -> int:
    """Add messages to the changes of their definitions, by name. Return how many no change concerns."""
    return sum(not (change := changes.get(decoded.message)) or not change.add(decoded) for decoded in messages)
