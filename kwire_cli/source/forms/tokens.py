"""Source text as tokens, for the languages that bytes are pasted from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kwire_cli.source.forms.model import comment_text

_PATTERN = r"""
    (?P<space>[ \t\n\f\v]++)
  | (?P<comment>//[^\n]*+ | \#[^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<string>[A-Za-z]{0,2}(?:
        \"\"\"(?:[^"\\]|\\[\s\S]|"(?!""))*+\"\"\" | '''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''
      | "(?:[^"\\\n]|\\[\s\S])*+" | '(?:[^'\\\n]|\\[\s\S])*+' | `(?:[^`\\]|\\[\s\S])*+`))
  | (?P<buffer><(?:Slow)?Buffer[^>\n]*+>?)
  | (?P<number>-?[0-9][0-9A-Za-z_]*+)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$.]*+)
  | (?P<mark>[\s\S])
"""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of source: `kind` is string, buffer, number, word, mark, or end; `line` counts from 1."""

    kind: str
    text: str
    start: int
    line: int
    comment: str | None

    @property
    def end(self) -> int:
        """Where it ends in the whole text."""
        return self.start + len(self.text)


class Tokens:
    """The tokens of a text, one at a time; comments and whitespace are skipped.

    A token's `comment` is what the comment right above it, or before it, says.
    """

    def __init__(self, text: str) -> None:
        self._found = re.compile(_PATTERN, re.VERBOSE).finditer(text)
        self._line, self._end = 1, len(text)
        self._next = self._advance()

    def peek(self) -> Token:
        """The token that `take` gives next; its kind is end after the last one."""
        return self._next

    def take(self) -> Token:
        """The next token."""
        token, self._next = self._next, self._advance()
        return token

    def _advance(self) -> Token:
        comment: str | None = None
        for found in self._found:
            kind, line = found.lastgroup or "mark", self._line
            self._line += found[0].count("\n")
            if kind == "comment":
                comment = comment_text(found[0])
            elif kind != "space":
                return Token(kind, found[0], found.start(), line, comment)
            elif self._line - line > 1:
                comment = None
        return Token("end", "", self._end, self._line, None)
