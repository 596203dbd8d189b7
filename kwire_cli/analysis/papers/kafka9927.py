"""KAFKA-9927 measured: varint encodings for ordinary integer fields, a proposal that was never built into Kafka.

Integers, partitions and whole responses are written in its encodings.
"""

from __future__ import annotations

import time
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.form_comparison import encoded
from kwire_cli.analysis.costs.forms import (
    BEST,
    WORST,
    Form,
    carried,
    dearest,
    extreme,
    price,
    steps,
    widths,
    written_form,
)
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.analysis.papers.claims import Cell, Figures, Table
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError, SpecError
from kwire_cli.spec.overlay import load_text
from kwire_cli.spec.reading import ENCODING_NAMES
from kwire_cli.spec.rules import check
from kwire_cli.structs.numbers import encoded_int, unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

SIZES = (3216, 1170, 4026)
"""Printed: fixed, variable in the best case, in the worst case."""
TIMES = {
    "fixed": (56.458, 14.416, 7.215, 11.508),
    "variable, best case": (65.226, 14.713, 7.667, 10.155),
    "variable, worst case": (81.328, 14.755, 21.400, 17.681),
}
"""Printed, with a comma, under the heading µs: struct serialise and deserialise, buffer serialise and deserialise."""
COMMAND = "kwire compare -m MetadataResponse --message-version 9 --brokers 2 --partitions 100 --replicas 2"
MESSAGE, VERSION = "MetadataResponse", 9
"""The highest version when the document was written, and the first flexible one."""


PARTITIONS, BROKERS = 100, 2
TAG_COUNT = ("tag-count", "tag-count")
IN_PARTITION = "topics[].partitions[]"
ARRAYS = ("replicaNodes", "isrNodes", "offlineReplicas")
IN_SYNC = 2 * BROKERS * PARTITIONS
"""Elements of a response's partitions with two replicas each, both in sync."""
MOST_ELEMENTS = 8 * PARTITIONS
"""Elements of a response's partitions up to which a printed size is looked for."""


# Integers


def histogram() -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of ints by the bytes of their signed encoding, those of one byte as one."""
    rows = widths("int32", "packed32")
    middle = [row for row in rows if row[2] == 1]
    joined = (middle[0][0], middle[-1][1], 1)
    below, above = (tuple(row for row in rows if row[2] > 1 and (row[0] < 0) == negative) for negative in (True, False))
    return (*below, joined, *above)


def unsigned_histogram() -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of the 32 bits of an int, read as unsigned, by the bytes of their unsigned encoding."""
    return (*steps(0, (1 << 32) - 1, lambda number: len(unsigned_varint(number))),)


def most_bytes(kind: str) -> int:
    """Return the most bytes of any number of a type, in either encoding of its width."""
    return max(size for name in ("packed", "upacked") for _, _, size in widths(kind, f"{name}{kind[3:]}"))


def last_shorter(kind: str, encoding: str) -> int:
    """Return the largest number that does not take the most bytes."""
    rows = widths(kind, encoding)
    return max(high for _, high, size in rows if size < max(row[2] for row in rows))


def minus_one(encoding: str) -> str:
    """Return the bytes of -1."""
    return str(encoded_int(f"int{encoding[-2:]}", encoding).build(-1).hex(" "))


# The grammar


def definition(fields: str, versions: str = "0-3") -> str:
    """Return a definition of these fields."""
    return (
        f'{{"name": "TestData", "type": "data", "validVersions": "{versions}", "flexibleVersions": "none", '
        f'"fields": [{fields}]}}'
    )


ERRORS = {
    "a type other than int16, int32, int64": '{"name": "A", "type": "[]int32", "versions": "0+", '
    '"encoding": "packed32"}',
    "versions that are not those of the field": '{"name": "A", "type": "int32", "versions": "0+", '
    '"encoding": {"0-1": "packed32"}}',
    "ranges that overlap": '{"name": "A", "type": "int32", "versions": "0+", "encoding": {"0-2": '
    '"packed32", "2+": "fixed32"}}',
    "an unknown name": '{"name": "A", "type": "int32", "versions": "0+", "encoding": {"0-1": "fixed32", "2+": '
    '"unsigned32"}}',
}
"""A field for each of the four errors; the last has the name that the document's own example uses."""
TOO_SMALL = '{"name": "TooSmall", "type": "int64", "versions": "0+", "encoding": {"0-1": "fixed32", "2+": "fixed64"}}'
TOO_SMALL_AS_PRINTED = TOO_SMALL.replace('"2+":', '"2+", "2+":')


