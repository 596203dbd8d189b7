"""What other values of linger.ms and batch.size would have made of the records, for eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.view.grid import bar, grid_lines
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cost.overhead.accumulator import Made, Outcome, Setting
    from kwire_cli.view.lines import Line

DIGITS = {"records/batch": 1, "overhead/record": 2, "mean wait ms": 1}


def batching_lines(outcome: Outcome) -> Iterator[Line]:
    """What was sent, a line a pair that makes a difference, and the smallest pair that reaches most of the saving."""
    what = f"{counted(outcome.records, 'record')} of {counted(outcome.producers, 'producer and partition', 'producers and partitions')}"
    times = "by the time of each record" if outcome.by_record == outcome.records else f"by the times of {outcome.by_record} records, and of requests"
    yield [("linger.ms and batch.size", "title"), (f" tried on {what}, {times}", "dim")]
    if not outcome.records:
        return
    heading = ("linger.ms", "batch.size", "batches", "records/batch", "overhead/record", "bytes", "saved", "mean wait ms", "wire bytes", "")
    most = max(outcome.sent.batches, *(made.batches for made in outcome.made.values()))
    rows = [("as sent", "", *_numbers(outcome, outcome.sent, most, None))]
    rows += [(str(setting.linger), setting.batch_size, *_numbers(outcome, made, most, setting)) for setting, made in _different(outcome)]
    yield from grid_lines(heading, rows, DIGITS)
    if outcome.packed:
        yield [("bytes and saved are without compression; wire bytes take each record to shrink as those of its own batch did", "dim")]
    if outcome.best:
        saved = outcome.saved(outcome.made[outcome.best])
        pair = f"linger.ms={outcome.best.linger} and batch.size={outcome.best.batch_size}"
        yield [(pair, "name"), (f" would have served: {counted(saved, 'byte')} less, and no smaller pair reaches 90 % of what can be saved", "")]
    else:
        yield [("no pair would have saved anything", "")]


def _different(outcome: Outcome) -> Iterator[tuple[Setting, Made]]:
    """The pairs but for those that make of the records what a smaller batch.size makes too."""
    before: tuple[int, Made] | None = None
    for setting, made in outcome.made.items():
        if before is None or before != (setting.linger, made):
            yield setting, made
        before = setting.linger, made


def _numbers(outcome: Outcome, made: Made, most: int, setting: Setting | None) -> tuple[Any, ...]:
    records, overhead = outcome.records, made.bytes - outcome.payload
    each = (made.batches, records / made.batches if made.batches else None, overhead / records if records else None, made.bytes)
    saved, waited = (outcome.saved(made), made.waited / records) if setting else (None, None)
    return *each, saved, waited, round(made.wire), bar(made.batches, most)
