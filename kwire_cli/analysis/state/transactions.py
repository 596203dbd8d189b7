"""`__transaction_state`: what the transaction coordinator knows of each transactional id.

The newest value of an id counts (TransactionStateManager, TransactionLog).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.coordinators import partitions_in
from kwire_cli.analysis.state.model import CoordinatorState
from kwire_cli.engine.values import instant
from kwire_cli.records.kafka_topics import TRANSACTION_STATUS
from kwire_cli.spec.kafka import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.state.tables import Named
    from kwire_cli.records.batch import Hide


class Transactions(CoordinatorState):
    """The newest value of each transactional id."""

    TOPIC = TRANSACTION_STATE

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield a row for each transactional id."""
        self.undecoded = 0
        for kept in self.live.values():
            if record := self.decode(kept, hide):
                row = {**record.key, "state": record.status, **record.value, "offset": kept.offset}
                del row[TRANSACTION_STATUS], row["transactionPartitions"]
                row["lastUpdate"] = instant(row["transactionLastUpdateTimestampMs"])
                yield "transactions", row | {"partitions": partitions_in(record.value)}
