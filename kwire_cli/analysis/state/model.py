"""The state of a topic, which its records build up.

The state of a coordinator's topic is the newest value under each key. Values are only decoded when rows are requested,
because most values are replaced before. The state of `__transaction_state` consists of such values only
(TransactionStateManager, TransactionLog).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.coordinators import Passed, decode_coordinator, partitions_in, type_of
from kwire_cli.engine.values import instant
from kwire_cli.records.kafka_topics import COORDINATORS, TRANSACTION_STATUS, record_types
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event
    from kwire_cli.records.batch import Hide
    from kwire_cli.spec.catalog import Catalog

    Named = tuple[str, dict[str, Any]]
    """The name of a table, and a row."""


@dataclass(eq=False)
class State:
    """The state of a partition of a topic after some of its records.

    `passed` counts the records, and `snapshot` is the name of the snapshot with which the state began. `unknown` counts
    records of unknown types, by number or name. `unapplied` counts changes to rows that no record has created, by
    record type. `undecoded` counts records that could not be decoded. Records of a coordinator are decoded and counted
    when rows are requested.
    """

    catalog: Catalog
    topic: str
    partition: int | None = None
    passed: Passed = field(default_factory=Passed)
    snapshot: str | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    unapplied: Counter[str] = field(default_factory=Counter)
    undecoded: int = 0

    def apply(self, event: Event) -> None:
        """Apply a record. Corrupt bytes never raise an error."""
        raise NotImplementedError

    def all_rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield the rows of the topic's tables, each with the name of its table and the partition of the topic.

        `hide` returns the spans to redact in a payload. With None, nothing is redacted.
        """
        label = {} if self.topic == CLUSTER_METADATA or self.partition is None else {"logPartition": self.partition}
        return ((table, row | label) for table, row in self.rows(hide=hide))

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield the rows of the topic's tables, each with the name of its table."""
        raise NotImplementedError


class Latest(NamedTuple):
    """The newest record under a key."""

    key: bytes
    value: bytes
    offset: int


@dataclass(eq=False)
class CoordinatorState(State):
    """The newest record under each key of a coordinator's topic."""

    live: dict[bytes, Latest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._types = record_types(self.catalog, COORDINATORS[self.topic])

    def apply(self, event: Event) -> None:
        """Apply a record. A tombstone removes the record of its key."""
        number = type_of(event.key)
        if event.control:
            self.end_transaction(event)
        elif event.key is None or number not in self._types:
            self.unknown["none" if number is None else str(number)] += 1
        else:
            self.add_record(number, event.key, event)

    def end_transaction(self, event: Event, /) -> None:
        """Apply a control record."""

    def add_record(self, number: int, key: bytes, event: Event) -> None:  # noqa: ARG002 - types matter to some topics
        """Apply a record of a known type."""
        if event.value is None:
            self.live.pop(key, None)
        else:
            self.live[key] = Latest(key, event.value, event.offset)

    def decode(self, kept: Latest, hide: Hide | None) -> CoordinatorRecord | None:
        """Decode a record, or count it as undecoded."""
        record = decode_coordinator(self.catalog, self.topic, kept.key, kept.value, hide)
        self.undecoded += record is None
        return record


class Transactions(CoordinatorState):
    """`__transaction_state`: the state of the transaction coordinator for each transactional id."""

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield a row for each transactional id."""
        self.undecoded = 0
        for kept in self.live.values():
            if record := self.decode(kept, hide):
                row = {**record.key, "state": record.status, **record.value, "recordOffset": kept.offset}
                del row[TRANSACTION_STATUS], row["transactionPartitions"]
                row["lastUpdate"] = instant(row["transactionLastUpdateTimestampMs"])
                yield "transactions", row | {"partitions": partitions_in(record.value)}
