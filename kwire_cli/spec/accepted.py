"""Versions that each release of Kafka accepts, and definitions written as JSON text.

The versions are data in `specs/releases.json`, which `importer` updates for a release. Both kinds of files have one
item per line, so that their diffs are readable.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.spec.files import read_bundled
from kwire_cli.spec.model import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.spec.model import FieldSpec, MessageSpec, StructSpec


# Write definitions and their index as JSON text: one field per line as Kafka's own files have it, stable from
# run to run.

MESSAGE_KEYS = {
    "apiKey": "api_key", "type": "type", "listeners": "listeners", "name": "name", "validVersions": "valid_versions",
    "deprecatedVersions": "deprecated_versions", "flexibleVersions": "flexible_versions",
    "headerVersions": "header_versions", "latestVersionUnstable": "latest_version_unstable",
    "commonStructs": "common_structs", "fields": "fields",
}  # fmt: skip
"""The keys of a message in the order of Kafka's files, with the attributes of the model."""
FIELD_KEYS = {
    "name": "name", "type": "type", "versions": "versions", "nullableVersions": "nullable_versions",
    "flexibleVersions": "flexible_versions", "tag": "tag", "taggedVersions": "tagged_versions", "mapKey": "map_key",
    "zeroCopy": "zero_copy", "ignorable": "ignorable", "default": "default", "entityType": "entity_type",
    "encoding": "encoding", "elementEncoding": "element_encoding", "fields": "fields",
}  # fmt: skip
STRUCT_KEYS = {
    "name": "name", "versions": "versions", "deprecatedVersions": "deprecated_versions", "fields": "fields",
}  # fmt: skip
_ALWAYS = frozenset({"versions", "validVersions", "flexibleVersions"})


def definition_text(definition: Mapping[str, Any]) -> str:
    """Return a definition as the text of its file. Keys outside Kafka's grammar (and so its prose, `about`) are
    omitted.
    """
    lines = []
    for key in MESSAGE_KEYS:
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
    """Return a JSON object with one line per item of its lists and objects, so that diffs of data files are
    readable.
    """
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


def _object(keys: Mapping[str, Any], order: Iterable[str], indent: str) -> str:
    parts = [
        f'"{key}": {_fields(keys[key], indent) if key == "fields" else _json(keys[key])}'
        for key in order
        if key in keys
    ]
    # A block of fields ends the line, as in Kafka's files.
    closing = " }" if not keys.get("fields") else "}"
    return "{ " + ", ".join(parts) + closing


def definition_of(spec: MessageSpec) -> dict[str, Any]:
    """Return a definition in Kafka's grammar, for `definition_text`, without keys at their defaults."""
    return {"fields": [], **_keys_of(spec, MESSAGE_KEYS)}


def _keys_of(spec: MessageSpec | StructSpec | FieldSpec, keys: Mapping[str, str]) -> dict[str, Any]:
    out = {}
    for key, attribute in keys.items():
        value = getattr(spec, attribute)
        if key == "fields":
            value = [_keys_of(field, FIELD_KEYS) for field in value]
        elif key == "commonStructs":
            value = [{"fields": [], **_keys_of(struct, STRUCT_KEYS)} for struct in value]
        elif key in {"headerVersions", "encoding", "elementEncoding"}:
            value = {str(versions): str(name) for versions, name in value}
        elif isinstance(value, Versions):
            value = str(value) if value or key in _ALWAYS else None
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None and value is not False and value not in ([], {}):
            out[key] = value
    return out


# The versions that each release of Kafka accepts, by api: `specs/releases.json`, one row per release, from the
# definitions of its jars.

FILE = "releases.json"


class Accepted(NamedTuple):
    """The versions that one release accepts, by api key, as a broker or a controller answers.

    `deprecated` are versions that, by this release's word, a later release will refuse. Versions that a release calls
    unstable are absent: a broker accepts them only if a test enables them.
    """

    release: str
    versions: dict[int, Versions]
    deprecated: dict[int, Versions]


def known_releases() -> tuple[str, ...]:
    """Return the releases, from the oldest on."""
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
    """Return the release that a patch belongs to, since patches change no versions: 4.4 of 4.4.1."""
    return ".".join(release.strip().removeprefix("v").split(".")[:2])


def _ranges(texts: Mapping[str, str]) -> dict[int, Versions]:
    return {int(key): Versions.parse(text) for key, text in texts.items()}
