"""What an argument names: a file or folder, or what a glob matches."""

from __future__ import annotations

import glob
from pathlib import Path

from kwire_cli.errors import InputError


def named(path: str) -> list[str]:
    """The path itself where it is there, whatever is in its name; else what it matches as a glob, sorted. InputError where that is nothing."""
    names = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - a glob need not begin with a folder
    if not names:
        raise InputError("there is no such file or folder", file=path)
    return names
