"""Versions between which nothing in a definition begins or ends: what is so of one is so of its whole stretch, so that each is looked at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kwire_cli.errors import SpecError
from kwire_cli.spec.changing import fields_by_path
from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.model import FieldSpec, MessageSpec


MOST = 100_000
"""Fields, with their structs written out, times stretches: what is looked at where each stretch is. None of Kafka's own has 400;
this many take some seconds, and those of a thousand fields that each begin at a version of their own a minute."""


class Stretches:
    """The stretches of a definition; SpecError where looking at each of them would take too long."""

    def __init__(self, spec: MessageSpec) -> None:
        ranges = [spec.flexible_versions, *(each for _, field in fields_by_path(spec) for each in _ranges(field))]
        self._starts = sorted({bound for versions in ranges for bound in (versions.low, versions.high + 1)})
        stretches, fields = sum(bound in spec.valid_versions for bound in self._starts) + 1, _written_out(spec, spec.fields)
        if stretches * fields > MOST:
            what = f"its {fields} fields change at {stretches} versions, and comparing it at each of them would take too long"
            raise SpecError(f"{what}; kwire diff MESSAGE VERSION VERSION compares two", file=spec.file)

    def of(self, version: int) -> int:
        """The number of the stretch that a version is in."""
        return bisect_right(self._starts, version)


def ranges(numbers: Iterable[int]) -> tuple[Versions, ...]:
    """Version numbers as the fewest ranges, ascending."""
    return joined(Versions(number, number) for number in numbers)


def joined(some: Iterable[Versions]) -> tuple[Versions, ...]:
    """Ranges that follow one another as one, ascending."""
    found: list[Versions] = []
    for each in sorted(some):
        if found and found[-1].high >= each.low - 1:
            found[-1] = Versions(found[-1].low, max(found[-1].high, each.high))
        else:
            found.append(each)
    return tuple(found)


def _written_out(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> int:
    """How many fields there are with the structs in their places; the loader sees to it that they are not too many."""
    return len(fields) + sum(_written_out(spec, spec.struct_fields(field)) for field in fields if field.struct_name)


def _ranges(field: FieldSpec) -> Iterator[Versions]:
    yield from (field.versions, field.nullable_versions, field.tagged_versions)
    if field.flexible_versions is not None:
        yield field.flexible_versions
    yield from (row.versions for row in (*field.encoding, *field.element_encoding))
