"""What Spark's filters let tasks leave out of the lines of captures: of a line that is not wanted no row is made, and none of its fields.

All packets are read in any case: what a frame is, and what it answers, is said by those before it. Spark looks at every filter again.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import EqualNullSafe, EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from kwire_cli.pipeline.line_columns import COLUMNS
from kwire_cli.pipeline.segment_filters import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.line_columns import Line

    Test = Callable[[Line], bool]

_DEAR = frozenset({"header", "body", "topics", "errors", "error_codes", "anomalies"})
"""Columns that are made with more effort than it takes to leave a row to Spark."""
_VALUES = {name: value for name, _, value in COLUMNS if name not in _DEAR}
_KNOWN = (int, str, type(None))
_COMPARED = {GreaterThan: operator.gt, GreaterThanOrEqual: operator.ge, LessThan: operator.lt, LessThanOrEqual: operator.le}


def wanted_lines(lines: Iterable[Line], filters: Iterable[Filter]) -> Iterator[Line]:
    """The lines that may have rows behind all of these filters."""
    tests = [test for each in filters if (test := _test(each)) is not None]
    return (line for line in lines if all(test(line) for test in tests)) if tests else iter(lines)


def _test(each: Filter) -> Test | None:
    """What a filter lets through; None where that is not looked at here."""
    names: tuple[str, ...] = getattr(each, "attribute", ())
    value_of = _VALUES.get(names[0]) if len(names) == 1 else None
    if value_of is None:
        return None
    compare = _COMPARED.get(type(each))
    if isinstance(each, EqualTo | EqualNullSafe | In):
        values = [_value(value) for value in (each.value if isinstance(each, In) else (each.value,))]
        among = frozenset(values)
        return (lambda line: value_of(line) in among) if all(isinstance(value, _KNOWN) for value in values) else None
    bound = _value(getattr(each, "value", None))
    if compare is None or not isinstance(bound, int):
        return None
    return lambda line: (value := value_of(line)) is not None and compare(value, bound)


def _value(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else value
