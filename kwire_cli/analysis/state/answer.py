"""The state that Kafka's internal topics add up to, as an Answer: a table for each kind of thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import partitions_in
from kwire_cli.analysis.state.lag import OFFSETS, with_lag
from kwire_cli.answer import Answer, Column, Table, words
from kwire_cli.engine.values import instant
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.analysis.state.lag import Logs
    from kwire_cli.analysis.state.topics import Folded
    from kwire_cli.records.batch import Hide

    Row = dict[str, Any]
    Named = tuple[str, Row]
    """A row and the name of its table."""

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
    Column("notes", "list", level="warning"),
)
"""A log that was read: its snapshot and its offsets, then what was not understood.

`unknown` counts records of types that are not known, `undecoded` malformed records, and `unapplied` changes of what was
never seen, by type. `notes` say what could not be read.
"""
_PLACE = (Column("topic"), Column("partition", "id"))


@dataclass(frozen=True)
class Listing:
    """A table of a topic: the columns that a person sees. What else rows have stands behind them for programs.

    The first `keys` columns name a row and give the order of the rows.
    """

    name: str
    columns: tuple[Column, ...]
    keys: int = 1

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the table of rows."""
        names = [column.name for column in self.columns]
        further = dict.fromkeys(name for row in rows for name in row if name not in names)
        columns = (*self.columns, *(Column(name, wide=True) for name in further))
        cells = [tuple(row.get(column.name) for column in columns) for row in rows]
        return Table(self.name, columns, cells, title=words(self.name))

    @property
    def key_names(self) -> list[str]:
        """The columns that name a row."""
        return [column.name for column in self.columns[: self.keys]]

    def order(self, row: Row) -> list[tuple[str, Any]]:
        """Return what puts a row in its place among rows of several partitions."""
        values = [row.get(name) for name in self.key_names]
        return [(type(value).__name__, value) for value in values]


LISTINGS: dict[str, tuple[Listing, ...]] = {
    CONSUMER_OFFSETS: (
        Listing(
            "groups",
            (
                Column("group"),
                Column("type"),
                Column("state"),
                Column("members", "count", keep=2),
                Column("offsets", "count", keep=1),
                Column("pendingOffsets", "count", keep=3),
            ),
        ),
        Listing(
            "members",
            (
                Column("group"),
                Column("memberId"),
                Column("state"),
                Column("clientId", keep=1),
                Column("clientHost", keep=2),
            ),
            keys=2,
        ),
        Listing(
            "offsets",
            (
                Column("group"),
                *_PLACE,
                Column("offset", "id"),
                Column("leaderEpoch", "id", keep=3),
                Column("committed", "instant", keep=1),
                Column("metadata", keep=2),
            ),
            keys=3,
        ),
        Listing(
            "pendingOffsets",
            (
                Column("group"),
                Column("producerId", "id"),
                *_PLACE,
                Column("offset", "id"),
                Column("leaderEpoch", "id", keep=3),
                Column("committed", "instant", keep=1),
                Column("metadata", keep=2),
            ),
            keys=4,
        ),
    ),
    TRANSACTION_STATE: (
        Listing(
            "transactions",
            (
                Column("transactionalId"),
                Column("state"),
                Column("producerId", "id"),
                Column("producerEpoch", "id", title="epoch", keep=3),
                Column("transactionTimeoutMs", "id", title="timeout ms", keep=2),
                Column("lastUpdate", "instant", keep=1),
                Column("partitions", "list"),
            ),
        ),
    ),
    SHARE_GROUP_STATE: (
        Listing(
            "sharePartitions",
            (
                Column("groupId", title="group"),
                Column("topicId"),
                Column("partition", "id"),
                Column("startOffset", "id"),
                Column("leaderEpoch", "id", keep=2),
                Column("snapshotEpoch", "id", keep=3),
                Column("batches", "count", keep=1),
            ),
            keys=3,
        ),
        Listing(
            "shareBatches",
            (
                Column("groupId", title="group"),
                Column("topicId", keep=1),
                Column("partition", "id"),
                Column("firstOffset", "id"),
                Column("lastOffset", "id"),
                Column("state"),
                Column("deliveryCount", "count"),
            ),
            keys=4,
        ),
    ),
    CLUSTER_METADATA: (
        Listing(
            "cluster",
            (
                Column("kraftVersion", "id"),
                Column("leaderId", "id"),
                Column("leaderEpoch", "id"),
                Column("nextProducerId", "id"),
                Column("zkMigration"),
                Column("openTransactionRecords", "count", level="warning"),
            ),
            keys=0,
        ),
        Listing("voters", (Column("voterId", "id"), Column("voterDirectoryId"))),
        Listing("features", (Column("name"), Column("level", "id"))),
        Listing(
            "brokers",
            (
                Column("brokerId", "id"),
                Column("rack"),
                Column("fenced", "flag"),
                Column("inControlledShutdown", "flag"),
            ),
        ),
        Listing("controllers", (Column("controllerId", "id"), Column("incarnationId"))),
        Listing(
            "listeners",
            (
                Column("node"),
                Column("nodeId", "id"),
                Column("name"),
                Column("securityProtocol", keep=1),
                Column("host"),
                Column("port", "id"),
            ),
            keys=3,
        ),
        Listing("topics", (Column("name"), Column("topicId"), Column("partitions", "count"))),
        Listing(
            "partitions",
            (
                *_PLACE,
                Column("leader", "id"),
                Column("leaderEpoch", "id", keep=2),
                Column("replicas", "list"),
                Column("isr", "list"),
                Column("eligibleLeaderReplicas", "list", title="elr", keep=1),
            ),
            keys=2,
        ),
        Listing("configs", (Column("resourceType"), Column("resourceName"), Column("name"), Column("value")), keys=3),
        Listing("quotas", (Column("entity"), Column("name"), Column("value", "number")), keys=2),
        Listing(
            "acls",
            (
                Column("principal"),
                Column("permissionType", title="permission"),
                Column("operation"),
                Column("resourceType", title="resource"),
                Column("resourceName", title="name"),
                Column("patternType", title="pattern", keep=1),
                Column("host", keep=2),
            ),
            keys=7,
        ),
        Listing(
            "scramUsers",
            (
                Column("name"),
                Column("mechanism"),
                Column("iterations", "id"),
                Column("salt", keep=1),
                Column("storedKey", keep=2),
                Column("serverKey", keep=3),
            ),
            keys=2,
        ),
        Listing("delegationTokens", (Column("tokenId"), Column("owner"), Column("requester"))),
    ),
}
"""The tables of each topic, in the order in which a person reads them."""
_WITH_LAG = {
    "groups": Listing("groups", with_lag(LISTINGS[CONSUMER_OFFSETS][0].columns)),
    "offsets": Listing("offsets", OFFSETS, keys=3),
}
"""Tables whose logs are beside them."""


