"""Everything below a folder. Links to folders are followed, and each folder is entered once, by its device and inode."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import Stored, in_order

if TYPE_CHECKING:
    from kwire_cli.stores.paths import Place

    Identity = tuple[int, int]


@dataclass(slots=True)
class Folder:
    """A folder: its files and its folders, each in order. A link to a file, or to nothing, counts as a file."""

    path: Place
    files: list[Place] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)


class FolderLink(NamedTuple):
    """A link to a folder. `entered` is false if the folder was entered under another path already."""

    path: Place
    target: Place
    entered: bool


class Tree(NamedTuple):
    """A folder with everything below it, and the links to folders among that. `folders` has each folder before those in it."""

    root: Folder
    folders: list[Folder]
    links: list[FolderLink]

    def files(self) -> list[Place]:
        """Return all files in the order of their paths."""
        return in_order(file for folder in self.folders for file in folder.files)


def tree(path: Place) -> Tree:
    """Return everything below a folder. Real folders win over links to them, so loops of links end.

    Raises:
        InputError: The path is no folder, or a folder below it cannot be read.

    """
    return _stored(path) if isinstance(path, Stored) else _Walk(path).tree()


def in_order_of_paths(folders: list[Folder]) -> list[Folder]:
    """Sort folders part by part of their paths, as pathlib sorts."""
    return sorted(folders, key=lambda folder: folder.path.parts)


class _Walk:
    """A walk over folders of this machine: real folders first, then the links that were found in them."""

    def __init__(self, path: Path) -> None:
        self._root = Folder(path)
        self._folders: list[Folder] = []
        self._links: list[FolderLink] = []
        self._pending: list[tuple[Folder, Path]] = []
        self._entered: set[Identity] = set()

    def tree(self) -> Tree:
        self._enter(self._root)
        while self._pending:  # what is entered may bring further links
            links, self._pending = sorted(self._pending, key=lambda found: found[1].parts), []
            for parent, link in links:
                self._follow(parent, link)
        for folder in self._folders:
            folder.files = in_order(folder.files)
            folder.folders = in_order_of_paths(folder.folders)
        return Tree(self._root, self._folders, self._links)

    def _follow(self, parent: Folder, link: Path) -> None:
        try:
            there = link.stat()
        except OSError:  # gone since it was listed
            return
        entered = (there.st_dev, there.st_ino) not in self._entered
        self._links.append(FolderLink(link, link.resolve(), entered))
        if entered:
            parent.folders.append(folder := Folder(link))
            self._enter(folder)

    def _enter(self, first: Folder) -> None:
        pending = [first]
        while pending:
            folder = pending.pop()
            try:
                status = Path(folder.path).stat()
                self._entered.add((status.st_dev, status.st_ino))
                with os.scandir(folder.path) as entries:
                    for entry in entries:
                        self._put(folder, entry, pending)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", file=str(folder.path)) from None
            self._folders.append(folder)

    def _put(self, folder: Folder, entry: os.DirEntry[str], pending: list[Folder]) -> None:
        path = Path(folder.path, entry.name)
        if entry.is_dir(follow_symlinks=False):
            folder.folders.append(below := Folder(path))
            pending.append(below)
        elif entry.is_symlink():
            if path.is_dir():
                self._pending.append((folder, path))
            else:
                folder.files.append(path)
        elif entry.is_file():
            folder.files.append(path)


def _stored(path: Stored) -> Tree:
    """List a folder of a store with one request."""
    root = Folder(path)
    by_path = {path.path.rstrip("/"): root}

    def folder_at(text: str) -> Folder:
        pending = []
        while text not in by_path:
            pending.append(text)
            text = text.rpartition("/")[0]
        found = by_path[text]
        for below in reversed(pending):
            made = by_path[below] = Folder(Stored(path.root, below, path.query))
            found.folders.append(made)
            found = made
        return found

    for each in path.rglob("*"):
        if each.is_dir():
            folder_at(each.path)
        else:
            folder_at(each.path.rpartition("/")[0]).files.append(each)
    folders = [*by_path.values()]
    for folder in folders:
        folder.files, folder.folders = in_order(folder.files), in_order_of_paths(folder.folders)
    return Tree(root, folders, [])
