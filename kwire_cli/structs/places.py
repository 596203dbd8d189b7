"""Where in a message a declaration is at work: construct's own path text, turned into kwire's paths."""

from __future__ import annotations

from typing import Any

MAX_SHOWN = 80


def field_path(path: str) -> str:
    """`(building) -> topics -> [0] -> name` as `topics[0].name`."""
    out = ""
    for part in path.split(" -> ")[1:]:
        out += part if part.startswith("[") or not out else f".{part}"
    return out


def shown(value: Any) -> str:
    """A value as an error message shows it: cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python prints no ints of more than 4300 digits, and no lists that nest as deep
        return f"a huge {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
