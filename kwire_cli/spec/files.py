"""The files that hold definitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, SpecError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence


def json_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    """The files among `paths` and the *.json files in the folders among them; InputError for a path that does not exist."""
    for path in map(Path, paths):
        if path.is_dir():
            # Beside an index, as in kwire's own folder, files in lower case are data of other kinds.
            indexed = (path / "index.json").exists()
            yield from sorted(file for file in path.glob("*.json") if not indexed or file.name[0].isupper())
        elif path.exists():
            yield path
        else:
            raise InputError("there is no such file or folder", file=str(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a definition file; InputError where it cannot be read, SpecError where it is not UTF-8."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=str(path)) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise SpecError("this is not UTF-8 text", file=str(path), line=line, column=column) from error
