"""Write the bundled specs: `python -m kwire_cli.spec.importer release 4.5 JARS`, `... add FILES`.

A definition replaces the one of its name. If a release changes the layout of a version, the old layout is kept in the
folder of the release before, so that bytes of that release can still be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import KwireError
from kwire_cli.spec.accepted import FILE as ACCEPTED, definition_text, minor, rows_text
from kwire_cli.spec.evolution.breaking import RULES
from kwire_cli.spec.evolution.changes import problems
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.evolution.sources import read_definitions
from kwire_cli.spec.files import aliases_of, layout_file, module_of, specs_folder, successor_of
from kwire_cli.spec.model import Versions, fields_by_path
from kwire_cli.spec.overlay import load_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.spec.model import MessageSpec

INDEX = "index.json"
_TEST_MESSAGES = frozenset(
    {"NullableStructMessage", "SimpleArraysMessage", "SimpleExampleMessage", "SimpleRecordsMessage"}
)
_BOOLEANS = frozenset({"mapKey", "ignorable", "zeroCopy", "latestVersionUnstable"})


def merge(sources: Sequence[str], specs: Path, release: str | None = None) -> list[str]:
    """Write the definitions of jars, folders and files into a specs folder, and return a line for each change.

    A definition without versions is left alone, since its versions are still on the wire elsewhere. A release accepts
    what the newest release so far does, but for its own requests. Nothing is written if `read_definitions` raises an
    error.
    """
    definitions = [_plain(given.definition.json.values) for given in read_definitions(sources).values()]
    definitions = [definition for definition in definitions if definition["name"] not in _TEST_MESSAGES]
    index = json.loads((specs / INDEX).read_text("utf-8"))
    rows = {row["name"]: row for row in index["messages"]}
    lines = []
    for definition in definitions:
        name = definition["name"]
        old = json.loads((specs / rows[name]["file"]).read_text("utf-8")) if name in rows else None
        if definition["validVersions"] == "none":
            lines.append(f"left: {name} has no versions any more")
            continue
        if old == definition:
            continue
        lines.append(f"{'replaced' if old else 'new'}: {name}")
        if old:
            before, after = (load_text(json.dumps(each)) for each in (old, definition))
            lines += [f"dropped: {name}: {lost}" for lost in _lost(before, after)]
            if release and (unread := _unread(before, after)):
                index["releases"].setdefault(index["release"], {})[name] = str(unread)
                kept = specs / layout_file(index["release"], name)
                kept.parent.mkdir(exist_ok=True)
                kept.write_text(definition_text(old), "utf-8")
        (specs / f"{name}.json").write_text(definition_text(definition), "utf-8")
        rows[name] = index_row(definition)
    if release:
        _write_accepted(specs, index["release"], release, definitions)
    index |= {"release": release or index["release"], "messages": [*rows.values()]}
    (specs / INDEX).write_text(rows_text(index), "utf-8")
    return lines


def index_row(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the catalogue's row for a definition: the facts known before its file is read."""
    name = definition["name"]
    row = {
        "name": name,
        "type": definition["type"],
        "apiKey": definition.get("apiKey"),
        "validVersions": definition["validVersions"],
        "flexibleVersions": definition.get("flexibleVersions", "none"),
        "file": f"{name}.json",
        "module": module_of(name, definition["type"]),
        "aliases": aliases_of(name),
        "successor": successor_of(name),
        "headerVersions": definition.get("headerVersions"),
    }
    return {key: value for key, value in row.items() if value is not None and value != []}


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition without prose, its numbers, booleans and defaults in one form, lists where Kafka takes one
    value.
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


def _lost(before: MessageSpec, after: MessageSpec) -> Iterator[str]:
    """Yield what a definition lacks that its predecessor has: versions and fields."""
    if not after.valid_versions.covers(before.valid_versions):
        yield f"versions {before.valid_versions} are now {after.valid_versions}"
    known = {path for path, _ in fields_by_path(after)}
    yield from (f"field {path} is gone" for path, _ in fields_by_path(before) if path not in known)


def _unread(before: MessageSpec, after: MessageSpec) -> Versions | None:
    """Return the versions in which a definition cannot read the bytes of its predecessor.

    The version of a coordinator's key was its record type before Kafka 4.0, so keys are not compared.
    """
    unread = [
        version
        for version in (before.valid_versions & after.valid_versions).each()
        if before.type != "coordinator-key" and not _reads(after, before, version)
    ]
    return Versions(unread[0], unread[-1]) if unread else None


def _reads(after: MessageSpec, before: MessageSpec, version: int) -> bool:
    if (version in before.flexible_versions) != (version in after.flexible_versions):
        return False
    found = problems(layout_at(before, version), layout_at(after, version))
    return not any(problem.new_fails and RULES[problem.rule].severity == "wire" for problem in found)


def _write_accepted(specs: Path, before: str, release: str, definitions: Iterable[Mapping[str, Any]]) -> None:
    """Write the versions that a release accepts: the previous release's, except for these definitions."""
    releases = json.loads((specs / ACCEPTED).read_text("utf-8"))
    row = releases[before]
    accepted, deprecated = dict(row["accepted"]), dict(row.get("deprecated", {}))
    for definition in definitions:
        if definition["type"] != "request" or "apiKey" not in definition:
            continue
        key = str(definition["apiKey"])
        valid = Versions.parse(definition["validVersions"])
        if definition.get("latestVersionUnstable"):
            valid = Versions(valid.low, valid.high - 1)
        accepted.pop(key, None)
        deprecated.pop(key, None)
        if valid:
            accepted[key] = str(valid)
            if old := valid & Versions.parse(definition.get("deprecatedVersions", "none")):
                deprecated[key] = str(old)
    ranges = {"accepted": accepted, "deprecated": deprecated}
    releases[minor(release)] = {name: dict(sorted(of.items(), key=_number)) for name, of in ranges.items() if of}
    (specs / ACCEPTED).write_text(rows_text(releases), "utf-8")


def _number(item: tuple[str, str]) -> int:
    return int(item[0])


def main(arguments: list[str] | None = None) -> int:
    """Run the importer. Return 2 if its input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m kwire_cli.spec.importer", description=__doc__)
    parser.add_argument(
        "--specs", type=Path, default=Path(specs_folder()), help="the specs folder to write (default: the bundled one)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    release = commands.add_parser("release", help="merge the definitions of a newer Kafka into the specs")
    release.add_argument("release", help="its number, such as 4.5")
    release.add_argument("sources", nargs="+", help="its jars, or folders with its JSON files")
    add = commands.add_parser("add", help="add definitions, or replace those of their name, without a release")
    add.add_argument("sources", nargs="+", help="files in Kafka's grammar, folders or jars; of an api both halves")
    options = parser.parse_args(arguments)
    try:
        lines = merge(options.sources, options.specs, getattr(options, "release", None))
    except (KwireError, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
