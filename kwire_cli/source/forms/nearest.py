"""Texts that no form fits: the forms that they come nearest to, by what is in them and by how far each was read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_cli.source.forms.model import MismatchError

SEEN = 1 << 16
"""Characters of a text that are looked at."""
_ALPHABETS = {
    "hex": re.compile(r"[0-9a-fA-F:,\-]|0x|\\x"),
    "base64": re.compile(r"[A-Za-z0-9+/=_-]"),
}
_ROWS = {
    "tcpdump": re.compile(r"[ \t]*0x[0-9a-fA-F]{4,16}:"),
    "xxd": re.compile(r"[ \t]*[0-9a-fA-F]{1,16}:[ \t]"),
    "hexdump": re.compile(r"[0-9a-fA-F]{7,8}(?:  |$)"),
    "od": re.compile(r"[0-9a-fA-F]{6,7} +[0-9a-fA-F]"),
    "wireshark": re.compile(r"[0-9a-fA-F]{4,6}  [ ]?[0-9a-fA-F]{2}"),
}
_MARKS = {
    "json": re.compile(r"\s*[\[{]"),
    "node": re.compile(r"[\s\S]*?(?:Buffer|Uint8Array)"),
    "python": re.compile(r"""[\s\S]*?(?:\b[bB]['"]|fromhex|bytearray|unhexlify|b64decode)"""),
    "c": re.compile(r"""[\s\S]*?(?:\{\s*0x|"\\x|\bchar\b)"""),
    "java": re.compile(r"[\s\S]*?(?:\[\s*-?\d+,|\bbyte\b|parseHex)"),
}
_OTHERS = re.compile(r"\S")


def nearest(text: str, failures: list[tuple[str, MismatchError]]) -> list[tuple[str, MismatchError]]:
    """The two forms that a text comes nearest to, the nearest first, each with its error."""
    start = text[:SEEN]
    size = max(len(start), 1)

    def score(failure: tuple[str, MismatchError]) -> float:
        form, error = failure
        return _share(form, start) + min(error.offset, size) / size / 2

    return sorted((failure for failure in failures if failure[0] != "log"), key=score, reverse=True)[:2]


def described(form: str, error: MismatchError, text: str, *, place: bool) -> str:
    """A form, and what stands in the text that does not fit it; with `place` also where."""
    at = error.offset
    there = text[at : at + 1]
    end = "the end" if not there.strip() and not text[at:].strip() else "a line's end" if there == "\n" else repr(there)
    line = text.count("\n", 0, at) + 1
    where = f" at line {line}, column {at - text.rfind(chr(10), 0, at)}" if place else ""
    if error.reason.startswith("expected "):
        return f"{form}, but {end}{where} is where {_article(error.reason.removeprefix('expected '))} should be"
    return f"{form}, but {error.reason}{where and f' ({where.strip()})'}"


def _article(what: str) -> str:
    """The words behind `expected`, up to their explanation."""
    return what.partition("; ")[0]


def _share(form: str, text: str) -> float:
    """How much of a text is written in the characters, rows or marks of a form, from 0 to 1."""
    if form in _ALPHABETS:
        visible = len(_OTHERS.findall(text))
        return sum(map(len, _ALPHABETS[form].findall(text))) / max(visible, 1)
    if form in _ROWS:
        lines = [line for line in text.split("\n") if line.strip()]
        return sum(bool(_ROWS[form].match(line)) for line in lines) / max(len(lines), 1)
    return float(bool(_MARKS[form].match(text))) if form in _MARKS else 0.0
