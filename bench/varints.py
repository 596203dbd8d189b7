"""Block `varints`: how long the response that KAFKA-9927 measures takes to encode and to decode in each of its
encodings, as ratios to fixed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from timing import Row, measure_in_turns, ratio, repeat

import kwire_cli as kwire
from kwire_cli.analysis.costs.carrying import carried
from kwire_cli.analysis.costs.forms import Choice, forms_of, written_form
from kwire_cli.analysis.costs.generated import counts_for, generate

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.costs.forms import Form

MESSAGE = "MetadataResponse"
VERSION = 9
"""The highest version when the document was written."""
COUNTS = {"brokers": 2, "partitions": 100, "replicas": 2}
FIXED = "fixed"
ENCODINGS = (FIXED, "packed", "packed-best", "packed-worst", "upacked", "upacked-best", "upacked-worst")
COLUMNS = ("encode", "decode, plain", "decode, compiled")
COPIES = 200
"""Messages that the compiled kernel decodes in one call."""


def block(rounds: int) -> None:
    rows = rows_of_forms()
    measure_in_turns(rows, rounds)
    names = list(dict.fromkeys(row.name for row in rows))
    print(f"    {'ratio to fixed':<24}" + "".join(f"{column:>18}" for column in COLUMNS))
    for name in names:
        ratios = [ratio(rows, column, name, FIXED) for column in COLUMNS]
        print(f"    {name:<24}" + "".join(f"{'not here' if each is None else f'{each:.2f}':>18}" for each in ratios))


def rows_of_forms() -> list[Row]:
    spec = kwire.catalog().message(MESSAGE)
    value = generate(spec, VERSION, counts_for(spec, VERSION, COUNTS, {}))
    rows: list[Row] = []
    for form in forms_of(spec, VERSION, Choice(names=ENCODINGS))[1:]:
        fitting = carried(form, value).value
        data = written_form(form, fitting)
        rows.append(Row("encode", form.name, _timed(partial(form.layout.build, fitting))))
        rows.append(Row("decode, plain", form.name, _timed(partial(form.read, data))))
        rows.append(_compiled(form, data))
    return rows


def _compiled(form: Form, data: bytes) -> Row:
    try:
        from compiled import walker
    except ImportError as error:
        return Row("decode, compiled", form.name, None, f"no {error.name}")
    walk = walker(form.entry.program, [form.entry.pc, 0, len(data), 0, 0, 0, 0] * COPIES, data)
    return Row("decode, compiled", form.name, _timed(walk, COPIES))


def _timed(work: Callable[[], object], messages: int = 1) -> Callable[[], float]:
    return lambda: repeat(work, messages, 0.05)
