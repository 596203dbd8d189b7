"""A page, its blocks, and reports on it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Self

from kwire_cli.errors import InputError
from kwire_cli.spec.kafka import VERSION
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import escaped
from kwire_cli.view.markup import markup_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Block = dict[str, Any]


# The frame of every page: one file with its style and script in it, that loads nothing, and runs nothing
# else.
#
# What comes from the bytes is in it as JSON, which the browser never reads as markup: `<` is escaped. The
# script puts it on the page as text.

SCRIPTS = (
    "elements.js",
    "charts.js",
    "hex.js",
    "tree.js",
    "search.js",
    "views.js",
    "inspect.js",
    "report.js",
    "start.js",
)
"""In the order in which they stand in the page's one script; each is for what its name says."""


BY = f"kwire {VERSION}"
MOST_TEXT = 48 << 20
"""Characters of data in one page; what is beyond is for the next one."""


class Page:
    """A page that is written as it comes: entries, each a frame or batch with its fields and bytes, then what is said
    of all of them.

    `write` takes text. Nothing is kept but the rows of the list. As a context it ends the page, also where something
    breaks it off; not where that is before the first entry, so that an error leaves no page of nothing.
    """

    def __init__(self, write: Callable[[str], None], kind: str, title: str, *, most: int) -> None:
        self._write, self._kind, self._most, self._title = write, kind, most, escaped(title)
        self._rows: list[dict[str, Any]] = []
        self._text = self._beside = 0
        self.file = ""
        """The file of the entries that come, where there are several."""
        self.more: str | None = None
        """The way to get the rest if the page does not have everything."""

    @property
    def is_full(self) -> bool:
        """Return whether the page takes no more entries."""
        return self.count >= self._most or self._text >= MOST_TEXT

    @property
    def count(self) -> int:
        """Return the entries so far, those that were joined as one."""
        return len(self._rows) - self._beside

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._rows or kind is None:
            self.end()

    def add(self, row: dict[str, Any], entry: dict[str, Any]) -> None:
        """A frame or batch: its row in the list, and its fields and bytes."""
        if not self._rows:
            self._write(head(self._title))
        if odd := len(entry["anomalies"]):
            row = row | {"odd": odd}
        text = data(f"e{len(self._rows)}", entry)
        self._text += len(text)
        self._rows.append(row | ({"file": escaped(self.file)} if self.file else {}))
        self._write(text)

    def join(self, entries: int) -> None:
        """Count the last entries as one, such as a request and its response."""
        self._beside += entries - 1

    def turn_to(self, kind: str) -> None:
        """Expect frames or batches from now on. Raises InputError if the page has entries of the other kind."""
        if self._rows and kind != self._kind:
            raise InputError(
                f"a page has frames or batches, and this one has {self._kind}: give these inputs one by one"
            )
        self._kind = kind

    def leave(self, option: str) -> None:
        """There is more, which this option gives."""
        self.more = escaped(f"{self.file} {option}" if self.file else option)

    def end(self) -> None:
        """The rest of the page."""
        if not self._rows:
            self._write(head(self._title))
        self._write(
            data("page", {"kind": self._kind, "title": self._title, "by": BY, "rows": self._rows, "more": self.more})
        )
        self._write(tail())


def report(title: str, blocks: list[dict[str, Any]]) -> str:
    """A page of tables and charts."""
    about = {"kind": "report", "title": escaped(title), "by": BY, "blocks": blocks}
    return head(title) + data("page", about) + tail()


def data(name: str, document: Any) -> str:
    """A document in a page, by its name. `<` is escaped, so that nothing in it ends the element or begins a comment."""
    text = dumps(document, indent=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def head(title: str) -> str:
    """All of a page before its data. What is neither its style nor its script is refused by the browser, and so is
    every request.
    """
    safe_title = markup_text(title)
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script())}'; style-src 'sha256-{_digest(style())}"
        f"'; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta '
        f'http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        'content="light dark">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{safe_title}</title>\n<style>{style()}'
        f"</style>\n</head>\n<body>\n"
        f"<noscript>{safe_title}: this page shows its data by a script, and scripts are switched off.</noscript>\n"
    )


def tail() -> str:
    """All of a page behind its data."""
    return f"<script>{script()}</script>\n</body>\n</html>\n"


@cache
def style() -> str:
    """The style sheet of all pages."""
    return _file("page.css")


@cache
def script() -> str:
    """The script of all pages."""
    return '(() => {\n"use strict";\n' + "".join(_file(name) for name in SCRIPTS) + "})();\n"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Reports as blocks of a page: what a terminal shows in lines, its tables as tables that sort; and charts of
# numbers.

MOST_BRANCHES = 40
"""Parts of a part that an icicle shows."""


def bars(
    title: str, items: Iterable[tuple[str, float]], *, whole: float | None = None, note: str = "", unit: str = "byte"
) -> Block:
    """Return a bar chart of bytes, or of another `unit`, by name.

    `unit` is the name of one, or ms. With `whole` the chart also shows each bar's share of it.
    """
    entries = [{"name": name, "value": value} for name, value in items]
    return {"type": "bars", "title": title, "items": entries, "all": whole, "note": note, "unit": unit}


def icicle(title: str, name: str, sizes: Iterable[tuple[Sequence[str], int]]) -> Block:
    """Bytes by path, each path's first part outermost; of many beside each other the smallest are one."""
    root = _Branch()
    for path, size in sizes:
        at = root
        at.size += size
        for part in path:
            at = at.below.setdefault(part, _Branch())
            at.size += size
    return {"type": "icicle", "title": title, "root": root.to_json(name)}


@dataclass(slots=True)
class _Branch:
    size: int = 0
    below: dict[str, _Branch] = field(default_factory=dict)

    def to_json(self, name: str) -> Block:
        ordered = sorted(self.below.items(), key=lambda item: -item[1].size)
        children = [branch.to_json(part) for part, branch in ordered[:MOST_BRANCHES]]
        if rest := ordered[MOST_BRANCHES:]:
            children.append(
                {"name": f"({len(rest)} more)", "value": sum(branch.size for _, branch in rest), "children": []}
            )
        return {"name": name, "value": self.size, "children": children}


def histogram(title: str, unit: str, items: Iterable[tuple[str, int]], *, note: str = "") -> Block:
    """Return a histogram: the number of `unit` for each name."""
    return {
        "type": "histogram",
        "title": title,
        "unit": unit,
        "note": note,
        "items": [{"name": name, "value": value} for name, value in items],
    }
