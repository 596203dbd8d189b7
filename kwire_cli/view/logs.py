"""Files of a log directory, and the state of Kafka's own topics."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.source.logs.model import ENTRIES, OFFSET_CHECKPOINTS, Kind
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kwire_cli.view.batch_tree import anomaly_lines
from kwire_cli.view.hex import COLOURS, byte_rows
from kwire_cli.view.lines import Line, counted, instant, moment, quoted
from kwire_cli.view.tables import Cells, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.analysis.state.topics import Answer
    from kwire_cli.records.batch import Hide
    from kwire_cli.source.logs.model import Contents

    FileRow = dict[str, Any]
    Shown = Sequence[Any]


# Indexes, producer snapshots, checkpoints and the other files of a log directory that hold no batches: as a
# tree, a table, csv, and byte by byte.

TITLES = {
    Kind.INDEX: "offset index",
    Kind.TIME_INDEX: "time index",
    Kind.TRANSACTION_INDEX: "index of aborted transactions",
    Kind.PRODUCER_SNAPSHOT: "producer snapshot",
}


_PROPERTY = ("at", "name", "value")
COLUMNS = {
    Kind.INDEX: ("at", "offset", "position"),
    Kind.TIME_INDEX: ("at", "timestamp", "offset"),
    Kind.TRANSACTION_INDEX: ("at", "version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"),
    Kind.PRODUCER_SNAPSHOT: (
        *(
            "at",
            "producerId",
            "epoch",
            "lastSequence",
            "lastOffset",
            "offsetDelta",
            "timestamp",
            "coordinatorEpoch",
            "currentTxnFirstOffset",
        ),
    ),
    Kind.LEADER_EPOCHS: ("at", "epoch", "startOffset"),
    **dict.fromkeys(sorted(OFFSET_CHECKPOINTS), ("at", "topic", "partition", "offset")),
}
"""What an entry of each kind has; of the kinds that are not here a name and a value."""
_WIDTHS = {"at": 8, "topic": 40, "name": 24, "timestamp": 24, "value": 0}
_LEFT = frozenset({"topic", "name", "value", "timestamp"})


def columns(contents: Contents[Any]) -> tuple[str, ...]:
    """The names of what an entry has."""
    return COLUMNS.get(contents.kind, _PROPERTY)


def file_tree_lines(contents: Contents[Any], rows: Iterable[FileRow]) -> Iterator[Line]:
    """The file as a tree; `rows` are those of `Contents.lines` that are wanted."""
    yield [
        (TITLES.get(contents.kind, contents.kind.value), "title"),
        (f", {counted(len(contents.entries), 'entry', 'entries')}, {counted(contents.size, 'byte')}", "dim"),
    ]
    heads: list[Line] = [
        [(name, "name"), (": ", "dim"), (_text(value), "number")]
        for name, value in contents.head.items()
        if value is not None
    ]
    before: Line | None = None
    for line in (*heads, *map(_described, rows)) if heads else map(_described, rows):
        if before is not None:
            yield [("├─ ", "dim"), *before]
        before = line
    if before is not None:
        yield [("└─ ", "dim"), *before]
    yield from anomaly_lines(contents.anomalies)


def heading(contents: Contents[Any]) -> Line:
    """The table's first line."""
    return [("  ".join([_fit(name, name) for name in columns(contents)]).rstrip(), "dim")]


def file_table_lines(contents: Contents[Any], rows: Iterable[FileRow]) -> Iterator[Line]:
    """Each entry, padding or gap as a line of the table, then what is odd."""
    names = columns(contents)
    for row in rows:
        if "gap" in row:
            yield [
                (_fit(str(row["position"]), "at"), "number"),
                (f"  gap: {row['gap']}, {counted(row['size'], 'byte')}", "warning"),
            ]
        else:
            yield [
                (
                    "  ".join(
                        [_fit(_time(row[name]) if name == "timestamp" else _text(row[name]), name) for name in names]
                    ).rstrip(),
                    "",
                )
            ]
    yield from anomaly_lines(contents.anomalies)


def csv_columns(contents: Contents[Any]) -> tuple[str, ...]:
    """The names of the cells of `csv_cells`."""
    return (*columns(contents), "gap")


def csv_cells(contents: Contents[Any], row: FileRow) -> list[Any]:
    """An entry, or padding or a gap: where it is, and its code."""
    names = columns(contents)
    if "gap" in row:
        return [row["position"], *[None] * (len(names) - 1), row["gap"]]
    return [*(_csv_cell(name, row[name]) for name in names), None]


def _csv_cell(name: str, value: Any) -> Any:
    if name == "timestamp":
        return instant(value)
    return value if name != "value" or isinstance(value, str) else _text(value)


