"""The report of overhead, and its changes under an overlay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.ledger import OVERHEAD, Kind, class_of
from kwire_cli.analysis.costs.measures import WITHIN, BatchSizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cli.analysis.costs.ledger import Row
    from kwire_cli.analysis.costs.tallies import Account, Tallies


# What a ledger says: tables of bytes by any dimensions, which add up to all that was counted, and the
# statistics of records.


@dataclass(slots=True)
class Amount:
    """Bytes of what has these values of the table's dimensions.

    `count` are messages; in a table of fields or kinds how often these were there. `overhead` and `unread` are the
    bytes of such kinds.
    """

    key: tuple[Any, ...]
    count: int = 0
    bytes: int = 0
    overhead: int = 0
    unread: int = 0

    def add(self, kind: str, size: int) -> None:
        """Count bytes of a kind."""
        self.bytes += size
        if kind in OVERHEAD:
            self.overhead += size
        elif class_of(kind) == "unread":
            self.unread += size


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by `dimensions`, the most bytes first, those of as many by their values.

    They add up to `total`.
    """

    dimensions: tuple[str, ...]
    rows: list[Amount]
    total: Amount

    @property
    def counts(self) -> str:
        """The unit of `count`: "count" or "messages"."""
        return "count" if set(self.dimensions) & {*WITHIN} else "messages"


@dataclass(slots=True)
class Content:
    """Bytes of the keys, values or headers of records, compressed records as they decompress.

    `count` is how many there are, `bytes` their bytes, and `framing` the bytes of their lengths. `largest` is the
    size of the largest one, or None if that is not known. For headers it is the most bytes that the headers of one
    record take, with lengths and count.
    """

    name: str
    count: int = 0
    bytes: int = 0
    framing: int = 0
    largest: int | None = None


@dataclass
class Report:
    """All that is shown of what was counted.

    `size` are the bytes of the input, `inside` what compressed records consist of; `records` are the statistics of
    batches by the dimensions of the first table that messages have, `contents` what is in all records.
    """

    size: int
    messages: int
    tables: list[Table]
    inside: Table | None = None
    records: list[tuple[tuple[Any, ...], BatchSizes]] = field(default_factory=list)
    contents: list[Content] = field(default_factory=list)

    @property
    def total(self) -> Amount:
        """All bytes that were counted."""
        return self.tables[0].total

    @property
    def batches(self) -> BatchSizes:
        """All batches."""
        out = BatchSizes()
        for _, sizes in self.records:
            out.merge(sizes)
        return out


