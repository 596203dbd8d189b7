"""Files of a git revision, read by the git command without touching the working tree."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def revision_files(place: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    """The file, or the files whose name ends in `suffix` at any depth of the folder, that REV:PATH names, each as REV:PATH with its bytes.

    PATH is one of git's: from the top of the repository, or from here if it begins with ./ . InputError where git finds nothing, or is not there.
    """
    if place.startswith("-"):
        raise InputError(f"{place!a} is not a REV:PATH of git")
    if _git("cat-file", "-t", place).strip() == b"blob":
        yield place, _git("cat-file", "blob", place)
        return
    found: list[tuple[str, bytes]] = []
    for entry in _git("ls-tree", "-r", "-z", "--full-tree", place).split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if path.endswith(suffix.encode()) and about.split()[1:2] == [b"blob"]:
            found.append((path.decode("utf-8", "backslashreplace"), about.split()[2]))
    # All of them by one process: a folder holds hundreds.
    rest = _git("cat-file", "--batch", given=b"".join(oid + b"\n" for _, oid in found)) if found else b""
    for name, _ in found:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[-1])
        yield f"{place.rstrip('/')}/{name}" if not place.endswith(":") else place + name, rest[:size]
        rest = rest[size + 1 :]


def _git(*arguments: str, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(["git", *arguments], input=given, capture_output=True, check=False)  # noqa: S603, S607 - the user's own git; no shell
    except OSError as error:
        raise InputError(f"the git command, which reads revisions, cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise InputError(f"git says: {said}; a revision is given as REV:PATH, such as HEAD~1:specs", file=arguments[-1])
    return done.stdout
