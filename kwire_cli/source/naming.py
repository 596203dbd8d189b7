"""What an argument names: a file or folder, here or on a store, or what a glob matches."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.stores import Stored, path_of

if TYPE_CHECKING:
    from kwire_cli.stores import Place


def named(path: str) -> list[str]:
    """The path itself where it is there, whatever is in its name; else what it matches as a glob, sorted. InputError where that is nothing."""
    place = path_of(path)
    text = str(place) if "://" in path else path
    names = [text] if place.exists() else _matching(place, text)
    if not names:
        raise InputError("there is no such file or folder", file=path)
    return names


def _matching(place: Place, text: str) -> list[str]:
    if isinstance(place, Stored):
        return place.glob()
    return sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - a glob need not begin with a folder
