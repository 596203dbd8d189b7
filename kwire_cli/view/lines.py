"""Styled lines, and the meaning of numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import instant
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.program import Leaf
    from kwire_cli.spec.catalog import Catalog


# Styled lines: what views for eyes are made of. A line is a list of (text, style); whoever prints it decides
# whether styles become colours.

Line = list[tuple[str, str]]


STYLES = {
    "name": "bold",
    "number": "cyan",
    "text": "green",
    "bytes": "yellow",
    "null": "magenta",
    "meaning": "blue",
    "dim": "dim",
    "title": "bold white",
    "warning": "bold red",
    "secret": "black on yellow",
    "leaf0": "cyan",
    "leaf1": "green",
    "leaf2": "yellow",
    "leaf3": "magenta",
    "leaf4": "bright_blue",
    "leaf5": "bright_red",
}
"""Style names used by the views, as rich knows them; leaf0 to leaf5 follow one another so that neighbours differ."""

SPACES = frozenset(
    "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
"""Characters with a width and without ink. Python calls all of them but the first not printable."""

DOTS = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))


def is_hidden(char: str) -> bool:
    """Return whether a character acts on a terminal, turns the direction of text, or can't be seen.

    Control, format (bidirectional, zero-width, tag), surrogate, private and unassigned characters are hidden, and the
    separators of lines.
    """
    return not (char.isprintable() or char in SPACES)


def escaped(text: str) -> str:
    r"""Return text for eyes: every hidden character as `\xHH`, `\uHHHH` or `\UHHHHHHHH`."""
    return text if text.isprintable() else "".join([_escape(char) if is_hidden(char) else char for char in text])


def escaped_lines(text: str) -> str:
    """Return several lines with every hidden character escaped."""
    return "\n".join([escaped(line) for line in text.split("\n")])


def _escape(char: str) -> str:
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def json_escaped(text: str) -> str:
    """Return lines of JSON with the same meaning in which no character is hidden but tabs and line feeds."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join([_json_escape(char) if char not in "\t\n" and is_hidden(char) else char for char in text])


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)])


def without_control(line: Line) -> Line:
    """A line in which nothing moves a terminal's cursor, whatever names somebody made up."""
    return [(escaped(text), style) for text, style in line]


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(text for text, _ in line)


def quoted(text: str) -> str:
    """Text in double quotes, with nothing in it that could move a terminal's cursor or end the line."""
    marked = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return f'"{escaped(marked)}"'


def printable(data: bytes) -> str:
    """The ASCII column of a hex dump: a dot for what is not printable."""
    return data.translate(DOTS).decode("ascii")


SHOWN_BYTES, SHOWN_TEXT, SHOWN_ELEMENTS = 16, 120, 20
"""The parts of bytes, of text and of a list of numbers that are shown by default."""


def byte_segments(data: bytes, *, full: bool = False) -> Line:
    """Bytes for eyes: how many, the first of them in hex, and those as text where they are printable."""
    line: Line = [(counted(len(data), "byte"), "number")]
    if data:
        excerpt = data if full else data[:SHOWN_BYTES]
        more = " …" if len(data) > len(excerpt) else ""
        line += [(f" {excerpt.hex(' ')}{more}", "bytes"), (f"  |{printable(excerpt)}{more}|", "dim")]
    return line


def anomaly_lines(anomalies: Iterable[Anomaly]) -> Iterator[Line]:
    """One line for each anomaly."""
    for anomaly in anomalies:
        where = f"{anomaly.path} " if anomaly.path else ""
        yield [
            ("! ", "warning"),
            (anomaly.code, "warning"),
            (escaped(f" {where}at byte {anomaly.offset}: {anomaly.detail}"), "dim"),
        ]


# What a number means: names of error codes, apis and enums, timestamps as dates. Shown beside the number,
# never instead of it.

TIME_NAMES = ("timestamp", "timestampms", "timems", "expirytime")


API_KEYS = ("requestApiKey", "apiKey")
EARLIEST_MS, LATEST_MS = 946_684_800_000, 4_102_444_800_000
"""2000 and 2100: what lies outside is no date."""


def meaning(catalog: Catalog, message: str, leaf: Leaf, value: Any) -> str | None:
    """The name of a field's value, if it has one."""
    if isinstance(value, float) or value is None:
        return None
    if leaf.name in API_KEYS and leaf.kind == "int16":
        api = catalog.named_api(value)
        return api.name if api else None
    return _named(catalog, message, leaf.path, value) or _date(leaf, value)


@lru_cache(maxsize=4096, typed=True)
def _named(catalog: Catalog, message: str, path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
    return catalog.named_value(message, path.replace("[]", ""), value)


def _date(leaf: Leaf, value: Any) -> str | None:
    return moment(value) if leaf.kind == "int64" and leaf.name.lower().endswith(TIME_NAMES) else None


def moment(value: int) -> str | None:
    """Milliseconds since 1970 as a date; None where they can hardly be one."""
    return str(instant(value)) if EARLIEST_MS <= value < LATEST_MS else None
