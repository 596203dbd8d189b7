"""KAFKA-9927's table of sizes and times, and kwire's: in every encoding, for other numbers of elements, and as ratios to fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.forms.cases import BEST, WORST, dearest
from kwire_cli.cost.papers import kafka9927_measured as measured
from kwire_cli.cost.papers.kafka9927_measured import IN_SYNC, PARTITIONS
from kwire_cli.cost.papers.model import Cell, Table

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

SIZES = (3216, 1170, 4026)
"""Printed: fixed, variable in the best case, in the worst case."""
TIMES = {
    "fixed": (56.458, 14.416, 7.215, 11.508),
    "variable, best case": (65.226, 14.713, 7.667, 10.155),
    "variable, worst case": (81.328, 14.755, 21.400, 17.681),
}
"""Printed, with a comma, under the heading µs: struct serialise and deserialise, buffer serialise and deserialise."""
REPEAT = "kwire compare -m MetadataResponse -n 9 --brokers 2 --partitions 100 --replicas 2"
ENCODINGS = "--encoding fixed --encoding packed --encoding upacked --cases"


def encoding_table(catalog: Catalog) -> Table:
    """What the encodings are worth for the document's message."""
    rows: list[tuple[Cell, ...]] = []
    fixed = measured.priced(catalog, "fixed")
    for name in ("fixed", "packed", "upacked"):
        for case in (None, BEST, WORST) if name != "fixed" else (None,):
            size = measured.priced(catalog, name, case=case)
            rows.append((f"{name}{f', {case} case' if case else ''}", size, size - fixed, size / fixed))
    size = measured.priced(catalog, "upacked", elements=False)
    rows.append(("upacked, by the document's grammar: not in arrays", size, size - fixed, size / fixed))
    note = (
        f"MetadataResponse 9 with a topic of 100 partitions, two replicas in sync, 2 brokers: {REPEAT} {ENCODINGS}. In the best case every integer "
        f"is 0, in the worst {dearest('int16', 'packed16')} and {dearest('int32', 'packed32')} (packed) or {dearest('int32', 'upacked32')} (upacked)."
    )
    return Table("The response in each encoding", ("encoding", "bytes", "+/-", "of fixed"), tuple(rows), note)


def size_table(catalog: Catalog) -> Table:
    """The printed sizes beside those of several numbers of elements."""
    fitting = sorted({round(measured.elements_for(catalog, SIZES, *pair) * PARTITIONS) for pair in ((0, 1), (2, 1))})
    rows: list[tuple[Cell, ...]] = [("printed", *SIZES, SIZES[0] - SIZES[1], SIZES[2] - SIZES[1], SIZES[2] - SIZES[0])]
    for elements in sorted({3 * PARTITIONS, *fitting, IN_SYNC}):
        fixed, best, worst = measured.sizes(catalog, elements)
        rows.append((f"{elements / PARTITIONS:.2f}", fixed, best, worst, fixed - best, worst - best, worst - fixed))
    heading = ("elements a partition", "fixed", "best case", "worst case", "fixed-best", "worst-best", "worst-fixed")
    note = (
        "Differences do not depend on names of hosts and topics, which the document does not say. No number of elements gives all three: the first "
        "two fit about 3.4 to 3.6, the last one 4."
    )
    return Table("The printed sizes, and kwire's for other numbers of elements", heading, tuple(rows), note)


def time_tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:
    """Times as ratios to fixed: the document's, and unless they are not wanted kwire's."""
    fixed = TIMES["fixed"]
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *(value / base for value, base in zip(row, fixed, strict=True))) for name, row in TIMES.items())
    note = (
        "Printed as 56,458 and so on under the heading µs; read as microseconds with three decimals, since 56 milliseconds for 3 kB are not "
        "credible. Struct: between the message and the generic Struct; buffer: between that and bytes."
    )
    heading = ("encoding", "struct serialise", "struct deserialise", "buffer serialise", "buffer deserialise")
    printed = Table("The document's times as ratios to fixed", heading, rows, note)
    return (printed,) if times is False else (printed, _times(catalog, full=bool(times)))


def _times(catalog: Catalog, *, full: bool) -> Table:
    from kwire_cli.cost.papers.kafka9927_times import times  # noqa: PLC0415 - of what is measured, only this differs between runs

    found = times(catalog, full=full)
    base = found[0]
    rows: list[tuple[Cell, ...]] = []
    for row in found:
        compiled = (row.compiled / base.compiled,) if row.compiled and base.compiled else ()
        rows.append((row.encoding, row.encode / base.encode, row.decode / base.decode, *compiled))
    heading = ("encoding", "encode", "decode, plain", *(("decode, compiled",) if base.compiled else ()))
    said = f"Fixed took {base.encode * 1e6:.0f} µs to encode, {base.decode * 1e6:.0f} µs to decode"
    said += f", {base.compiled * 1e6:.2f} µs compiled" if base.compiled else ""
    note = (
        f"Measured now, on this machine; other machines and other runs differ. {said}. Encode: by construct; decode: the kernel as plain Python, and "
        f"compiled by numba{'' if full else ' (with --times)'}."
    )
    return Table("kwire's times as ratios to fixed", heading, tuple(rows), note)
