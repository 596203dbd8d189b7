"""Advice drawn from what was seen of messages, and priced on all of them: in one process, or in parts that are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.cost.advice.plan import choose, overlay_document
from kwire_cli.cost.advice.predicted import Predicted
from kwire_cli.cost.advice.report import Advice, Split, negative_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.cost.advice.plan import Plan
    from kwire_cli.cost.advice.seen import Seen
    from kwire_cli.spec.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Plans:
    """What is to be priced: a plan on all messages, and the one of the first half on those from the place `rest` on."""

    whole: Plan
    earlier: Plan
    rest: int


@dataclass(slots=True)
class Prices:
    """Bytes that the messages lose under the plan, and those of the other half under the plan of the first; and how many bytes these have."""

    saved: int = 0
    saved_later: int = 0
    later: int = 0

    def merge(self, other: Prices) -> None:
        """Add those of other messages."""
        self.saved += other.saved
        self.saved_later += other.saved_later
        self.later += other.later


def priced(catalog: Catalog, plans: Plans, messages: Iterable[Message]) -> Prices:
    """The prices of messages."""
    whole, later = Predicted(catalog, plans.whole), Predicted(catalog, plans.earlier)
    size = 0
    for message in messages:
        whole.add(message)
        if message.at >= plans.rest:
            later.add(message)
            size += message.size
    return Prices(whole.saved, later.saved, size)


def drawn(catalog: Catalog, seen: Seen, price: Callable[[Plans], Prices], *, least: int, half: bool) -> Advice:
    """The advice: wherever at least so many bytes would be saved; with `half` that of the first half. `price` looks at every message again."""
    fields, halves = seen.fields(), seen.halves()
    earlier = choose(catalog, halves.first, least=max(least // 2, 1))
    plan = earlier if half else choose(catalog, fields, least=least)
    prices = price(Plans(plan, earlier, halves.rest))
    split = None
    if seen.messages > halves.messages:
        encoded = [key for key, choice in earlier.items() if choice.encoding]
        negative = [negative_share([part[key] for key in encoded if key in part]) for part in (halves.first, halves.second)]
        split = Split(halves.messages, seen.messages - halves.messages, prices.later, prices.saved_later, *negative)
    drawn_from = f"the first {halves.messages} of " if half else ""
    about = f"Drawn by kwire advise from {drawn_from}{seen.messages} messages of {seen.size} bytes, of which it saves {prices.saved}."
    return Advice(seen, fields, plan, overlay_document(catalog, plan, about), prices.saved, split)
