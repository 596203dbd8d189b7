"""Overhead, overlays and batching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.measures import WITHIN, Batches, bucket_text
from kwire_cli.view.lines import counted
from kwire_cli.view.tables import bar, grid_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.costs.batching import Made, Outcome, Setting, Tried
    from kwire_cli.analysis.costs.measures import BatchSizes, Distance
    from kwire_cli.analysis.costs.overhead import Amount, Change, Content, Report, Table
    from kwire_cli.analysis.costs.overlaid import Overlaid
    from kwire_cli.view.lines import Line


# What bytes cost, for eyes: tables with bars and shares, then what is in records, and how far limits are.

DIGITS = {
    "limit %": 2,
    "share %": 1,
    "overhead %": 1,
    "overhead/record": 2,
    "overhead/batch": 1,
    "records/batch": 1,
    "bytes/record": 1,
    "ratio": 2,
    "mean": 1,
}


NONE = "(none)"


def report_lines(report: Report, *, messages: str = "messages") -> Iterator[Line]:
    """The tables of bytes, what compressed records consist of, and what they add up to. `messages` is what one is
    called.
    """
    for table in report.tables:
        yield from table_lines(table, messages=messages)
        yield []
    if report.inside:
        yield [("inside compressed records (not in the total)", "title")]
        yield from table_lines(report.inside, messages=messages)
        yield []
    whole, total = counted(report.messages, messages.removesuffix("s")), report.total
    same = total.bytes == report.size
    sum_text = "all bytes of the input" if same else f"{report.size} as written"
    yield [
        (f"{total.bytes} bytes", "number"),
        (f" in {whole}: {sum_text}, ", ""),
        (f"{percent(total.overhead, total.bytes):.1f} %", "number"),
        (" of them overhead", ""),
    ]


def table_lines(found: Table, *, messages: str) -> Iterator[Line]:
    """One table with its total."""
    most = max((row.bytes for row in found.rows), default=0)
    counts = messages if found.counts == "messages" else "count"
    heading = (*found.dimensions, counts, "bytes", "share %", "overhead %", "")
    total = found.total.bytes
    rows: list[Any] = [
        _row([NONE if value is None else str(value) for value in row.key], row, total, bar(row.bytes, most))
        for row in found.rows
    ]
    if found.rest:
        rows.append(_row([f"({found.rest.key[0]} more)", *[""] * (len(found.dimensions) - 1)], found.rest, total, ""))
    count = found.total.count if found.counts == "messages" else None
    rows.append(
        (
            "total",
            *[""] * (len(found.dimensions) - 1),
            count,
            total,
            100.0 if total else 0.0,
            percent(found.total.overhead, total),
            "",
        )
    )
    yield from grid_lines(heading, rows, DIGITS)


def _row(key: Sequence[str], row: Amount, total: int, drawn: str) -> tuple[Any, ...]:
    return (*key, row.count, row.bytes, percent(row.bytes, total), percent(row.overhead, row.bytes), drawn)


def percent(part: int, whole: int) -> float:
    """Hundredths of the whole that a part is."""
    return 100 * part / whole if whole else 0.0


def record_lines(report: Report, top: int | None = None) -> Iterator[Line]:
    """Yield what records cost: by the report's dimensions, by the number in a batch, by codec, and by content.

    At most `top` rows are shown by dimensions, and the rest as one row.
    """
    sizes = report.batches
    dimensions = [name for name in report.tables[0].dimensions if name not in WITHIN]
    yield [("records", "title"), (" (compressed ones as they decompress)", "dim")]
    heading = (
        *dimensions,
        "batches",
        "records",
        "records/batch",
        "bytes/record",
        "overhead/record",
        "overhead/batch",
        "overhead %",
    )
    listed = report.records[:top]
    rows = [(*[NONE if value is None else str(value) for value in key], *_costs(group.total)) for key, group in listed]
    if rest := report.records[len(listed) :]:
        remaining = Batches()
        for _, group in rest:
            remaining.merge(group.total)
        rows.append((f"({len(rest)} more)", *[""] * (len(dimensions) - 1), *_costs(remaining)))
    yield from grid_lines(heading, rows, DIGITS)
    if sizes.by_records:
        for section in (
            _by_size("records in a batch", sizes.by_records),
            _by_size("bytes in a batch", sizes.by_bytes),
            _by_codec(sizes),
            _contents(report.contents, sizes.total),
        ):
            yield []
            yield from section
    odd = [counted(sizes.unread, "batch", "batches") + " could not be decompressed whole"] if sizes.unread else []
    odd += [counted(sizes.gaps, "gap") + " between batches"] if sizes.gaps else []
    if odd:
        yield [("; ".join(odd), "warning")]


def _plain_bytes(found: Batches) -> int:
    """The bytes of batches as if none of them were compressed."""
    return found.bytes - found.packed + found.unpacked


def _costs(found: Batches) -> tuple[Any, ...]:
    records, batches = found.records, found.batches
    whole = _plain_bytes(found)
    averages = (
        records / batches if batches else None,
        whole / records if records else None,
        found.overhead / records if records else None,
    )
    return batches, records, *averages, found.overhead / batches if batches else None, percent(found.overhead, whole)


def _by_size(name: str, buckets: dict[int, Batches]) -> Iterator[Line]:
    most = max((total.batches for total in buckets.values()), default=0)
    heading = (name, "batches", "records", "bytes/record", "overhead/record", "overhead %", "batches of this size")
    rows = []
    for bucket, total in sorted(buckets.items()):
        batches, records, _, size, overhead, _, share = _costs(total)
        rows.append((bucket_text(bucket), batches, records, size, overhead, share, bar(total.batches, most)))
    yield from grid_lines(heading, rows, DIGITS)


def _by_codec(sizes: BatchSizes) -> Iterator[Line]:
    heading = ("codec", "batches", "records", "bytes", "records packed", "unpacked", "ratio")
    rows = []
    for codec, cost in sizes.codecs:
        packed = (
            (cost.packed, cost.unpacked, cost.unpacked / cost.packed if cost.packed else None)
            if cost.packed
            else (None, None, None)
        )
        rows.append((codec, cost.batches, cost.records, cost.bytes, *packed))
    yield from grid_lines(heading, rows, DIGITS)


def _contents(contents: list[Content], total: Batches) -> Iterator[Line]:
    heading = ("in records", "count", "bytes", "mean", "largest", "their lengths", "bytes/record", "share %")
    rows = []
    for content in contents:
        whole = content.bytes + content.framing
        mean = content.bytes / content.count if content.count else None
        share = percent(whole, _plain_bytes(total))
        rows.append(
            (
                content.name,
                content.count,
                content.bytes,
                mean,
                content.largest,
                content.framing,
                whole / total.records if total.records else None,
                share,
            )
        )
    yield from grid_lines(heading, rows, DIGITS)


def limit_lines(found: list[Distance]) -> Iterator[Line]:
    """Yield how far the largest of each kind is from its limit, and what the limit counts."""
    heading = ("limit", "counts", "largest", "limit of", "limit %", "", "where")
    rows: list[Any] = []
    for distance in found:
        source = "" if distance.source == "default" else f" ({distance.source})"
        share = 100 * min(distance.share, 1e6)
        note = "OVER" if distance.over and distance.limit.hard else "beyond" if distance.over else ""
        rows.append(
            (
                distance.limit.names[0] + source,
                distance.limit.short,
                distance.seen.size,
                distance.bytes,
                share,
                note,
                where_text(distance.seen.where),
            )
        )
    yield from grid_lines(heading, rows, DIGITS)


def where_text(where: dict[str, Any]) -> str:
    """Return the place of something as the text of one cell."""
    topic = "" if where.get("topic") is None else f" {where['topic']}"
    partition = "" if where.get("partition") is None else f"-{where['partition']}"
    place = [where["file"]] if "file" in where else []
    place += [f"{name} {where[name]}" for name in ("stream", "packet", "frame") if name in where]
    return f"{' '.join(place)}{topic}{partition}" + (f" at {where['position']}" if "position" in where else "")


# What an overlay changes, for eyes and as JSON.

OVERLAY_DIGITS = {"change %": 1}


OVERLAID_NONE = "(none)"


def change_lines(dimensions: Sequence[str], rows: Sequence[Change], total: Change, top: int | None) -> Iterator[Line]:
    """The rows that change, as written and under the overlay, and the total of all rows."""
    cells: list[Any] = [
        _cells([OVERLAID_NONE if value is None else str(value) for value in row.key], row) for row in rows[:top]
    ]
    if len(rows) > len(cells):
        left = rows[len(cells) :]
        more = f"({len(left)} more)"
        cells.append(
            (
                more,
                *[""] * (len(dimensions) - 1),
                sum(row.written for row in left),
                sum(row.under for row in left),
                sum(row.change for row in left),
                None,
            )
        )
    cells.append(_cells(["total", *[""] * (len(dimensions) - 1)], total))
    yield [("under the overlay", "title"), (" (rows that change)", "dim")]
    yield from grid_lines((*dimensions, "as written", "bytes", "change", "change %"), cells, OVERLAY_DIGITS)


def _cells(key: Sequence[str], row: Change) -> tuple[Any, ...]:
    return (*key, row.written, row.under, row.change, 100 * row.change / row.written if row.written else None)


def outcome_lines(overlaid: Overlaid, *, in_records: bool) -> Iterator[Line]:
    """Yield how many messages were written again, and which messages stayed as they were."""
    saved = overlaid.before - overlaid.after
    what = "messages in records" if in_records else "bodies"
    again, size = counted(overlaid.rewritten, "message"), counted(overlaid.before, "byte")
    yield [
        (f"{again} written again under the overlay: ", ""),
        (f"{overlaid.after}", "number"),
        (f" instead of {size} of {what}, ", ""),
        (f"{abs(saved)}", "number"),
        (f" {'fewer' if saved >= 0 else 'more'}", ""),
    ]
    if in_records:
        yield [("  the records around them, and so the tables above, are as they are written", "dim")]
    for reason, number in overlaid.as_written.items():
        yield [(f"  {counted(number, 'message')} {reason}: as they are written", "dim")]


def change_document(
    tables: Sequence[tuple[Sequence[str], Sequence[Change]]], total: Change, overlaid: Overlaid
) -> dict[str, Any]:
    """The same as JSON."""
    out: dict[str, Any] = {"writtenBytes": total.written, "bytes": total.under, "change": total.change}
    out |= {
        "rewritten": overlaid.rewritten,
        "messagesBefore": overlaid.before,
        "messagesAfter": overlaid.after,
        "asWritten": dict(overlaid.as_written),
    }
    out["tables"] = [
        {
            "by": list(names),
            "rows": [
                {
                    **dict(zip(names, row.key, strict=True)),
                    "writtenBytes": row.written,
                    "bytes": row.under,
                    "change": row.change,
                }
                for row in rows
            ],
        }
        for names, rows in tables
    ]
    return out


# What other values of linger.ms and batch.size would have made of the records, for eyes.

BATCHING_DIGITS = {"records/batch": 1, "overhead/record": 2, "mean wait ms": 1}


def batching_lines(outcome: Outcome, top: int | None = None) -> Iterator[Line]:
    """Yield the table of linger.ms and batch.size tried on the records, and the pair that serves best.

    The table has what was sent, and a line for each pair that makes a difference. The pair named is the smallest one
    that reaches most of the saving. The pairs of each producer follow if there are several producers.
    """
    total = outcome.total
    what = f"{counted(total.records, 'record')} to {counted(total.partitions, 'partition')}"
    times = (
        "by the time of each record"
        if total.by_record == total.records
        else f"by the times of {total.by_record} records, and of requests"
    )
    yield [("linger.ms and batch.size", "title"), (f" tried on {what}, {times}", "dim")]
    if not total.records:
        return
    heading = (
        "linger.ms",
        "batch.size",
        "batches",
        "records/batch",
        "overhead/record",
        "bytes",
        "saved",
        "mean wait ms",
        "wire bytes",
        "",
    )
    most = max(total.sent.batches, *(trial.batches for trial in total.made.values()))
    rows = [("as sent", "", *_numbers(total, total.sent, most, None))]
    rows += [
        (str(setting.linger), setting.batch_size, *_numbers(total, trial, most, setting))
        for setting, trial in _different(total)
    ]
    yield from grid_lines(heading, rows, BATCHING_DIGITS)
    if total.packed:
        yield [
            (
                (
                    "bytes and saved are without compression; wire bytes take each record to shrink as those of its "
                    "own batch did"
                ),
                "dim",
            )
        ]
    if total.older:
        came = f"{counted(total.older, 'record')} came in another format than v2"
        yield [(f"{came}, in which they are written here: some of what is saved is that", "dim")]
    if total.best:
        saved = total.saved(total.made[total.best])
        pair = f"linger.ms={total.best.linger} and batch.size={total.best.batch_size}"
        yield [
            (pair, "name"),
            (
                (
                    f" would have served: {counted(saved, 'byte')} less, and no smaller pair reaches 90 % of what can "
                    f"be saved"
                ),
                "",
            ),
        ]
    else:
        yield [("no pair would have saved anything", "")]
    if len(outcome.producers) > 1:
        yield []
        yield from _producers(outcome.producers, top)


def _different(tried: Tried) -> Iterator[tuple[Setting, Made]]:
    """The pairs but for those that make of the records what a smaller batch.size makes too."""
    before: tuple[int, Made] | None = None
    for setting, trial in tried.made.items():
        if before is None or before != (setting.linger, trial):
            yield setting, trial
        before = setting.linger, trial


def _numbers(tried: Tried, made: Made, most: int, setting: Setting | None) -> tuple[Any, ...]:
    records, overhead = tried.records, made.bytes - tried.payload
    cells = (
        made.batches,
        records / made.batches if made.batches else None,
        overhead / records if records else None,
        made.bytes,
    )
    saved, waited = (tried.saved(made), made.waited / records) if setting else (None, None)
    return *cells, saved, waited, round(made.wire), bar(made.batches, most)


def _producers(producers: list[Tried], top: int | None) -> Iterator[Line]:
    """Yield a table of the pair that would have served each producer, which has settings of its own."""
    heading = (
        "producer",
        "partitions",
        "records",
        "batches",
        "linger.ms",
        "batch.size",
        "batches then",
        "saved",
        "mean wait ms",
    )
    rows: list[Any] = []
    for tried in producers[:top]:
        name = "(none)" if tried.client is None else tried.client
        row = (name, tried.partitions, tried.records, tried.sent.batches)
        if tried.best is None:
            rows.append((*row, None, None, None, 0, None))
            continue
        trial = tried.made[tried.best]
        rows.append((*row, *tried.best, trial.batches, tried.saved(trial), trial.waited / tried.records))
    yield from grid_lines(heading, rows, BATCHING_DIGITS)
    if len(rows) < len(producers):
        yield [(f"({len(producers) - len(rows)} more)", "dim")]