def rules_broken(fields: str, book: str = "kafka9927") -> tuple[str, ...]:
    """Return the rules of the document that fields break."""
    return tuple(finding.rule for finding in check(definition(fields), rules=book))


def syntax_error() -> str:
    """Return the error in the JSON of the document's other example, or an empty text if there is none."""
    try:
        load_text(definition(TOO_SMALL_AS_PRINTED))
    except SpecError as error:
        return error.reason
    return ""


def too_small(version: int, number: int) -> int | str:
    """Return the bytes of the example's field in a version, or why they cannot be written."""
    try:
        return len(written_form(Form("test", load_text(definition(TOO_SMALL)).spec, version), {"tooSmall": number}))
    except EncodeError as error:
        return error.reason


# Responses


@cache
def _spec(catalog: Catalog, encoding: str, *, elements: bool = True) -> MessageSpec:
    return encoded(catalog.message(MESSAGE), encoding, elements=elements)


def partition(
    catalog: Catalog, encoding: str, replicas: int, isr: int, offline: int, *, elements: bool = True, tags: bool = False
) -> int:
    """Return the bytes of one partition with so many elements in its arrays, without its tag section unless `tags`
    asks for it.
    """
    spec = _spec(catalog, encoding, elements=elements)
    paths = {f"{IN_PARTITION}.{name}": number for name, number in zip(ARRAYS, (replicas, isr, offline), strict=True)}
    value = generate(spec, VERSION, counts_for(spec, VERSION, {"topics": 1, "partitions": 1}, paths))
    rows = price(Form(encoding, spec, VERSION), value).rows
    inside = [row for row in rows if row.path.startswith(f"{IN_PARTITION}.") and (tags or row.kinds != TAG_COUNT)]
    return sum(row.prefix_bytes + row.value_bytes for row in inside)


def formula(catalog: Catalog, encoding: str, *, elements: bool = True) -> tuple[int, int]:
    """Return the size of a partition without elements, and the bytes that each element adds.

    Raises ValueError if these bytes are not the same in all three arrays.
    """
    empty = partition(catalog, encoding, 0, 0, 0, elements=elements)
    added = {
        partition(catalog, encoding, *(int(at == index) for index in range(3)), elements=elements) - empty
        for at in range(3)
    }
    if len(added) != 1:
        raise ValueError(f"elements add {sorted(added)}")
    return empty, added.pop()


@cache
def _form(catalog: Catalog, encoding: str, case: str | None = None, *, elements: bool = True) -> Form:
    return Form(encoding, _spec(catalog, encoding, elements=elements), VERSION, case=case)


def response(catalog: Catalog, elements: int) -> dict[str, Any]:
    """Return a response with 100 partitions, of 2 brokers, that have so many elements in their arrays together."""
    spec = catalog.message(MESSAGE)
    value = generate(
        spec,
        VERSION,
        counts_for(spec, VERSION, {"brokers": BROKERS, "partitions": PARTITIONS, "replicas": BROKERS}, {}),
    )
    for number, partition_value in enumerate(value["topics"][0]["partitions"]):
        own = elements // PARTITIONS + (number < elements % PARTITIONS)
        replicas, isr = min(own, BROKERS), min(max(own - BROKERS, 0), BROKERS)
        partition_value |= {
            "replicaNodes": partition_value["replicaNodes"][:replicas],
            "isrNodes": partition_value["isrNodes"][:isr],
            "offlineReplicas": [1] * (own - replicas - isr),
        }
    return value


@cache
def sizes(catalog: Catalog, elements: int) -> tuple[int, int, int]:
    """Return the sizes of such a response: fixed, unsigned in the best case, signed in the worst case."""
    value = response(catalog, elements)
    cases = (("fixed", None), ("upacked", BEST), ("packed", WORST))
    fixed, best, worst = (price(_form(catalog, name, case), value).size or 0 for name, case in cases)
    return fixed, best, worst


def elements_for(catalog: Catalog, printed: tuple[int, int, int], larger: int, smaller: int) -> float:
    """Return the elements of a partition with which two of the three sizes differ as the printed ones do, or the last
    with which they differ less.
    """
    wanted = printed[larger] - printed[smaller]

    def fits(elements: int) -> int:
        measured = sizes(catalog, elements)
        return int(measured[larger] - measured[smaller] > wanted)

    _, last, _ = next(steps(0, MOST_ELEMENTS, fits))
    return last / PARTITIONS


