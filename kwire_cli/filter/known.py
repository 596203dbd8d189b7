"""What the parts of a field's path can be: one that is misspelt is nowhere, and nothing would say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.filter.columns import BY_NAME
from kwire_cli.filter.paths import ROOTS
from kwire_cli.structs.tags import UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = frozenset({UNKNOWN_KEY, "tag", "data"})
"""Keys of the JSON form that no definition has: the tagged fields that are unknown."""


class Fields(Protocol):
    """The names of all fields that there are; going through them may take longer than asking for one."""

    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...


def unknown_part(name: str, fields: Fields) -> str | None:
    """Why a name is neither a column nor the path of a field, if it is neither; the message names the part that is wrong."""
    if name in BY_NAME:
        return None
    parts = name.removeprefix(".").split(".")
    if parts[0] in ROOTS:
        del parts[0]
    for part in parts:
        if part not in BESIDE and part not in fields:
            may_be_column = part == name
            first = BY_NAME if may_be_column else ROOTS if name.startswith(f"{part}.") else ()
            known = [*first, *fields]
            return f"no {'column and no ' if may_be_column else ''}field is called {part}{did_you_mean(close_to(part, known))}"
    return None
