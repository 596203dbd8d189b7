"""Regenerate every bundled spec file from a folder of facts about Kafka's releases (see docs/specs.md for what the folder holds)."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.accepted import FILE as ACCEPTED, accepted_row, write_row
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.spec.names import aliases_of, module_of, successor_of
from kwire_cli.spec.writer import definition_text, rows_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

BIT_SET = " (bit set, 1 << code)"


def write_from_facts(facts: Path, specs: Path) -> list[str]:
    """Write the specs folder anew from a facts folder; the names of the files written."""
    union = json.loads((facts / "kafka-union.json").read_text("utf-8"))
    releases = {release: json.loads((facts / f"kafka-{release}.json").read_text("utf-8")) for release in ("3.9.2", f"{RELEASE}.0")}
    old = {definition["name"]: definition for definition in releases["3.9.2"]}
    changed = changed_layouts(json.loads((facts / "union-differences.json").read_text("utf-8")))
    written = {f"{definition['name']}.json": definition_text(definition) for definition in union}
    written |= {f"kafka-3.9/{name}.json": definition_text(old[name]) for name in changed}
    written["index.json"] = index_text(union, release=RELEASE, releases={"3.9": changed})
    written["errors.json"] = rows_text({"errors": list(error_rows(facts / "error-codes.tsv"))})
    written["enums.json"] = rows_text({"enums": enum_lists(facts / "enums.tsv")})
    written["header-versions.json"] = rows_text({"exceptions": header_exceptions(union, facts / "header-versions.tsv")})
    for name, text in written.items():
        (specs / name).parent.mkdir(parents=True, exist_ok=True)
        (specs / name).write_text(text, "utf-8")
    for release, definitions in releases.items():
        write_row(specs, release, accepted_row(definitions))
    return sorted([*written, ACCEPTED])


def index_text(definitions: Iterable[Mapping[str, Any]], *, release: str, releases: Mapping[str, Mapping[str, str]]) -> str:
    """The index of definitions. `releases` names, by release, the messages whose layout it has otherwise, and in which versions."""
    return rows_text({"release": release, "releases": releases, "messages": [index_row(definition) for definition in definitions]})


def index_row(definition: Mapping[str, Any]) -> dict[str, Any]:
    """What the catalogue knows of a definition before its file is read. Keys without meaning for it are left out."""
    name = definition["name"]
    row = {
        "name": name,
        "type": definition["type"],
        "apiKey": definition.get("apiKey"),
        "validVersions": definition["validVersions"],
        "flexibleVersions": definition.get("flexibleVersions", "none"),
        "file": f"{name}.json",
        "module": module_of(definition),
        "aliases": aliases_of(name),
        "successor": successor_of(name),
        "headerVersions": definition.get("headerVersions"),
    }
    return {key: value for key, value in row.items() if value is not None and value != []}


def changed_layouts(differences: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Messages whose layout differs under one version number, with those versions."""
    versions: dict[str, set[int]] = {}
    for row in differences:
        if row["kind"] in {"LAYOUT", "EXTRA"}:
            versions.setdefault(row["message"], set()).add(row["version"])
    return {name: str(low) if low == high else f"{low}-{high}" for name, v in sorted(versions.items()) for low, high in [(min(v), max(v))]}


def error_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The error codes (Kafka's Errors class)."""
    for row in _table(path):
        yield {"code": int(row["code"]), "name": row["name"], "retriable": row["retriable"] == "true"}


def enum_lists(path: Path) -> dict[str, dict[str, Any]]:
    """Lists of named values with the fields that hold them (bit sets: 1 << code each); `elsewhere` is what is no field of a message."""
    enums: dict[str, dict[str, Any]] = {}
    for row in _table(path):
        enum = enums.setdefault(row["enum"], {"values": {}, **_uses(row["usedBy"])})
        enum["values"][row["code"]] = row["name"]
    return {name: {key: value for key, value in enum.items() if value} for name, enum in enums.items()}


def header_exceptions(definitions: Iterable[Mapping[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Where the header version is not the one that the flexible versions give (ApiMessageTypeGenerator)."""
    flexible = {(d["apiKey"], d["type"]): d["flexibleVersions"] for d in definitions if d["type"] in {"request", "response"}}
    found: dict[tuple[int, str, int], list[int]] = {}
    for row in _table(path):
        key, version = int(row["apiKey"]), int(row["version"])
        for kind, plain in (("request", 1), ("response", 0)):
            low = flexible[key, kind].removesuffix("+")
            actual = int(row[f"{kind}HeaderVersion"])
            if actual != plain + (low != "none" and version >= int(low)):
                found.setdefault((key, kind, actual), []).append(version)
    # The response exception starts where its body becomes flexible and goes on for ever: one open range says both.
    return [
        {"apiKey": key, "type": kind, "versions": "0+" if kind == "response" else str(max(versions)), "headerVersion": actual}
        for (key, kind, actual), versions in sorted(found.items())
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
