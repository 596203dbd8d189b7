"""What a query reads: the tables, views and columns that it names.

Only the tables and columns that some query reads are filled. A word too many costs a table or a column that nothing
reads, and never an answer. Views are files in `views/`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_FROM = re.compile(r"\b(?:from|join|describe|summarize)\s+([a-z_]\w*(?:[\s,]+[a-z_]\w*)*)")
_COMMENT = re.compile(r"--[^\n]*")
_ALL_COLUMNS = re.compile(r"(select|distinct|,)\s+\*|\w\.\*")
"""All columns of a table in a query."""


@cache
def views() -> Mapping[str, str]:
    """Return the views by name, as SQL."""
    folder = files("kwire_cli.facts") / "views"
    return {
        file.name.removesuffix(".sql"): file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda each: each.name)
        if file.name.endswith(".sql")
    }


def _bare(text: str) -> str:
    """Return a query without comments and quotes around names, in lower case."""
    return _COMMENT.sub("", text).replace('"', "").lower()


def _words(text: str) -> set[str]:
    return {*_WORD.findall(_bare(text))}


def named_in(text: str) -> set[str]:
    """Return the words of a query after `from`, `join` and `describe`, with commas between them.

    They may be names of tables.
    A wrong word only costs the time to fill a table that is not read.
    """
    names: set[str] = set()
    for part in _FROM.findall(_bare(text)):
        names.update(_WORD.findall(part))
    return names


@cache
def needed_by(text: str) -> frozenset[str]:
    """Return the words of a query, and of all views that it reads, that may be names of tables."""
    words = named_in(text)
    waiting = [name for name in words if name in views()]
    while waiting:
        for word in named_in(views()[waiting.pop()]) - words:
            words.add(word)
            if word in views():
                waiting.append(word)
    return frozenset(words)


@cache
def columns_read_by(text: str) -> frozenset[str]:
    """Return the words of a query, and of all views that it reads: among these are the columns that the query needs."""
    return frozenset(_words(text)).union(*(_words(views()[name]) for name in needed_by(text) & views().keys()))


def names_all_columns(query: str) -> bool:
    """Return whether a query asks for all columns of `frames` or `costs`."""
    return not named_in(query).isdisjoint({"frames", "costs"}) and _ALL_COLUMNS.search(_bare(query)) is not None