def hex_lines(contents: Contents[Any], data: bytes, *, rows: int | None) -> Iterator[Line]:
    """The file byte by byte: what each entry says beside its bytes; of padding and gaps no more than `rows` rows."""
    yield [(TITLES.get(contents.kind, contents.kind.value), "title"), (f", {counted(contents.size, 'byte')}", "dim")]
    entries = contents.entries
    number = 0
    for piece in contents.pieces:
        end = piece.position + piece.size
        inside = []
        while piece.kind == ENTRIES and number < len(entries) and entries[number].at < end:
            inside.append(entries[number])
            number += 1
        starts = sorted({entry.at for entry in inside} | {piece.position})
        notes: dict[int, list[Line]] = {}
        for entry in inside:
            notes.setdefault(entry.at, []).append(_described(entry.to_json(), place=False))
        for i, (start, stop) in enumerate(pairwise([*starts, end])):
            style = f"leaf{(number + i) % COLOURS}" if piece.kind == ENTRIES else "warning" if piece.code else "dim"
            note = _joined(notes.get(start) or [[(piece.code or piece.kind, style)]])
            yield from byte_rows(
                data, start, stop, note, style, None if piece.kind == ENTRIES else rows, masked_from=None
            )
    yield from anomaly_lines(contents.anomalies)


def _joined(lines: list[Line]) -> Line:
    out = lines[0]
    for line in lines[1:]:
        out = [*out, ("; ", "dim"), *line]
    return out


def _described(row: FileRow, *, place: bool = True) -> Line:
    """An entry in words."""
    if "gap" in row:
        return [
            (f"at {row['position']}: ", "dim"),
            (f"gap: {row['gap']}", "warning"),
            (f", {counted(row['size'], 'byte')}", "dim"),
        ]
    line: Line = [(f"at {row['at']}: ", "dim")] if place else []
    if tuple(row) == _PROPERTY:
        return [*line, (text_of(row["name"]), "name"), (": ", "dim"), (_text(row["value"]), "text")]
    for number, name in enumerate(list(row)[1:]):
        line += [(", " if number else "", "dim"), (name, "name"), (f" {_text(row[name])}", "number")]
        if name == "timestamp" and (date := moment(row[name])):
            line.append((f" {date}", "meaning"))
    return line


