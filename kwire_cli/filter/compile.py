"""The parser of filters, and their compilation to closures.

A recursive descent parser reads the text into a tree (`model`), word by word, as the meaning of a character depends on
what the grammar expects. Each node of the tree becomes a function of a row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, get_args

from kwire_cli.filter.comparisons import Context, Numbers, Operand, operand_of, test_of
from kwire_cli.filter.model import (
    Both,
    Compare,
    Either,
    Exists,
    FilterError,
    Literal,
    Name,
    Node,
    Not,
    Operator,
    unit_of,
    word,
)
from kwire_cli.filter.places import (
    FRAME_HEADER,
    Fields,
    Opened,
    column_of,
    places_of,
    unknown_part,
    values_in,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from kwire_cli.filter.comparisons import Test
    from kwire_cli.filter.places import Rows


# The words of a filter, which the parser reads one by one.

KEYWORDS = frozenset({"and", "or", "not", "in", "has"})


# With a dot before it, a name like `host` means a field instead of the column.
_NAME = re.compile(r"\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
# A key of record headers may have any characters in quotes, and these without quotes.
_HEADER = re.compile(
    r"""(?:records\.){0,2}header\.(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_])?))""",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
# A word contains no operators and no closing parenthesis. Quoted values may contain any characters.
_WORD = re.compile(r"""[^\s()"',=!<>~&|]+""")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"""\\(?:([\\"'])|([nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|)""")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class Cursor:
    """The text of a filter, and the current position."""

    text: str
    at: int = 0

    def error(self, message: str, at: int | None = None) -> FilterError:
        """Return an error at the current position or at another offset."""
        return FilterError(message, text=self.text, column=(self.at if at is None else at) + 1)

    def expected(self, what: str, hint: str = "") -> FilterError:
        """Return an error with the expected words, the found word, and a hint."""
        match = _WORD.match(self.text, self.at)
        there = repr(match[0] if match else self.text[self.at]) if self.at < len(self.text) else "the end"
        return self.error(f"expected {what}, found {there}{hint}")

    def space(self) -> None:
        """Skip white space."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def take(self, symbol: str) -> bool:
        """Skip white space. If a symbol follows, read it and return True; else return False."""
        self.space()
        if self.text.startswith(symbol, self.at):
            self.at += len(symbol)
            return True
        return False

    def take_keyword(self, keyword: str) -> bool:
        """Skip white space. If a keyword follows, in any case, read it and return True; else return False."""
        self.space()
        match = _NAME.match(self.text, self.at)
        if match and match[0].casefold() == keyword:
            self.at = match.end()
            return True
        return False


def name(cursor: Cursor) -> Name:
    """Read a name.

    Raises:
        FilterError: The next word is not a name.

    """
    cursor.space()
    if named := _header(cursor):
        return named
    match = _NAME.match(cursor.text, cursor.at)
    if not match or match[0].casefold() in KEYWORDS:
        raise cursor.expected("the name of a column or field")
    cursor.at = match.end()
    if cursor.text.startswith("[", cursor.at):
        raise cursor.error("a path has no indexes: topics.partitions, not topics[0].partitions")
    return Name(match[0], match.start() + 1)


def name_of(text: str) -> Name | None:
    """Return the name in a string, or None if the whole string is not a name."""
    cursor = Cursor(text)
    named = _header(cursor)
    if named:
        return named if cursor.at == len(text) else None
    return Name(text, 1) if _NAME.fullmatch(text) else None


def _header(cursor: Cursor) -> Name | None:
    """Read a name of record headers. Return None for other names, including the fields of a frame's header."""
    match = _HEADER.match(cursor.text, cursor.at)
    if not match or (match[0].startswith("header.") and match[3] and match[3].split(".")[0] in FRAME_HEADER):
        return None
    cursor.at = match.end()
    key = match[3]
    if key is None:
        key = re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2], flags=re.DOTALL)
    return Name(match[0], match.start() + 1, key)


def literal(cursor: Cursor, *, pattern: bool = False) -> Literal:
    """Read a literal. With `pattern`, backslashes in quotes are kept for the regular expression.

    Raises:
        FilterError: The next word is not a literal.

    """
    cursor.space()
    start = cursor.at
    quote = cursor.text[start : start + 1]
    if quote and quote in _QUOTED:
        match = _QUOTED[quote].match(cursor.text, start)
        if not match:
            raise cursor.error(f"expected a closing {quote} for this one")
        cursor.at = match.end()
        text = match[1] if pattern else _unescaped(cursor, match)
        return Literal("string", text, text, start + 1)
    match = _WORD.match(cursor.text, start)
    if not match or match[0].casefold() in KEYWORDS:
        raise cursor.expected("a value")
    cursor.at = match.end()
    return word(match[0], start + 1)


