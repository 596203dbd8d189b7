"""Definitions to compare, from files, folders, jars and git revisions, with their places in the text.

The places are needed for findings that point to a line. Revisions are read by the user's git command, so that no
working tree is changed.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.files import decoded, jar_texts, read_text
from kwire_cli.spec.jsontext import Place
from kwire_cli.spec.overlay import read_text_leniently
from kwire_cli.stores.paths import exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.spec.files import Finding
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.reading import Definition, Item


# A definition from the user: its content, and the positions in its file.

_RELEASE = re.compile(r"\d{1,2}\.\d{1,3}")


@dataclass(frozen=True, eq=False)
class Given:
    """A definition; `faults` are the rules of Kafka's generator that it breaks by itself."""

    definition: Definition
    faults: tuple[Finding, ...] = ()

    @property
    def spec(self) -> MessageSpec:
        """The content of the definition."""
        return self.definition.spec

    def place(self, path: str = "", key: str = "") -> Place:
        """Return the line and column of a field by its path in JSON names, or of a key of it; of the message itself
        without a path.
        """
        at = path
        while at and at not in self._items:
            at = at.rpartition(".")[0].removesuffix("[]")
        keys = self._items[at].json.spot.keys if at else ()
        return self.definition.json.report.place((*keys, key) if key else keys) or Place(1, 1)

    @cached_property
    def _items(self) -> dict[str, Item]:
        return dict(self.definition.by_path())


def definition_in(text: str, file: str) -> Given:
    """Return the definition in a file's text. Raise SpecError if it cannot be loaded."""
    definition, faults = read_text_leniently(text, file)
    return Given(definition, tuple(faults))


# Files of a git revision, read by the git command without touching the working tree.


def revision_files(place: str) -> Iterator[tuple[str, bytes]]:
    """Yield the file that REV:PATH names, or the JSON files at any depth of the folder that it names, each as REV:PATH
    with its bytes.

    PATH is one of git's: from the top of the repository, or from here if it begins with ./ . InputError where git finds
    nothing, or is not there.
    """
    if place.startswith("-"):
        raise InputError(f"{place!a} is not a REV:PATH of git")
    if _git("cat-file", "-t", place).strip() == b"blob":
        yield place, _git("cat-file", "blob", place)
        return
    blobs: list[tuple[str, bytes]] = []
    for entry in _git("ls-tree", "-r", "-z", "--full-tree", place).split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if path.endswith(b".json") and about.split()[1:2] == [b"blob"]:
            blobs.append((path.decode("utf-8", "backslashreplace"), about.split()[2]))
    # All of them by one process: a folder holds hundreds.
    rest = _git("cat-file", "--batch", given=b"".join(oid + b"\n" for _, oid in blobs)) if blobs else b""
    for name, _ in blobs:
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
        reason = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise InputError(
            f"git failed: {reason}; a revision is given as REV:PATH, such as HEAD~1:specs", file=arguments[-1]
        )
    return done.stdout


# Definitions to compare, from files, folders, jars and git revisions, with the positions in their text.

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[:\s]*)+")


if TYPE_CHECKING:
    Definitions = dict[str, Given]
    """Definitions by the name of their message."""


def read_definitions(sources: Iterable[str]) -> Definitions:
    """Read the definitions in files, folders, jars and git revisions (REV:PATH), all of one release.

    A folder's definitions are the files in it, or if there are no such files, those at any depth. Raise InputError for
    an unreadable source, a source without definitions, and a message that is defined twice. Raise SpecError for a
    definition that cannot be loaded.
    """
    definitions: Definitions = {}
    for source in sources:
        these = [definition_in(text, place) for place, text in definition_texts(source)]
        for message in these:
            name = message.spec.name
            file = message.spec.file
            if name in definitions and definitions[name].spec != message.spec:
                raise InputError(
                    f"{name} is defined here and in {definitions[name].spec.file}; a release defines a message once",
                    file=file,
                )
            definitions[name] = message
        if not these:
            raise InputError("there is no message definition here", file=source)
    return definitions


def is_revision(source: str) -> bool:
    """Return whether a source names a git revision, and not a file or bytes in hex."""
    return ":" in source and not _HEX.fullmatch(source) and not exists(source)


def are_files(sources: Sequence[str], definitions: Definitions) -> bool:
    """Return whether these sources name their definitions one by one.

    Folders and jars do not.
    """
    return len(definitions) <= len(sources) and all(
        Path(name).suffix == ".json" and not (exists(name) and Path(name).is_dir()) for name in sources
    )


def holds_definitions(source: str) -> bool:
    """Return whether a source is a definition, or a folder, jar or git revision that has some.

    Return False if the source cannot be read.
    """
    if not is_revision(source) and not (
        exists(source) and (Path(source).is_dir() or Path(source).suffix in {".json", ".jar"})
    ):
        return False
    try:
        return any(_is_definition(text) for _, text in definition_texts(source))
    except (InputError, SpecError):
        return False


def definition_texts(source: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a source, each with its text: a file, or the definitions of a folder, jar or git revision."""
    path = Path(source)
    if is_revision(source):
        blobs = dict(revision_files(source))
        if set(blobs) == {source}:
            yield source, decoded(blobs[source], source)
        else:
            cut = len(source) + (not source.endswith((":", "/")))
            yield from _of_folder({place[cut:]: place for place in blobs}, lambda place: decoded(blobs[place], place))
    elif not source:
        raise InputError("a source of definitions is empty: it names no file, folder or jar")
    elif not exists(path):
        hint = (
            f"; a release is given as its jar, as in kafka-clients-{source}.0.jar, or in Kafka's repository as "
            f"{source}.0:clients/src/main/resources/common/message"
            if _RELEASE.fullmatch(source)
            else ""
        )
        raise InputError(f"there is no such file, folder or jar, nor is it a REV:PATH of git{hint}", file=source)
    elif path.suffix == ".jar":
        yield from ((place, text) for place, text in jar_texts(path) if _is_definition(text))
    elif path.is_dir():
        files = {
            file.relative_to(path).as_posix(): str(file) for file in sorted(path.rglob("*.json")) if file.is_file()
        }
        yield from _of_folder(files, read_text)
    else:
        yield source, read_text(path)


def _of_folder(files: Mapping[str, str], read: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield the definitions among files (by their path in the folder): in the folder itself, or else below it."""
    some = False
    for deep in (False, True):
        for name, place in files.items():
            if ("/" in name) == deep and _is_definition(text := read(place)):
                some = True
                yield place, text
        if some:
            return


def _is_definition(text: str) -> bool:
    """Return whether a file among others is meant as a definition.

    A broken definition counts, so that loading it reports the reason.
    """
    if '"validVersions"' not in text:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return True
    return isinstance(value, dict) and "validVersions" in value
