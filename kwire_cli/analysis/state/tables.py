"""The state in Kafka's internal topics as an Answer: its tables, and the columns that identify a row.

Rows have the fields of Kafka's records. A table declares the columns that a terminal shows. All other fields of its
rows become columns for programs, so that fields of new Kafka releases need no change.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.state.lag import add_lag
from kwire_cli.answer import Answer, Column, Note, Table, words
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.analysis.state.model import State
    from kwire_cli.records.batch import Hide
    from kwire_cli.source.log_inputs import LogFile

    Row = dict[str, Any]
    Key = tuple[Any, ...]

_IDS = (
    "partition",
    "offset",
    "producerId",
    "kraftVersion",
    "leaderId",
    "nextProducerId",
    "voterId",
    "level",
    "brokerId",
    "controllerId",
    "nodeId",
    "port",
    "leader",
    "iterations",
)
COLUMNS = {name: Column(name, "id") for name in _IDS} | {
    column.name: column
    for column in (
        Column("lag", "count"),
        Column("logStartOffset", "id", title="log start", keep=5),
        Column("logEndOffset", "id", title="log end", keep=2),
        Column("committed", "instant", keep=4),
        Column("metadata", keep=7),
        Column("leaderEpoch", "id", keep=8),
        Column("lagUnknown", "count", level="warning", sparse=True),
        Column("members", "count", keep=2),
        Column("offsets", "count", keep=1),
        Column("pendingOffsets", "count", keep=3),
        Column("clientId", keep=1),
        Column("clientHost", keep=2),
        Column("producerEpoch", "id", title="epoch", keep=3),
        Column("transactionTimeoutMs", "id", title="timeout ms", keep=2),
        Column("lastUpdate", "instant", keep=1),
        Column("openTransactionRecords", "count", level="warning"),
        Column("fenced", "flag"),
        Column("inControlledShutdown", "flag"),
        Column("securityProtocol", keep=1),
        Column("replicas", "list"),
        Column("isr", "list"),
        Column("eligibleLeaderReplicas", "list", title="elr", keep=1),
        Column("permissionType", title="permission"),
        Column("patternType", title="pattern", keep=1),
        Column("salt", keep=1),
        Column("storedKey", keep=2),
        Column("serverKey", keep=3),
    )
}
"""The kinds of columns, for columns that are not text."""
BESIDE = frozenset({"lag", "outOfRange", "lagUnknown", "logStartOffset", "logEndOffset"})
"""Columns that a table only has if the logs of other topics were found."""


class Listing(NamedTuple):
    """A table of a topic: the columns that a terminal shows.

    The first `keys` columns identify a row, and determine the order of rows.
    """

    name: str
    columns: tuple[Column, ...]
    keys: int

    def table(self, rows: Iterable[Row]) -> Table:
        """Return the table of rows, in the order of their keys."""
        ordered = sorted(rows, key=self.key)
        found = dict.fromkeys(chain.from_iterable(ordered))
        declared = [column for column in self.columns if column.name in found or column.name not in BESIDE]
        names = [column.name for column in declared]
        columns = [*declared, *(Column(name, wide=True) for name in found if name not in names)]
        cells = [_cells(row, columns) for row in ordered]
        return Table(self.name, columns, cells, title=words(self.name))

    @property
    def key_names(self) -> list[str]:
        """The names of the columns that identify a row."""
        return [column.name for column in self.columns[: self.keys]]

    def key(self, row: Row) -> Key:
        """Return the values that identify a row, in a form that can be sorted."""
        return tuple(_comparable(row.get(name)) for name in self.key_names)


def _cells(row: Row, columns: Iterable[Column]) -> tuple[Any, ...]:
    return tuple(row.get(column.name) for column in columns)


def _comparable(value: Any) -> Any:
    """Return a value that compares with values of other types: the default user of a quota is None."""
    if isinstance(value, dict):
        return "dict", tuple((name, _comparable(member)) for name, member in sorted(value.items()))
    return type(value).__name__, value


def listing(name: str, *columns: str | Column, keys: int = 1) -> Listing:
    """Return a table by the names of its columns."""
    named = (COLUMNS.get(column, Column(column)) if isinstance(column, str) else column for column in columns)
    return Listing(name, tuple(named), keys)


_PLACE = ("topic", "partition")
_PRODUCER = ("producerId", "producerEpoch", "transactionTimeoutMs")
_LEADER = ("leaderId", "leaderEpoch")
_COMMITTED = ("offset", "committed", "leaderEpoch", "metadata")
_LAG = ("lag", Column("outOfRange", level="error"), "logStartOffset", "logEndOffset")
_TOTALS = ("lag", Column("outOfRange", "count", level="error", sparse=True), "lagUnknown")
LISTINGS: dict[str, tuple[Listing, ...]] = {
    CONSUMER_OFFSETS: (
        listing("groups", "group", "type", "state", "members", "offsets", *_TOTALS, "pendingOffsets"),
        listing("members", "group", "memberId", "state", "clientId", "clientHost", keys=2),
        listing("offsets", "group", *_PLACE, "offset", *_LAG, "committed", "leaderEpoch", "metadata", keys=3),
        listing("pendingOffsets", "group", "producerId", *_PLACE, *_COMMITTED, keys=4),
    ),
    TRANSACTION_STATE: (
        listing("transactions", "transactionalId", "state", *_PRODUCER, "lastUpdate", Column("partitions", "list")),
    ),
    CLUSTER_METADATA: (
        listing("cluster", "kraftVersion", *_LEADER, "nextProducerId", "openTransactionRecords", keys=0),
        listing("voters", "voterId", "voterDirectoryId"),
        listing("features", "name", "level"),
        listing("brokers", "brokerId", "rack", "fenced", "inControlledShutdown"),
        listing("controllers", "controllerId", "incarnationId"),
        listing("listeners", "node", "nodeId", "name", "securityProtocol", "host", "port", keys=3),
        listing("topics", "name", "topicId", Column("partitions", "count")),
        listing("partitions", *_PLACE, "leader", "leaderEpoch", "replicas", "isr", "eligibleLeaderReplicas", keys=2),
        listing("configs", "resourceType", "resourceName", "name", "value", keys=3),
        listing("quotas", "entity", "name", Column("value", "number"), keys=2),
        listing(
            "acls",
            "principal",
            "permissionType",
            "operation",
            Column("resourceType", title="resource"),
            Column("resourceName", title="name"),
            "patternType",
            Column("host", keep=2),
            keys=7,
        ),
        listing("scramUsers", "name", "mechanism", "iterations", "salt", "storedKey", "serverKey", keys=2),
        listing("delegationTokens", "tokenId", "owner", "requester"),
    ),
}
"""The tables of each topic, in the order of the answer."""
LOG_NOTES = Column("notes", "list", level="warning")
LOGS = (
    Column("topic"),
    Column("partition", "id"),
    Column("snapshot", keep=2),
    Column("firstOffset", "id", keep=1),
    Column("lastOffset", "id"),
    Column("records", "count"),
    Column("unknown", "map", level="warning"),
    Column("undecoded", "count", level="warning"),
    Column("unapplied", "map", level="warning", keep=3),
    LOG_NOTES,
)
"""A log that was read: its snapshot and its offsets, then the records that could not be applied (`State`),
and `notes` on damage."""


def state_answer(parts: Sequence[State], *, hide: Hide | None, beside: Iterable[LogFile] | None = None) -> Answer:
    """Return the states of partitions: the tables of each topic, then the logs that were read.

    `hide` returns the spans to redact in a payload. With None, nothing is redacted. The lag is computed from the logs
    of other topics in the log directories of the files `beside`.
    """
    notes: list[Note] = []
    tables: list[Table] = []
    for topic in dict.fromkeys(part.topic for part in parts):
        rows: dict[str, list[Row]] = {listing.name: [] for listing in LISTINGS[topic]}
        for part in parts:
            for name, row in part.all_rows(hide=hide) if part.topic == topic else ():
                rows[name].append(row)
        if beside is not None and topic == CONSUMER_OFFSETS:
            notes = add_lag(rows, beside)
        tables += (listing.table(rows[listing.name]) for listing in LISTINGS[topic])
    return Answer("State", [*tables, Table("logs", LOGS, [*map(_log, parts)], title="logs"), *notes])


def _log(part: State) -> tuple[Any, ...]:
    passed = part.passed
    return (
        part.topic,
        part.partition,
        part.snapshot,
        passed.first,
        passed.last,
        passed.records,
        dict(sorted(part.unknown.items())),
        part.undecoded or None,
        dict(sorted(part.unapplied.items())) or None,
        passed.notes,
    )
