"""Measurements for KAFKA-9927: bytes and times."""

from __future__ import annotations

import time
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.form_comparison import encoded
from kwire_cli.analysis.costs.forms import BEST, WORST, Form, carried, extreme, price, steps, widths, written_form
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError, SpecError
from kwire_cli.spec.overlay import load_text
from kwire_cli.spec.rules import check
from kwire_cli.structs.numbers import encoded_int, unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


# What is measured of KAFKA-9927: by writing integers, partitions and whole responses in its encodings.

MESSAGE, VERSION = "MetadataResponse", 9
"""The highest version when the document was written, and the first flexible one."""


PARTITIONS, BROKERS = 100, 2
TAG_COUNT = ("tag-count", "tag-count")
IN_PARTITION = "topics[].partitions[]"
ARRAYS = ("replicaNodes", "isrNodes", "offlineReplicas")
FIXED, BEST_CASE, WORST_CASE = "fixed", "best case", "worst case"
IN_SYNC = 2 * BROKERS * PARTITIONS
"""Elements of a response's partitions with two replicas each, both in sync."""
MOST_ELEMENTS = 8 * PARTITIONS
"""Elements of a response's partitions up to which a printed size is looked for."""


# Integers


def histogram() -> tuple[tuple[int, int, int], ...]:
    """The ranges of ints by the bytes of their signed encoding, those of one byte as one."""
    rows = widths("int32", "packed32")
    middle = [row for row in rows if row[2] == 1]
    joined = (middle[0][0], middle[-1][1], 1)
    below, above = (tuple(row for row in rows if row[2] > 1 and (row[0] < 0) == negative) for negative in (True, False))
    return (*below, joined, *above)


def unsigned_histogram() -> tuple[tuple[int, int, int], ...]:
    """The ranges of the 32 bits of an int, read as an unsigned number, by the bytes of their unsigned encoding."""
    return (*steps(0, (1 << 32) - 1, lambda number: len(unsigned_varint(number))),)


def most_bytes(kind: str) -> int:
    """The most bytes of any number of a type, in either encoding of its width."""
    return max(size for name in ("packed", "upacked") for _, _, size in widths(kind, f"{name}{kind[3:]}"))


def last_shorter(kind: str, encoding: str) -> int:
    """The largest number that does not take the most bytes."""
    rows = widths(kind, encoding)
    return max(high for _, high, size in rows if size < max(row[2] for row in rows))


def minus_one(encoding: str) -> str:
    """The bytes of -1."""
    return str(encoded_int(f"int{encoding[-2:]}", encoding).build(-1).hex(" "))


# The grammar


def definition(fields: str, versions: str = "0-3") -> str:
    """A definition of these fields."""
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
    """The rules of the document that fields break."""
    return tuple(finding.rule for finding in check(definition(fields), rules=book))


def syntax_error() -> str:
    """Return the error in the JSON of the document's other example, or an empty text if there is none."""
    try:
        load_text(definition(TOO_SMALL_AS_PRINTED))
    except SpecError as error:
        return error.reason
    return ""


def too_small(version: int, number: int) -> int | str:
    """The bytes of the example's field in a version, or why they cannot be written."""
    try:
        return len(written_form(Form("test", load_text(definition(TOO_SMALL)).spec, version), {"tooSmall": number}))
    except EncodeError as error:
        return error.reason


# Responses


@cache
def _spec(catalog: Catalog, encoding: str, *, elements: bool) -> MessageSpec:
    return encoded(catalog.message(MESSAGE), encoding, elements=elements)


def partition(
    catalog: Catalog, encoding: str, replicas: int, isr: int, offline: int, *, elements: bool = True, tags: bool = False
) -> int:
    """The bytes of one partition with so many elements in its arrays, without its tag section unless `tags` asks for
    it.
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
def forms(catalog: Catalog) -> dict[str, Form]:
    """The document's three rows."""
    plain, signed, unsigned = (
        catalog.message(MESSAGE),
        *(_spec(catalog, name, elements=True) for name in ("packed", "upacked")),
    )
    return {
        FIXED: Form(FIXED, plain, VERSION),
        BEST_CASE: Form(BEST_CASE, unsigned, VERSION, case=BEST),
        WORST_CASE: Form(WORST_CASE, signed, VERSION, case=WORST),
    }


def response(catalog: Catalog, elements: int) -> dict[str, Any]:
    """A response with 100 partitions, of 2 brokers, that have so many elements in their arrays together."""
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
    """The three sizes of such a response."""
    value = response(catalog, elements)
    fixed, best, worst = (price(form, value).size or 0 for form in forms(catalog).values())
    return fixed, best, worst


def elements_for(catalog: Catalog, printed: tuple[int, int, int], larger: int, smaller: int) -> float:
    """The elements of a partition with which two of the three sizes differ as the printed ones do, or the last with
    which they differ less.
    """
    wanted = printed[larger] - printed[smaller]

    def fits(elements: int) -> int:
        measured = sizes(catalog, elements)
        return int(measured[larger] - measured[smaller] > wanted)

    _, last, _ = next(steps(0, MOST_ELEMENTS, fits))
    return last / PARTITIONS


def priced(catalog: Catalog, name: str, *, elements: bool = True, case: str | None = None) -> int:
    """The bytes of a response, with two replicas that are in sync, in an encoding."""
    form = Form(name, _spec(catalog, name, elements=elements), VERSION, case=case)
    return price(form, response(catalog, IN_SYNC)).size or 0


def best_and_worst_values(catalog: Catalog) -> dict[str, Any]:
    """The first partition of both cases, as values."""
    value = response(catalog, IN_SYNC)
    extremes = {name: extreme(form.layout, value, form.case) for name, form in forms(catalog).items() if form.case}
    return {name: case_value["topics"][0]["partitions"][0] for name, case_value in extremes.items()}


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


def times(catalog: Catalog, *, full: bool) -> list[Times]:
    """The times of each encoding, fixed first; `full` measures longer, and the compiled kernel too."""
    works_of = {name: _work(form, catalog, full=full) for name, form in _forms(catalog).items()}
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


def _forms(catalog: Catalog) -> dict[str, Form]:
    spec = catalog.message(MESSAGE)
    forms_by_name = {"fixed": Form("fixed", spec, VERSION)}
    for name in ("packed", "upacked"):
        new = encoded(spec, name)
        forms_by_name |= {f"{name}, {case} case": Form(name, new, VERSION, case=case) for case in (BEST, WORST)}
    return forms_by_name


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
