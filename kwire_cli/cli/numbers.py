"""Sizes and numbers in options: `512MiB`, `1,10,100`, `1..1000`, `PATH=N`."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def size_of(text: str, option: str) -> int:
    """The bytes that `text` says; UsageError that names the option otherwise. Units are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise click.UsageError(f"{option} takes bytes, or a size such as 512MiB, not {text!r}")
    return int(match[1]) << _UNITS[match[2].lower()]


MOST = 1000
"""Combinations, and numbers in one range."""


EVERY = 12
"""A range of more numbers than this is walked in the steps 1, 2, 5, 10, 20, 50 and so on."""


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that takes numbers."""
    return None if value is None else _numbers(value, ctx, param)


def counts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """The callback of an option that takes PATH=NUMBERS and is repeatable."""
    numbers_by_path = {}
    for text in value:
        path, mark, rest = text.partition("=")
        if not mark or not path.strip():
            raise click.BadParameter(f"{text!r} is not PATH=N, such as topics[].partitions=100", ctx, param)
        numbers_by_path[path.strip().removesuffix("[]")] = _numbers(rest, ctx, param)
    return numbers_by_path


def combinations(ranges: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Every combination of one number each, the last name's changing fastest. UsageError where there are too many."""
    total = 1
    for choices in ranges.values():
        total *= len(choices)
    if total > MOST:
        raise click.UsageError(f"the ranges make {total} combinations; {MOST} are the most allowed")
    return [dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values())]


def _numbers(text: str, ctx: click.Context, param: click.Parameter) -> tuple[int, ...]:
    """`100`, `1,10,100`, `1..1000` (its ends, and 1, 2, 5, 10, 20, 50 … between them), `1..20:5` (every fifth): in this
    order, none twice.
    """
    try:
        values = tuple(dict.fromkeys(number for part in text.split(",") for number in _range(part.strip())))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a number, list (1,10,100) or range (1..1000, 1..20:5)", ctx, param
        ) from None
    if len(values) > MOST or min(values) < 0:
        raise click.BadParameter(f"{text!r}: at most {MOST} numbers, none of them negative", ctx, param)
    return values


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
