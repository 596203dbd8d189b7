"""KAFKA-9927 beside measurements: varint encodings for ordinary fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.forms import BEST, WORST, dearest
from kwire_cli.analysis.papers import kafka9927_measured as measured
from kwire_cli.analysis.papers.kafka9927_measured import IN_SYNC, PARTITIONS
from kwire_cli.analysis.papers.model import Cell, Claim, Paper, Table
from kwire_cli.spec.reading import ENCODING_NAMES

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog


# KAFKA-9927's table of sizes and times, and kwire's: in every encoding, for other numbers of elements, and as
# ratios to fixed.

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
    """Return the table of the encodings' worth for the document's message."""
    rows: list[tuple[Cell, ...]] = []
    fixed = measured.priced(catalog, "fixed")
    for name in ("fixed", "packed", "upacked"):
        for case in (None, BEST, WORST) if name != "fixed" else (None,):
            size = measured.priced(catalog, name, case=case)
            rows.append((f"{name}{f', {case} case' if case else ''}", size, size - fixed, size / fixed))
    size = measured.priced(catalog, "upacked", elements=False)
    rows.append(("upacked, by the document's grammar: not in arrays", size, size - fixed, size / fixed))
    note = (
        f"MetadataResponse 9 with a topic of 100 partitions, two replicas in sync, 2 brokers: {REPEAT} {ENCODINGS}. In "
        f"the best case every integer is 0, in the worst {dearest('int16', 'packed16')} and "
        f"{dearest('int32', 'packed32')} (packed) or {dearest('int32', 'upacked32')} (upacked)."
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
        "Differences do not depend on names of hosts and topics, which the document does not say. No number of "
        "elements gives all three: the first two fit about 3.4 to 3.6, the last one 4."
    )
    return Table("The printed sizes, and kwire's for other numbers of elements", heading, tuple(rows), note)


def time_tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:
    """Times as ratios to fixed: the document's, and unless they are not wanted kwire's."""
    fixed = TIMES["fixed"]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(value / base for value, base in zip(row, fixed, strict=True))) for name, row in TIMES.items()
    )
    note = (
        "Printed as 56,458 and so on under the heading µs; read as microseconds with three decimals, since "
        "56 milliseconds for 3 kB are not "
        "credible. Struct: between the message and the generic Struct; buffer: between that and bytes."
    )
    heading = ("encoding", "struct serialise", "struct deserialise", "buffer serialise", "buffer deserialise")
    printed = Table("The document's times as ratios to fixed", heading, rows, note)
    return (printed,) if times is False else (printed, _times(catalog, full=bool(times)))


def _times(catalog: Catalog, *, full: bool) -> Table:
    from kwire_cli.analysis.papers.kafka9927_measured import times  # noqa: PLC0415 - of what is measured, only this differs between runs

    timings = times(catalog, full=full)
    base = timings[0]
    rows: list[tuple[Cell, ...]] = []
    for row in timings:
        compiled = (row.compiled / base.compiled,) if row.compiled and base.compiled else ()
        rows.append((row.encoding, row.encode / base.encode, row.decode / base.decode, *compiled))
    heading = ("encoding", "encode", "decode, plain", *(("decode, compiled",) if base.compiled else ()))
    said = f"Fixed took {base.encode * 1e6:.0f} µs to encode, {base.decode * 1e6:.0f} µs to decode"
    said += f", {base.compiled * 1e6:.2f} µs compiled" if base.compiled else ""
    note = (
        f"Measured now, on this machine; other machines and other runs differ. {said}. Encode: by construct; decode: "
        f"the kernel as plain Python, and compiled by numba{'' if full else ' (with --times)'}."
    )
    return Table("kwire's times as ratios to fixed", heading, tuple(rows), note)


# KAFKA-9927: varint encodings for ordinary integer fields, a proposal that was never built into Kafka.

SIGNED = (
    (-2147483648, -134217727, 5), (-134217728, -1048575, 4), (-1048576, -8191, 3), (-8192, -63, 2), (-64, 63, 1),
    (64, 8191, 2), (8192, 1048575, 3), (1048576, 134217727, 4), (134217728, 2147483646, 5),
)  # fmt: skip
"""The printed histogram; its last range is open at the end, so that its highest int is one less."""


UNSIGNED = ((0, 127, 1), (128, 16383, 2), (16384, 2097151, 3), (2097152, 268435455, 4), (268435456, 4294967295, 5))
_TITLE = "KAFKA-9927: varint encodings for ordinary fields"
_PROPOSED = (
    "A key `encoding` of int16, int32 and int64 fields: fixed, packed (zig-zag varint) or upacked (unsigned varint), "
    "with a width, by version. No message was to be changed by it."
)
_SHIPPED = (
    "Nothing: lengths, counts and tags are varints since KIP-482, the integers of fields are not. kwire reads and "
    "writes the encodings (docs/encodings.md), and lays them over definitions (docs/overlays.md)."
)


def paper(catalog: Catalog, *, times: bool | None = None) -> Paper:
    """The document's numbers and kwire's; `times` is None for those that take a moment, True for all that can be
    measured, False for none.
    """
    claims = (*_histograms(), *_grammar(), *_formula(catalog), *_sizes(catalog), *_worst(catalog))
    tables = (encoding_table(catalog), size_table(catalog), *time_tables(catalog, times=times))
    return Paper("kafka9927", _TITLE, _PROPOSED, _SHIPPED, claims, tables)


def _histograms() -> tuple[Claim, ...]:
    """Bytes of integers."""
    where, signed, unsigned = "Motivation", measured.histogram(), measured.unsigned_histogram()
    negative, positive = 4, 5
    return (
        Claim(
            where,
            "lower ends of the signed ranges of 5, 4, 3, 2 and 1 bytes",
            _ends(SIGNED[:positive], 0),
            _ends(signed[:positive], 0),
        ),
        Claim(
            where,
            "upper ends of the negative signed ranges of 5, 4, 3 and 2 bytes",
            _ends(SIGNED[:negative], 1),
            _ends(signed[:negative], 1),
            "n bytes hold -2^(7n-1) to 2^(7n-1)-1, so that a range ends one before the next begins: as printed "
            "-63 is in two ranges, and -8191 too",
        ),
        Claim(
            where,
            "upper ends of the signed ranges of 1, 2, 3 and 4 bytes from 63 on",
            _ends(SIGNED[4:8], 1),
            _ends(signed[4:8], 1),
        ),
        Claim(
            where,
            "the largest int of 5 bytes, signed",
            (SIGNED[-1][1],),
            (signed[-1][1],),
            "the range is printed as open, [134217728,2147483647), which leaves out the largest int",
        ),
        Claim(where, "upper ends of the unsigned ranges of 1 to 5 bytes", _ends(UNSIGNED, 1), _ends(unsigned, 1)),
        Claim(
            where,
            "the most bytes of an int and of a long",
            (5, 9),
            (measured.most_bytes("int32"), measured.most_bytes("int64")),
            "64 bits are ten groups of 7",
        ),
        Claim(
            where,
            "the unsigned bytes of a negative number, such as an int16 of -1",
            ("not said",),
            (measured.minus_one("upacked16"),),
            "error codes begin at -1, unknown epochs and leaders are -1. kwire writes the two's complement bits at "
            f"the encoding's width: {len(measured.minus_one('upacked32').split())} bytes as upacked32, "
            f"{len(measured.minus_one('upacked64').split())} as upacked64, and one byte in any packed form: advice has "
            "to look at real values",
            "kwire compare -m MetadataResponse --encoding upacked --encoding packed --cases",
            "explained",
        ),
    )


def _ends(rows: tuple[tuple[int, int, int], ...], end: int) -> tuple[int, ...]:
    return tuple(row[end] for row in rows)


def _grammar() -> tuple[Claim, ...]:
    """The key and its errors."""
    where = "Public Interfaces"
    broken_rules = {name: measured.rules_broken(field) for name, field in measured.ERRORS.items()}
    lint = "kwire lint --rules kafka9927 FILE"
    return (
        Claim(where, "names of encodings", (9,), (len(ENCODING_NAMES),)),
        Claim(
            where,
            "errors of a definition that are found",
            (4,),
            (sum(map(len, broken_rules.values())),),
            _listed(broken_rules),
            lint,
        ),
        Claim(
            where,
            "errors in the JSON of the example with tooSmall",
            (0,),
            (1,) if measured.syntax_error() else (0,),
            f"two version ranges for one encoding: {measured.syntax_error()}. With one of them it is a definition",
            lint,
        ),
        Claim(
            where, "bytes of tooSmall in versions 1 and 2", (4, 8), (measured.too_small(1, 1), measured.too_small(2, 1))
        ),
        Claim(
            where,
            "writing 4294967296 in version 1: what becomes of it",
            ("range checked",),
            ("range checked",) if isinstance(measured.too_small(1, 1 << 32), str) else ("narrowed",),
            f"the error: {measured.too_small(1, 1 << 32)}",
        ),
        Claim(
            "Example",
            "encodings of the example of LeaderId that the grammar has",
            (2,),
            (sum(name in ENCODING_NAMES for name in ("fixed32", "unsigned32")),),
            "unsigned32 is none of the names; upacked32 is meant",
            lint,
        ),
    )


def _listed(found: dict[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{name}: {', '.join(rules)}" for name, rules in found.items())


def _formula(catalog: Catalog) -> tuple[Claim, ...]:
    """The size of a partition."""
    where = "An example: MetadataResponse"
    fixed, tagged = (
        measured.partition(catalog, "fixed", 2, 2, 0),
        measured.partition(catalog, "fixed", 2, 2, 0, tags=True),
    )
    return (
        Claim(
            where,
            "a partition, fixed: bytes, and those of each element",
            (17, 4),
            measured.formula(catalog, "fixed"),
            repeat=REPEAT,
        ),
        Claim(
            where,
            "a partition, all unsigned, in the best case",
            (7, 1),
            measured.formula(catalog, "upacked"),
            repeat=f"{REPEAT} --encoding upacked",
        ),
        Claim(
            where,
            "the same by the document's own grammar",
            (7, 1),
            measured.formula(catalog, "upacked", elements=False),
            "ReplicaNodes, IsrNodes and OfflineReplicas are arrays, and encoding on an array is an error: their "
            "elements stay fixed. kwire has elementEncoding for them, which the rule book kafka9927 refuses",
            f"{REPEAT} --encoding upacked --fields errorCode,partitionIndex,leaderId,leaderEpoch",
        ),
        Claim(
            where,
            "a partition with two replicas in sync, as it is on the wire",
            (fixed,),
            (tagged,),
            "the formula leaves out the partition's tag section, which a flexible version has, as compact arrays do",
            f"{REPEAT} --by-field",
            "explained",
        ),
    )


def _sizes(catalog: Catalog) -> tuple[Claim, ...]:
    """The sizes of the table."""
    where = "An example: MetadataResponse"
    measured_sizes = measured.sizes(catalog, IN_SYNC)
    pairs = ((0, 1), (2, 1), (2, 0))
    differences = tuple(SIZES[larger] - SIZES[smaller] for larger, smaller in pairs)
    fitting = [measured.elements_for(catalog, SIZES, larger, smaller) for larger, smaller in pairs]
    partitions = measured.partition(catalog, "fixed", 2, 2, 0) * PARTITIONS
    return (
        Claim(
            where,
            "a topic with 100 partitions on two brokers: fixed, best case, worst case",
            SIZES,
            measured_sizes,
            f"two replicas that are in sync are 4 elements a partition, whose partitions alone have {partitions} bytes "
            "by the document's formula, more than its whole response. The sizes follow from it for no whole number of "
            "elements: a response in which some replicas were not in sync would have fewer. kwire's numbers are of "
            "the input that repeats them, and not bent",
            f"{REPEAT} {ENCODINGS}",
            "explained",
        ),
        Claim(
            where,
            "differences: fixed less best, worst less best, worst less fixed",
            differences,
            (
                measured_sizes[0] - measured_sizes[1],
                measured_sizes[2] - measured_sizes[1],
                measured_sizes[2] - measured_sizes[0],
            ),
            f"they are those of {fitting[0]:.2f}, {fitting[1]:.2f} and {fitting[2]:.2f} elements a partition: two "
            f"replicas, and {fitting[0] - 2:.1f} to {fitting[1] - 2:.1f} in sync, go with the first two",
            f"{REPEAT} {ENCODINGS}",
            "explained",
        ),
    )


def _worst(catalog: Catalog) -> tuple[Claim, ...]:
    """When the worst case is reached."""
    where = "An example: MetadataResponse"
    values = measured.best_and_worst_values(catalog)[measured.WORST_CASE]
    return (
        Claim(
            where,
            "ids that need the most bytes are greater than, signed",
            (134217727,),
            (measured.last_shorter("int32", "packed32"),),
        ),
        Claim(
            where,
            "the same unsigned, as the formula has it",
            (134217727,),
            (measured.last_shorter("int32", "upacked32"),),
            "the document's bound is that of the zig-zag encoding",
            f"{REPEAT} --encoding upacked --cases",
        ),
        Claim(
            where,
            "error codes that need the most bytes are greater than, signed and unsigned",
            (255, 255),
            (measured.last_shorter("int16", "packed16"), measured.last_shorter("int16", "upacked16")),
            f"up to there it is two bytes, as many as fixed. kwire's worst case has {values['errorCode']} as "
            f"error code, {values['leaderId']} as ids",
            f"{REPEAT} --encoding packed --cases",
        ),
    )
