"""The errors that leave kwire's API; nothing else does, on any input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


REMARKS: dict[str, None] = {}
"""Faults of extras, without which an answer is complete. The command line notes them at the end of a command."""
_SCHEME = r"\b([A-Za-z][A-Za-z0-9+.-]+:/+)"
URL_PASSWORD = re.compile(rf"""{_SCHEME}[^\s/?#"'@:\[]*:(?!\d*/)[^\s"'?]*@""")
_TOKEN = re.compile(r"""\b((?:https?|s3[an]?|gc?s):/+)[^\s/?#"'@]+@""", re.IGNORECASE)
_QUERY = re.compile(rf"""({_SCHEME}[^\s?"']*)[?#][A-Za-z_%&;][\w.%&;+-]*=[^\s"')]*""")


def without_credentials(text: str) -> str:
    """Return a text in which URLs have neither passwords nor queries: these give access to a store.

    A user without a password is removed too if the store has no users, as it may be a token.
    """
    if ":/" not in text:
        return text
    return _QUERY.sub(r"\1", _TOKEN.sub(r"\1", URL_PASSWORD.sub(r"\1", text)))


class KwireError(Exception):
    """Any error that kwire reports."""


class SpecError(KwireError):
    """A message definition is wrong; `file`, `line` and `column` (from 1), and `path` inside the definition say
    where.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        self.reason, self.file, self.line, self.column, self.path = message, file, line, column, path
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(": ".join(part for part in (place, path, message) if part))


class DecodeError(KwireError):
    """Bytes end or lie: `offset` and `path` say where; `partial` is what was decoded before, if anything."""

    def __init__(
        self, message: str, *, offset: int | None = None, path: str | None = None, partial: Any = None
    ) -> None:
        self.reason, self.offset, self.path, self.partial = message, offset, path, partial
        place = " ".join(part for part in (path, f"at byte {offset}" if offset is not None else "") if part)
        super().__init__(f"{place}: {message}" if place else message)


FIELD_MISSING = "the field is missing"
"""The reason of an EncodeError for a mandatory field without a value."""


class EncodeError(KwireError):
    """A value does not fit its field: `path`, `value` and `reason` say why."""

    def __init__(self, reason: str, *, path: str = "", value: Any = None) -> None:
        self.reason, self.path, self.value = reason, path, value
        super().__init__(f"{path}: {reason}" if path else reason)


class InputError(KwireError):
    """A text, a file or an argument is not what it claims to be; `line` and `column` count from 1 where the input is
    text.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        message, file = without_credentials(message), without_credentials(str(file)) if file is not None else None
        self.reason, self.file, self.line, self.column = message, file, line, column
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


def close_to(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The names, of those that are known, that are like this one in any case, the closest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - for an error message only

    by_lower = {candidate.lower(): candidate for candidate in known}
    return [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=most)]


def did_you_mean(close: Sequence[str]) -> str:
    """Return the end of an error about an unknown name: the known names that are close to it.

    Return an empty text if no name is close.
    """
    return f"; did you mean {' or '.join(close)}?" if close else ""


def json_kind(value: object) -> str:
    """Return what a value is in JSON, such as `an integer`, `text` or `null`.

    Values that JSON has no form for are called by their type.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = {
        str: "text",
        int: "an integer",
        float: "a number with a fraction",
        dict: "an object",
        list: "a list",
        tuple: "a list",
    }
    return kinds.get(type(value), type(value).__name__)


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 byte` or `2 bytes`; `many` is the plural of `one` if it is not `one` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def few(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are: `a, b, c and 2 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
