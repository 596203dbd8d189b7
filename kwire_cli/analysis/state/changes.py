"""Changes of a state between two offsets: rows added, removed and changed, by table and key.

The log is folded to the state before the range, then to the state after it. The rows of both states are compared by
their keys, so that a value that changed back and forth does not appear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.state.tables import LISTINGS, LOG_NOTES
from kwire_cli.answer import Answer, Block, Column, Note, Table
from kwire_cli.errors import InputError
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.state.model import State
    from kwire_cli.analysis.state.tables import Key, Listing
    from kwire_cli.analysis.state.topics import Log
    from kwire_cli.records.batch import Hide

    Row = dict[str, Any]
    Cells = tuple[Any, ...]
    Pair = tuple[Row, Row]
    """A row, and the same row with its secrets redacted."""

Range = tuple[int | None, int | None]
"""The offsets at both ends of a range, or None for an open end."""


def range_of(text: str) -> Range:
    """Parse a range such as `20..60`, `20..` or `..60`. Raise InputError for anything else.

    A range contains the changes after the first offset, up to and including the second.
    """
    found = re.fullmatch("([0-9]{0,19})[.]{2}([0-9]{0,19})", text)
    if found is None or text == "..":
        raise InputError(f"a range of a state is N..M, N.. or ..M with offsets, not {text!r}")
    first, last = found.groups()
    after = int(first) if first else None
    upto = int(last) if last else None
    if after is not None and upto is not None and after > upto:
        raise InputError(f"a range goes from the lower to the higher end: {upto}..{after}, not {text}")
    return after, upto


class Changed(NamedTuple):
    """The states of a partition at both ends of a range, and the offsets of the ends.

    `before` is the empty state if there are no records before the range.
    """

    before: State
    now: State
    after: int | None
    upto: int | None


def changed(log: Log, between: Range) -> Changed:
    """Return the states of a log at both ends of a range.

    Raises:
        InputError: The files in use do not reach back to the start of the range.

    """
    after, upto = between
    if after is None and log.topic == CLUSTER_METADATA and log.snapshots and (log.begin or not log.segments):
        # The log starts after the start of the range. All changes are relative to its oldest snapshot.
        after = (log.snapshots[0].name.base_offset or 0) - 1
    before = log.empty() if after is None or after < 0 else log.folded(after)
    now = log.folded(upto)
    read = before.passed
    if log.topic != CLUSTER_METADATA and read.last is not None and (gone := read.last + 1 - read.records) > 0:
        now.passed.notes.append(
            f"{gone} records up to offset {read.last} are gone by compaction: what they said counts as if it had "
            "not been there"
        )
    return Changed(before, now, after, upto)


CHANGES = (
    Column("stateTable", title="table"),
    Column("key"),
    Column("change"),
    Column("field"),
    Column("before", "json"),
    Column("after", "json"),
    Column("row", "json", wide=True),
)
"""Changes. `row` contains the fields that identify the row, and all fields of a row that was added or removed."""
_LOGS = (
    Column("topic"),
    Column("partition", "id"),
    Column("afterOffset", "id"),
    Column("uptoOffset", "id"),
    LOG_NOTES,
)

_MAIN = {"groups": "state", "members": "clientId", "listeners": "port", "brokers": "fenced"}
"""The field that is shown for an added or removed row, if it is not the first field after the key."""
_QUIET = re.compile(
    r"(commit|currentState|assignment|create|write|transactionLastUpdate|transactionStart)Timestamp(Ms)?"
    r"|committed|lastUpdate|(partition|broker)Epoch|metadataHash|offsets|pendingOffsets|recordOffset|logPartition"
)
"""Fields of times, and fields that repeat other fields or rows. Their changes are not shown."""
_NO_ROW: Pair = ({}, {})


def changes_answer(parts: Sequence[Changed], between: str, *, hide: Hide | None) -> Answer:
    """Return the changes in partitions.

    `hide` returns the spans to redact in a payload. With None, nothing is redacted. If a secret changed, the change is
    shown with redacted values.
    """
    rows: list[Cells] = []
    for topic in dict.fromkeys(part.now.topic for part in parts):
        own = [part for part in parts if part.now.topic == topic]
        ends = [(_by_key(part.before, hide), _by_key(part.now, hide)) for part in own]
        for listing in LISTINGS[topic]:
            for old, new in ends:
                was = old[listing.name]
                now = new[listing.name]
                for key in sorted({*was, *now}):
                    rows += _changes(listing, was.get(key, _NO_ROW), now.get(key, _NO_ROW))
    logs = Table("logs", _LOGS, [*map(_log, parts)], title="logs")
    blocks: list[Block] = [Table("changes", CHANGES, rows, title="changes"), logs]
    if not rows:
        blocks.insert(0, Note(f"nothing changed in {between}"))
    return Answer("Changes", blocks)


def _log(part: Changed) -> Cells:
    now = part.now
    upto = now.passed.last if part.upto is None else part.upto
    return now.topic, now.partition, part.after, upto, now.passed.notes


def _by_key(part: State, hide: Hide | None) -> dict[str, dict[Key, Pair]]:
    """Return the rows of each table by their keys."""
    listings = {listing.name: listing for listing in LISTINGS[part.topic]}
    found: dict[str, dict[Key, Pair]] = {name: {} for name in listings}
    plain = [*part.all_rows(hide=None)]
    for (table, row), (_, shown) in zip(plain, part.all_rows(hide=hide) if hide else plain, strict=True):
        found[table][listings[table].key(row)] = row, shown
    return found


def _changes(listing: Listing, old: Pair, new: Pair) -> Iterator[Cells]:
    """Yield the fields in which two rows differ, or one field of a row that only one end has."""
    shown = old[1] or new[1]
    before, before_shown, after, after_shown = map(_flat, (*old, *new))
    if (before and after) or not listing.keys:
        change = "changed"
        differ = [name for name in before | after if before.get(name) != after.get(name)]
        fields = [name for name in differ if not _QUIET.fullmatch(name)]
        row = {name: shown.get(name) for name in listing.key_names}
    else:
        change = "removed" if before else "added"
        further = (column.name for column in listing.columns[listing.keys :] if column.name in shown)
        fields = [_MAIN.get(listing.name) or next(further, "")]
        row = {name: value for name, value in shown.items() if name != "logPartition"}
    for field in fields:
        values = before_shown.get(field), after_shown.get(field)
        yield listing.name, _key_text(listing, shown), change, field or None, *values, row


def _key_text(listing: Listing, row: Row) -> str:
    """Return the values of the key of a row as a string. A partition has the form `orders-0`."""
    names = listing.key_names
    texts = [_key_part(name, row.get(name)) for name in names]
    if "partition" in names:
        at = names.index("partition")
        texts[at - 1 : at + 1] = ["-".join(texts[at - 1 : at + 1])]
    return ", ".join(texts)


def _key_part(name: str, value: Any) -> str:
    if name == "resourceName" and value == "":
        return "<default>"  # of all brokers
    if isinstance(value, dict):  # the entity of a quota
        return ", ".join(f"{kind} {who or '<default>'}" for kind, who in value.items())
    return str(value)


def _flat(row: Row, before: str = "") -> Row:
    """Return a row with nested objects flattened to fields with dots in their names."""
    out: Row = {}
    for name, value in row.items():
        if isinstance(value, dict) and value:
            out |= _flat(value, f"{before}{name}.")
        else:
            out[f"{before}{name}"] = _as_integer(value)
    return out


def _as_integer(value: Any) -> Any:
    """Convert a float without a fraction to an integer. Quotas are floats, and most of them have no fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
