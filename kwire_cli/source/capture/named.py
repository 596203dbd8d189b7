"""The captures that paths, folders and globs name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.files import is_capture
from kwire_cli.source.naming import named

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOOKED_AT = 1 << 17
"""Bytes that tell a capture, packed ones too."""
NAME = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst))?$", re.IGNORECASE)
"""Names of captures: such files are taken for captures whatever is in them, and broken links too."""


def captures_of(paths: Iterable[str]) -> list[str]:
    """The files that paths and globs name, each once, in the order of their names; of a folder, and of those in it, the captures.

    In a folder a capture is what begins as one, or is named as one although it does not.

    Raises:
        InputError: There is nothing of that name, or no capture in a folder.

    """
    found: dict[str, None] = {}
    for path in paths:
        some = [each for name in named(path) for each in (_in_folder(Path(name)) if Path(name).is_dir() else [name])]
        if not some:
            raise InputError("there is no capture in this folder", file=path)
        found.update(dict.fromkeys(some))
    return list(found)


def _in_folder(folder: Path) -> list[str]:
    return [
        str(path) for path in sorted(folder.rglob("*")) if not path.is_dir() and (NAME.search(path.name) or (path.is_file() and _is_capture(path)))
    ]


def _is_capture(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            first = file.read(_LOOKED_AT)
            return bool(first) and is_capture(first)
    except OSError:
        return False