def by_values(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """Return the sort key for values of the same dimensions. Missing values come first."""
    return [(value is not None, value) for value in key]


def table(
    ledger_rows: Iterable[Row],
    messages: Mapping[tuple[Any, ...], int],
    names: Sequence[str],
    dimensions: Sequence[str],
) -> Table:
    """The table of some dimensions; `names` are those of the owners of the rows, who have so many messages."""
    outer = [names.index(name) for name in dimensions if name not in WITHIN]
    slots = [(name, outer.pop(0) if name not in WITHIN else -1) for name in dimensions]
    rows: dict[tuple[Any, ...], Amount] = {}

    def row_of(owner: tuple[Any, ...], path: str, kind: str) -> Amount:
        values = tuple(path if name == "field" else str(kind) if name == "kind" else owner[at] for name, at in slots)
        table_row = rows.get(values)
        if table_row is None:
            table_row = rows[values] = Amount(values)
        return table_row

    total = Amount(())
    by_field, by_kind = "field" in dimensions, "kind" in dimensions
    if not by_field and not by_kind:
        for owner, count in messages.items():
            row_of(owner, "", "").count += count
    for row in ledger_rows:
        last = None
        prefix_kind, value_kind = row.kinds or ("", "")
        for kind, size in ((prefix_kind, row.prefix_bytes), (value_kind, row.value_bytes)):
            total.add(kind, size)
            if size or (by_field and not by_kind and kind is value_kind):
                amount = row_of(row.owner, row.path, kind)
                amount.add(kind, size)
                if (by_field or by_kind) and amount is not last and not (by_field and kind is Kind.TAG_HEADER):
                    amount.count += row.count
                last = amount
    ordered = sorted(rows.values(), key=lambda row: (-row.bytes, *by_values(row.key)))
    return Table(tuple(dimensions), ordered, total)


def report(tallies: Tallies, tables: Sequence[Sequence[str]]) -> Report:
    """The tables that were asked for; statistics of records by the outer dimensions of the first one."""
    rows, inside = tallies.ledger.rows(), tallies.inside.rows()
    names = tallies.dimensions
    breakdowns = [table(rows, tallies.message_counts, names, dimensions) for dimensions in tables]
    for breakdown in breakdowns:
        breakdown.total.count = tallies.messages  # which may be about several topics
    unpacked = table(inside, {}, names, ("kind",)) if inside else None
    batches = _records(tallies.accounts, names, tables[0])
    overview = Report(tallies.size, tallies.messages, breakdowns, unpacked, batches)
    if batches:
        overview.contents = _contents([*rows, *inside], overview.batches.largest)
    return overview


def _records(
    accounts: Mapping[tuple[Any, ...], Account], names: Sequence[str], dimensions: Sequence[str]
) -> list[tuple[tuple[Any, ...], BatchSizes]]:
    at = [names.index(name) for name in dimensions if name not in WITHIN]
    out: dict[tuple[Any, ...], BatchSizes] = {}
    for key, account in accounts.items():
        if account.sizes.by_records or account.sizes.gaps:
            out.setdefault(tuple(key[i] for i in at), BatchSizes()).merge(account.sizes)
    return sorted(out.items(), key=lambda item: (-item[1].total.bytes, *by_values(item[0])))


_CONTENTS = ("keys", "values", "header keys", "header values", "headers")


def _contents(rows: list[Row], largest: tuple[int, int, int]) -> list[Content]:
    keys, values, header_keys, header_values, headers = out = [Content(name) for name in _CONTENTS]
    keys.largest, values.largest, headers.largest = largest
    for row in rows:
        value_kind = row.kinds and row.kinds[1]
        if value_kind is Kind.RECORD_KEY:
            into = keys
        elif value_kind is Kind.RECORD_VALUE:
            into = values
        elif value_kind is Kind.RECORD_HEADER:
            into = header_keys if row.path.endswith(".key") else header_values
            headers.bytes, headers.framing = headers.bytes + row.value_bytes, headers.framing + row.prefix_bytes
            headers.count += row.count if into is header_keys else 0
        elif row.path.rpartition(".")[2] == "headers":
            headers.framing += row.prefix_bytes
            continue
        else:
            continue
        into.count, into.bytes, into.framing = (
            into.count + row.count,
            into.bytes + row.value_bytes,
            into.framing + row.prefix_bytes,
        )
    return [content for content in out if content.count or content.framing]


# What an overlay changes: the rows of a table as the input is written, and as the same values would be.


@dataclass(frozen=True, slots=True)
class Change:
    """The bytes of what has these values of the dimensions, as they are written, and under the overlay."""

    key: tuple[Any, ...]
    written: int
    under: int

    @property
    def change(self) -> int:
        """Bytes more, below 0 where they are fewer."""
        return self.under - self.written


def changes(written: Tallies, under: Tallies, dimensions: Sequence[str]) -> tuple[list[Change], Change]:
    """The rows of a table that change, the largest change first, and the total."""
    before, after = _whole(written, dimensions), _whole(under, dimensions)
    sizes = {row.key: [row.bytes, 0] for row in before.rows}
    for row in after.rows:
        sizes.setdefault(row.key, [0, 0])[1] = row.bytes
    rows = [Change(key, *pair) for key, pair in sizes.items() if pair[0] != pair[1]]
    return sorted(rows, key=lambda row: (-abs(row.change), *by_values(row.key))), Change(
        (), before.total.bytes, after.total.bytes
    )


def _whole(tallies: Tallies, dimensions: Sequence[str]) -> Table:
    return table(tallies.ledger.rows(), tallies.message_counts, tallies.dimensions, dimensions)
