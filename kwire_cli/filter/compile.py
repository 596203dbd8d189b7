"""The parser of filters, which compiles them to closures.

A recursive descent parser reads the text word by word, as the meaning of a character depends on what the grammar
expects. Each test becomes a function of a row when it is read.

    filter = all {("or" | "||") all}
    all = not {("and" | "&&") not}
    not = {"not" | "!"} ("(" filter ")" | test)
    test = ["has"] name | name operator value | name ["not"] "in" "(" value {"," value} ")"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.filter.comparisons import Context, Numbers, Operand, operand_of, test_of
from kwire_cli.filter.model import Compare, FilterError, Literal, Name, word
from kwire_cli.filter.places import FRAME_HEADER, unknown_part, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kwire_cli.filter.comparisons import Test
    from kwire_cli.filter.places import Row, Rows
    from kwire_cli.spec.field_names import FieldNames

KEYWORDS = frozenset({"and", "or", "not", "in", "has"})
OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "!~", "~")
"""Longer operators first, as "<" is a prefix of "<="."""
DEPTH = 50
"""Maximum depth of parentheses. Deeper ones are an error, so that no filter exhausts Python's stack."""
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


# Filters as closures over rows.


@dataclass(frozen=True, slots=True)
class Filter:
    """A compiled filter. `matches(row)` returns whether a row matches."""

    matches: Callable[[Row], bool]
    deep: bool
    """True if the filter reads records, not only their batches."""
    names: tuple[Name, ...]
    """The columns and fields that it reads."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A compiled part of a filter, and whether it reads fields."""

    holds: Callable[[Row], bool]
    reads_fields: bool = False


def compile_filter(
    text: str,
    *,
    error_codes: Mapping[str, int],
    api_keys: Mapping[str, int],
    fields: FieldNames,
    anomalies: Collection[str] = (),
    rows: Rows = "frames",
) -> Filter:
    """Compile a filter. Error codes, apis and anomalies are named in any case.

    If `anomalies` is empty, any name may be an anomaly. `fields` are the names of all known fields: a name of no field
    and no column is refused. `rows` are the rows that the filter is applied to: frames or batches.

    Raises:
        FilterError: The text is not a filter, or contains an unknown name.

    """
    context = Context(text, Numbers(error_codes), Numbers(api_keys), anomalies, fields, rows)
    parser = _Parser(context)
    part = parser.filter()
    places = [context.places(name) for name in parser.names if context.column(name) is None]
    deep = any(place.deep or (rows != "frames" and not place.records) for place in places)
    return Filter(part.holds, deep, tuple(parser.names))


class _Parser:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._cursor = Cursor(context.text)
        self.names: list[Name] = []
        self._bare = -1
        """The position after a name without an operator, which may follow."""

    def filter(self) -> _Part:
        """Read the whole text."""
        cursor = self._cursor
        part = self._either(0)
        cursor.space()
        if cursor.at < len(cursor.text):
            is_unit = re.search(r"[0-9]\s+\Z", cursor.text[: cursor.at]) and cursor.text[cursor.at].isalpha()
            hint = "; a unit follows its number without a space, as in 5ms" if is_unit else ""
            raise cursor.expected(self._after(), hint)
        return part

    def _either(self, depth: int) -> _Part:
        parts = [self._both(depth)]
        while self._cursor.take("||") or self._cursor.take_keyword("or"):
            parts.append(self._both(depth))
        return _joined(parts, _any)

    def _both(self, depth: int) -> _Part:
        parts = [self._not(depth)]
        while self._cursor.take("&&") or self._cursor.take_keyword("and"):
            parts.append(self._not(depth))
        return _joined(parts, _all)

    def _not(self, depth: int) -> _Part:
        cursor = self._cursor
        negated = False
        while cursor.take("!") or cursor.take_keyword("not"):
            negated = not negated
        part = self._group(depth) if cursor.take("(") else self._test()
        holds = part.holds
        return _Part(lambda row: not holds(row), part.reads_fields) if negated else part

    def _group(self, depth: int) -> _Part:
        cursor = self._cursor
        if depth == DEPTH:
            raise cursor.error(f"parentheses are nested deeper than {DEPTH}", cursor.at - 1)
        part = self._either(depth + 1)
        if not cursor.take(")"):
            raise cursor.expected(f"{self._after()} or ')'")
        return part

    def _test(self) -> _Part:
        cursor = self._cursor
        if cursor.take_keyword("has"):
            return self._exists(name(cursor), _is_something)
        operand = name(cursor)
        cursor.space()
        start = cursor.at
        for symbol in OPERATORS:
            if cursor.take(symbol):
                value = literal(cursor, pattern=symbol in {"~", "!~"})
                return self._comparison(Compare(operand, symbol, (value,), start + 1))
        if cursor.take_keyword("in"):
            return self._comparison(Compare(operand, "in", self._list(), start + 1))
        if cursor.take_keyword("not"):
            if not cursor.take_keyword("in"):
                cursor.space()
                raise cursor.expected("'in' after 'not'")
            return self._comparison(Compare(operand, "not in", self._list(), start + 1))
        if cursor.take("="):
            raise cursor.error("expected '==' for equality or '~' for a regular expression, found '='", start)
        self._bare = cursor.at
        return self._exists(operand, bool)

    def _list(self) -> tuple[Literal, ...]:
        cursor = self._cursor
        if not cursor.take("("):
            raise cursor.expected("'(' and values, as in api in (Fetch, Produce)")
        values = [literal(cursor)]
        while cursor.take(","):
            values.append(literal(cursor))
        if not cursor.take(")"):
            raise cursor.expected("',' or ')'")
        return tuple(values)

    def _after(self) -> str:
        """Return what may follow. After a name without an operator, the next word may have been meant as one."""
        if self._cursor.at != self._bare:
            return "'and' or 'or'"
        return "an operator (== != < <= > >= ~ !~ in), 'and' or 'or'"

    def _exists(self, name: Name, test: Test) -> _Part:
        return self._over(name, self._operand(name), test)

    def _comparison(self, node: Compare) -> _Part:
        operand = self._operand(node.name)
        test = test_of(node, operand, self._context)
        if operand.column is None or operand.column.name != "api" or node.operator in {"~", "!~"}:
            return self._over(node.name, operand, test)
        # An api is compared by key, so that all of its names match. Only its name can be null: for unknown keys.
        if any(value.kind == "null" for value in node.literals):
            return _Part(lambda row: test(row.column("api") and row.column("api_key")))
        return _Part(lambda row: test(row.column("api_key")))

    def _operand(self, name: Name) -> Operand:
        context = self._context
        operand = operand_of(name, context)
        if operand.column is None and (reason := unknown_part(name, context.fields, context.rows)):
            raise context.wrong(reason, name.column)
        self.names.append(name)
        return operand

    def _over(self, name: Name, operand: Operand, test: Test) -> _Part:
        column = operand.column
        if column is None:
            return _Part(_any_value(test, values_in(self._context.places(name))), reads_fields=True)
        asked = column.name
        if column.is_list:
            return _Part(_any_value(test, lambda row: row.column(asked) or ()))
        return _Part(lambda row: test(row.column(asked)))


def _joined(parts: list[_Part], join: Callable[[list[Callable[[Row], bool]]], Callable[[Row], bool]]) -> _Part:
    """Return several parts as one. Columns are cheap and fields are computed on demand, so columns come first."""
    if len(parts) == 1:
        return parts[0]
    parts = sorted(parts, key=lambda part: part.reads_fields)
    return _Part(join([part.holds for part in parts]), parts[-1].reads_fields)


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
