"""The report of overhead, and its changes under an overlay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.ledger import OVERHEAD, Kind, class_of
from kwire_cli.analysis.costs.measures import WITHIN, BatchSizes, bucket_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.accounts import Account
    from kwire_cli.analysis.costs.ledger import Part
    from kwire_cli.analysis.costs.tallies import Summed, SummedAccount, Tallies

    Accounted = tuple[tuple[Any, ...], int, Sequence[Part]]
    """An account: its values of the dimensions, how many messages it has, and its parts."""


# What accounts say: tables of bytes by any dimensions, which add up to all that was counted, and the
# statistics of records.


@dataclass(slots=True)
class Row:
    """Bytes of what has these values of the table's dimensions.

    `count` are messages; in a table of fields or kinds how often these were there. `overhead` and `unread` are the
    bytes of such kinds.
    """

    key: tuple[Any, ...]
    count: int = 0
    bytes: int = 0
    overhead: int = 0
    unread: int = 0

    def add(self, kind: Kind, size: int) -> None:
        """Count bytes of a kind."""
        self.bytes += size
        if kind in OVERHEAD:
            self.overhead += size
        elif class_of(kind) == "unread":
            self.unread += size


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by `dimensions`, the most bytes first, those of as many by their values.

    They add up to `total`; `rest` are those behind the first ones that were asked for.
    """

    dimensions: tuple[str, ...]
    rows: list[Row]
    total: Row
    rest: Row | None = None

    @property
    def counts(self) -> str:
        """The unit of `count`: "count" or "messages"."""
        return "count" if set(self.dimensions) & {*WITHIN} else "messages"

    def to_json(self) -> Iterator[dict[str, Any]]:
        """A document a row."""
        for row in self.rows:
            yield {**dict(zip(self.dimensions, row.key, strict=True)), **self._numbers(row)}
        if self.rest:
            yield {**dict.fromkeys(self.dimensions), "rest": self.rest.key[0], **self._numbers(self.rest)}

    def _numbers(self, row: Row) -> dict[str, Any]:
        share = round(row.bytes / self.total.bytes, 6) if self.total.bytes else 0.0
        return {self.counts: row.count, "bytes": row.bytes, "share": share, "overheadBytes": row.overhead}


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

    def to_json(self) -> dict[str, Any]:
        """All numbers."""
        out: dict[str, Any] = {"what": self.name, "count": self.count, "bytes": self.bytes}
        out |= {"mean": round(self.bytes / self.count, 3) if self.count else None, "framingBytes": self.framing}
        return out if self.largest is None else out | {"largest": self.largest}


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
    def total(self) -> Row:
        """All bytes that were counted."""
        return self.tables[0].total

    @property
    def batches(self) -> BatchSizes:
        """All batches."""
        out = BatchSizes()
        for _, sizes in self.records:
            out.merge(sizes)
        return out

    def to_json(self) -> dict[str, Any]:
        """Everything but limits and batching."""
        total = self.total
        out: dict[str, Any] = {
            "inputBytes": self.size,
            "bytes": total.bytes,
            "overheadBytes": total.overhead,
            "unreadBytes": total.unread,
        }
        out |= {
            "messages": self.messages,
            "tables": [{"by": list(breakdown.dimensions), "rows": [*breakdown.to_json()]} for breakdown in self.tables],
        }
        out["compressed"] = [*self.inside.to_json()] if self.inside else []
        if self.records:
            sizes, outer = self.batches, [name for name in self.tables[0].dimensions if name not in WITHIN]
            out["records"] = {
                **sizes.total.to_json(),
                "by": [
                    {**dict(zip(outer, key, strict=True)), **measure.total.to_json()} for key, measure in self.records
                ],
                "byRecordsInBatch": [
                    {"recordsInBatch": bucket_text(bucket), **measure.to_json()}
                    for bucket, measure in sorted(sizes.by_records.items())
                ],
                "byBytesInBatch": [
                    {"bytesInBatch": bucket_text(bucket), **measure.to_json()}
                    for bucket, measure in sorted(sizes.by_bytes.items())
                ],
                "byCodec": [{"codec": codec, **measure.to_json()} for codec, measure in sizes.codecs],
                "contents": [measure.to_json() for measure in self.contents],
                "notDecompressed": sizes.unread,
                "gaps": sizes.gaps,
            }
        return out


def accounted(tallies: Tallies | Summed) -> list[Accounted]:
    """The accounts as tables take them."""
    return [(key, account.messages, [*account.parts()]) for key, account in tallies.accounts.items()]


