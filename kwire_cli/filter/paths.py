"""Values of a message by field path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOTS = frozenset({"header", "body"})


def values_at(fields: Mapping[str, Any], path: tuple[str, ...], *, whole: bool = False) -> Iterator[Any]:
    """The values of all fields whose path, without indexes, ends with this one; one that begins with header or body is a whole path.

    An array gives its elements, or itself if `whole`; a structure (dict) is one value. `fields` is made of dicts and lists, as JSON is; it is
    walked without recursion.
    """
    if path[0] in ROOTS:
        yield from below([fields], path, whole=whole)
        return
    first = path[0]
    waiting: list[Any] = [*fields.values()]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if first in node:
                yield from below([node], path, whole=whole)
            waiting.extend(value for value in node.values() if isinstance(value, (dict, list)))
        elif isinstance(node, list):
            waiting.extend(value for value in node if isinstance(value, (dict, list)))


def below(found: list[Any], path: tuple[str, ...], *, whole: bool = False) -> list[Any]:
    """Return the values at a path from each of these; arrays give their elements, or those at the end themselves if `whole`."""
    for name in path:
        found = [value[name] for value in elements(found) if isinstance(value, dict) and name in value]
    return found if whole else elements(found)


def elements(values: list[Any]) -> list[Any]:
    """Return the values, with the elements of arrays in place of these."""
    while any(isinstance(value, list) for value in values):
        values = [element for value in values for element in (value if isinstance(value, list) else [value])]
    return values
