"""Incomplete filters: what may stand where a person stopped typing. The grammar itself says what it looks for there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, get_args

from kwire_cli.filter.comparisons import NO_ORDER, NO_TEXT, ORDER, Operand
from kwire_cli.filter.compile import NAME, VALUE, Cursor, read
from kwire_cli.filter.model import BY_NAME, OF_BATCHES, FilterError, Operator
from kwire_cli.filter.places import BATCH, FRAME_HEADER, RECORD, RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.filter.model import Column, Name
    from kwire_cli.filter.places import Rows

_OPERATOR = re.compile(r"[=!<>~]+$")
_WORD = re.compile(r"""(["']?)([^\s()"',=!<>~&|]*)$""")
_EXAMPLES = {"duration": ("10ms", "100ms", "1s"), "size": ("1KiB", "100KiB", "1MiB")}
_KINDS = ("batch", "control", "gap")
"""Kinds of batches."""
_OFFERED = (*get_args(Operator), "and", "or", "not", "has", ",", ")")
"""Symbols in the order in which they are offered. Other spellings of them are not."""


class Vocabulary(NamedTuple):
    """Names that filters use. They are looked up if they are needed."""

    fields: Callable[[], Iterable[str]]
    apis: Callable[[], Iterable[str]]
    errors: Callable[[], Iterable[str]]
    anomalies: Callable[[], Iterable[str]]


@dataclass(slots=True)
class _Typing(Cursor):
    """A cursor that keeps what the grammar looks for at the end of the text."""

    symbols: list[str] = field(default_factory=list)
    what: str = ""

    def take(self, symbol: str) -> bool:
        return Cursor.take(self, symbol) or self._missed(symbol)

    def take_keyword(self, keyword: str) -> bool:
        return Cursor.take_keyword(self, keyword) or self._missed(keyword)

    def expected(self, what: str, hint: str = "") -> FilterError:
        if self.at == len(self.text):
            self.what = what
        return Cursor.expected(self, what, hint)

    def _missed(self, symbol: str) -> bool:
        if self.at == len(self.text):
            self.symbols.append(symbol)
        return False


def continued(text: str, vocabulary: Vocabulary, rows: Rows = "frames") -> list[str]:
    """Return the texts that an incomplete filter may become by its next word.

    A lone text that no filter ends with, such as one that ends with an operator, comes with each word that may follow.
    If these are unknown, the text comes with and without a space: shells close the quote behind a lone completion.
    """
    texts = [*_next(text, vocabulary, rows)]
    while len(texts) == 1 and not _may_end(texts[0]):
        behind = texts[0] if texts[0].endswith("(") else f"{texts[0]} "
        texts = [*_next(behind, vocabulary, rows)] or [texts[0], f"{texts[0]} "]
    return texts


def names_from(typed: str, fields: Callable[[], Iterable[str]], rows: Rows = "frames") -> Iterator[str]:
    """Yield the columns and fields whose names, or whose last part behind a dot, begin with what was typed.

    Fields come once a letter was typed: there are hundreds.
    """
    before, dot, last = typed.rpartition(".")
    if dot:
        root = before.rpartition(".")[2]
        near = {"header": FRAME_HEADER, RECORDS: RECORD}.get(root, ())
        names = dict.fromkeys(near or (fields() if last else ()))
    elif rows == "frames":
        names = dict.fromkeys([*BY_NAME, *(fields() if last else ())])
    else:
        names = dict.fromkeys([*sorted(OF_BATCHES), *BATCH, *RECORD, *(fields() if last else ())])
    yield from (f"{before}{dot}{name}" for name in names if name.lower().startswith(last.lower()))


def _may_end(text: str) -> bool:
    """Return whether a text is a filter that ends with a value or a parenthesis.

    A name alone is a filter too, but hardly ever the one that is meant.
    """
    cursor = _Typing(text)
    try:
        read(cursor)
    except FilterError:
        return False
    return "in" not in cursor.symbols


def _next(text: str, vocabulary: Vocabulary, rows: Rows) -> Iterator[str]:
    part = _OPERATOR.search(text) or _WORD.search(text)
    typed, quote = part[0] if part else "", part[1] if part and part.re is _WORD else ""
    before = text[: len(text) - len(typed)]
    cursor = _Typing(before)
    try:
        read(cursor)
    except FilterError:
        if cursor.at < len(before):
            return
    space = "" if typed or not before or before[-1] in " (\t" else " "
    typed = typed.removeprefix(quote)
    if cursor.what == VALUE:
        values = _values(cursor.name, vocabulary, rows)
        yield from (f"{before}{space}{quote}{value}{quote}" for value in values if _begins(value, typed))
        return
    if cursor.what == NAME and not quote:
        yield from (f"{before}{space}{name}" for name in names_from(typed, vocabulary.fields, rows))
    if quote:
        return
    column = _column(cursor.name, rows)
    after_name = "in" in cursor.symbols
    for symbol in _OFFERED:
        word = f"{symbol} (" if after_name and symbol.endswith("in") else symbol
        is_next = {*symbol.split()} <= {*cursor.symbols}
        if is_next and _begins(word, typed) and not (after_name and (symbol == "not" or not _fits(symbol, column))):
            yield f"{before.rstrip()}{word}" if symbol in {",", ")"} else f"{before}{space}{word}"


def _begins(text: str, typed: str) -> bool:
    return text.lower().startswith(typed.lower())


def _fits(symbol: str, column: Column | None) -> bool:
    """Return whether an operator has a meaning beside a column; every operator has one beside a field."""
    if column is None:
        return True
    without = {"api", *NO_ORDER} if symbol in ORDER else NO_TEXT if symbol in {"~", "!~"} else ()
    return column.type not in without


def _column(name: Name | None, rows: Rows) -> Column | None:
    return BY_NAME.get(name.text) if name and (rows == "frames" or name.text in OF_BATCHES) else None


def _values(name: Name | None, vocabulary: Vocabulary, rows: Rows) -> Iterable[str]:
    """Return values to compare a column or field with; nothing if they are not known beforehand."""
    if name is None:
        return ()
    column = _column(name, rows)
    kind = column.type if column else Operand(None, tuple(name.text.split("."))).names
    if kind == "api":
        return vocabulary.apis()
    if kind == "error":
        return vocabulary.errors()
    if column is None:
        return ()
    if column.name == "anomaly":
        return vocabulary.anomalies()
    if column.name == "kind" and rows != "frames":
        return _KINDS
    return column.values or _EXAMPLES.get(column.type, ())
