"""Where in a message a declaration is at work: construct's own path text, turned into kwire's paths."""

from __future__ import annotations


def field_path(path: str) -> str:
    """`(building) -> topics -> [0] -> name` as `topics[0].name`."""
    out = ""
    for part in path.split(" -> ")[1:]:
        out += part if part.startswith("[") or not out else f".{part}"
    return out
