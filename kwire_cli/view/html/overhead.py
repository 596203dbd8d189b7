"""What bytes cost, as charts: an icicle by what they are in and by field, bars by kind, and how large batches are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.kinds import OVERHEAD
from kwire_cli.cost.overhead.batch_sizes import bucket_text
from kwire_cli.cost.overhead.report import accounted
from kwire_cli.view.html.blocks import bars, facts, histogram, icicle
from kwire_cli.view.lines import escaped
from kwire_cli.view.overhead import NONE, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cost.overhead.report import Accounted, Report
    from kwire_cli.cost.overhead.summed import Summed
    from kwire_cli.cost.overhead.tallies import Tallies
    from kwire_cli.view.html.blocks import Block


def charts(made: Report, tallies: Tallies | Summed) -> list[Block]:
    """The charts of a report on what was tallied."""
    total = made.total
    accounts = accounted(tallies)
    share = f"{percent(total.overhead, total.bytes):.1f} %"
    out = [facts([("bytes", total.bytes), ("messages", made.messages), ("overhead bytes", total.overhead), ("of all", share)])]
    out.append(icicle("What takes the bytes", "all bytes", _sizes(accounts)))
    kinds: dict[str, int] = {}
    for _, _, parts in accounts:
        for part in parts:
            for kind, size in ((part.prefix_kind, part.prefix_bytes), (part.value_kind, part.value_bytes)):
                name = f"{kind}{' *' if kind in OVERHEAD else ''}"
                kinds[name] = kinds.get(name, 0) + size
    ordered = sorted(((name, size) for name, size in kinds.items() if size), key=lambda item: -item[1])
    out.append(bars("Bytes by kind", ordered, whole=total.bytes, note="* is overhead: bytes that are no field's value"))
    if made.records and (by_records := made.batches.by_records):
        sizes = [(bucket_text(bucket), found.batches) for bucket, found in sorted(by_records.items())]
        out.append(histogram("Records in a batch", "batches", sizes))
    return out


def _sizes(accounts: list[Accounted]) -> Iterator[tuple[list[str], int]]:
    """The bytes of each field below what its account is of."""
    for key, _, parts in accounts:
        outer = [NONE if value is None else escaped(str(value)) for value in key]
        for part in parts:
            yield [*outer, *(name for name in part.path.split(".") if name)], part.prefix_bytes + part.value_bytes
