"""Versions that each release of Kafka accepts, and definitions written as JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.spec.files import read_bundled
from kwire_cli.spec.model import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Row = dict[str, dict[str, str]]
    """Ranges by api key: `accepted`, and where there are any `deprecated`."""


# Write definitions and their index as JSON text: one field per line as Kafka's own files have it, stable from
# run to run.

TOP_KEYS = (
    "apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions",
    "headerVersions", "latestVersionUnstable", "commonStructs", "fields",
)  # fmt: skip


FIELD_KEYS = (
    "name", "type", "versions", "nullableVersions", "flexibleVersions", "tag", "taggedVersions", "mapKey", "zeroCopy",
    "ignorable", "default", "entityType", "encoding", "elementEncoding", "fields",
)  # fmt: skip
STRUCT_KEYS = ("name", "versions", "deprecatedVersions", "fields")


def definition_text(definition: Mapping[str, Any]) -> str:
    """A definition as the text of its file. Keys outside Kafka's grammar (and so its prose, `about`) are left out."""
    lines = []
    for key in TOP_KEYS:
        if key not in definition:
            continue
        value = definition[key]
        if key == "fields":
            text = _fields(value, "  ")
        elif key == "commonStructs":
            text = _block((_object(struct, STRUCT_KEYS, "    ") for struct in value), "  ")
        else:
            text = _json(value)
        lines.append(f'  "{key}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def rows_text(data: Mapping[str, Any]) -> str:
    """A JSON object, each item of whose lists and objects is a line: data files that a diff can be read of."""
    parts = []
    for key, value in data.items():
        if isinstance(value, dict):
            body = ",\n".join(f"    {_json(name)}: {_json(item)}" for name, item in value.items())
            parts.append(f"  {_json(key)}: {{\n{body}\n  }}")
        elif isinstance(value, list):
            parts.append(f"  {_json(key)}: {_block((_json(item) for item in value), '  ')}")
        else:
            parts.append(f"  {_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _block(items: Iterable[str], indent: str) -> str:
    body = ",\n".join(f"{indent}  {item}" for item in items)
    return f"[\n{body}\n{indent}]" if body else "[]"


def _fields(fields: Iterable[Mapping[str, Any]], indent: str) -> str:
    return _block((_object(field, FIELD_KEYS, indent + "  ") for field in fields), indent)


def _object(keys: Mapping[str, Any], order: tuple[str, ...], indent: str) -> str:
    parts = [
        f'"{key}": {_fields(keys[key], indent) if key == "fields" else _json(keys[key])}'
        for key in order
        if key in keys
    ]
    # A block of fields ends the line, as in Kafka's files.
    closing = " }" if not keys.get("fields") else "}"
    return "{ " + ", ".join(parts) + closing


def definition_of(spec: MessageSpec) -> dict[str, Any]:
    """A definition in Kafka's grammar, as `definition_text` takes it; keys at their defaults are left out."""
    out: dict[str, Any] = {
        "apiKey": spec.api_key,
        "type": spec.type,
        "listeners": list(spec.listeners),
        "name": spec.name,
    }
    out |= {"validVersions": str(spec.valid_versions), "flexibleVersions": str(spec.flexible_versions)}
    out["deprecatedVersions"] = str(spec.deprecated_versions) if spec.deprecated_versions else None
    out["headerVersions"] = {str(versions): str(number) for versions, number in spec.header_versions}
    out["latestVersionUnstable"] = spec.latest_version_unstable
    out["commonStructs"] = [
        {"name": struct.name, "versions": str(struct.versions), "fields": _fields_of(struct.fields)}
        for struct in spec.common_structs
    ]
    return {key: value for key, value in out.items() if value not in (None, [], {}, False)} | {
        "fields": _fields_of(spec.fields)
    }


def _fields_of(fields: tuple[FieldSpec, ...]) -> list[dict[str, Any]]:
    return [_field_of(field) for field in fields]


def _field_of(field: FieldSpec) -> dict[str, Any]:
    out: dict[str, Any] = {"name": field.name, "type": field.type, "versions": str(field.versions)}
    out["nullableVersions"] = str(field.nullable_versions) if field.nullable_versions else None
    out["flexibleVersions"] = None if field.flexible_versions is None else str(field.flexible_versions)
    out |= {"tag": field.tag, "taggedVersions": str(field.tagged_versions) if field.tagged_versions else None}
    out |= {"mapKey": field.map_key or None, "zeroCopy": field.zero_copy or None, "ignorable": field.ignorable or None}
    out |= {"default": field.default, "entityType": field.entity_type}
    out["encoding"] = {str(row.versions): row.name for row in field.encoding} or None
    out["elementEncoding"] = {str(row.versions): row.name for row in field.element_encoding} or None
    out["fields"] = _fields_of(field.fields) or None
    return {key: value for key, value in out.items() if value is not None}


# Which versions of which apis each release of Kafka accepts: `specs/releases.json`, one row a release, made
# from the definitions of its jars.

FILE = "releases.json"


class Accepted(NamedTuple):
    """The versions that one release accepts, by api key, as a broker or a controller answers.

    `deprecated` are versions that, by this release's word, a later release will refuse. Versions that a release calls
    unstable are absent: a broker speaks them only where a test asks it to.
    """

    release: str
    versions: dict[int, Versions]
    deprecated: dict[int, Versions]


def known_releases() -> tuple[str, ...]:
    """The releases, from the oldest on."""
    return tuple(read_bundled(FILE))


def accepted_by(release: str) -> Accepted:
    """Return the versions that a release accepts: `4.4`, or a patch of it, `4.4.1`.

    Raises InputError if the definitions of the release were never read.
    """
    releases: dict[str, Any] = read_bundled(FILE)
    name = minor(release)
    if name not in releases:
        raise InputError(f"what Kafka {release!a} accepts is not known; choose one of {', '.join(releases)}")
    row = releases[name]
    return Accepted(name, _ranges(row["accepted"]), _ranges(row.get("deprecated", {})))


def minor(release: str) -> str:
    """The release that a patch belongs to, since patches change no versions: 4.4 of 4.4.1."""
    return ".".join(release.strip().removeprefix("v").split(".")[:2])


def _ranges(texts: Mapping[str, str]) -> dict[int, Versions]:
    return {int(key): Versions.parse(text) for key, text in texts.items()}


def accepted_row(
    definitions: Iterable[Mapping[str, Any]], *, base: str | None = None, specs: Path | None = None
) -> Row:
    """The row of a release, of the definitions in its jars; with `base`, the row of that release in a specs folder with
    these in it.
    """
    row = _rows(specs).get(base, {}) if base and specs else {}
    accepted, deprecated = dict(row.get("accepted", {})), dict(row.get("deprecated", {}))
    for definition in definitions:
        if definition["type"] != "request" or "apiKey" not in definition:
            continue
        key, valid = str(int(definition["apiKey"])), Versions.parse(str(definition["validVersions"]))
        if definition.get("latestVersionUnstable"):
            valid = Versions(valid.low, valid.high - 1)
        accepted.pop(key, None)
        deprecated.pop(key, None)
        if valid:
            accepted[key] = str(valid)
            if old := valid & Versions.parse(str(definition.get("deprecatedVersions", "none"))):
                deprecated[key] = str(old)
    return {
        name: dict(sorted(ranges.items(), key=_number))
        for name, ranges in (("accepted", accepted), ("deprecated", deprecated))
        if ranges
    }


def _number(item: tuple[str, str]) -> int:
    return int(item[0])


def _rows(specs: Path) -> dict[str, Row]:
    file = specs / FILE
    rows: dict[str, Row] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return rows


def write_row(specs: Path, release: str, row: Row) -> None:
    """Write the row of a release into a specs folder's file, beside those of others that it has already."""
    rows = _rows(specs) | {minor(release): row}
    text = rows_text(
        {name: rows[name] for name in sorted(rows, key=lambda name: [int(part) for part in name.split(".")])}
    )
    (specs / FILE).write_text(text, "utf-8")
