"""Numbers of things to generate, as options take them: one, several, or a range that is walked in steps."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 1000
"""Combinations, and numbers in one range."""
EVERY = 12
"""A range of more numbers than this is walked in the steps 1, 2, 5, 10, 20, 50 and so on."""


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that takes numbers."""
    return None if value is None else _numbers(value, ctx, param)


def counts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """The callback of an option that takes PATH=NUMBERS and is repeatable."""
    found = {}
    for text in value:
        path, mark, rest = text.partition("=")
        if not mark or not path.strip():
            raise click.BadParameter(f"{text!r} is not PATH=N, such as topics[].partitions=100", ctx, param)
        found[path.strip().removesuffix("[]")] = _numbers(rest, ctx, param)
    return found


def combinations(ranges: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Every combination of one number each, the last name's changing fastest. UsageError where there are too many."""
    total = 1
    for each in ranges.values():
        total *= len(each)
    if total > MOST:
        raise click.UsageError(f"the ranges make {total} combinations; {MOST} are the most allowed")
    return [dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values())]


def _numbers(text: str, ctx: click.Context, param: click.Parameter) -> tuple[int, ...]:
    """`100`, `1,10,100`, `1..1000` (its ends, and 1, 2, 5, 10, 20, 50 … between them), `1..20:5` (every fifth): in this order, none twice."""
    try:
        found = tuple(dict.fromkeys(number for part in text.split(",") for number in _range(part.strip())))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, list (1,10,100) or range (1..1000, 1..20:5)", ctx, param) from None
    if len(found) > MOST or min(found) < 0:
        raise click.BadParameter(f"{text!r}: at most {MOST} numbers, none of them negative", ctx, param)
    return found


def _range(text: str) -> Iterator[int]:
    low_text, dots, rest = text.partition("..")
    if not dots:
        yield int(text)
        return
    high_text, colon, step_text = rest.partition(":")
    low, high, step = int(low_text), int(high_text), int(step_text) if colon else 1
    if low > high or step < 1:
        raise ValueError
    if colon or high - low < EVERY:
        if (high - low) // step > MOST:
            raise ValueError
        yield from range(low, high + 1, step)
        return
    yield low
    unit = 1
    while unit <= high:
        yield from (number for number in (unit, 2 * unit, 5 * unit) if low < number < high)
        unit *= 10
    yield high
