"""The HTML file of every page, with its style, scripts and data.

Pages show names from captures, which can contain markup. So data is embedded as JSON in which `<` is escaped, and the
scripts insert it as text. In addition, the content security policy allows only this style and these scripts, by their
hashes, and blocks all requests. A page is one file, so that it can be sent and opened without a server.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import without_credentials
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores.paths import exists, location
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
"""The scripts of a page, in order."""
BY = f"kwire {VERSION}"
MAX_NAME = 60
"""Characters of a file name in a title. Longer names lose their beginning."""
LIBRARY = "uPlot.iife.min.js"
"""The chart library."""


def empty(title: str) -> dict[str, Any]:
    """Return the data of an empty page."""
    nothing = dict.fromkeys(("verdict", "start", "length", "left", "axis", "rows"))
    return {"title": title, "by": BY, "arguments": "", "isLocal": False, "spans": [], "answers": {}, **nothing}


def input_names(inputs: Sequence[str]) -> str:
    """Return the names of input files, without folders. Typed bytes are omitted, since they may be secret."""
    files = [location(name) for name in inputs if name == "-" or exists(name) or exists(name.rpartition("@")[0])]
    names = [PurePath(without_credentials(file)).name or file for file in files]
    labels = [name if len(name) <= MAX_NAME else f"…{name[-MAX_NAME:]}" for name in names[:3]]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(labels) + more


def page(title: str, data: dict[str, Any], chunks: Sequence[str]) -> Iterator[str]:
    """Yield the text of a page with its data, and with compressed chunks of details."""
    name = markup_text(title)
    policy = (
        f"default-src 'none'; script-src '{_hash(library())}' '{_hash(script())}'; style-src '{_hash(style())}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    values = {"policy": policy, "title": name, "style": style()}
    head, body = _file("page.html").split("{{data}}")
    yield _fill(head, values)
    yield _block("data", data)
    for number, chunk in enumerate(chunks):
        yield _block(f"chunk{number}", chunk)
    yield _fill(body, {"library": library(), "script": script()})


def _fill(text: str, values: dict[str, str]) -> str:
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
    """Return the script of the chart library."""
    return resources.files("kwire_cli.view").joinpath("vendor", LIBRARY).read_text("utf-8")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
