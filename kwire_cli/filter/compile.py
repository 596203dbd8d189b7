"""Filters as closures over rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.filter.comparisons import keys_of, test_of
from kwire_cli.filter.grammar import parse
from kwire_cli.filter.known import column_of, unknown_part
from kwire_cli.filter.nodes import Both, Compare, Either, Exists, Name, Node, Not
from kwire_cli.filter.places import Fields, Opened, places_of, values_in
from kwire_cli.filter.subject import Context, Subject, subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.filter.comparisons import Test
    from kwire_cli.filter.places import Rows


class Row(Opened, Protocol):
    """What a filter looks at: a frame, or a batch."""

    def column(self, name: str) -> Any:
        """The value of a column (its name, no alias): of the type that COLUMNS says, a list or tuple where it is `many`; None where there is none."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A compiled filter. `matches(row)` says whether a row is one of those asked for."""

    text: str
    matches: Callable[[Row], bool]
    columns: frozenset[str]
    """The columns that rows are asked for."""
    names: tuple[Name, ...]
    """The names in it that are field paths, with their columns in the text, for a caller that knows which fields there are."""
    hints: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    deep: bool = False
    """Whether records have to be read for it, not only the batches that they are in."""

    @property
    def paths(self) -> frozenset[str]:
        """The field paths in it."""
        return frozenset(name.text.removeprefix(".") for name in self.names)

    def only(self, column: str) -> frozenset[Any] | None:
        """The values of which every matching row has one in this column (names in lower case, None for null); None where there is no such limit."""
        return self.hints.get(column)


@dataclass(frozen=True, slots=True)
class _Part:
    """A compiled node. `hints`: by column, the values of which a matching row has one."""

    holds: Callable[[Row], bool]
    columns: frozenset[str] = frozenset()
    names: tuple[Name, ...] = ()
    hints: Mapping[str, frozenset[Any]] = field(default_factory=dict)


def compile_filter(
    text: str,
    *,
    error_code: Callable[[str], int | None],
    api_key: Callable[[str], int | None],
    fields: Fields | None = None,
    rows: Rows = "frames",
) -> Filter:
    """The filter that a text says; FilterError where it is none. The functions give the numbers of names of error codes and apis, in any case.

    `fields` are the names of all fields that there are: a name of none of them and of no column is refused. Without them, any name may be a field.
    `rows` are what is chosen among: frames, or batches.
    """
    of_batches = rows != "frames"
    places_in = partial(places_of, fields=None if of_batches else fields, of_batches=of_batches)
    context = Context(text, error_code, api_key, places_in, partial(column_of, fields=fields, rows=rows)).remembering()
    node = parse(text)
    for name in sorted(_names(node), key=lambda name: name.column):
        if fields is not None and context.column(name) is None and (reason := unknown_part(name, fields, rows)):
            raise context.wrong(reason, name.column)
    part = _compiled(node, context)
    names = tuple(sorted(part.names, key=lambda name: name.column))
    places = [context.places(name) for name in names]
    deep = any(each.deep or (of_batches and not each.records) for each in places)
    return Filter(text, part.holds, part.columns, names, part.hints, deep)


def _names(node: Node) -> Iterator[Name]:
    if isinstance(node, (Compare, Exists)):
        yield node.name
        return
    for operand in (node.operand,) if isinstance(node, Not) else node.operands:
        yield from _names(operand)


def _compiled(node: Node, context: Context) -> _Part:
    if isinstance(node, Compare):
        return _comparison(node, context)
    if isinstance(node, Exists):
        return _over(node.name, subject_of(node.name, context), bool if node.says else _is_something, context)
    if isinstance(node, Not):
        part = _compiled(node.operand, context)
        holds = part.holds
        return _Part(lambda row: not holds(row), part.columns, part.names)
    # Columns are at hand, fields are made when asked for; the order of operands makes no other difference.
    parts = sorted((_compiled(operand, context) for operand in node.operands), key=lambda part: bool(part.names))
    both = isinstance(node, Both)
    return _Part(
        (_all if both else _any)([part.holds for part in parts]),
        frozenset().union(*(part.columns for part in parts)),
        tuple(name for part in parts for name in part.names),
        _both_hints(parts) if both else _either_hints(parts),
    )


def _comparison(node: Compare, context: Context) -> _Part:
    subject = subject_of(node.name, context)
    if (column := subject.column) is None:
        return _over(node.name, subject, test_of(node, subject, context), context)
    asked = column.name
    if asked == "api" and node.operator not in {"~", "!~"}:
        # An api is compared by key, so that every name of it will do; only its name tells whether it is known.
        nulls = tuple(literal for literal in node.literals if literal.kind == "null")
        if nulls and len(nulls) < len(node.literals):
            known = tuple(literal for literal in node.literals if literal.kind != "null")
            together = Either if node.operator == "in" else Both
            return _compiled(together((replace(node, literals=known), replace(node, literals=nulls))), context)
        asked = "api" if nulls else "apiKey"
    part = _over(node.name, subject, test_of(node, subject, context), context, asked)
    if node.operator in {"==", "in"} and not column.many and column.type not in {"time", "end"}:
        return _Part(part.holds, part.columns, part.names, {asked: keys_of(node.literals, column, context)})
    return part


def _over(name: Name, subject: Subject, test: Test, context: Context, asked: str = "") -> _Part:
    column = subject.column
    if column is None:
        return _Part(_any_value(test, values_in(context.places(name))), names=(name,))
    asked = asked or column.name
    if column.many:
        return _Part(_any_value(test, lambda row: row.column(asked) or ()), frozenset({asked}))
    return _Part(lambda row: test(row.column(asked)), frozenset({asked}))


def _any_value(test: Test, values: Callable[[Row], Any]) -> Callable[[Row], bool]:
    def holds(row: Row) -> bool:
        for value in values(row):  # noqa: SIM110  any() makes a generator for each row, which costs more than the few values do
            if test(value):
                return True
        return False

    return holds


def _all(operands: list[Callable[[Row], bool]]) -> Callable[[Row], bool]:
    first, *others = operands
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) and second(row)
    return lambda row: all(holds(row) for holds in operands)


def _any(operands: list[Callable[[Row], bool]]) -> Callable[[Row], bool]:
    first, *others = operands
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) or second(row)
    return lambda row: any(holds(row) for holds in operands)


def _both_hints(parts: list[_Part]) -> dict[str, frozenset[Any]]:
    hints: dict[str, frozenset[Any]] = {}
    for part in parts:
        for column, values in part.hints.items():
            hints[column] = hints[column] & values if column in hints else values
    return hints


def _either_hints(parts: list[_Part]) -> dict[str, frozenset[Any]]:
    shared = set(parts[0].hints).intersection(*(part.hints for part in parts[1:]))
    return {column: frozenset().union(*(part.hints[column] for part in parts)) for column in sorted(shared)}


def _is_something(value: Any) -> bool:
    return value is not None
