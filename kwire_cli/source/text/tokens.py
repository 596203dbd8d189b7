r"""Source text as tokens, and the escapes inside strings.

One grammar serves all languages, because bytes are pasted from any of them, often without the line that names the
language. Languages differ in a few escapes only: a `Dialect` holds these differences.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kwire_cli.source.text.model import MismatchError, comment_text

_PATTERN = r"""
    (?P<space>(?:[ \t\n\f\v]|\\\n)++)
  | (?P<comment>//[^\n]*+ | \#[^\n]*+ | %{1,3}[ ][^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<string>[A-Za-z]{0,2}(?:
        \"\"\"(?:[^"\\]|\\[\s\S]|"(?!""))*+\"\"\" | '''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''
      | "(?:[^"\\\n]|\\[\s\S])*+" | '(?:[^'\\\n]|\\[\s\S])*+' | `(?:[^`\\]|\\[\s\S])*+`))
  | (?P<bare>\\x[0-9a-fA-F]{2}[^\n]*+)
  | (?P<buffer><(?:Slow)?Buffer[^>\n]*+>?)
  | (?P<number>-?[0-9][0-9A-Za-z_]*+)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$.]*+)
  | (?P<mark><<|>>|::|<>|\+\+|[\s\S])
"""


class Token(NamedTuple):
    """A part of the source. `kind` is string, bare, buffer, number, word, mark or end. `line` counts from 1.

    A bare token is the rest of a line that begins with an escape outside quotes.
    """

    kind: str
    text: str
    start: int
    line: int
    comment: str | None

    @property
    def end(self) -> int:
        """The offset of the end of the token in the whole text."""
        return self.start + len(self.text)

    @property
    def prefix(self) -> str:
        """The letters before the quote of a string, in lower case."""
        return self.text[: len(self.text) - len(self._quoted)].lower()

    @property
    def body(self) -> tuple[str, int]:
        """The text between the quotes of a string, and the offset of that text in the whole text."""
        if self.kind == "bare":
            return self.text.rstrip(), self.start
        text = self._quoted
        quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
        return text[quotes:-quotes], self.end - len(text) + quotes

    @property
    def _quoted(self) -> str:
        return self.text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Tokens:
    """The tokens of source text, without comments and whitespace.

    The `comment` of a token is the comment directly above or before it.
    """

    def __init__(self, text: str) -> None:
        self._matches = re.compile(_PATTERN, re.VERBOSE).finditer(text)
        self._line = 1
        self._end = len(text)
        self._next = self._advance()

    def peek(self) -> Token:
        """Return the token that `take` returns next. Its kind is end after the last token."""
        return self._next

    def take(self) -> Token:
        """Return the next token, and advance."""
        token = self._next
        self._next = self._advance()
        return token

    def _advance(self) -> Token:
        comment: str | None = None
        for match in self._matches:
            kind = match.lastgroup or "mark"
            line = self._line
            self._line += match[0].count("\n")
            if kind == "comment":
                comment = comment_text(match[0])
            elif kind != "space":
                return Token(kind, match[0], match.start(), line, comment)
            elif self._line - line > 1:
                comment = None
        return Token("end", "", self._end, self._line, None)


class Dialect(NamedTuple):
    r"""How a language reads escapes and strings.

    - `named`: the user chose the language, so strings without escapes are bytes too.
    - `long_hex`: `\x` takes all hex digits that follow, as in C.
    - `short_zero`: a digit after `\0` is a separate byte, as in Rust.
    - `lenient`: an unknown escape is two characters, as in Python.
    """

    named: bool = False
    long_hex: bool = False
    short_zero: bool = False
    lenient: bool = False


_SIMPLE = dict(zip("abtnvfresd\\'\"?`/$#", (*b"\a\b\t\n\v\f\r\x1b \x7f", *b"\\'\"?`/$#"), strict=True))
_PYTHON = frozenset("abtnvfr\\'\"")
# In Haskell a number is decimal, and control characters have names; longer names come first.
_NAMES = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US", "SP"),
)
_NAMED = {name: code for code, name in enumerate(_NAMES)} | {"DEL": 127}
_HASKELL = re.compile(r"(?<!\\)(?:\\\\)*+\\(?:NUL|SOH|STX|ETX|EOT|ENQ|ACK|DLE|DC[1-4]|NAK|SYN|ETB|SUB|DEL)")


def _escapes(number: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<plain>[^\\]++)|\\(?:x(?P<hex>[0-9a-fA-F]++)|[xu]\{{(?P<point>[0-9a-fA-F]++)\}}"
        rf"|u(?P<unit>[0-9a-fA-F]{{4}})|(?P<number>{number}{{1,3}})|(?P<name>{'|'.join(_NAMED)})"
        rf"|(?P<fold>\n)|(?P<simple>[\s\S]))"
    )


_OCTAL = _escapes("[0-7]")
_DECIMAL = _escapes("[0-9]")


def unescape(body: str, start: int, dialect: Dialect, *, encoding: str = "utf-8") -> bytes:
    r"""Return the bytes of a string that begins at offset `start` of the whole text.

    Characters without an escape become bytes by `encoding`. A code unit such as `\u00ff` is a byte.

    Raises:
        MismatchError: An escape is not a byte.

    """
    out = bytearray()
    haskell = _HASKELL.search(body) is not None and not dialect.lenient
    for match in (_DECIMAL if haskell else _OCTAL).finditer(body):
        at = start + match.start()
        kind = match.lastgroup or ""
        text = match[kind]
        rest = ""
        if kind == "hex":
            size = len(text) if dialect.long_hex else 2
            if dialect.lenient and len(text) < size:
                raise MismatchError(at + 2 + len(text), "expected 2 hex digits after \\x")
            out.append(_byte(text[:size], 16, at))
            rest = text[size:]
        elif kind in {"point", "unit"} and not dialect.lenient:
            out.append(_byte(text, 16, at))
        elif kind == "number":
            size = 1 if dialect.short_zero and text[0] == "0" else 3
            out.append(_byte(text[:size], 10 if haskell else 8, at))
            rest = text[size:]
        elif kind == "name" and haskell:
            out.append(_NAMED[text])
        elif kind == "plain":
            rest = text
        elif kind != "fold" and not (haskell and text == "&"):
            letter = match[0][1]
            if letter in (_PYTHON if dialect.lenient else _SIMPLE):
                out.append(_SIMPLE[letter])
                rest = match[0][2:]
            elif dialect.lenient and letter != "x":
                rest = match[0]
            else:
                raise MismatchError(at, f"the escape \\{letter} is not a byte")
        try:
            out += rest.encode(encoding)
        except UnicodeEncodeError as error:
            at = start + match.end() - len(rest) + error.start
            raise MismatchError(at, f"this character is no {encoding}") from None
    return bytes(out)


def _byte(digits: str, base: int, at: int) -> int:
    # Zeros in front are cut first: int() of a long text is not linear.
    digits = digits.lstrip("0") or "0"
    value = int(digits, base) if len(digits) <= 3 else 256
    if value > 255:
        raise MismatchError(at, "this escape exceeds a byte; in C a \\x escape takes every hex digit that follows")
    return value


_DOUBLE = re.compile(r"\\\\x[0-9a-fA-F]{2}|\\\\u00[0-9a-fA-F]{2}")
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*+\\[^\\]")


def unescape_string(body: str, start: int, dialect: Dialect) -> bytes:
    r"""Return the bytes of a string, also of one whose escapes are escaped again, as in `"\\x00"` of JSON."""
    if _DOUBLE.search(body) and not _SINGLE.search(body):
        body = body.replace("\\\\", "\\")
    return unescape(body, start, dialect, encoding="latin-1" if "\\u00" in body else "utf-8")
