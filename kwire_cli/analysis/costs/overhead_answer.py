"""The answer of overhead: tables of bytes, what records cost, how far limits are, and what other settings would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.ledger import OVERHEAD
from kwire_cli.analysis.costs.measures import WITHIN, Batches, bucket_text, distances
from kwire_cli.analysis.costs.overhead import changes, report
from kwire_cli.answer import MOST_ROWS, Answer, Chart, Column, Fact, Facts, Note, Table
from kwire_cli.source.logs.files import Segment
from kwire_cli.stores import FileBytes, location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.batching import Accumulators
    from kwire_cli.analysis.costs.measures import Distance
    from kwire_cli.analysis.costs.overhead import Report, Table as Breakdown
    from kwire_cli.analysis.costs.tallies import Tallies
    from kwire_cli.answer import Block, Row
    from kwire_cli.source.kafka.captured import Captured

NONE = "(none)"
"""The text for bytes that belong to no topic, client and so on."""
_NUMBERS: frozenset[str] = frozenset({"partition", "stream"})
_AMOUNTS = (
    Column("bytes", "bytes"),
    Column("share", "share", keep=2),
    Column("overheadShare", "share", "overhead", keep=1),
    Column("overheadBytes", "bytes", wide=True),
    Column("bar", "bar", " ", keep=4),
)
_BATCHES = (
    Column("batches", "count"),
    Column("records", "count", keep=1),
    Column("recordsPerBatch", "number", "records/batch", keep=5, digits=1),
    Column("bytesPerRecord", "number", "bytes/record", keep=4, digits=1),
    Column("overheadPerRecord", "number", "overhead/record", digits=2),
    Column("overheadPerBatch", "number", "overhead/batch", keep=6, digits=1),
    Column("overheadShare", "share", "overhead", keep=3),
    Column("bytes", "bytes", wide=True),
    Column("overheadBytes", "bytes", wide=True),
    Column("packedBytes", "bytes", wide=True),
    Column("unpackedBytes", "bytes", wide=True),
)
_CODECS = (
    Column("codec"),
    Column("batches", "count"),
    Column("records", "count"),
    Column("bytes", "bytes"),
    Column("packedBytes", "bytes", "records packed"),
    Column("unpackedBytes", "bytes", "unpacked"),
    Column("ratio", "number", digits=2),
)
_CONTENTS = (
    Column("what", "text", "in records"),
    Column("count", "count"),
    Column("bytes", "bytes"),
    Column("mean", "number", digits=1, keep=3),
    Column("largest", "bytes", keep=2),
    Column("framingBytes", "bytes", "their lengths", keep=4),
    Column("bytesPerRecord", "number", "bytes/record", digits=1, keep=1),
    Column("share", "share"),
)
_PLACES = ("file", "stream", "packet", "frame", "topic", "partition", "position")
"""The parts of a place, as `Largest` names them."""
_LIMITS = (
    Column("limit"),
    Column("alias", wide=True),
    Column("source", keep=6),
    Column("counts", keep=7),
    Column("meaning", wide=True),
    Column("largest", "bytes"),
    Column("bytes", "bytes", "limit of", keep=1),
    Column("share", "share", "of it", digits=2),
    Column("verdict", "text", " ", level="error"),
    Column("over", "flag", wide=True),
    Column("hard", "flag", wide=True),
    *(Column(name, "text" if name in {"file", "topic"} else "id", keep=2) for name in _PLACES),
)
_CHANGES = (
    Column("writtenBytes", "bytes", "as written"),
    Column("bytes", "bytes"),
    Column("change", "bytes"),
    Column("changeShare", "share", "change"),
)


@dataclass
class Overhead:
    """The bytes of inputs, with the tables that are wanted of them.

    In a what-if, `tallies` are those under the overlay, and `written` those of the input as it is. `file_bytes` are the
    bytes of captures, packet headers included. `only_files` says that nothing but files of records was counted.
    """

    tables: Sequence[tuple[str, ...]]
    tallies: Tallies
    written: Tallies | None = None
    accumulators: Accumulators | None = None
    file_bytes: int | None = None
    only_files: bool = False

    def add(self, subject: Captured | Segment) -> None:
        """Count a line of a capture, or a segment."""
        if isinstance(subject, Segment):
            self.tallies.file = location(subject.path)
            for _ in self.tallies.records(FileBytes(subject.path), subject.topic, subject.partition, "auto"):
                pass
        else:
            self.tallies.file = subject.where.file
            self.tallies.add(subject)

    def merge(self, other: Overhead) -> None:
        """Count what another one has."""
        self.tallies.merge(other.tallies)

    def answer(
        self, *, top: int | None = None, records: bool = True, limits: Mapping[str, int] | None = None
    ) -> Answer:
        """Return where the bytes went.

        `top` is how many rows of a table are wanted. `records` adds what records and batches cost, and `limits` how far
        the largest things are from their limits: those that are given here by name, and Kafka's.
        """
        whole = report(self.tallies, [*dict.fromkeys(self.tables)])
        blocks: list[Block] = [self._facts(whole), *self._charts(whole)]
        blocks += [self._bytes(table, _named("by", table.dimensions), top) for table in whole.tables]
        if whole.inside:
            inside = self._bytes(whole.inside, "compressed", None, "inside compressed records (not in the total)")
            blocks.append(inside)
        blocks += self._changes(top)
        if whole.records and records:
            blocks += _records(whole, top)
        if limits is not None and (reached := distances(self.tallies.largest, limits)):
            blocks.append(Table("limits", _LIMITS, [_limit(distance) for distance in reached], "limits"))
        if self.accumulators:
            blocks += self.accumulators.blocks(top)
        return Answer("Where the bytes go", blocks)

    def _facts(self, whole: Report) -> Facts:
        total = whole.total
        facts = [
            Fact("bytes", total.bytes, "bytes"),
            Fact("inputBytes", whole.size, "bytes"),
            Fact("overheadBytes", total.overhead, "bytes"),
            Fact("unreadBytes", total.unread, "bytes"),
            Fact("overheadShare", _part(total.overhead, total.bytes), "share", "overhead"),
            Fact("messages", whole.messages, "count", "files" if self.only_files else ""),
        ]
        if self.file_bytes is not None:
            facts.append(Fact("fileBytes", self.file_bytes, "bytes", "captures, packets and all"))
        return Facts(facts)

    def _charts(self, whole: Report) -> Iterator[Chart]:
        yield Chart("icicle", "What takes the bytes", self._by_field())
        note = "* is overhead: bytes that are no field's value"
        yield Chart("bars", "Bytes by kind", self._by_kind(), whole=whole.total.bytes, note=note)
        if whole.records and (by_records := whole.batches.by_records):
            sizes = [(bucket_text(bucket), batches.batches) for bucket, batches in sorted(by_records.items())]
            yield Chart("histogram", "Records in a batch", sizes, "batches")

    def _by_field(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the bytes of each field, below what they belong to."""
        [table] = report(self.tallies, [(*self.tallies.dimensions, "field")]).tables
        for row in table.rows:
            *owner, path = row.key
            yield (
                (*(NONE if value is None else str(value) for value in owner), *filter(None, path.split("."))),
                row.bytes,
            )

    def _by_kind(self) -> Iterator[tuple[str, int]]:
        [table] = report(self.tallies, [("kind",)]).tables
        for row in table.rows:
            yield f"{row.key[0]}{' *' if row.key[0] in OVERHEAD else ''}", row.bytes

    def _bytes(self, table: Breakdown, name: str, top: int | None, title: str = "") -> Table:
        total, of_messages = table.total, table.counts == "messages"
        count = Column(table.counts, "count", "files" if self.only_files and of_messages else "", keep=3)
        rows = [(*row.key, row.count, *_amounts(row.bytes, row.overhead, total.bytes), row.bytes) for row in table.rows]
        last = (*_total(table.dimensions), total.count if of_messages else None)
        last = (*last, *_amounts(total.bytes, total.overhead, total.bytes), None)
        return _cut(name, (*_dimensions(table.dimensions), count, *_AMOUNTS), rows, top, title, total=last)

    def _changes(self, top: int | None) -> Iterator[Block]:
        """Yield the rows that an overlay changes, and how many messages were written again."""
        if not self.written or not (overlaid := self.tallies.overlaid):
            return
        for names in dict.fromkeys(self.tables) if not self.only_files else ():
            changed, total = changes(self.written, self.tallies, names)
            rows = [(*row.key, row.written, row.under, row.change, _part(row.change, row.written)) for row in changed]
            last = (*_total(names), total.written, total.under, total.change, _part(total.change, total.written))
            title = "under the overlay (rows that change)"
            yield _cut(_named("changesBy", names), (*_dimensions(names), *_CHANGES), rows, top, title, total=last)
        what = "messages in records" if self.only_files else "bodies"
        facts = [
            Fact("rewrittenMessages", overlaid.rewritten, "count", "messages written again under the overlay"),
            Fact("rewrittenBytesBefore", overlaid.before, "bytes", f"their {what} as written"),
            Fact("rewrittenBytesAfter", overlaid.after, "bytes", f"their {what} under the overlay"),
            Fact("rewrittenChange", overlaid.after - overlaid.before, "bytes", "change"),
        ]
        if overlaid.as_written:
            facts.append(Fact("asWritten", dict(overlaid.as_written), "map", "messages that stay as they are written"))
        yield Facts(facts)
        if self.only_files:
            yield Note("the records around them, and so the tables above, are as they are written")