def _of_group(row: Row) -> Iterator[Named]:
    members, offsets, pending = row.pop("members"), row.pop("offsets"), row.pop("pendingOffsets", [])
    counts = {"members": len(members), "offsets": len(offsets), "pendingOffsets": len(pending) or None}
    yield "groups", row | counts
    for member in members:
        state = member.get("currentAssignment", {}).get("state")
        yield "members", {"group": row["group"], "state": state, **member}
    for name, commits in (("offsets", offsets), ("pendingOffsets", pending)):
        for commit in commits:
            yield name, {"group": row["group"], "committed": instant(commit["commitTimestamp"]), **commit}


def _of_transaction(row: Row) -> Iterator[Named]:
    partitions = partitions_in(row)
    del row["transactionPartitions"]
    updated = instant(row["transactionLastUpdateTimestampMs"])
    yield "transactions", row | {"lastUpdate": updated, "partitions": partitions}


def _of_share_partition(row: Row) -> Iterator[Named]:
    batches = row.pop("stateBatches")
    yield "sharePartitions", row | {"batches": len(batches)}
    place = {name: row[name] for name in ("groupId", "topicId", "partition")}
    for batch in batches:
        yield "shareBatches", place | batch


def _of_quorum(row: Row) -> Iterator[Named]:
    for voter in row["voters"] or ():
        yield "voters", voter
    yield "cluster", {"kraftVersion": row["kraftVersion"], **(row["leader"] or {})}


def _of_node(row: Row) -> Iterator[Named]:
    kind = "broker" if "brokerId" in row else "controller"
    for listener in row.pop("endPoints"):
        yield "listeners", {"node": kind, "nodeId": row[f"{kind}Id"], **listener}
    yield f"{kind}s", row


def _of_topic(row: Row) -> Iterator[Named]:
    partitions = row.pop("partitions")
    yield "topics", row | {"partitions": len(partitions)}
    for partition in partitions:
        yield "partitions", {"topic": row["name"] or row["topicId"], **partition}