# How long a response takes to write and to read in each encoding, in turns, so that what disturbs the machine
# disturbs all of them.

SHORT, LONG = 0.01, 0.05
"""Seconds of each turn."""


TURNS = 5
COPIES = 200
"""Messages that the compiled kernel walks in one call."""


class Times(NamedTuple):
    """Seconds of one message: written by construct, read by the kernel as plain Python, and compiled; None without
    numba, or where not asked for.
    """

    encoding: str
    encode: float
    decode: float
    compiled: float | None


def measured_times(catalog: Catalog, *, full: bool) -> list[Times]:
    """Return the times of each encoding, fixed first; `full` measures longer, and the compiled kernel too."""
    works_of = {name: _work(form, catalog, full=full) for name, form in _timed_forms(catalog).items()}
    seconds = LONG if full else SHORT
    taken: dict[tuple[str, int], list[float]] = {}
    for turn in range(TURNS + 1):
        for name, works in works_of.items():
            for at, work in enumerate(works):
                if work and turn:  # the first turn warms up
                    taken.setdefault((name, at), []).append(_measure(work, seconds))
                elif work:
                    work()
    timings = []
    for name in works_of:
        encode, decode, compiled = (median(taken[name, at]) if (name, at) in taken else None for at in range(3))
        timings.append(Times(name, encode or 0.0, decode or 0.0, compiled and compiled / COPIES))
    return timings


def _timed_forms(catalog: Catalog) -> dict[str, Form]:
    cases = {
        f"{name}, {case} case": _form(catalog, name, case) for name in ("packed", "upacked") for case in (BEST, WORST)
    }
    return {"fixed": _form(catalog, "fixed")} | cases


def _work(form: Form, catalog: Catalog, *, full: bool) -> list[Callable[[], object] | None]:
    value = carried(form, response(catalog, IN_SYNC)).value
    value = extreme(form.layout, value, form.case) if form.case else value
    data = written_form(form, value)
    return [lambda: form.layout.build(value), lambda: walk(form.entry, data), _compiled(form, data) if full else None]


def _compiled(form: Form, data: bytes) -> Callable[[], object] | None:
    try:
        from kwire_cli.engine.compiled import walker  # noqa: PLC0415 - an extra

        return walker(form.entry.program, [form.entry.pc, 0, len(data), 0, 0, 0, 0] * COPIES, data)
    except ImportError:
        return None


def _measure(work: Callable[[], object], seconds: float) -> float:
    start = now = time.perf_counter()
    done = 0
    while now - start < seconds:
        work()
        done += 1
        now = time.perf_counter()
    return (now - start) / done


# Figures and tables


def _ends(rows: tuple[tuple[int, int, int], ...], end: int) -> tuple[int, ...]:
    return tuple(row[end] for row in rows)


def figures(catalog: Catalog) -> Figures:
    """Return what the claims name."""
    signed, unsigned = histogram(), unsigned_histogram()
    rules_by_error = {name: rules_broken(field) for name, field in ERRORS.items()}
    error, out_of_range = syntax_error(), too_small(1, 1 << 32)
    fixed = partition(catalog, "fixed", 2, 2, 0)
    pairs = ((0, 1), (2, 1), (2, 0))
    elements = [elements_for(catalog, SIZES, *pair) for pair in pairs]
    measured = sizes(catalog, IN_SYNC)
    worst = _form(catalog, "packed", WORST)
    worst_partition = extreme(worst.layout, response(catalog, IN_SYNC), WORST)["topics"][0]["partitions"][0]
    return {
        "signed_lower_ends": _ends(signed[:5], 0),
        "negative_upper_ends": _ends(signed[:4], 1),
        "positive_upper_ends": _ends(signed[4:8], 1),
        "largest_int": signed[-1][1],
        "unsigned_upper_ends": _ends(unsigned, 1),
        "most_bytes": (most_bytes("int32"), most_bytes("int64")),
        "minus_one": minus_one("upacked16"),
        "minus_one_32": len(minus_one("upacked32").split()),
        "minus_one_64": len(minus_one("upacked64").split()),
        "encoding_count": len(ENCODING_NAMES),
        "rule_count": sum(map(len, rules_by_error.values())),
        "rules_broken": "; ".join(f"{name}: {', '.join(rules)}" for name, rules in rules_by_error.items()),
        "syntax_error_count": int(bool(error)),
        "syntax_error": error,
        "too_small": (too_small(1, 1), too_small(2, 1)),
        "out_of_range": "range checked" if isinstance(out_of_range, str) else "narrowed",
        "out_of_range_error": out_of_range,
        "encodings_of_leader_id": sum(name in ENCODING_NAMES for name in ("fixed32", "unsigned32")),
        "command": COMMAND,
        "fixed_partition": formula(catalog, "fixed"),
        "unsigned_partition": formula(catalog, "upacked"),
        "unsigned_partition_by_grammar": formula(catalog, "upacked", elements=False),
        "partition_by_formula": fixed,
        "partition_on_the_wire": partition(catalog, "fixed", 2, 2, 0, tags=True),
        "partitions_by_formula": fixed * PARTITIONS,
        "sizes": measured,
        "differences": tuple(measured[larger] - measured[smaller] for larger, smaller in pairs),
        "printed_differences": tuple(SIZES[larger] - SIZES[smaller] for larger, smaller in pairs),
        "elements": "{:.2f}, {:.2f} and {:.2f}".format(*elements),
        "in_sync": f"{elements[0] - 2:.1f} to {elements[1] - 2:.1f}",
        "last_shorter_signed": last_shorter("int32", "packed32"),
        "last_shorter_unsigned": last_shorter("int32", "upacked32"),
        "last_shorter_error_codes": (last_shorter("int16", "packed16"), last_shorter("int16", "upacked16")),
        "worst_error_code": worst_partition["errorCode"],
        "worst_id": worst_partition["leaderId"],
    }


def tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:
    """Return kwire's sizes in every encoding and for other numbers of elements, and times as ratios to fixed: the
    document's, and kwire's unless they are not wanted.
    """
    always = _encoding_table(catalog), _size_table(catalog), _printed_times()
    return always if times is False else (*always, _measured_times(catalog, full=bool(times)))


def _encoding_table(catalog: Catalog) -> Table:
    """Return the table of the encodings' worth for the document's message."""
    rows: list[tuple[Cell, ...]] = []
    value = response(catalog, IN_SYNC)

    def size_of(form: Form) -> int:
        return price(form, value).size or 0

    fixed = size_of(_form(catalog, "fixed"))
    for name in ("fixed", "packed", "upacked"):
        for case in (None, BEST, WORST) if name != "fixed" else (None,):
            size = size_of(_form(catalog, name, case))
            rows.append((f"{name}{f', {case} case' if case else ''}", size, size - fixed, size / fixed))
    size = size_of(_form(catalog, "upacked", elements=False))
    rows.append(("upacked, by the document's grammar: not in arrays", size, size - fixed, size / fixed))
    note = (
        f"MetadataResponse 9 with a topic of 100 partitions, two replicas in sync, 2 brokers: {COMMAND} "
        "--encoding fixed --encoding packed --encoding upacked --cases. In the best case every integer is 0, in the "
        f"worst {dearest('int16', 'packed16')} and "
        f"{dearest('int32', 'packed32')} (packed) or {dearest('int32', 'upacked32')} (upacked)."
    )
    return Table("The response in each encoding", ("encoding", "bytes", "+/-", "of fixed"), tuple(rows), note)


def _size_table(catalog: Catalog) -> Table:
    """Return the printed sizes beside those of several numbers of elements."""
    fitting = sorted({round(elements_for(catalog, SIZES, *pair) * PARTITIONS) for pair in ((0, 1), (2, 1))})
    rows: list[tuple[Cell, ...]] = [("printed", *SIZES, SIZES[0] - SIZES[1], SIZES[2] - SIZES[1], SIZES[2] - SIZES[0])]
    for elements in sorted({3 * PARTITIONS, *fitting, IN_SYNC}):
        fixed, best, worst = sizes(catalog, elements)
        rows.append((f"{elements / PARTITIONS:.2f}", fixed, best, worst, fixed - best, worst - best, worst - fixed))
    heading = ("elements a partition", "fixed", "best case", "worst case", "fixed-best", "worst-best", "worst-fixed")
    note = (
        "Differences do not depend on names of hosts and topics, which the document does not say. No number of "
        "elements gives all three: the first two fit about 3.4 to 3.6, the last one 4."
    )
    return Table("The printed sizes, and kwire's for other numbers of elements", heading, tuple(rows), note)


def _printed_times() -> Table:
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
    return Table("The document's times as ratios to fixed", heading, rows, note)


def _measured_times(catalog: Catalog, *, full: bool) -> Table:
    timings = measured_times(catalog, full=full)
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
