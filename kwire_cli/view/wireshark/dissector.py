"""The Wireshark dissector as one Lua file.

The file starts with tables generated from the definitions: the layouts of all versions of all messages, the names of
apis, errors and values, and the secret fields. The Lua files of this folder follow and decode bytes with these tables.
Wireshark loads a plugin from a single file without modules, so all parts are joined.
"""

from __future__ import annotations

import re
from functools import partial
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING

from kwire_cli.engine.codes import MEANING
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.engine.program import Leaf, Struct
from kwire_cli.message.frames import CARRIED
from kwire_cli.message.roles import (
    CONFIG_VALUES,
    SECRET_FIELDS,
    can_hold_secrets,
    roles,
)
from kwire_cli.records.payload_fields import FAMILIES, MEMBERS, OTHERS, PRINCIPAL
from kwire_cli.spec.kafka import (
    CLUSTER_METADATA,
    CLUSTER_METADATA_ID,
    SENSITIVE_PAIRS,
    SENSITIVE_WORDS,
    SEPARATORS,
    VERSION,
)
from kwire_cli.spec.model import header_version_of
from kwire_cli.structs.records import v0, v1, v2
from kwire_cli.view.wireshark.layouts import FieldTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.catalog import Api, Catalog
    from kwire_cli.spec.model import Entry as Definition, MessageSpec
    from kwire_cli.structs.records.parts import Bits

CHAPTERS = (
    "numbers",
    "layouts",
    "fields",
    "values",
    "walk",
    "payloads",
    "records",
    "connections",
    "frames",
    "register",
)
"""The Lua files of this folder, in the order of the dissector."""
ROLES = {"topic": "t", "topic-id": "u", "error": "e"}
"""The flags of fields with a role (`message.roles`)."""
SECRET = "x"  # noqa: S105 - a letter, not a password
"""The flag of secret fields."""
CONFIG = "c"
"""The flag of values of configs."""
CARRIES = "f"
"""The flag of fields with a forwarded request."""
KEPT = "k"
"""The flag of fields whose values the dissector needs for later fields or messages."""
_KEPT_FIELDS = {"ProduceRequest": {"acks"}, "ApiVersionsResponse": {"errorCode"}}
_PRINCIPAL = "p"
"""The flag of fields with a principal."""
_MEMBER_FLAGS = {"metadata": "m", "assignment": "g"}
"""The flags of fields with the metadata or the assignment of a member of a group."""
_ON_THE_WIRE = frozenset({"request", "response", "header"})
"""The types of messages that are sent on a connection. Messages of other types are values of fields."""
_CONFIG_FIELDS = {"name", "key", "isSensitive"}
"""Fields of a config that determine whether its value is secret."""
RECORD_PARTS = (
    ("batch", 0, v0.MESSAGE),
    ("batch", 1, v1.MESSAGE),
    ("batch", 2, v2.HEADER),
    ("record", 2, v2.RECORD),
)
"""The layouts of records: a message of the formats 0 and 1, the header of a batch of format 2, and its records."""
ATTRIBUTES = {0: v0.ATTRIBUTES, 1: v1.ATTRIBUTES, 2: v2.ATTRIBUTES}
_MARKS = re.compile(r'["\\\x00-\x1f\x7f]')
"""Characters that a Lua literal contains as decimal escapes."""

_HEAD = f"""\
-- Kafka's wire protocol for Wireshark, written by kwire {VERSION}. Put this file into the folder of personal Lua
-- plugins, which Wireshark names under Help, About Wireshark, Folders; or load it with -X lua_script:FILE."""


def dissector(catalog: Catalog) -> str:
    """Return the text of a Wireshark plugin in Lua that dissects all messages of a catalogue."""
    parts = [_HEAD, "local K = {}", *_tables(catalog)]
    folder = resources.files(__package__ or "")
    for name in CHAPTERS:
        text = (folder / f"{name}.lua").read_text(encoding="utf-8")
        parts.append(f"do -- {name}\n{text.rstrip()}\nend")
    return "\n\n".join(parts) + "\n"


def _tables(catalog: Catalog) -> Iterator[str]:
    embedded = {_MEMBER_FLAGS[role]: name for role, name in FAMILIES["consumer"].items()}
    embedded[_PRINCIPAL] = PRINCIPAL
    wanted = [entry for entry in catalog if entry.type in _ON_THE_WIRE or entry.name in embedded.values()]
    yield _table("K.messages", (_message(catalog, entry) for entry in wanted if entry.valid_versions))
    yield _table("K.records", _record_messages())
    yield _table("K.apis", (_api(catalog, api) for api in catalog.apis))
    yield _table("K.errors", (f"[{row.code}] = {lua_text(row.name)}" for row in catalog.errors))
    yield _table("K.meaning", (f"[{lua_text(code)}] = {lua_text(meaning)}" for code, meaning in MEANING.items()))
    yield _table("K.attributes", (f"[{magic}] = {{{_bits(parts)}}}" for magic, parts in ATTRIBUTES.items()))
    yield _table("K.sensitive", map(lua_text, _sensitive_words()))
    yield _table("K.held", (f"[{lua_text(flag)}] = {lua_text(name)}" for flag, name in embedded.items()))
    yield f"K.metadata_topic, K.metadata_id = {lua_text(CLUSTER_METADATA)}, {lua_text(CLUSTER_METADATA_ID)}"


