"""The answer of `kwire overhead`: tables of bytes, costs of records, and distances from limits.

`Overhead` counts by `facts.costs`. The numbers come from the queries in questions/overhead/: a column of a table has
the value of the query's column of the same name, in snake case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import MOST_ROWS, Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.facts.costs.columns import OUTSIDE, WITHIN
from kwire_cli.facts.costs.limits import BY_KEY, LIMITS, PLACES
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.traffic import queries_in, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.facts.costs.counting import Costs
    from kwire_cli.source.kafka.captured import Captured

    Rows = list[dict[str, Any]]

NONE = "(none)"
"""The label of bytes that do not belong to a topic, client and so on."""
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
_OF_STEPS = (
    Column("recordsInBatch", "text", "records in a batch"),
    *(column for column in _BATCHES if column.name not in {"recordsPerBatch", "overheadPerBatch"}),
    Column("bar", "bar", "batches of this size", keep=7),
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
    *(Column(name, "text" if name in {"file", "topic"} else "id", keep=2) for name in PLACES),
)


@dataclass
class Overhead:
    """The bytes of inputs, as tables by the requested dimensions.

    `file_bytes` is the size of captures with packet headers. `only_files` is set if all inputs were files of records.
    """

    tables: Sequence[tuple[str, ...]]
    costs: Costs
    file_bytes: int | None = None
    only_files: bool = False

    def add(self, line: Captured) -> None:
        """Count a line of a capture."""
        self.costs.file = line.where.file
        self.costs.add(line)

    def answer(
        self, *, top: int | None = None, records: bool = True, limits: Mapping[str, int] | None = None
    ) -> Answer:
        """Return the bytes by the requested dimensions.

        `top` is the maximum number of rows of a table. `records` adds the cost of records and batches. `limits` adds
        the largest sizes with their limits: the values in it by the name of the setting, else Kafka's defaults.
        """
        queries = queries_in("overhead")
        tables = Tables(Redaction(self.costs.catalog), queries.values())
        try:
            tables.put_costs(self.costs)
            tables.finish()
            return Answer(
                "Where the bytes go", [*self._blocks(_Question(tables, queries, top), limits, records=records)]
            )
        finally:
            tables.close()

    def _blocks(self, asked: _Question, limits: Mapping[str, int] | None, *, records: bool) -> Iterator[Block]:
        whole = [*dict.fromkeys(self.tables)]
        owners = [name for name in whole[0] if name not in WITHIN]
        batches = _by_part(asked.rows("batches", by=owners))
        yield self._facts(asked.bytes_by(["kind"])[1])
        yield from self._charts(asked, batches)
        for names in whole:
            yield asked.bytes(_named("by", names), names, messages=self.costs.messages, files=self.only_files)
        if asked.bytes_by(["kind"], "unpacked")[0]:
            yield asked.bytes("compressed", ("kind",), side="unpacked")
        if batches and records:
            yield from _records(asked, owners, batches)
        if limits is not None and (largest := asked.rows("largest")):
            places = {row["limit_key"]: row for row in largest}
            reached = [_limit(places[limit.key], limits) for limit in LIMITS if limit.key in places]
            yield Table("limits", _LIMITS, reached, "limits")

    def _facts(self, total: Mapping[str, Any]) -> Facts:
        facts = [
            Fact("bytes", total["bytes"], "bytes"),
            Fact("inputBytes", self.costs.size, "bytes"),
            Fact("overheadBytes", total["overhead_bytes"], "bytes"),
            Fact("unreadBytes", total["unread_bytes"], "bytes"),
            Fact("overheadShare", total["overhead_share"], "share", "overhead"),
            Fact("messages", self.costs.messages, "count", "files" if self.only_files else ""),
        ]
        if self.file_bytes is not None:
            facts.append(Fact("fileBytes", self.file_bytes, "bytes", "captures, packets and all"))
        return Facts(facts)

    def _charts(self, asked: _Question, batches: Mapping[str, Rows]) -> Iterator[Chart]:
        owners = [name for name in OUTSIDE if any(name in names for names in self.tables)]
        fields = []
        for row in asked.bytes_by([*owners, "field"])[0]:
            *owner_labels, path = row["labels"]
            labels = [NONE if label is None else str(label) for label in owner_labels]
            fields.append(((*labels, *filter(None, path.split("."))), row["bytes"]))
        yield Chart("icicle", "What takes the bytes", fields)
        rows, total = asked.bytes_by(["kind"])
        kinds = [(f"{row['labels'][0]}{' *' * (row['overhead_bytes'] > 0)}", row["bytes"]) for row in rows]
        note = "* is overhead: bytes that are no field's value"
        yield Chart("bars", "Bytes by kind", kinds, whole=total["bytes"], note=note)
        if sizes := batches.get("records"):
            bars = [(row["records_in_batch"], row["batches"]) for row in sizes]
            yield Chart("histogram", "Records in a batch", bars, "batches")


class _Question:
    """The queries over the tables of costs, and tables of their results with at most `top` rows each."""

    def __init__(self, tables: Tables, queries: Mapping[str, str], top: int | None) -> None:
        self._tables = tables
        self._queries = queries
        self._rows: dict[tuple[str, str], Rows] = {}
        self.top = top

    def rows(self, query: str, **parameters: Any) -> Rows:
        """Return the rows of a query. The result is cached, because several tables use it."""
        key = query, str(parameters)
        if key not in self._rows:
            self._rows[key] = self._tables.rows(self._queries[query], parameters)
        return self._rows[key]

    def bytes_by(self, by: Sequence[str], side: str = "wire") -> tuple[Rows, dict[str, Any]]:
        """Return the bytes by some dimensions, and the total."""
        *rows, total = self.rows("bytes", by=[*by], side=side)
        return rows, total

    def bytes(
        self, name: str, by: Sequence[str], *, side: str = "wire", messages: int | None = None, files: bool = False
    ) -> Table:
        """Return a table of bytes by some dimensions.

        `messages` is the total number of messages. It may be less than the sum of the rows, because a message with
        several topics is counted in several rows.
        """
        rows, total = self.bytes_by(by, side)
        if set(by) & {*WITHIN}:
            count = Column("count", "count", keep=3)
            total = total | {"count": None}
        else:
            count = Column("messages", "count", "files" if files else "", keep=3)
            total = total | {"messages": messages}
        title = "" if side == "wire" else "inside compressed records (not in the total)"
        return self.table(name, by, (count, *_AMOUNTS), rows, total, title, is_cut=side == "wire")

    def table(
        self,
        name: str,
        by: Sequence[str],
        columns: Sequence[Column],
        rows: Rows,
        total: Mapping[str, Any] | None,
        title: str,
        *,
        is_cut: bool = True,
    ) -> Table:
        """Return a table of rows by some dimensions.

        The total covers all rows. If rows are left out, a note contains their number.
        """
        top = self.top if is_cut else None
        note = f"… and {len(rows) - top} more" if top is not None and len(rows) > top else ""
        dimensions = [Column(name, "id" if name in _NUMBERS else "text", absent=NONE) for name in by]
        shown = rows[:top]
        cells = [(*row["labels"], *cells) for row, cells in zip(shown, rows_of(columns, shown), strict=True)]
        last = None
        if total is not None:
            last = (*("total", *("" for _ in by[1:]))[: len(by)], *rows_of(columns, [{**total, "bar": None}])[0])
        return Table(name, (*dimensions, *columns), cells, title, last, None if top is not None else MOST_ROWS, note)


def _named(before: str, names: Sequence[str]) -> str:
    """Return the name of a table by some dimensions, such as byTopicPartition."""
    return before + "".join(name.title() for name in names)


def _part(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


# The cost of records by topic and other owners, by size of batches, and by codec.


def _by_part(rows: Rows) -> dict[str, Rows]:
    parts: dict[str, Rows] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append(row)
    return parts


def _records(asked: _Question, names: Sequence[str], batches: Mapping[str, Rows]) -> Iterator[Block]:
    groups, [total] = batches["owner"], batches["total"]
    title = "records (compressed ones as they decompress)"
    yield asked.table("batches", names, _BATCHES, groups, total if names and len(groups) > 1 else None, title)
    if total["batches"]:
        yield Table("byRecordsInBatch", _OF_STEPS, rows_of(_OF_STEPS, batches["records"]))
        yield Table("byCodec", _CODECS, rows_of(_CODECS, batches["codec"]))
    facts = [
        Fact("notDecompressed", total["unread"], "count", "batches that could not be decompressed whole", "warning"),
        Fact("gaps", total["gaps"], "count", "gaps between batches", "warning"),
    ]
    if facts := [fact for fact in facts if fact.value]:
        yield Facts(facts)


def _limit(largest: Mapping[str, Any], given: Mapping[str, int]) -> Row:
    """Return the largest size of a kind with its limit.

    The limit is the setting in `given`, else the value in the client's request, else Kafka's default.
    """
    limit = BY_KEY[largest["limit_key"]]
    size = largest["size"]
    choices = {
        "given": next((given[name] for name in limit.names if name in given), None),
        "asked": largest["asked"],
        "default": limit.default,
    }
    source, most = next((source, most) for source, most in choices.items() if most is not None)
    return (
        limit.names[0],
        limit.names[1] if len(limit.names) > 1 else None,
        source,
        limit.short,
        limit.counts,
        size,
        most,
        _part(size, most) if most else None,
        ("OVER" if limit.hard else "beyond") if size > most else "",
        size > most,
        limit.hard,
        *(largest[name] for name in PLACES),
    )
