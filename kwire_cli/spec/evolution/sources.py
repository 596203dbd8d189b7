"""Definitions to compare, from files, folders, jars and git revisions, with where in their text everything stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.evolution.git import revision_files
from kwire_cli.spec.evolution.given import definitions_in
from kwire_cli.spec.files import read_text
from kwire_cli.spec.releases import jar_texts
from kwire_cli.stores import exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.spec.evolution.given import Given


_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[:\s]*)+")

if TYPE_CHECKING:
    Definitions = dict[str, Given]
    """Definitions by the name of their message."""


def read_definitions(sources: Iterable[str]) -> Definitions:
    """The definitions in files (one or a list), folders, jars and git revisions (REV:PATH), all of one release.

    Of a folder those in it, or where there are none those at any depth. InputError for what cannot be read or holds no definition, and for a
    message that is defined twice; SpecError for a definition that can't be loaded.
    """
    found: Definitions = {}
    for source in sources:
        these = [given for place, text in _texts(source) for given in definitions_in(text, place)]
        for given in these:
            name, file = given.spec.name, given.spec.file
            if name in found and found[name].spec != given.spec:
                raise InputError(f"{name} is defined here and in {found[name].spec.file}; a release defines a message once", file=file)
            found[name] = given
        if not these:
            raise InputError("there is no message definition here", file=source)
    return found


def is_revision(source: str) -> bool:
    """Whether this names a git revision, and not a file or bytes in hex."""
    return ":" in source and not _HEX.fullmatch(source) and not exists(source)


def are_files(sources: Sequence[str], definitions: Definitions) -> bool:
    """Whether these sources name their definitions one by one, and are no folders, jars or lists of all that there are."""
    return len(definitions) <= len(sources) and all(Path(name).suffix == ".json" and not (exists(name) and Path(name).is_dir()) for name in sources)


def holds_definitions(source: str) -> bool:
    """Whether this is a definition, or a folder, jar or git revision that holds some; what cannot be read holds none."""
    if not is_revision(source) and not (exists(source) and (Path(source).is_dir() or Path(source).suffix in {".json", ".jar"})):
        return False
    try:
        return any(_is_definition(text) or _is_list(text) for _, text in _texts(source))
    except (InputError, SpecError):
        return False


def _texts(source: str) -> Iterator[tuple[str, str]]:
    path = Path(source)
    if is_revision(source):
        found = dict(revision_files(source, ".json"))
        if set(found) == {source}:
            yield source, _decoded(found[source], source)
        else:
            cut = len(source) + (not source.endswith((":", "/")))
            yield from _of_folder({place[cut:]: place for place in found}, lambda place: _decoded(found[place], place))
    elif not source:
        raise InputError("a source of definitions is empty: it names no file, folder or jar")
    elif not exists(path):
        raise InputError("there is no such file, folder or jar, nor is it a REV:PATH of git", file=source)
    elif path.suffix == ".jar":
        yield from ((place, text) for place, text in jar_texts(path) if _is_definition(text))
    elif path.is_dir():
        files = {file.relative_to(path).as_posix(): str(file) for file in sorted(path.rglob("*.json")) if file.is_file()}
        yield from _of_folder(files, read_text)
    else:
        yield source, read_text(path)


def _of_folder(files: Mapping[str, str], read: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """The definitions among files (by their path in the folder) that lie in the folder itself, or where none does those below."""
    some = False
    for deep in (False, True):
        for name, place in files.items():
            if ("/" in name) == deep and _is_definition(text := read(place)):
                some = True
                yield place, text
        if some:
            return


def _is_definition(text: str) -> bool:
    """Whether a file among others is meant as a definition. What is broken is, so that loading it says why."""
    if '"validVersions"' not in text:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return True
    return isinstance(value, dict) and "validVersions" in value


def _is_list(text: str) -> bool:
    """Whether a file that was named holds a list, the first of which is a definition."""
    return text.lstrip().startswith("[") and '"validVersions"' in text


def _decoded(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError("this is not UTF-8 text", file=place, line=data.count(b"\n", 0, error.start) + 1) from None