def by_values(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """Return the sort key for values of the same dimensions. Missing values come first."""
    return [(value is not None, value) for value in key]


def table(accounts: Iterable[Accounted], names: Sequence[str], dimensions: Sequence[str], top: int | None) -> Table:
    """The table of some dimensions; the accounts' own are `names`."""
    outer = [names.index(name) for name in dimensions if name not in WITHIN]
    slots = [(name, outer.pop(0) if name not in WITHIN else -1) for name in dimensions]
    rows: dict[tuple[Any, ...], Row] = {}

    def row_of(key: tuple[Any, ...], part: Part | None, kind: Kind | None) -> Row:
        values = tuple(
            part.path if name == "field" and part else kind and str(kind) if name == "kind" else key[at]
            for name, at in slots
        )
        table_row = rows.get(values)
        if table_row is None:
            table_row = rows[values] = Row(values)
        return table_row

    total = Row(())
    by_field, by_kind = "field" in dimensions, "kind" in dimensions
    for key, messages, parts in accounts:
        if not by_field and not by_kind:
            row_of(key, None, None).count += messages
        for part in parts:
            last_row = None
            for kind, size in ((part.prefix_kind, part.prefix_bytes), (part.value_kind, part.value_bytes)):
                total.add(kind, size)
                if size or (by_field and not by_kind and kind is part.value_kind):
                    row = row_of(key, part, kind)
                    row.add(kind, size)
                    if (by_field or by_kind) and row is not last_row and not (by_field and kind is Kind.TAG_HEADER):
                        row.count += part.count
                    last_row = row
    ordered = sorted(rows.values(), key=lambda row: (-row.bytes, *by_values(row.key)))
    top_rows = ordered if top is None else ordered[:top]
    rest = None
    if len(top_rows) < len(ordered):
        rest = Row((len(ordered) - len(top_rows),))
        for row in ordered[len(top_rows) :]:
            rest.count, rest.bytes = rest.count + row.count, rest.bytes + row.bytes
            rest.overhead, rest.unread = rest.overhead + row.overhead, rest.unread + row.unread
    return Table(tuple(dimensions), top_rows, total, rest)


def report(tallies: Tallies | Summed, tables: Sequence[Sequence[str]], top: int | None) -> Report:
    """The tables that were asked for; statistics of records by the outer dimensions of the first one."""
    accounts = accounted(tallies)
    inside = [(key, 0, [*account.inside()]) for key, account in tallies.accounts.items()]
    names = tallies.dimensions
    breakdowns = [table(accounts, names, dimensions, top) for dimensions in tables]
    for breakdown in breakdowns:
        breakdown.total.count = tallies.messages  # which may be about several topics
    unpacked = table(inside, names, ("kind",), None) if any(parts for _, _, parts in inside) else None
    batches = _records(tallies.accounts, names, tables[0])
    overview = Report(tallies.size, tallies.messages, breakdowns, unpacked, batches)
    if batches:
        overview.contents = _contents(
            [part for _, _, parts in (*accounts, *inside) for part in parts], overview.batches.largest
        )
    return overview


def _records(
    accounts: Mapping[tuple[Any, ...], Account | SummedAccount], names: Sequence[str], dimensions: Sequence[str]
) -> list[tuple[tuple[Any, ...], BatchSizes]]:
    at = [names.index(name) for name in dimensions if name not in WITHIN]
    out: dict[tuple[Any, ...], BatchSizes] = {}
    for key, account in accounts.items():
        if account.sizes.by_records or account.sizes.gaps:
            out.setdefault(tuple(key[i] for i in at), BatchSizes()).merge(account.sizes)
    return sorted(out.items(), key=lambda item: (-item[1].total.bytes, *by_values(item[0])))


_CONTENTS = ("keys", "values", "header keys", "header values", "headers")


def _contents(parts: list[Part], largest: tuple[int, int, int]) -> list[Content]:
    keys, values, header_keys, header_values, headers = out = [Content(name) for name in _CONTENTS]
    keys.largest, values.largest, headers.largest = largest
    for part in parts:
        if part.value_kind is Kind.RECORD_KEY:
            into = keys
        elif part.value_kind is Kind.RECORD_VALUE:
            into = values
        elif part.value_kind is Kind.RECORD_HEADER:
            into = header_keys if part.path.endswith(".key") else header_values
            headers.bytes, headers.framing = headers.bytes + part.value_bytes, headers.framing + part.prefix_bytes
            headers.count += part.count if into is header_keys else 0
        elif part.path.rpartition(".")[2] == "headers":
            headers.framing += part.prefix_bytes
            continue
        else:
            continue
        into.count, into.bytes, into.framing = (
            into.count + part.count,
            into.bytes + part.value_bytes,
            into.framing + part.prefix_bytes,
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
    return table(accounted(tallies), tallies.dimensions, dimensions, None)