def _unescaped(cursor: Cursor, quoted: re.Match[str]) -> str:
    def character(escape: re.Match[str]) -> str:
        itself, control, low, high = escape.groups()
        if itself or control:
            return str(itself or _CONTROL[control])
        if low or high:
            return chr(int(low or high, 16))
        raise cursor.error(r"""expected an escape: \\ \" \' \n \r \t \xHH \uHHHH""", quoted.start(1) + escape.start())

    return _ESCAPE.sub(character, quoted[1])


# The grammar of filters, read by recursive descent.
#
# filter = all {("or" | "||") all} all = not {("and" | "&&") not} not = {"not" | "!"} ("(" filter ")" | test)
# test = ["has"] name | name operator value | name ["not"] "in" "(" value {"," value} ")"

DEPTH = 50
"""Maximum depth of parentheses. Deeper ones are an error, so that no filter exhausts Python's stack."""


# Longer operators first, as "<" is a prefix of "<=".
_OPERATORS: tuple[Operator, ...] = tuple(
    sorted((operator for operator in get_args(Operator) if not operator.endswith("in")), key=len, reverse=True)
)


def parse(text: str) -> Node:
    """Parse a filter.

    Raises:
        FilterError: The text is not a filter.

    """
    cursor = Cursor(text)
    node = _either(cursor, 0)
    cursor.space()
    if cursor.at < len(cursor.text):
        raise cursor.expected(_after(node, cursor.text[: cursor.at]), _unit_hint(cursor))
    return node


def _unit_hint(cursor: Cursor) -> str:
    """Return the end of an error about a unit after a space, as in `5 seconds`; else an empty string."""
    number = re.search(r"[0-9.]+(?=\s+\Z)", cursor.text[: cursor.at])
    unit = _WORD.match(cursor.text, cursor.at)
    short = unit_of(unit[0]) if unit else None
    return f"; write {number[0]}{short}" if number and short else ""


def _either(cursor: Cursor, depth: int) -> Node:
    operands = [_both(cursor, depth)]
    while cursor.take("||") or cursor.take_keyword("or"):
        operands.append(_both(cursor, depth))
    return operands[0] if len(operands) == 1 else Either(tuple(operands))


def _both(cursor: Cursor, depth: int) -> Node:
    operands = [_not(cursor, depth)]
    while cursor.take("&&") or cursor.take_keyword("and"):
        operands.append(_not(cursor, depth))
    return operands[0] if len(operands) == 1 else Both(tuple(operands))


def _not(cursor: Cursor, depth: int) -> Node:
    negated = False
    while cursor.take("!") or cursor.take_keyword("not"):
        negated = not negated
    node = _group(cursor, depth) if cursor.take("(") else _test(cursor)
    return Not(node) if negated else node


def _group(cursor: Cursor, depth: int) -> Node:
    if depth == DEPTH:
        raise cursor.error(f"parentheses are nested deeper than {DEPTH}", cursor.at - 1)
    node = _either(cursor, depth + 1)
    if not cursor.take(")"):
        raise cursor.expected(f"{_after(node, cursor.text[: cursor.at])} or ')'")
    return node


def _test(cursor: Cursor) -> Node:
    if cursor.take_keyword("has"):
        return Exists(name(cursor), says=False)
    operand = name(cursor)
    cursor.space()
    start = cursor.at
    if operator := next((symbol for symbol in _OPERATORS if cursor.take(symbol)), None):
        value = literal(cursor, pattern=operator in {"~", "!~"})
        return Compare(operand, operator, (value,), start + 1)
    if cursor.take_keyword("in"):
        return Compare(operand, "in", _list(cursor), start + 1)
    if cursor.take_keyword("not"):
        if not cursor.take_keyword("in"):
            cursor.space()
            raise cursor.expected("'in' after 'not'")
        return Compare(operand, "not in", _list(cursor), start + 1)
    if cursor.take("="):
        raise cursor.error("expected '==' for equality or '~' for a regular expression, found '='", start)
    return Exists(operand, says=True)


def _list(cursor: Cursor) -> tuple[Literal, ...]:
    if not cursor.take("("):
        raise cursor.expected("'(' and values, as in api in (Fetch, Produce)")
    values = [literal(cursor)]
    while cursor.take(","):
        values.append(literal(cursor))
    if not cursor.take(")"):
        raise cursor.expected("',' or ')'")
    return tuple(values)


def _after(node: Node, read: str) -> str:
    # A single name is a test, so the next word may have been meant as an operator.
    while not isinstance(node, (Compare, Exists)):
        node = node.operand if isinstance(node, Not) else node.operands[-1]
    bare = isinstance(node, Exists) and node.says and not read.rstrip().endswith(")")
    return f"an operator ({' '.join(get_args(Operator)[:-2])} in), 'and' or 'or'" if bare else "'and' or 'or'"


