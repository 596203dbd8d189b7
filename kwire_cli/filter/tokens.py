"""The words of a filter, read one by one from where the grammar stands: what a character means depends on what is expected there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kwire_cli.filter.error import FilterError
from kwire_cli.filter.literals import word
from kwire_cli.filter.nodes import Literal, Name

KEYWORDS = frozenset({"and", "or", "not", "in", "has"})

# The column's name of a field, as `host`, stays within reach with a dot before it.
_NAME = re.compile(r"\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_SPACE = re.compile(r"\s*")
# Neither operators nor what closes a list are part of a word; what is written between quotes has no such limits.
_WORD = re.compile(r"""[^\s()"',=!<>~&|]+""")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"""\\(?:([\\"'])|([nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|)""")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class Cursor:
    """A filter's text, and how far it is read."""

    text: str
    at: int = 0

    def error(self, message: str, at: int | None = None) -> FilterError:
        """An error where reading stands, or at another offset."""
        return FilterError(message, text=self.text, column=(self.at if at is None else at) + 1)

    def expected(self, what: str) -> FilterError:
        """An error that says what was expected and what stands there."""
        found = _WORD.match(self.text, self.at)
        there = repr(found[0] if found else self.text[self.at]) if self.at < len(self.text) else "the end"
        return self.error(f"expected {what}, found {there}")

    def space(self) -> None:
        """Go on to the next character that is no white space."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, symbol: str) -> bool:
        """Whether a symbol stands next, behind white space; it is read then."""
        self.space()
        if self.text.startswith(symbol, self.at):
            self.at += len(symbol)
            return True
        return False

    def take_keyword(self, keyword: str) -> bool:
        """Whether a keyword, in any case, stands next; it is read then."""
        self.space()
        found = _NAME.match(self.text, self.at)
        if found and found[0].casefold() == keyword:
            self.at = found.end()
            return True
        return False


def name(cursor: Cursor) -> Name:
    """The name that stands next; FilterError where there is none."""
    cursor.space()
    found = _NAME.match(cursor.text, cursor.at)
    if not found or found[0].casefold() in KEYWORDS:
        raise cursor.expected("the name of a column or field")
    cursor.at = found.end()
    if cursor.text.startswith("[", cursor.at):
        raise cursor.error("a path has no indexes: topics.partitions, not topics[0].partitions")
    return Name(found[0], found.start() + 1)


def literal(cursor: Cursor, *, pattern: bool = False) -> Literal:
    """The literal that stands next; FilterError where there is none. With `pattern`, backslashes in quotes are left to the regular expression."""
    cursor.space()
    start = cursor.at
    quote = cursor.text[start : start + 1]
    if quote and quote in _QUOTED:
        found = _QUOTED[quote].match(cursor.text, start)
        if not found:
            raise cursor.error(f"expected a closing {quote} for this one")
        cursor.at = found.end()
        text = found[1] if pattern else _unescaped(cursor, found)
        return Literal("string", text, text, start + 1)
    found = _WORD.match(cursor.text, start)
    if not found or found[0].casefold() in KEYWORDS:
        raise cursor.expected("a value")
    cursor.at = found.end()
    return word(found[0], start + 1)


def _unescaped(cursor: Cursor, quoted: re.Match[str]) -> str:
    def character(escape: re.Match[str]) -> str:
        itself, control, low, high = escape.groups()
        if itself or control:
            return str(itself or _CONTROL[control])
        if low or high:
            return chr(int(low or high, 16))
        raise cursor.error(r"""expected an escape: \\ \" \' \n \r \t \xHH \uHHHH""", quoted.start(1) + escape.start())

    return _ESCAPE.sub(character, quoted[1])