def _of_configs(row: Row) -> Iterator[Named]:
    for name, value in row.pop("configs").items():
        yield "configs", row | {"name": name, "value": value}


def _of_quota(row: Row) -> Iterator[Named]:
    for name, value in row["quotas"].items():
        yield "quotas", {"entity": row["entity"], "name": name, "value": value}


def _as_it_is(name: str) -> Callable[[Row], Iterator[Named]]:
    return lambda row: iter([(name, row)])


def _renamed(table: str, key: str, name: str) -> Callable[[Row], Iterator[Named]]:
    return lambda row: iter([(table, {name: row[key]})])


_SPLIT: dict[str, Callable[[Row], Iterator[Named]]] = {
    "group": _of_group,
    "transaction": _of_transaction,
    "sharePartition": _of_share_partition,
    "quorum": _of_quorum,
    "feature": _as_it_is("features"),
    "broker": _of_node,
    "controller": _of_node,
    "topic": _of_topic,
    "configs": _of_configs,
    "quota": _of_quota,
    "acl": _as_it_is("acls"),
    "scramUser": _as_it_is("scramUsers"),
    "delegationToken": _as_it_is("delegationTokens"),
    "producerIds": _as_it_is("cluster"),
    "zkMigration": _renamed("cluster", "state", "zkMigration"),
    "openTransaction": _renamed("cluster", "records", "openTransactionRecords"),
    "undecoded": _renamed("logs", "records", "undecoded"),
    "unapplied": _renamed("logs", "records", "unapplied"),
}
"""The rows of tables that a line of a state makes, by its kind."""
_ONE_A_LOG = frozenset({"logs", "cluster"})
"""Tables whose row for a log is put together from several lines."""


def state_answer(
    topics: Iterable[tuple[str, Sequence[Folded]]], *, hide: Hide | None, beside: Logs | None = None
) -> Answer:
    """Return what the partitions of topics say: the tables of each topic, then the logs that were read.

    `hide` finds what to redact in a payload; None shows everything. `beside` are the logs of other topics: with them
    come lag and open transactions.
    """
    logs: list[Row] = []
    tables: list[Table] = []
    for topic, parts in topics:
        rows: dict[str, list[Row]] = {listing.name: [] for listing in LISTINGS[topic]}
        for part in parts:
            for name, some in rows_of(part, hide=hide).items():
                if name == "logs":
                    logs.append(_log(part) | some[0])
                else:
                    rows[name] += some
        with_lag = beside is not None and topic == CONSUMER_OFFSETS and beside.add_lag(rows)
        for plain in LISTINGS[topic]:
            listing = _WITH_LAG.get(plain.name, plain) if with_lag else plain
            listed = rows[listing.name]
            tables.append(listing.table(sorted(listed, key=listing.order) if len(parts) > 1 else listed))
    if beside and (open_transactions := beside.open_transactions()):
        tables.append(open_transactions)
    cells = [tuple(log.get(column.name) for column in LOGS) for log in logs]
    further = beside.blocks() if beside else ()
    return Answer("State", [*tables, Table("logs", LOGS, cells, title="logs"), *further])


def rows_of(part: Folded, *, hide: Hide | None) -> dict[str, list[Row]]:
    """Return the rows of each table that the state of a partition makes; of "logs" one, with what was not understood.

    `hide` finds what to redact in a payload; None shows everything.
    """
    rows: dict[str, list[Row]] = {listing.name: [] for listing in LISTINGS[part.topic]}
    single: dict[str, Row] = {name: {} for name in _ONE_A_LOG}
    label = {} if part.topic == CLUSTER_METADATA or part.partition is None else {"logPartition": part.partition}
    for line in part.state.rows(hide=hide):
        for name, row in _SPLIT[line.pop("kind")](line):
            if name in single:
                single[name] |= row
            else:
                rows[name].append(row | label)
    if any(value is not None for value in single["cluster"].values()):
        rows["cluster"].append(single["cluster"])
    return rows | {"logs": [single["logs"]]}


def _log(part: Folded) -> Row:
    return {
        "topic": part.topic,
        "partition": part.partition,
        "snapshot": part.snapshot,
        "firstOffset": part.passed.first,
        "lastOffset": part.passed.last,
        "records": part.passed.records,
        "unknown": dict(sorted(part.state.unknown.items())),
        "notes": part.passed.notes,
    }
