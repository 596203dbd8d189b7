"""Write the bundled specs: `python -m kwire_cli.spec.importer facts FOLDER`, `... release 4.5 JARS`, `... add FILES`,
`... accepted 4.1 JAR`, `... layouts 4.0 JARS`.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, KwireError
from kwire_cli.spec.accepted import FILE as ACCEPTED, accepted_row, definition_text, minor, rows_text, write_row
from kwire_cli.spec.evolution.breaking import RULES
from kwire_cli.spec.evolution.changes import problems
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.files import (
    Report,
    aliases_of,
    jar_texts,
    layout_file,
    module_of,
    read_text,
    specs_folder,
    successor_of,
)
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.spec.model import Versions
from kwire_cli.spec.overlay import load_text
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.spec.model import FieldSpec, MessageSpec


# Regenerate every bundled spec file from a folder of facts about Kafka's releases (see docs/specs.md for what
# the folder holds).

BIT_SET = " (bit set, 1 << code)"
INDEX = "index.json"


def write_from_facts(facts: Path, specs: Path) -> list[str]:
    """Write the specs folder from a facts folder and return the names of the files. Early layouts stay."""
    union = json.loads((facts / "kafka-union.json").read_text("utf-8"))
    releases = {
        release: json.loads((facts / f"kafka-{release}.json").read_text("utf-8"))
        for release in ("3.9.2", f"{RELEASE}.0")
    }
    kept = _index(specs)["releases"] if (specs / INDEX).exists() else {}
    written = {f"{definition['name']}.json": definition_text(definition) for definition in union}
    written[INDEX] = index_text(union, release=RELEASE, releases=kept)
    written["errors.json"] = rows_text({"errors": list(error_rows(facts / "error-codes.tsv"))})
    written["enums.json"] = rows_text({"enums": enum_lists(facts / "enums.tsv")})
    written["header-versions.json"] = rows_text({"exceptions": header_exceptions(union, facts / "header-versions.tsv")})
    for name, text in written.items():
        (specs / name).write_text(text, "utf-8")
    for release, definitions in releases.items():
        write_row(specs, release, accepted_row(definitions))
    return sorted([*written, ACCEPTED])


def index_text(
    definitions: Iterable[Mapping[str, Any]], *, release: str, releases: Mapping[str, Mapping[str, str]]
) -> str:
    """The index of definitions. `releases` has the messages whose layouts were replaced after a release, and the
    versions.
    """
    return rows_text(
        {"release": release, "releases": releases, "messages": [index_row(definition) for definition in definitions]}
    )


def index_row(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the catalogue's row for a definition: the facts known before its file is read.

    Keys without meaning for the definition are skipped.
    """
    name = definition["name"]
    row = {
        "name": name,
        "type": definition["type"],
        "apiKey": definition.get("apiKey"),
        "validVersions": definition["validVersions"],
        "flexibleVersions": definition.get("flexibleVersions", "none"),
        "file": f"{name}.json",
        "module": module_of(definition["name"], definition["type"]),
        "aliases": aliases_of(name),
        "successor": successor_of(name),
        "headerVersions": definition.get("headerVersions"),
    }
    return {key: value for key, value in row.items() if value is not None and value != []}


