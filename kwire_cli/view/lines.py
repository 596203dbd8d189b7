"""Styled lines, and the escaping of text.

All views for display consist of lines, and a line is a list of (text, style). The caller that prints a line decides
whether styles become colours, HTML or nothing. Names in captures can contain terminal escape sequences, so text is
escaped here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly


Line = list[tuple[str, str]]
"""Texts with their styles."""
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
"""The styles of the views, in rich's notation. Neighbouring fields use leaf0 to leaf5 in turn."""

SPACES = frozenset(
    "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
"""Spaces of all widths. Only the first one is printable in Python's definition."""

DOTS = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))


def is_hidden(char: str) -> bool:
    """Return whether a character controls a terminal, changes the direction of text, or is invisible.

    These are control, format (bidirectional, zero-width, tag), surrogate, private and unassigned characters, and line
    separators.
    """
    return not (char.isprintable() or char in SPACES)


def escaped(text: str) -> str:
    r"""Escape hidden characters as `\xHH`, `\uHHHH` or `\UHHHHHHHH`."""
    return text if text.isprintable() else "".join([_escape(char) if is_hidden(char) else char for char in text])


def escaped_lines(text: str) -> str:
    """Escape hidden characters of a string, and keep its line feeds."""
    return "\n".join([escaped(line) for line in text.split("\n")])


def _escape(char: str) -> str:
    point = ord(char)
    if point < 0x100:
        return f"\\x{point:02x}"
    if point < 0x10000:
        return f"\\u{point:04x}"
    return f"\\U{point:08x}"


def json_escaped(text: str) -> str:
    r"""Escape hidden characters of JSON as `\uHHHH`, except tabs and line feeds. The values stay the same."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join([_json_escape(char) if char not in "\t\n" and is_hidden(char) else char for char in text])


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)])


def without_control(line: Line) -> Line:
    """Escape hidden characters of a line, such as escape sequences in the names of topics."""
    return [(escaped(text), style) for text, style in line]


def plain(line: Line) -> str:
    """Return the text of a line without styles."""
    return "".join([text for text, _ in line])


def quoted(text: str) -> str:
    """Return text in double quotes. Quotes, line ends and hidden characters are escaped."""
    marked = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return f'"{escaped(marked)}"'


def printable(data: bytes) -> str:
    """Return the ASCII column of a hex dump, with a dot for each byte that is not printable."""
    return data.translate(DOTS).decode("ascii")


SHOWN_BYTES = 16
"""Bytes of a value that are shown by default."""
SHOWN_TEXT = 120
"""Characters of a string that are shown by default."""
SHOWN_ELEMENTS = 20
"""Elements of a list of numbers that are shown by default."""


def byte_segments(data: bytes, *, full: bool = False) -> Line:
    """Return bytes for display: their number, then the first bytes in hex and in ASCII."""
    line: Line = [(counted(len(data), "byte"), "number")]
    if data:
        excerpt = data if full else data[:SHOWN_BYTES]
        more = " …" if len(data) > len(excerpt) else ""
        line += [(f" {excerpt.hex(' ')}{more}", "bytes"), (f"  |{printable(excerpt)}{more}|", "dim")]
    return line


def anomaly_lines(anomalies: Iterable[Anomaly]) -> Iterator[Line]:
    """Yield one line for each anomaly."""
    for anomaly in anomalies:
        where = f"{anomaly.path} " if anomaly.path else ""
        yield [
            ("! ", "warning"),
            (anomaly.code, "warning"),
            (escaped(f" {where}at byte {anomaly.offset}: {anomaly.detail}"), "dim"),
        ]
