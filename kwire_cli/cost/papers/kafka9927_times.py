"""How long a response takes to write and to read in each encoding, in turns, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cost.forms.carrying import carried
from kwire_cli.cost.forms.cases import BEST, WORST, extreme
from kwire_cli.cost.forms.choices import encoded
from kwire_cli.cost.forms.model import Form
from kwire_cli.cost.forms.pricing import written
from kwire_cli.cost.papers.kafka9927_measured import IN_SYNC, MESSAGE, VERSION, response
from kwire_cli.engine.spans import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.spec.catalog import Catalog

SHORT, LONG = 0.01, 0.05
"""Seconds of each turn."""
TURNS = 5
COPIES = 200
"""Messages that the compiled kernel walks in one call."""


class Times(NamedTuple):
    """Seconds of one message: written by construct, read by the kernel as plain Python, and compiled; None without numba, or where not asked for."""

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
    found = []
    for name in works_of:
        encode, decode, compiled = (median(taken[name, at]) if (name, at) in taken else None for at in range(3))
        found.append(Times(name, encode or 0.0, decode or 0.0, compiled and compiled / COPIES))
    return found


def _forms(catalog: Catalog) -> dict[str, Form]:
    spec = catalog.message(MESSAGE)
    found = {"fixed": Form("fixed", spec, VERSION)}
    for name in ("packed", "upacked"):
        new = encoded(spec, name)
        found |= {f"{name}, {case} case": Form(name, new, VERSION, case=case) for case in (BEST, WORST)}
    return found


def _work(form: Form, catalog: Catalog, *, full: bool) -> list[Callable[[], object] | None]:
    value = carried(form, response(catalog, IN_SYNC)).value
    value = extreme(form.layout, value, form.case) if form.case else value
    data = written(form, value)
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
