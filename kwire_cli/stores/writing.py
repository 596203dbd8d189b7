"""Files that are written, moved and removed, in local folders and on stores.

Each function has a branch for local paths and one for fsspec. Errors become InputError about the place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import in_parallel
from kwire_cli.stores.stored import Stored, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.stores.paths import Place


@contextlib.contextmanager
def writing(place: Place) -> Iterator[None]:
    """Convert errors of writing to an InputError about this place."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(place, Path) and not isinstance(error, OSError):
            raise
        raise refusal("cannot be written to", error, str(place)) from None


def below(folder: Place) -> list[str]:
    """Return the paths of all files below a folder, relative to it and sorted; [] if there is no such folder."""
    with writing(folder), contextlib.suppress(FileNotFoundError):
        if isinstance(folder, Stored):
            files, name = folder.place()
            start = len(name.rstrip("/")) + 1
            return sorted(path[start:] for path in files.find(name) if not path.endswith("/"))
        paths: list[Path] = []
        for at, _, names in os.walk(folder, followlinks=True):
            paths += [Path(at, name) for name in names]
        return sorted(path.relative_to(folder).as_posix() for path in paths if path.is_file())
    return []


def make_folder(place: Place) -> None:
    """Create a folder and its parents, if the place needs folders."""
    with writing(place):
        if isinstance(place, Path):
            place.mkdir(parents=True, exist_ok=True)
        elif not place.is_flat:
            files, name = place.place()
            files.makedirs(name, exist_ok=True)


def write(place: Place, data: bytes) -> None:
    """Write a file. A local file is flushed to the disk before the function returns."""
    with writing(place):
        if isinstance(place, Stored):
            files, name = place.place()
            files.pipe_file(name, data)
            return
        with place.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def move(source: Place, target: Place) -> None:
    """Rename a file on the same store. Object stores copy it and remove the original."""
    with writing(target):
        if isinstance(source, Path) or isinstance(target, Path):
            Path(source).replace(target)
            return
        files, name = source.place()
        _, new = target.place()
        if source.is_flat:  # fsspec treats the name of a file to move as a glob
            files.cp_file(name, new)
            files.rm_file(name)
        else:
            files.mv(name, new)


def put(path: Path, target: Place) -> None:
    """Move a local file to a place. A local place must be on the same disk."""
    with writing(target):
        if isinstance(target, Path):
            path.rename(target)
            return
        files, name = target.place()
        files.put_file(str(path), name)
    path.unlink()


def remove(place: Place) -> None:
    """Remove a file, if it exists."""
    with writing(place), contextlib.suppress(FileNotFoundError):
        if isinstance(place, Path):
            place.unlink()
            return
        files, name = place.place()
        files.rm_file(name)


def remove_tree(folder: Place) -> None:
    """Remove a folder with its contents, if it exists. Errors are ignored."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
        return
    with contextlib.suppress(InputError), writing(folder):
        if folder.is_flat:
            in_parallel(lambda name: remove(folder / name), below(folder), lambda _: folder)
        else:
            files, name = folder.place()
            files.rm(name, recursive=True)


def remove_empty(folder: Place) -> bool:
    """Remove a folder if it is empty. Return whether it was removed."""
    with contextlib.suppress(InputError), writing(folder):
        if isinstance(folder, Path):
            folder.rmdir()
            return True
        if not folder.is_flat:
            files, name = folder.place()
            if not files.ls(name):
                files.rm(name, recursive=True)
                return True
    return False
