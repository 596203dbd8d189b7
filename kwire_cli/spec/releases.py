"""Take message definitions out of a Kafka release (its jars or its source folders) and merge them into a specs folder."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.spec.accepted import accepted_row, write_row
from kwire_cli.spec.facts import index_text
from kwire_cli.spec.files import read_text
from kwire_cli.spec.findings import Report
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.loader import load_text
from kwire_cli.spec.reading import read_definition
from kwire_cli.spec.writer import definition_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kwire_cli.spec.model import FieldSpec, MessageSpec

JAR_FOLDERS = ("common/message/", "common/metadata/", "message/")
"""Where Kafka's jars keep definitions: clients and coordinators, the KRaft metadata module, the remote storage module."""
_TEST_MESSAGES = frozenset({"NullableStructMessage", "SimpleArraysMessage", "SimpleExampleMessage", "SimpleRecordsMessage"})
_BOOLEANS = frozenset({"mapKey", "ignorable", "zeroCopy", "latestVersionUnstable"})


class Merged(NamedTuple):
    """What a merge did: names of definitions that are new and that replaced another, and a line for everything that was dropped or left."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    notes: tuple[str, ...]


def merge_release(sources: Iterable[Path], specs: Path, release: str) -> Merged:
    """Merge the definitions of a release's jars, folders and files into a specs folder: each replaces the one of its name.

    A definition whose validVersions became none is left alone, since its versions are still on the wire elsewhere. What the release accepts is what
    the newest one so far does, but for the requests given. InputError for what
    cannot be read, SpecError for a definition that is not JSON.
    """
    given = [*read_release(sources)]
    index = _index(specs)
    merged = _merge(given, specs, index, release)
    write_row(specs, release, accepted_row([definition for _, definition in given], base=index["release"], specs=specs))
    return merged


def add_definitions(sources: Iterable[Path], specs: Path) -> Merged:
    """Write the definitions of files, folders and jars into a specs folder and its index: each replaces the one of its name.

    Nothing is said of a release. InputError for what cannot be read and where there is no definition, SpecError (file, line, column) for one that
    can't be loaded; then nothing is written.
    """
    given = [*read_release(sources, check=True)]
    if not given:
        raise InputError("there is no message definition in what was given")
    index = _index(specs)
    return _merge(given, specs, index, index["release"])


def _index(specs: Path) -> Any:
    return json.loads((specs / "index.json").read_text("utf-8"))


def _merge(given: Iterable[tuple[str, dict[str, Any]]], specs: Path, index: Mapping[str, Any], release: str) -> Merged:
    """Write the files of these definitions, and the index of this release."""
    old = {row["name"]: json.loads((specs / row["file"]).read_text("utf-8")) for row in index["messages"]}
    new = dict(old)
    added, replaced, notes = [], [], []
    for place, definition in given:
        name = definition["name"]
        if name in _TEST_MESSAGES:
            continue
        if definition.get("validVersions") == "none":
            notes.append(f"{name}: has no versions in {place}; left as it was")
            continue
        if name not in old:
            added.append(name)
        elif old[name] != definition:
            replaced.append(name)
            notes += [f"{name}: {lost}" for lost in lost_parts(old[name], definition)]
        new[name] = definition
    for name in (*added, *replaced):
        (specs / f"{name}.json").write_text(definition_text(new[name]), "utf-8")
    (specs / "index.json").write_text(index_text(new.values(), release=release, releases=index["releases"]), "utf-8")
    return Merged(tuple(added), tuple(replaced), tuple(notes))


def write_accepted(sources: Iterable[Path], specs: Path, release: str) -> int:
    """Write down which versions a release accepts, and nothing else of it; the number of apis. `sources` hold all of its definitions.

    InputError where there is no request among them.
    """
    row = accepted_row([definition for _, definition in read_release(sources)])
    if not row:
        raise InputError(f"there is no request of Kafka {release} in what was given")
    write_row(specs, release, row)
    return len(row["accepted"])


def read_release(sources: Iterable[Path], *, check: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions in jars, folders (at any depth) and files, with where each was found; comments and Kafka's prose are dropped.

    With `check` SpecError for one that is well-formed and can't be loaded.
    """
    for place, text in _texts(sources):
        value = parse(text, file=place, comments=True, trailing=True).value
        if isinstance(value, dict) and isinstance(value.get("name"), str) and "type" in value and "validVersions" in value:
            if check:
                load_text(text, place)
            yield place, _plain(value)


def lost_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What a definition had that its successor has not: versions, and fields in its structs."""
    before, after = _read(old), _read(new)
    lost = []
    if not after.valid_versions.covers(before.valid_versions):
        lost.append(f"versions {before.valid_versions} are now {after.valid_versions}")
    gone = _paths(before, before.fields) - _paths(after, after.fields)
    return lost + [f"field {path} is gone" for path in sorted(gone)]


def _texts(sources: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for source in sources:
        if source.is_dir():
            for file in sorted(source.rglob("*.json")):
                yield str(file), read_text(file)
        elif source.suffix == ".jar":
            yield from jar_texts(source)
        else:
            yield str(source), read_text(source)


def jar_texts(jar: Path) -> Iterator[tuple[str, str]]:
    """The definitions in a jar of Kafka's, each with where it lies; InputError where it is none that can be read."""
    try:
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if name.startswith(JAR_FOLDERS) and name.endswith(".json"):
                    yield f"{jar}!{name}", archive.read(name).decode("utf-8")
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as a jar: {error}", file=str(jar)) from error


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """A definition's keys in one form: no prose, tags as numbers, truth values as such, defaults as text, lists where Kafka takes one value."""
    plain: dict[str, Any] = {}
    for key, value in keys.items():
        if key == "about" or value is None:
            continue
        if key in {"fields", "commonStructs"}:
            plain[key] = [_plain(item) for item in (value if isinstance(value, list) else [value])]
        elif key == "listeners":
            plain[key] = value if isinstance(value, list) else [value]
        elif key in _BOOLEANS:
            plain[key] = str(value).lower() == "true"
        elif key in {"tag", "apiKey"}:
            plain[key] = int(value)
        elif key == "default":
            plain[key] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            plain[key] = value.strip() if isinstance(value, str) else value
    return plain


def _read(definition: Mapping[str, Any]) -> MessageSpec:
    read = read_definition(dict(definition), Report())
    if not read:
        raise InputError("a definition is a JSON object")
    return read.spec


def _paths(spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str = "") -> set[str]:
    paths = set()
    for field in fields:
        path = f"{above}{field.name}"
        paths |= {path} | _paths(spec, spec.struct_fields(field), f"{path}.")
    return paths
