"""Files that are written, moved and removed: in folders of this machine and on stores, by pyarrow's file systems."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow.fs import FileSelector, LocalFileSystem

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import LONGEST, Stored, access_to, refuse_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.stores.paths import Place

FLAT = {"s3", "gcs", "abfs"}
"""The file systems of pyarrow that need no folders: they have those that names of files say."""
_LOCAL = LocalFileSystem()


def arrow_place(place: Place) -> tuple[Any, str]:
    """Return the pyarrow.fs.FileSystem of a place, and what that calls it.

    Raises:
        InputError: The path is not UTF-8.

    """
    if isinstance(place, Stored):
        return place.place()
    refuse_bytes(place)
    return _LOCAL, str(place)


@contextlib.contextmanager
def writing(place: Place) -> Iterator[None]:
    """Raise what goes wrong while something is written there as an InputError about this place."""
    try:
        yield
    except OSError as error:
        text = os.strerror(error.errno) if error.errno else " ".join(str(error).split())[:LONGEST]
        raise InputError(f"cannot be written to: {text}{access_to(str(place))}", file=str(place)) from None


def below(folder: Place) -> list[str]:
    """Return the paths of all files below a folder, as text that begins there; none if there is no such folder."""
    files, name = arrow_place(folder)
    with writing(folder):
        infos = files.get_file_info(FileSelector(name, recursive=True, allow_not_found=True))
    return sorted(info.path[len(name.rstrip("/")) :].strip("/") for info in infos if info.is_file)


def make_folder(place: Place) -> None:
    """Make a folder, and those that it is in, where files need one."""
    with writing(place):
        if isinstance(place, Path):
            place.mkdir(parents=True, exist_ok=True)
            return
        files, name = arrow_place(place)
        if files.type_name not in FLAT:
            files.create_dir(name, recursive=True)


def write(place: Place, data: bytes) -> None:
    """Write a file. On this machine it is on the disk when this returns."""
    files, name = arrow_place(place)
    with writing(place):
        with files.open_output_stream(name, compression=None) as out:
            out.write(data)
        if isinstance(place, Path):
            with place.open("rb") as file:
                os.fsync(file.fileno())


def move(source: Place, target: Place) -> None:
    """Give a file another name on the same store; object stores copy it and remove the first one."""
    files, name = arrow_place(source)
    with writing(target):
        files.move(name, arrow_place(target)[1])


def put(path: Path, target: Place) -> None:
    """Move a file of this machine to a place; of this machine: of the same disk."""
    if isinstance(target, Path):
        path.rename(target)
        return
    files, name = arrow_place(target)
    with writing(target), path.open("rb") as file, files.open_output_stream(name, compression=None) as out:
        out.upload(file)
    path.unlink()


def remove(place: Place) -> None:
    """Remove a file, which may be gone."""
    files, name = arrow_place(place)
    with writing(place), contextlib.suppress(FileNotFoundError):
        files.delete_file(name)


def remove_tree(folder: Place) -> None:
    """Remove a folder with all that is in it, which may be gone, or left if that is not allowed."""
    files, name = arrow_place(folder)
    with contextlib.suppress(OSError):
        files.delete_dir(name)


def remove_empty(folder: Place) -> bool:
    """Remove a folder if nothing is in it; return whether it is gone."""
    files, name = arrow_place(folder)
    with contextlib.suppress(OSError):
        if not files.get_file_info(FileSelector(name, allow_not_found=True)):
            files.delete_dir(name)
            return True
    return False