def _text(value: Any) -> str:
    """A value in one line: text as it is, all else as JSON."""
    return text_of(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _time(milliseconds: int) -> str:
    return moment(milliseconds) or str(milliseconds)


def _fit(text: str, name: str) -> str:
    width = _WIDTHS.get(name, max(len(name), 10))
    return f"{text:<{width}}" if name in _LEFT else f"{text:>{width}}"


# The state of one of Kafka's own topics for eyes: a tree of what it says, or a table of what is asked for
# most.

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
_NUMBERS = frozenset(
    {"partition", "offset", "leaderEpoch", "producerId", "epoch", "timeoutMs", "startOffset", "snapshotEpoch"}
)


def state_tree_lines(answer: Answer, *, hide: Hide | None) -> Iterator[Line]:
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


def state_table_lines(answer: Answer, *, hide: Hide | None) -> Iterator[Line]:
    """Yield each log that was read, and below it a table of offsets, transactions, share partitions or parts of the
    image.
    """
    columns, cells_of = _TABLES[answer.topic]
    logs = [
        (log, [list(map(text_of, cells)) for row in rows for cells in cells_of(row)])
        for log, rows in answer.by_log(hide=hide)
    ]
    table_rows = [cells for _, table in logs for cells in table]
    if columns[-1] == "notes" and not any(cells[-1] for cells in table_rows):
        columns, logs = columns[:-1], [(log, [cells[:-1] for cells in table]) for log, table in logs]
    widths = [min(MOST_WIDE, max(len(cells[at]) for cells in (columns, *table_rows))) for at in range(len(columns))]
    for number, (log, table) in enumerate(logs):
        if number and table:
            yield []
        yield from _log_lines(log)
        yield from _table(columns, table, widths) if table or len(logs) == 1 else ()


def _log_lines(log: FileRow) -> Iterator[Line]:
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
        padded = [
            f"{cell:>{width}}" if name in _NUMBERS else f"{cell:<{width}}"
            for cell, name, width in zip(cells, columns, widths, strict=True)
        ]
        yield Cells([("  ".join(padded).rstrip(), "" if number else "dim")], cells, heads=not number, texts=cells)


def _unnamed(row: FileRow) -> FileRow:
    """Return the fields of a line other than its kind and its name."""
    apart = {"kind", *NAMED_BY.get(row["kind"], ())}
    return {name: value for name, value in row.items() if name not in apart}


def _inside(value: FileRow, margin: str) -> Iterator[Line]:
    for number, (name, child) in enumerate(value.items()):
        last = number == len(value) - 1
        branch, below = (margin + ("└─ " if last else "├─ "), margin + ("   " if last else "│  "))
        yield from _field(name, child, branch, below)


def _field(name: str, value: Any, branch: str, below: str) -> Iterator[Line]:
    head: Line = [(branch, "dim"), (name, "name"), (": ", "dim")]
    if isinstance(value, dict) and value and not _flat(value):
        yield head[:2]
        yield from _inside(value, below)
    elif isinstance(value, list) and any(isinstance(element, dict) for element in value):
        yield [*head, (counted(len(value), "element"), "dim")]
        yield from _inside({f"[{number}]": element for number, element in enumerate(value)}, below)
    else:
        yield [*head, *_one(name, value)]


def _flat(value: FileRow) -> bool:
    """Return whether a value fits on a line: a few fields, without nested values."""
    return len(value) <= 10 and all(not isinstance(child, dict | list) or not child for child in value.values())


def _one(name: str, value: Any) -> Line:
    if isinstance(value, dict):
        out: Line = []
        for key, element in value.items():
            out += [(", " if out else "", "dim"), (f"{key} ", "name"), *_one(key, element)]
        return out or [("{}", "dim")]
    if isinstance(value, list):
        return [(f"[{', '.join(_scalar(element) for element in value)}]", "number")]
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


def _of_group(row: FileRow) -> Iterator[Shown]:
    if row["kind"] != "group":
        return
    head = row["group"], row["type"], row["state"]
    lines = [("", commit) for commit in row["offsets"]] + [
        (f"pending, producer {commit['producerId']}", commit) for commit in row.get("pendingOffsets", ())
    ]
    for note, commit in lines:
        date = moment(commit["commitTimestamp"]) or commit["commitTimestamp"]
        yield (
            *head,
            commit["topic"],
            commit["partition"],
            commit["offset"],
            commit.get("leaderEpoch", -1),
            date,
            commit["metadata"],
            note,
        )
    if not lines:
        yield *head, "-", "", "", "", "", "", ""


def _of_transaction(row: FileRow) -> Iterator[Shown]:
    if row["kind"] != "transaction":
        return
    partitions = [
        f"{entry['topic']}-{number}" for entry in row["transactionPartitions"] or () for number in entry["partitionIds"]
    ]
    updated = row["transactionLastUpdateTimestampMs"]
    head = row["transactionalId"], row["state"], row["producerId"], row["producerEpoch"], row["transactionTimeoutMs"]
    yield *head, moment(updated) or updated, partitions


def _of_share(row: FileRow) -> Iterator[Shown]:
    if row["kind"] != "sharePartition":
        return
    batches = [
        f"{batch['firstOffset']}-{batch['lastOffset']} {batch['state']} x{batch['deliveryCount']}"
        for batch in row["stateBatches"]
    ]
    yield (
        row["groupId"],
        row["topicId"],
        row["partition"],
        row["startOffset"],
        row["leaderEpoch"],
        row["snapshotEpoch"],
        batches,
    )


def _of_image(row: FileRow) -> Iterator[Shown]:
    kind = row["kind"]
    if kind == "topic":
        for partition in row["partitions"]:
            elr = f", elr {_list(partition['eligibleLeaderReplicas'])}" if partition["eligibleLeaderReplicas"] else ""
            said = (
                f"leader {partition['leader']} epoch {partition['leaderEpoch']}, "
                f"replicas {_list(partition['replicas'])}, isr {_list(partition['isr'])}{elr}"
            )
            yield "partition", f"{row['name'] or row['topicId']}-{partition['partition']}", said
    elif kind == "configs":
        for name, value in row["configs"].items():
            yield "config", f"{row['resourceType']} {row['resourceName'] or '(default)'}", f"{name}={value}"
    elif kind in {"broker", "controller"}:
        ends = ", ".join(
            f"{end['name']} {end['securityProtocol']} {end['host']}:{end['port']}" for end in row["endPoints"]
        )
        more = [f"rack {row['rack']}"] if row.get("rack") is not None else []
        more += [
            word
            for word, key in (("fenced", "fenced"), ("in controlled shutdown", "inControlledShutdown"))
            if row.get(key)
        ]
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


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[FileRow], Iterator[Shown]]]] = {
    CONSUMER_OFFSETS: (
        ("group", "type", "state", "topic", "partition", "offset", "leaderEpoch", "committed", "metadata", "notes"),
        _of_group,
    ),
    TRANSACTION_STATE: (
        ("transactionalId", "state", "producerId", "epoch", "timeoutMs", "lastUpdate", "partitions"),
        _of_transaction,
    ),
    SHARE_GROUP_STATE: (
        ("group", "topicId", "partition", "startOffset", "leaderEpoch", "snapshotEpoch", "batches"),
        _of_share,
    ),
    CLUSTER_METADATA: (("kind", "name", "what"), _of_image),
}
