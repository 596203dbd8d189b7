"""`__transaction_state`: what the transaction coordinator knows of each transactional id (TransactionStateManager, TransactionLog)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.kafka import TRANSACTION_STATE
from kwire_cli.state.events import Kept
from kwire_cli.state.keyed import NO_TYPE, decoded, known_types, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.model import Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.state.events import Event


@dataclass
class Transactions:
    """The newest value of each transactional id, by key; types that are not known are counted."""

    catalog: Catalog
    live: dict[bytes, Kept] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """`{"kind":"transaction","transactionalId","state", the value in Kafka's words, "offset"}`, by id."""
        undecoded = 0
        rows = []
        for key, kept in self.live.items():
            found = decoded(self.catalog, TRANSACTION_STATE, key, kept.value, hide)
            if not found:
                undecoded += 1
                continue
            name, value = found
            state = self.catalog.named_value("TransactionLogValue", "transactionStatus", value["transactionStatus"]) or "UNKNOWN"
            shown = "".join(map(str.capitalize, state.split("_")))  # PrepareCommit, as kafka-transactions prints it
            rows.append({"kind": "transaction", "transactionalId": name["transactionalId"], "state": shown, **value, "offset": kept.offset})
        yield from sorted(rows, key=lambda row: str(row["transactionalId"]))
        if undecoded:
            yield {"kind": "undecoded", "records": undecoded}

    def to_json(self, *, hide: Hide | None) -> dict[str, Any]:
        """`{"transactions":[…]}` with what `rows` gives; `hide` finds what to redact, None shows everything."""
        return {"transactions": [row for row in self.rows(hide=hide) if row.pop("kind") == "transaction"]}


def apply(state: Transactions, event: Event) -> None:
    """Take in a record; one without a value removes its transactional id."""
    if event.control or event.key is None:
        return
    number = type_of(event.key)
    if number is None or number not in known_types(state.catalog, TRANSACTION_STATE):
        state.unknown[NO_TYPE if number is None else str(number)] += 1
    elif event.value is None:
        state.live.pop(event.key, None)
    else:
        state.live[event.key] = Kept(event.offset, event.timestamp, event.value)
