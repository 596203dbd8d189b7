"""What other values of linger.ms and batch.size would have made of the records, for eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.view.grid import bar, grid_lines
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cost.overhead.tried import Made, Outcome, Setting, Tried
    from kwire_cli.view.lines import Line

DIGITS = {"records/batch": 1, "overhead/record": 2, "mean wait ms": 1}


def batching_lines(outcome: Outcome, top: int | None = None) -> Iterator[Line]:
    """What was sent, a line a pair that makes a difference, and the smallest pair that reaches most of the saving; then that of each producer."""
    total = outcome.total
    what = f"{counted(total.records, 'record')} to {counted(total.partitions, 'partition')}"
    times = "by the time of each record" if total.by_record == total.records else f"by the times of {total.by_record} records, and of requests"
    yield [("linger.ms and batch.size", "title"), (f" tried on {what}, {times}", "dim")]
    if not total.records:
        return
    heading = ("linger.ms", "batch.size", "batches", "records/batch", "overhead/record", "bytes", "saved", "mean wait ms", "wire bytes", "")
    most = max(total.sent.batches, *(made.batches for made in total.made.values()))
    rows = [("as sent", "", *_numbers(total, total.sent, most, None))]
    rows += [(str(setting.linger), setting.batch_size, *_numbers(total, made, most, setting)) for setting, made in _different(total)]
    yield from grid_lines(heading, rows, DIGITS)
    if total.packed:
        yield [("bytes and saved are without compression; wire bytes take each record to shrink as those of its own batch did", "dim")]
    if total.older:
        came = f"{counted(total.older, 'record')} came in another format than v2"
        yield [(f"{came}, in which they are written here: some of what is saved is that", "dim")]
    if total.best:
        saved = total.saved(total.made[total.best])
        pair = f"linger.ms={total.best.linger} and batch.size={total.best.batch_size}"
        yield [(pair, "name"), (f" would have served: {counted(saved, 'byte')} less, and no smaller pair reaches 90 % of what can be saved", "")]
    else:
        yield [("no pair would have saved anything", "")]
    if len(outcome.producers) > 1:
        yield []
        yield from _producers(outcome.producers, top)


def _different(tried: Tried) -> Iterator[tuple[Setting, Made]]:
    """The pairs but for those that make of the records what a smaller batch.size makes too."""
    before: tuple[int, Made] | None = None
    for setting, made in tried.made.items():
        if before is None or before != (setting.linger, made):
            yield setting, made
        before = setting.linger, made


def _numbers(tried: Tried, made: Made, most: int, setting: Setting | None) -> tuple[Any, ...]:
    records, overhead = tried.records, made.bytes - tried.payload
    each = (made.batches, records / made.batches if made.batches else None, overhead / records if records else None, made.bytes)
    saved, waited = (tried.saved(made), made.waited / records) if setting else (None, None)
    return *each, saved, waited, round(made.wire), bar(made.batches, most)


def _producers(producers: list[Tried], top: int | None) -> Iterator[Line]:
    """What would have served each producer, which has settings of its own."""
    heading = ("producer", "partitions", "records", "batches", "linger.ms", "batch.size", "batches then", "saved", "mean wait ms")
    rows: list[Any] = []
    for tried in producers[:top]:
        name = "(none)" if tried.client is None else tried.client
        row = (name, tried.partitions, tried.records, tried.sent.batches)
        if tried.best is None:
            rows.append((*row, None, None, None, 0, None))
            continue
        made = tried.made[tried.best]
        rows.append((*row, *tried.best, made.batches, tried.saved(made), made.waited / tried.records))
    yield from grid_lines(heading, rows, DIGITS)
    if len(rows) < len(producers):
        yield [(f"({len(producers) - len(rows)} more)", "dim")]
