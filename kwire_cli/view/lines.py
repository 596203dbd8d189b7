"""Styled lines: what views for eyes are made of. A line is a list of (text, style); whoever prints it decides whether styles become colours."""

from __future__ import annotations

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

TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the direction of what follows, beyond the quotes too."""
CONTROL = {i: f"\\x{i:02x}" for i in (*range(32), *range(127, 160))} | {i: f"\\u{i:04x}" for i in (0x2028, 0x2029, *TURNING)}

DOTS = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))


def counted(number: int, one: str, many: str = "") -> str:
    """`1 byte`, `2 bytes`; `many` where it is not `one` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def without_control(line: Line) -> Line:
    """A line in which nothing moves a terminal's cursor, whatever names somebody made up."""
    return [(text if text.isprintable() else text.translate(CONTROL), style) for text, style in line]


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(text for text, _ in line)


def quoted(text: str) -> str:
    """Text in double quotes, with nothing in it that could move a terminal's cursor or end the line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{escaped.translate(CONTROL)}"'


def printable(data: bytes) -> str:
    """The ASCII column of a hex dump: a dot for what is not printable."""
    return data.translate(DOTS).decode("ascii")
