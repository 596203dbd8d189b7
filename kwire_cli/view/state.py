"""The state of one of Kafka's own topics for eyes: a tree of what it says, or a table of what is asked for most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kwire_cli.view.grid import Cells
from kwire_cli.view.lines import Line, counted, quoted
from kwire_cli.view.meaning import moment
from kwire_cli.view.table import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.records.model import Hide
    from kwire_cli.state.answer import Answer

    Row = dict[str, Any]
    Shown = Sequence[Any]

NAMED_BY = {
    "group": ("group",),
    "transaction": ("transactionalId",),
    "sharePartition": ("groupId", "topicId", "partition"),
    "feature": ("name",),
    "broker": ("brokerId",),
    "controller": ("controllerId",),
    "topic": ("name",),
    "configs": ("resourceType", "resourceName"),
    "acl": ("principal",),
    "scramUser": ("name", "mechanism"),
    "delegationToken": ("tokenId",),
}
"""What names a line of a kind: it stands in its title."""
MOST_WIDE = 60
_TIMES = ("timestamp", "timestampms")
_NUMBERS = frozenset({"partition", "offset", "leaderEpoch", "producerId", "epoch", "timeoutMs", "startOffset", "snapshotEpoch"})


def tree_lines(answer: Answer, *, hide: Hide | None) -> Iterator[Line]:
    """Yield each log that was read, and below it a tree for each line of what it says."""
    for number, (log, rows) in enumerate(answer.by_log(hide=hide)):
        if number and rows:
            yield []
        yield from _log_lines(log)
        for row in rows:
            kind = row["kind"]
            names = NAMED_BY.get(kind, ())
            title = [kind, *(text_of(row[name]) or '""' for name in names)]
            yield [(" ".join(title), "title")]
            yield from _inside(_unnamed(row), "")


def table_lines(answer: Answer, *, hide: Hide | None) -> Iterator[Line]:
    """Yield each log that was read, and below it a table of offsets, transactions, share partitions or parts of the image."""
    columns, cells_of = _TABLES[answer.topic]
    logs = [(log, [list(map(text_of, cells)) for row in rows for cells in cells_of(row)]) for log, rows in answer.by_log(hide=hide)]
    shown = [cells for _, table in logs for cells in table]
    if columns[-1] == "notes" and not any(cells[-1] for cells in shown):
        columns, logs = columns[:-1], [(log, [cells[:-1] for cells in table]) for log, table in logs]
    widths = [min(MOST_WIDE, max(len(cells[at]) for cells in (columns, *shown))) for at in range(len(columns))]
    for number, (log, table) in enumerate(logs):
        if number and table:
            yield []
        yield from _log_lines(log)
        yield from _table(columns, table, widths) if table or len(logs) == 1 else ()


def _log_lines(log: Row) -> Iterator[Line]:
    """Yield the line of a log, and what has to be said about it."""
    part = "" if log["partition"] is None else f"-{log['partition']}"
    said = [f"snapshot {log['snapshot']}"] if log["snapshot"] else []
    if log["firstOffset"] is not None:
        said.append(f"offsets {log['firstOffset']} to {log['lastOffset']}, {counted(log['records'], 'record')}")
    yield [(f"{log['topic']}{part}: {', '.join(said) or 'no records'}", "dim")]
    for name, count in log["unknown"].items():
        yield [("! ", "warning"), (f"{count} records of the unknown type {name}", "warning")]
    for note in log["notes"]:
        yield [("! ", "warning"), (note, "warning")]


def _table(columns: Shown, table: list[list[str]], widths: list[int]) -> Iterator[Line]:
    for number, cells in enumerate([list(columns), *table]):
        shown = [f"{cell:>{width}}" if name in _NUMBERS else f"{cell:<{width}}" for cell, name, width in zip(cells, columns, widths, strict=True)]
        yield Cells([("  ".join(shown).rstrip(), "" if number else "dim")], cells, heads=not number, texts=cells)


def _unnamed(row: Row) -> Row:
    """What a line says beside its kind and its name."""
    apart = {"kind", *NAMED_BY.get(row["kind"], ())}
    return {name: value for name, value in row.items() if name not in apart}


def _inside(value: Row, margin: str) -> Iterator[Line]:
    for number, (name, each) in enumerate(value.items()):
        last = number == len(value) - 1
        branch, below = (margin + ("└─ " if last else "├─ "), margin + ("   " if last else "│  "))
        yield from _field(name, each, branch, below)


def _field(name: str, value: Any, branch: str, below: str) -> Iterator[Line]:
    head: Line = [(branch, "dim"), (name, "name"), (": ", "dim")]
    if isinstance(value, dict) and value and not _flat(value):
        yield head[:2]
        yield from _inside(value, below)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        yield [*head, (counted(len(value), "element"), "dim")]
        yield from _inside({f"[{number}]": each for number, each in enumerate(value)}, below)
    else:
        yield [*head, *_one(name, value)]


def _flat(value: Row) -> bool:
    """Whether it fits on a line: a few values, none of which holds others."""
    return len(value) <= 10 and all(not isinstance(each, dict | list) or not each for each in value.values())


def _one(name: str, value: Any) -> Line:
    if isinstance(value, dict):
        out: Line = []
        for key, each in value.items():
            out += [(", " if out else "", "dim"), (f"{key} ", "name"), *_one(key, each)]
        return out or [("{}", "dim")]
    if isinstance(value, list):
        return [(f"[{', '.join(_scalar(each) for each in value)}]", "number")]
    style = "null" if value is None else "text" if isinstance(value, str) else "number"
    if isinstance(value, str) and value.startswith("<redacted "):
        style = "secret"
    line: Line = [(_scalar(value), style)]
    if isinstance(value, int) and name.lower().endswith(_TIMES) and (date := moment(value)):
        line.append((f" {date}", "meaning"))
    return line


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if value.startswith("<redacted ") else quoted(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _of_group(row: Row) -> Iterator[Shown]:
    if row["kind"] != "group":
        return
    head = row["group"], row["type"], row["state"]
    lines = [("", each) for each in row["offsets"]] + [(f"pending, producer {each['producerId']}", each) for each in row.get("pendingOffsets", ())]
    for note, each in lines:
        date = moment(each["commitTimestamp"]) or each["commitTimestamp"]
        yield *head, each["topic"], each["partition"], each["offset"], each.get("leaderEpoch", -1), date, each["metadata"], note
    if not lines:
        yield *head, "-", "", "", "", "", "", ""


def _of_transaction(row: Row) -> Iterator[Shown]:
    if row["kind"] != "transaction":
        return
    partitions = [f"{each['topic']}-{number}" for each in row["transactionPartitions"] or () for number in each["partitionIds"]]
    updated = row["transactionLastUpdateTimestampMs"]
    head = row["transactionalId"], row["state"], row["producerId"], row["producerEpoch"], row["transactionTimeoutMs"]
    yield *head, moment(updated) or updated, partitions


def _of_share(row: Row) -> Iterator[Shown]:
    if row["kind"] != "sharePartition":
        return
    batches = [f"{each['firstOffset']}-{each['lastOffset']} {each['state']} x{each['deliveryCount']}" for each in row["stateBatches"]]
    yield row["groupId"], row["topicId"], row["partition"], row["startOffset"], row["leaderEpoch"], row["snapshotEpoch"], batches


def _of_image(row: Row) -> Iterator[Shown]:
    kind = row["kind"]
    if kind == "topic":
        for each in row["partitions"]:
            elr = f", elr {_list(each['eligibleLeaderReplicas'])}" if each["eligibleLeaderReplicas"] else ""
            said = f"leader {each['leader']} epoch {each['leaderEpoch']}, replicas {_list(each['replicas'])}, isr {_list(each['isr'])}{elr}"
            yield "partition", f"{row['name'] or row['topicId']}-{each['partition']}", said
    elif kind == "configs":
        for name, value in row["configs"].items():
            yield "config", f"{row['resourceType']} {row['resourceName'] or '(default)'}", f"{name}={value}"
    elif kind in {"broker", "controller"}:
        ends = ", ".join(f"{end['name']} {end['securityProtocol']} {end['host']}:{end['port']}" for end in row["endPoints"])
        more = [f"rack {row['rack']}"] if row.get("rack") is not None else []
        more += [word for word, key in (("fenced", "fenced"), ("in controlled shutdown", "inControlledShutdown")) if row.get(key)]
        yield kind, row[f"{kind}Id"], ", ".join([ends, *more])
    elif kind == "quorum":
        voters = [voter["voterId"] for voter in row["voters"] or ()]
        leader = row["leader"]
        said = f", leader {leader['leaderId']} epoch {leader['leaderEpoch']}" if leader else ""
        yield kind, "", f"kraft.version {text_of(row['kraftVersion']) or '?'}, voters {_list(voters)}{said}"
    else:
        names = NAMED_BY.get(kind, ())
        yield kind, " ".join(text_of(row[name]) for name in names), "".join(text for text, _ in _one("", _unnamed(row)))


def _list(numbers: list[Any]) -> str:
    return ",".join(map(str, numbers)) or "none"


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[Row], Iterator[Shown]]]] = {
    CONSUMER_OFFSETS: (("group", "type", "state", "topic", "partition", "offset", "leaderEpoch", "committed", "metadata", "notes"), _of_group),
    TRANSACTION_STATE: (("transactionalId", "state", "producerId", "epoch", "timeoutMs", "lastUpdate", "partitions"), _of_transaction),
    SHARE_GROUP_STATE: (("group", "topicId", "partition", "startOffset", "leaderEpoch", "snapshotEpoch", "batches"), _of_share),
    CLUSTER_METADATA: (("kind", "name", "what"), _of_image),
}