# Filters as closures over rows.


class Row(Opened, Protocol):
    """A row that a filter is applied to: a frame or a batch."""

    def column(self, name: str) -> Any:
        """Return the value of a column of `facts.columns`, or None if there is no value."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A compiled filter. `matches(row)` returns whether a row matches."""

    matches: Callable[[Row], bool]
    deep: bool
    """True if the filter reads records, not only their batches."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A compiled node, with the names of fields in it."""

    holds: Callable[[Row], bool]
    names: tuple[Name, ...] = ()


def compile_filter(
    text: str,
    *,
    error_codes: Mapping[str, int],
    api_keys: Mapping[str, int],
    anomalies: Collection[str] = (),
    fields: Fields | None = None,
    rows: Rows = "frames",
) -> Filter:
    """Compile a filter. Error codes, apis and anomalies are named in any case.

    If `anomalies` is empty, any name may be an anomaly. `fields` are the names of all known fields: a name of no field
    and no column is refused. Without `fields`, any name may be a field. `rows` are the rows that the filter is applied
    to: frames or batches.

    Raises:
        FilterError: The text is not a filter, or contains an unknown name.

    """
    of_batches = rows != "frames"
    places_in = partial(places_of, fields=None if of_batches else fields, of_batches=of_batches)
    columns = partial(column_of, fields=fields, rows=rows)

    def values(name: Name) -> Collection[str]:
        column = columns(name)
        return anomalies if column and column.name.endswith("anomalies") else values_of(column, places_in(name), rows)

    context = Context(text, Numbers(error_codes), Numbers(api_keys), places_in, columns, values)
    node = parse(text)
    for name in sorted(_names(node), key=lambda name: name.column):
        if fields is not None and context.column(name) is None and (reason := unknown_part(name, fields, rows)):
            raise context.wrong(reason, name.column)
    part = _compiled(node, context)
    places = [context.places(name) for name in part.names]
    return Filter(part.holds, any(place.deep or (of_batches and not place.records) for place in places))


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
        return _over(node.name, operand_of(node.name, context), bool if node.says else _is_something, context)
    if isinstance(node, Not):
        part = _compiled(node.operand, context)
        holds = part.holds
        return _Part(lambda row: not holds(row), part.names)
    # Columns are cheap and fields are computed on demand, so columns come first. The order does not change the result.
    parts = sorted((_compiled(operand, context) for operand in node.operands), key=lambda part: bool(part.names))
    holds_of_parts = [part.holds for part in parts]
    names: list[Name] = []
    for part in parts:
        names += part.names
    return _Part((_all if isinstance(node, Both) else _any)(holds_of_parts), tuple(names))


def _comparison(node: Compare, context: Context) -> _Part:
    operand = operand_of(node.name, context)
    if (column := operand.column) is None:
        return _over(node.name, operand, test_of(node, operand, context), context)
    column_name = column.name
    if column_name == "api" and node.operator not in {"~", "!~"}:
        # An api is compared by key, so that all of its names match. Only its name can be null: for unknown keys.
        nulls = tuple(literal for literal in node.literals if literal.kind == "null")
        if nulls and len(nulls) < len(node.literals):
            values = tuple(literal for literal in node.literals if literal.kind != "null")
            together = Either if node.operator == "in" else Both
            return _compiled(together((replace(node, literals=values), replace(node, literals=nulls))), context)
        column_name = "api" if nulls else "api_key"
    return _over(node.name, operand, test_of(node, operand, context), context, column_name)


def _over(name: Name, operand: Operand, test: Test, context: Context, asked: str = "") -> _Part:
    column = operand.column
    if column is None:
        return _Part(_any_value(test, values_in(context.places(name))), names=(name,))
    asked = asked or column.name
    if column.is_list:
        return _Part(_any_value(test, lambda row: row.column(asked) or ()))
    return _Part(lambda row: test(row.column(asked)))


def _any_value(test: Test, values: Callable[[Row], Any]) -> Callable[[Row], bool]:
    def holds(row: Row) -> bool:
        for value in values(row):  # noqa: SIM110  any() makes a generator for each row, which costs more than the few values do
            if test(value):
                return True
        return False

    return holds


def _all(operands: list[Callable[[Row], bool]]) -> Callable[[Row], bool]:
    first, *rest = operands
    if len(rest) == 1:
        second = rest[0]
        return lambda row: first(row) and second(row)
    return lambda row: all(holds(row) for holds in operands)


def _any(operands: list[Callable[[Row], bool]]) -> Callable[[Row], bool]:
    first, *rest = operands
    if len(rest) == 1:
        second = rest[0]
        return lambda row: first(row) or second(row)
    return lambda row: any(holds(row) for holds in operands)


def _is_something(value: Any) -> bool:
    return value is not None
