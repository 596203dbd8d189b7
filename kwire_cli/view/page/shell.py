"""The frame of every page: one file with its style and scripts, which loads nothing and runs nothing else.

What comes from bytes is in the page as JSON, which the browser never reads as markup: `<` is escaped. The scripts put
it on the page as text. The policy allows the style and the scripts by their hashes, and refuses every request.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.kafka import VERSION
from kwire_cli.view.json import dumps
from kwire_cli.view.markup import markup_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRIPTS = (
    "core.js",
    "data.js",
    "filter.js",
    "state.js",
    "list.js",
    "axis.js",
    "brush.js",
    "bytes.js",
    "rows.js",
    "answer.js",
    "findings.js",
    "groups.js",
    "sequence.js",
    "costs.js",
    "main.js",
)
"""The scripts of a page in their order."""
BY = f"kwire {VERSION}"
LIBRARY = "uPlot.iife.min.js"
"""The library that draws charts."""


def empty(title: str) -> dict[str, Any]:
    """Return the data of a page without anything in it."""
    nothing = dict.fromkeys(("verdict", "start", "length", "left", "axis", "rows"))
    return {"title": title, "by": BY, "arguments": "", "isLocal": False, "spans": [], "answers": {}, **nothing}


def page(title: str, data: dict[str, Any], chunks: Sequence[str]) -> Iterator[str]:
    """Yield the text of a page: its data, and chunks of packed details."""
    name = markup_text(title)
    policy = (
        f"default-src 'none'; script-src '{_hash(library())}' '{_hash(script())}'; style-src '{_hash(style())}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    values = {"policy": policy, "title": name, "style": style()}
    head, body = _file("page.html").split("{{data}}")
    yield _filled(head, values)
    yield _block("data", data)
    for number, chunk in enumerate(chunks):
        yield _block(f"chunk{number}", chunk)
    yield _filled(body, {"library": library(), "script": script()})


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _block(name: str, document: Any) -> str:
    text = dumps(document, indent=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


@cache
def style() -> str:
    """Return the style sheet of all pages."""
    return _file("page.css")


@cache
def script() -> str:
    """Return the script of all pages."""
    return '(() => {\n"use strict";\n' + "".join(_file(name) for name in SCRIPTS) + "})();\n"


@cache
def library() -> str:
    """Return the library that draws charts."""
    return resources.files("kwire_cli.view").joinpath("vendor", LIBRARY).read_text("utf-8")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
