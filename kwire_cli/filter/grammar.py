"""The grammar of filters, read by recursive descent.

filter = all {("or" | "||") all}
all    = not {("and" | "&&") not}
not    = {"not" | "!"} ("(" filter ")" | test)
test   = ["has"] name | name operator value | name ["not"] "in" "(" value {"," value} ")"
"""

from __future__ import annotations

from typing import get_args

from kwire_cli.filter.nodes import Both, Compare, Either, Exists, Literal, Node, Not, Operator
from kwire_cli.filter.tokens import Cursor, literal, name

DEPTH = 50
"""Parentheses in parentheses; more are an error, so that no filter exhausts Python's stack."""

# Longer ones first, as "<" begins "<=".
_OPERATORS: tuple[Operator, ...] = tuple(sorted((each for each in get_args(Operator) if not each.endswith("in")), key=len, reverse=True))


def parse(text: str) -> Node:
    """The tree of a filter; FilterError where it is none."""
    cursor = Cursor(text)
    node = _either(cursor, 0)
    cursor.space()
    if cursor.at < len(text):
        raise cursor.expected(_after(node, text[: cursor.at]))
    return node


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
    subject = name(cursor)
    cursor.space()
    start = cursor.at
    if operator := next((each for each in _OPERATORS if cursor.take(each)), None):
        value = literal(cursor, pattern=operator in {"~", "!~"})
        return Compare(subject, operator, (value,), start + 1)
    if cursor.take_keyword("in"):
        return Compare(subject, "in", _list(cursor), start + 1)
    if cursor.take_keyword("not"):
        if not cursor.take_keyword("in"):
            cursor.space()
            raise cursor.expected("'in' after 'not'")
        return Compare(subject, "not in", _list(cursor), start + 1)
    if cursor.take("="):
        raise cursor.error("expected '==' for equality or '~' for a regular expression, found '='", start)
    return Exists(subject, says=True)


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
    # A name alone is a test, so what follows one may have been meant as an operator.
    while not isinstance(node, (Compare, Exists)):
        node = node.operand if isinstance(node, Not) else node.operands[-1]
    bare = isinstance(node, Exists) and node.says and not read.rstrip().endswith(")")
    return f"an operator ({' '.join(get_args(Operator)[:-2])} in), 'and' or 'or'" if bare else "'and' or 'or'"