def error_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The error codes (Kafka's Errors class)."""
    for row in _table(path):
        yield {"code": int(row["code"]), "name": row["name"], "retriable": row["retriable"] == "true"}


def enum_lists(path: Path) -> dict[str, dict[str, Any]]:
    """Lists of named values with the fields that hold them (bit sets: 1 << code each); `elsewhere` is what is no field
    of a message.
    """
    enums: dict[str, dict[str, Any]] = {}
    for row in _table(path):
        enum = enums.setdefault(row["enum"], {"values": {}, **_uses(row["usedBy"])})
        enum["values"][row["code"]] = row["name"]
    return {name: {key: value for key, value in enum.items() if value} for name, enum in enums.items()}


def header_exceptions(definitions: Iterable[Mapping[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Return the header versions that differ from what the flexible versions give (ApiMessageTypeGenerator)."""
    flexible = {
        (d["apiKey"], d["type"]): d["flexibleVersions"] for d in definitions if d["type"] in {"request", "response"}
    }
    exceptions: dict[tuple[int, str, int], list[int]] = {}
    for row in _table(path):
        key, version = int(row["apiKey"]), int(row["version"])
        for kind, plain in (("request", 1), ("response", 0)):
            low = flexible[key, kind].removesuffix("+")
            actual = int(row[f"{kind}HeaderVersion"])
            if actual != plain + (low != "none" and version >= int(low)):
                exceptions.setdefault((key, kind, actual), []).append(version)
    # The response exception starts where its body becomes flexible and goes on for ever: one open range says both.
    return [
        {
            "apiKey": key,
            "type": kind,
            "versions": "0+" if kind == "response" else str(max(versions)),
            "headerVersion": actual,
        }
        for (key, kind, actual), versions in sorted(exceptions.items())
    ]


def _uses(used_by: str) -> dict[str, list[str]]:
    uses: dict[str, list[str]] = {"fields": [], "bitSetFields": [], "elsewhere": []}
    for use in used_by.replace(BIT_SET, "#").split(", "):
        if use.endswith("#"):
            uses["bitSetFields"].append(use[:-1])
        elif use.replace(".", "").isalnum() and "." in use and not use.startswith("RecordBatch."):
            uses["fields"].append(use)
        elif use != "-":
            uses["elsewhere"].append(use)
    return uses


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


# Take message definitions out of a Kafka release (its jars or its source folders) and merge them into a specs
# folder.

_TEST_MESSAGES = frozenset(
    {"NullableStructMessage", "SimpleArraysMessage", "SimpleExampleMessage", "SimpleRecordsMessage"}
)
_BOOLEANS = frozenset({"mapKey", "ignorable", "zeroCopy", "latestVersionUnstable"})


class Merged(NamedTuple):
    """The outcome of a merge: names of definitions that are new and that replaced another, and notes.

    `notes` has a line for everything that was dropped or left.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    notes: tuple[str, ...]


def merge_release(sources: Iterable[Path], specs: Path, release: str) -> Merged:
    """Merge the definitions of a release's jars, folders and files into a specs folder: each replaces the one of its
    name.

    A definition whose validVersions became none is left alone, since its versions are still on the wire elsewhere. What
    the release accepts is what the newest one so far does, but for the requests given. InputError for what
    cannot be read, SpecError for a definition that is not JSON.
    """
    pairs = [*read_release(sources)]
    index = _index(specs)
    merged = _merge(pairs, specs, index, release)
    write_row(specs, release, accepted_row([definition for _, definition in pairs], base=index["release"], specs=specs))
    return merged


def add_definitions(sources: Iterable[Path], specs: Path) -> Merged:
    """Write the definitions of files, folders and jars into a specs folder and its index: each replaces the one of its
    name.

    Nothing is said of a release. InputError for what cannot be read and where there is no definition, SpecError (file,
    line, column) for one that can't be loaded; then nothing is written.
    """
    pairs = [*read_release(sources, check=True)]
    if not pairs:
        raise InputError("there is no message definition in what was given")
    index = _index(specs)
    return _merge(pairs, specs, index, index["release"])


def _index(specs: Path) -> Any:
    return json.loads((specs / INDEX).read_text("utf-8"))


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
    (specs / INDEX).write_text(index_text(new.values(), release=release, releases=index["releases"]), "utf-8")
    return Merged(tuple(added), tuple(replaced), tuple(notes))


def write_accepted(sources: Iterable[Path], specs: Path, release: str) -> int:
    """Write down which versions a release accepts, and nothing else of it; the number of apis. `sources` hold all of
    its definitions.

    InputError where there is no request among them.
    """
    row = accepted_row([definition for _, definition in read_release(sources)])
    if not row:
        raise InputError(f"there is no request of Kafka {release} in what was given")
    write_row(specs, release, row)
    return len(row["accepted"])


def keep_layouts(sources: Iterable[Path], specs: Path, release: str) -> dict[str, str]:
    """Write the definitions of a release whose layouts a later release replaced under the same version.

    A definition is kept if the next newer one of the specs folder cannot read its bytes. Read the newest release
    first: a layout that several releases have is then kept for the last of them. Return the messages with the versions.
    """
    last = minor(release)
    index = _index(specs)
    rows = {row["name"]: row for row in index["messages"]}
    later = sorted((name for name in index["releases"] if _order(name) > _order(last)), key=_order)
    kept: dict[str, str] = {}
    for _, definition in read_release(sources):
        name = definition["name"]
        row = rows.get(name)
        # The version of a coordinator's key was its record type before Kafka 4.0.
        if row is None or row["type"] == "coordinator-key" or name in _TEST_MESSAGES:
            continue
        old = _read(definition)
        newer = [
            (Versions.parse(index["releases"][each][name]), specs / layout_file(each, name))
            for each in later
            if name in index["releases"][each]
        ]
        newer.append((Versions.parse(row["validVersions"]), specs / row["file"]))
        unread = [version for version in old.valid_versions.each() if not _is_read(old, version, newer)]
        if unread:
            kept[name] = str(Versions(unread[0], unread[-1]))
            file = specs / layout_file(last, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(definition_text(definition), "utf-8")
    releases = {name: messages for name, messages in index["releases"].items() if name != last}
    if kept:
        releases[last] = kept
    index["releases"] = {name: releases[name] for name in sorted(releases, key=_order)}
    (specs / INDEX).write_text(rows_text(index), "utf-8")
    return kept


def _is_read(old: MessageSpec, version: int, newer: Iterable[tuple[Versions, Path]]) -> bool:
    """Return whether the next newer definition with this version reads the bytes that the old one writes."""
    for versions, file in newer:
        if version in versions:
            new = _read(json.loads(file.read_text("utf-8")))
            if (version in old.flexible_versions) != (version in new.flexible_versions):
                return False
            return not any(
                problem.new_fails and RULES[problem.rule].severity == "wire"
                for problem in problems(layout_at(old, version), layout_at(new, version))
            )
    return True


def _order(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def read_release(sources: Iterable[Path], *, check: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions in jars, folders (at any depth) and files, with where each was found; comments and Kafka's prose
    are dropped.

    With `check` SpecError for one that is well-formed and can't be loaded.
    """
    for place, text in _texts(sources):
        value = parse(text, file=place, comments=True, trailing=True).value
        if (
            isinstance(value, dict)
            and isinstance(value.get("name"), str)
            and "type" in value
            and "validVersions" in value
        ):
            if check:
                load_text(text, place)
            yield place, _plain(value)


def lost_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the parts of a definition that its successor lacks: versions, and fields in its structs."""
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


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """A definition's keys in one form: no prose, tags as numbers, truth values as such, defaults as text, lists where
    Kafka takes one value.
    """
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


# Write the bundled specs: `python -m kwire_cli.spec.importer facts FOLDER`, `... release 4.5 JARS`, `... add
# FILES`, `... accepted 4.1 JAR`, `... layouts 4.0 JARS`.


def main(arguments: list[str] | None = None) -> int:
    """Run the importer; 0 when it did its work, 2 when its input can't be used."""
    parser = argparse.ArgumentParser(prog="python -m kwire_cli.spec.importer", description=__doc__)
    parser.add_argument(
        "--specs", type=Path, default=Path(specs_folder()), help="the specs folder to write (default: the bundled one)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    facts = commands.add_parser("facts", help="write every spec file anew from a folder of facts")
    facts.add_argument("folder", type=Path)
    release = commands.add_parser("release", help="merge the definitions of a newer Kafka into the specs")
    release.add_argument("release", help="its number, such as 4.5")
    release.add_argument("sources", type=Path, nargs="+", help="its jars, or folders with its JSON files")
    add = commands.add_parser(
        "add", help="add definitions, or replace those of their name, and say nothing of a release"
    )
    add.add_argument(
        "sources", type=Path, nargs="+", help="files in Kafka's grammar, folders or jars; of an api both halves"
    )
    accepted = commands.add_parser(
        "accepted", help="write down which versions a release accepts, and leave all else as it is"
    )
    accepted.add_argument("release", help="its number, such as 4.1")
    accepted.add_argument(
        "sources", type=Path, nargs="+", help="its kafka-clients jar, or a folder with its JSON files"
    )
    layouts = commands.add_parser("layouts", help="keep the layouts of a release that a later one replaced")
    layouts.add_argument("release", help="its number, such as 4.0; read the newest release first")
    layouts.add_argument("sources", type=Path, nargs="+", help="its jars, or folders with its JSON files")
    options = parser.parse_args(arguments)
    try:
        run = {"facts": _facts, "release": _release, "add": _add, "accepted": _accepted, "layouts": _layouts}
        lines = run[options.command](options)
    except (KwireError, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _facts(options: argparse.Namespace) -> list[str]:
    return [f"{len(write_from_facts(options.folder, options.specs))} files written"]


def _release(options: argparse.Namespace) -> list[str]:
    return _told(merge_release(options.sources, options.specs, options.release))


def _add(options: argparse.Namespace) -> list[str]:
    return _told(add_definitions(options.sources, options.specs))


def _told(merged: Merged) -> list[str]:
    new = [f"new: {name}" for name in merged.added]
    return [*new, *(f"replaced: {name}" for name in merged.replaced), *(f"dropped: {note}" for note in merged.notes)]


def _accepted(options: argparse.Namespace) -> list[str]:
    return [f"{options.release} accepts {write_accepted(options.sources, options.specs, options.release)} apis"]


def _layouts(options: argparse.Namespace) -> list[str]:
    return [f"{name} {text}" for name, text in keep_layouts(options.sources, options.specs, options.release).items()]


if __name__ == "__main__":
    sys.exit(main())