def _table(name: str, rows: Iterable[str]) -> str:
    return f"{name} = {{\n" + "".join(f"{row},\n" for row in rows) + "}"


def lua_text(text: str) -> str:
    """Return a string as a Lua literal. All names in the dissector are literals, including keys of tables."""
    return '"' + _MARKS.sub(lambda match: f"\\{ord(match[0]):03d}", text) + '"'


def _message(catalog: Catalog, entry: Definition) -> str:
    spec = catalog.message(entry.name)
    fields = FieldTable(partial(_flags, spec))
    low = spec.valid_versions.low
    high = spec.valid_versions.high
    versions = range(low, high + 1)
    layouts = [(version, fields.layout(entry_for(spec, version))) for version in versions]
    row = [f"low = {low}", f"high = {high}"]
    if spec.type in {"request", "response"}:
        row.append(f'headers = "{"".join(str(header_version_of(spec, version)) for version in versions)}"')
    if can_hold_secrets(spec.name):
        row.append(f'secret = "{"always" if spec.name in SECRET_FIELDS else "some"}"')
    rows = (
        _field(path, kind, flags, catalog.value_names(spec.name, path) if kind in _NAMED else {})
        for path, kind, flags in fields
    )
    return f"[{lua_text(spec.name)}] = {{{', '.join(row)},\nfields = {{{', '.join(rows)}}},\n{_runs(layouts)}}}"


_NAMED = frozenset("bhil")
"""The types whose values may have names."""


def _flags(spec: MessageSpec, entry: Entry, node: Leaf | Struct) -> str:
    """Return the flags of a field or a struct of a message."""
    configs = CONFIG_VALUES.get(spec.name, frozenset())
    if isinstance(node, Struct):
        leaves = [field for field in node.fields if isinstance(field, Leaf)]
        naming = {ROLES.get(roles(spec, entry).by_node.get(leaf.id, "")) for leaf in leaves} >= {"t", "u"}
        return "n" * naming + "c" * any(leaf.path in configs for leaf in leaves)
    flags = ROLES.get(roles(spec, entry).by_node.get(node.id, ""), "")
    flags += SECRET * (node.path in SECRET_FIELDS.get(spec.name, frozenset()))
    flags += CONFIG * (node.path in configs)
    flags += CARRIES * (node.path == CARRIED.get(spec.name) and not flags)
    members = [row for row in MEMBERS if row.message == spec.name]
    flags += "".join(_MEMBER_FLAGS[row.role] for row in members if row.path == node.path)
    flags += _PRINCIPAL * any((row.message, row.path, row.kind) == (spec.name, node.path, PRINCIPAL) for row in OTHERS)
    needed = _KEPT_FIELDS.get(spec.name, set()) | {row.protocol_type for row in members}
    if configs:
        needed |= _CONFIG_FIELDS
    return flags + KEPT * (node.name in needed)


def _field(path: str, kind: str, flags: str, names: Mapping[int, str]) -> str:
    """Return a field as Lua: a string, or a table if its values have names. Names of errors have a separate table."""
    text = lua_text(f"{path} {kind}{flags}")
    if not names or "e" in flags:
        return text
    return f"{{{text}, {{{', '.join(f'[{value}] = {lua_text(name)}' for value, name in names.items())}}}}}"


def _runs(layouts: Iterable[tuple[int, str]]) -> str:
    """Return the layouts as Lua, each with the first and the last of the versions that share it."""
    runs: list[tuple[int, int, str]] = []
    for version, text in layouts:
        if runs and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], version, text)
        else:
            runs.append((version, version, text))
    return ", ".join(f'{{{low}, {high}, "{text}"}}' for low, high, text in runs)


def _api(catalog: Catalog, api: Api) -> str:
    names = [
        lua_text(name) if name and catalog.entry(name).valid_versions else "nil" for name in (api.request, api.response)
    ]
    return f"[{api.key}] = {{{', '.join([lua_text(api.name), *names])}}}"


def _record_messages() -> Iterator[str]:
    tables = {name: FieldTable(lambda _entry, _node: "") for name, *_ in RECORD_PARTS}
    layouts: dict[str, list[tuple[int, str]]] = {name: [] for name in tables}
    for name, magic, declared in RECORD_PARTS:
        layouts[name].append((magic, tables[name].layout(records_entry(declared))))
    for name, fields in tables.items():
        rows = ", ".join(_field(path, kind, flags, {}) for path, kind, flags in fields)
        yield f"[{lua_text(name)}] = {{low = 0, high = 2,\nfields = {{{rows}}},\n{_runs(layouts[name])}}}"


def _bits(parts: Iterable[Bits]) -> str:
    rows = []
    for part in parts:
        names = ", ".join(f"[{value}] = {lua_text(name)}" for value, name in part.names.items())
        rows.append(f"{{{lua_text(part.name)}, {1 << part.shift}, {1 << part.width}, {{{names}}}}}")
    return ", ".join(rows)


def _sensitive_words() -> Iterator[str]:
    """Yield the lower-case words that identify a sensitive config by its name."""
    yield from SENSITIVE_WORDS
    for first, second in SENSITIVE_PAIRS:
        yield from map("".join, product(first, ("", *SEPARATORS), second))