def _named(before: str, names: Sequence[str]) -> str:
    """Return the name of a table by these dimensions: byTopicPartition."""
    return before + "".join(name.title() for name in names)


def _dimensions(names: Sequence[str]) -> list[Column]:
    return [Column(name, "id" if name in _NUMBERS else "text", absent=NONE) for name in names]


def _total(names: Sequence[str]) -> Row:
    """Return the first cells of a row that adds up the others."""
    return ("total", *("" for _ in names[1:])) if names else ()


def _cut(
    name: str, columns: Sequence[Column], rows: list[Row], top: int | None, title: str, *, total: Row | None
) -> Table:
    """Return a table of the first rows. Its total is that of all rows, and a note says how many are missing."""
    note = f"… and {len(rows) - top} more" if top is not None and len(rows) > top else ""
    return Table(name, columns, rows[:top], title, total, None if top is not None else MOST_ROWS, note)


def _amounts(size: int, overhead: int, whole: int) -> Row:
    """Return the cells of `_AMOUNTS` without the bar."""
    return size, _part(size, whole), _part(overhead, size), overhead


def _part(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _mean(total: float, number: int) -> float | None:
    return round(total / number, 3) if number else None


# What records cost: by whom they belong to, by the size of batches, by codec, and by what is in records.


def _records(whole: Report, top: int | None) -> Iterator[Block]:
    sizes = whole.batches
    names = [name for name in whole.tables[0].dimensions if name not in WITHIN]
    rows = [(*key, *_costs(group.total)) for key, group in whole.records]
    total = (*_total(names), *_costs(sizes.total)) if names and len(rows) > 1 else None
    title = "records (compressed ones as they decompress)"
    yield _cut("batches", (*_dimensions(names), *_BATCHES), rows, top, title, total=total)
    if sizes.by_records:
        yield _by_size("recordsInBatch", "records in a batch", sizes.by_records)
        yield _by_size("bytesInBatch", "bytes in a batch", sizes.by_bytes)
        yield Table("byCodec", _CODECS, [(name, *_packing(batches)) for name, batches in sizes.codecs])
        yield Table("contents", _CONTENTS, _contents(whole))
    facts = [
        Fact("notDecompressed", sizes.unread, "count", "batches that could not be decompressed whole", "warning"),
        Fact("gaps", sizes.gaps, "count", "gaps between batches", "warning"),
    ]
    if facts := [fact for fact in facts if fact.value]:
        yield Facts(facts)


def _whole_bytes(batches: Batches) -> int:
    """Return the bytes of batches as if none of them were compressed."""
    return batches.bytes - batches.packed + batches.unpacked


def _costs(batches: Batches) -> Row:
    """Return the cells of `_BATCHES`."""
    whole, overhead = _whole_bytes(batches), batches.overhead
    return (
        batches.batches,
        batches.records,
        _mean(batches.records, batches.batches),
        _mean(whole, batches.records),
        _mean(overhead, batches.records),
        _mean(overhead, batches.batches),
        _part(overhead, whole),
        batches.bytes,
        overhead,
        batches.packed,
        batches.unpacked,
    )


def _packing(batches: Batches) -> Row:
    """Return the cells of `_CODECS` behind the first one; those of records only if they are compressed."""
    packed = batches.packed
    unpacked = (packed, batches.unpacked, _mean(batches.unpacked, packed)) if packed else (None, None, None)
    return batches.batches, batches.records, batches.bytes, *unpacked


def _by_size(name: str, title: str, buckets: dict[int, Batches]) -> Table:
    columns = (
        Column(name, "text", title),
        *(column for column in _BATCHES if column.name not in {"recordsPerBatch", "overheadPerBatch"}),
        Column("bar", "bar", "batches of this size", keep=7),
    )
    rows = []
    for bucket, batches in sorted(buckets.items()):
        count, records, _, size, overhead, _, *rest = _costs(batches)
        rows.append((bucket_text(bucket), count, records, size, overhead, *rest, batches.batches))
    return Table(f"by{name[0].upper()}{name[1:]}", columns, rows)


def _contents(whole: Report) -> Iterator[Row]:
    total = whole.batches.total
    for content in whole.contents:
        size = content.bytes + content.framing
        yield (
            content.name,
            content.count,
            content.bytes,
            _mean(content.bytes, content.count),
            content.largest,
            content.framing,
            _mean(size, total.records),
            _part(size, _whole_bytes(total)),
        )


def _limit(distance: Distance) -> Row:
    limit, seen = distance.limit, distance.seen
    verdict = ("OVER" if limit.hard else "beyond") if distance.over else ""
    return (
        limit.names[0],
        limit.names[1] if len(limit.names) > 1 else None,
        distance.source,
        limit.short,
        limit.counts,
        seen.size,
        distance.bytes,
        round(distance.share, 6) if distance.bytes else None,
        verdict,
        distance.over,
        limit.hard,
        *(seen.where.get(name) for name in _PLACES),
    )
