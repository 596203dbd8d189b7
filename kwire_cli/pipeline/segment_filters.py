"""What Spark's filters let a reader leave out: files by topic and partition, batches by offsets and times in their headers.

Nothing is decided for a row: Spark looks at every filter again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import EqualNullSafe, EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from kwire_cli.records.selecting import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql.datasource import Filter

_FIRST = {"records": {"offset"}, "batches": {"last_offset"}}
_LAST = {"records": {"offset"}, "batches": {"base_offset"}}
_SINCE = {"records": {"timestamp", "time"}, "batches": {"max_timestamp", "max_time"}}
"""The columns of each table that bound the offsets of its batches below, above, and their times below."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Wanted:
    """What may be wanted: `places` are allowed values of file, topic, partition and kind, `selection` is about batches."""

    places: tuple[tuple[str, frozenset[Any]], ...] = ()
    selection: Selection = field(default_factory=Selection)

    def has(self, own: Mapping[str, Any]) -> bool:
        """Whether a file may have wanted rows, by those of its values that are the same in all of them."""
        return all(own[name] in values for name, values in self.places if name in own)


def wanted(table: str, filters: Iterable[Filter]) -> Wanted:
    """What rows of a table can be behind all of these filters."""
    places: list[tuple[str, frozenset[Any]]] = []
    first: int | None = None
    last: int | None = None
    since: int | None = None
    for each in filters:
        if len(getattr(each, "attribute", ())) != 1:
            continue
        (name,) = each.attribute  # type: ignore[attr-defined] # all of those below have one
        if name in {"file", "topic", "partition", "kind"}:
            if (values := _values(each)) is not None:
                places.append((name, frozenset(values)))
            continue
        low, high = bounds(each, _number)
        if low is not None and name in _FIRST.get(table, ()):
            first = max(low, first) if first is not None else low
        if high is not None and name in _LAST.get(table, ()):
            last = min(high, last) if last is not None else high
        if low is not None and name in _SINCE.get(table, ()):
            since = max(low, since) if since is not None else low
    return Wanted(tuple(places), Selection(offsets=(first, last), times=(since, None)))


def _values(each: Filter) -> tuple[Any, ...] | None:
    """The only values that it lets through; None where it says nothing of the kind."""
    if isinstance(each, EqualTo | EqualNullSafe):
        return (each.value,)
    return tuple(each.value) if isinstance(each, In) else None


def bounds(each: Filter, number: Callable[[Any], int | None]) -> tuple[int | None, int | None]:
    """The lowest and the highest number that it lets through; `number` says what a value of it is."""
    if (values := _values(each)) is not None:
        numbers = [number(value) for value in values]
        known = [number for number in numbers if number is not None]
        return (min(known), max(known)) if known and len(known) == len(numbers) else (None, None)
    if isinstance(each, GreaterThan | GreaterThanOrEqual):
        return number(each.value), None
    if isinstance(each, LessThan | LessThanOrEqual):
        return None, number(each.value)
    return None, None


def microseconds(time: datetime) -> int:
    """Since 1970, as tables have times."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _number(value: Any) -> int | None:
    """Times are milliseconds, and none of a record that is wanted is below."""
    if isinstance(value, datetime):
        return microseconds(value) // 1000
    return value if isinstance(value, int) and not isinstance(value, bool) else None
