"""Every message definition, by name, api key or alias; and header versions, error names and named values.

A catalogue starts with the rows of `specs/index.json`, which contain the main facts of each definition. Entries and
definitions are created from rows and files at their first use, because most commands need only a few of some hundred.
"""

from __future__ import annotations

import os
import re
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, SpecError, close_to, did_you_mean
from kwire_cli.spec.field_names import FieldNames
from kwire_cli.spec.files import Report, json_files, layout_file, read_bundled, specs_folder
from kwire_cli.spec.model import Entry, Enums, Versions, field_at, header_version_of
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Overlay
    from kwire_cli.spec.serdes import Serdes

    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

Row = dict[str, Any]
"""The facts of a definition before its file is read, as in the index."""
EarlyVersions = dict[str, dict[str, str]]
"""Messages whose layouts were replaced under the same version, with these versions, by the last release that had them.
The oldest release comes first.
"""


Stamped = tuple[str, int, int]
"""A file with its time and size: derived objects are rebuilt when these change."""


class Api(NamedTuple):
    """A pair of a request and its response, with full names. One of them is None if a catalogue lacks it."""

    key: int
    name: str
    request: str | None
    response: str | None
    aliases: tuple[str, ...] = ()


class ErrorCode(NamedTuple):
    """A row of Kafka's error codes; `retriable` is set if its exception is a RetriableException (`Errors`)."""

    code: int
    name: str
    retriable: bool


class ErrorMeaning(NamedTuple):
    """An error code in words: its meaning, the requests and conditions that lead to it, the reaction of clients, and
    the first thing to do. `advice` is empty if clients need no help.
    """

    meaning: str
    given: str
    clients: str
    advice: str


class Catalog:
    """Message definitions by name and api key; made by `catalog()`. Definitions are read when first asked for."""

    serdes: Serdes | None = None  # the formats of records that applications wrote, if they are known

    def __init__(
        self,
        rows: Mapping[str, Row],
        added: Sequence[MessageSpec],
        early: EarlyVersions,
        overlays: Sequence[Overlay] = (),
        kafka: str | None = None,
    ) -> None:
        self._kafka = kafka
        self._overlays = tuple(overlays)
        self._early = early
        self._added = {spec.name: spec for spec in added}
        self._read: dict[str, MessageSpec] = {}
        self._entries: dict[str, Entry] = {}
        self._rows = _with_specs(rows, added)
        overlaid: set[str] = set()
        for overlay in overlays:
            overlaid.update(overlay.messages)
        for name in [name for name in self._rows if name in overlaid]:
            self._rows[name] |= _versions_row(self._definition(name))  # check the overlays for the message at once

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all definitions, in the order of the index."""
        return tuple(map(self._entry, self._rows))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a catalogue with the user's definitions and overlays, because their files may be missing elsewhere."""
        bare = _sent, (self._kafka, self._pickled)
        return (Catalog.with_serdes, (self.with_serdes(None), self.serdes)) if self.serdes else bare

    def with_serdes(self, serdes: Serdes | None) -> Catalog:
        """Return the catalogue with formats of records: itself if it has these."""
        if serdes is self.serdes:
            return self
        other = object.__new__(Catalog)
        vars(other).update({name: value for name, value in vars(self).items() if name != "field_names"}, serdes=serdes)
        return other

    @cached_property
    def _pickled(self) -> bytes:
        import pickle  # noqa: PLC0415 - as in _sent

        brought = (*self._added.values(),)
        return pickle.dumps((brought, self._overlays)) if brought or self._overlays else b""

    def __getitem__(self, key: str | int) -> MessageSpec | Api:
        """Return a message by its full name, or an api by its key (3) or name ("metadata").

        Raise InputError if neither exists.
        """
        if isinstance(key, str) and key.strip().lower() in self._by_name:
            return self.message(key)
        try:
            return self.api(key)
        except InputError:
            names = [*self._rows, *(api.name for api in self.apis)]
            raise _unknown("message or api", str(key), names) from None

    @cached_property
    def _by_name(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for name, row in self._rows.items():
            names.update((alias.lower(), name) for alias in row.get("aliases", ()))
        return names | {name.lower(): name for name in self._rows}

    def _name(self, text: str) -> str:
        name = self._by_name.get(text.strip().lower())
        if not name:
            raise _unknown("message", text, [*self._rows])
        return name

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            self._entries[name] = _entry(self._rows[name])
        return self._entries[name]

    def entry(self, name: str) -> Entry:
        """Return the entry of a message by its full name or an alias, in any case.

        Raise InputError with close matches if it does not exist.
        """
        return self._entry(self._name(name))

    def message(self, name: str) -> MessageSpec:
        """Return the definition of a message by its full name or an alias, in any case.

        Raise InputError with close matches if it does not exist.
        """
        full = self._name(name)
        return self._read.get(full) or self._definition(full)

    def _definition(self, name: str) -> MessageSpec:
        spec = self._added.get(name) or _bundled_definition(self._rows[name]["file"])
        for overlay in self._overlays:
            spec = overlay.laid(spec)
        self._read[name] = spec
        return spec

    @cached_property
    def field_names(self) -> FieldNames:
        """The names of the fields in all definitions."""
        names = FieldNames(((row["type"], name) for name, row in self._rows.items()), self.message)
        names.any_in_records = self.serdes is not None
        return names

    @cached_property
    def apis(self) -> tuple[Api, ...]:
        """Every api, by ascending key."""
        pairs: dict[int, dict[str, Row]] = {}
        old: dict[int, list[str]] = {}
        for name, row in self._rows.items():
            key = row.get("apiKey")
            if row["type"] not in {"request", "response"} or key is None:
                continue
            if row.get("successor", "").lower() in self._by_name:
                old.setdefault(key, []).append(_stem(name))
            else:
                pairs.setdefault(key, {})[row["type"]] = row
        return tuple(_api(key, pair, old.get(key, [])) for key, pair in sorted(pairs.items()))

    @cached_property
    def _apis_by_key(self) -> dict[int, Api]:
        return {api.key: api for api in self.apis}

    @cached_property
    def _apis_by_name(self) -> dict[str, Api]:
        names: dict[str, Api] = {}
        for api in self.apis:
            names.update((alias.lower(), api) for alias in api.aliases)
        return names | {api.name.lower(): api for api in self.apis}

    @cached_property
    def _readable_by_key(self) -> dict[int, Api]:
        return {api.key: api for api in self.apis if self._is_readable(api)}

    def _is_readable(self, api: Api) -> bool:
        messages = [name for name in (api.request, api.response) if name]
        return all(self._rows[name]["validVersions"] != "none" for name in messages)

    def api_by_key(self, key: int) -> Api | None:
        """Return the api of a key whose messages can be read, or None if it is unknown or reserved (no versions)."""
        return self._readable_by_key.get(key)

    def named_api(self, key: int) -> Api | None:
        """Return the api of a key, reserved or not, for its name; None for an unknown key."""
        return self._apis_by_key.get(key)

    def api(self, text: str | int) -> Api:
        """Return the api of a key (3, "3") or a name in any case (metadata, ListOffset).

        Raise InputError with close matches if it does not exist.
        """
        name = str(text).strip()
        if name.isascii() and name.removeprefix("-").isdigit() and len(name) < 10:
            definition = self._apis_by_key.get(int(name))
        else:
            definition = self._apis_by_name.get(name.lower()) or self._apis_by_name.get(
                _stem(name, of=name.lower()).lower()
            )
        if not definition:
            raise _unknown("api", name, [api.name for api in self.apis])
        return definition

    def header_version(self, kind: str, api_key: int, version: int) -> int:
        """Return the header version of a request or response (`kind`), by headerVersions, Kafka's exceptions, or
        whether the version is flexible (ApiMessageType).
        """
        api = self.api(api_key)
        name = api.request if kind == "request" else api.response
        if not name:
            raise InputError(f"no definition of the {kind} of {api.name} (api key {api_key}) is known")
        return header_version_of(self.entry(name), version) or 0

    def early_releases(self, name: str, version: int) -> list[str]:
        """Return the releases that last had an earlier layout of this version of a message, newest first.

        The list is empty if a release was chosen, or if the user has another definition of the message.
        """
        return [
            release
            for release, messages in reversed(self._early.items())
            if name in messages and version in Versions.parse(messages[name]) and name not in self._added
        ]

    def early_layout(self, name: str, release: str) -> MessageSpec:
        """Return the definition with the layout that a message had last in one of `early_releases`."""
        return _bundled_definition(layout_file(release, self._name(name)))

    @cached_property
    def errors(self) -> tuple[ErrorCode, ...]:
        """Kafka's error codes, ascending."""
        return tuple(
            ErrorCode(row["code"], row["name"], row["retriable"]) for row in read_bundled("errors.json")["errors"]
        )

    @cached_property
    def error_meanings(self) -> dict[str, ErrorMeaning]:
        """The meaning of each error code, by its name."""
        rows = read_bundled("error-meanings.json")["meanings"]
        return {
            row["name"]: ErrorMeaning(row["meaning"], row["given"], row["clients"], row.get("advice", ""))
            for row in rows
        }

    @cached_property
    def errors_by_code(self) -> dict[int, ErrorCode]:
        """Kafka's error codes by their numbers."""
        return {row.code: row for row in self.errors}

    def error_name(self, code: int) -> str | None:
        """Return the name of an error code, None if it is not known."""
        row = self.errors_by_code.get(code)
        return row and row.name

    @cached_property
    def _enums(self) -> Enums:
        return Enums(read_bundled("enums.json")["enums"])

    def value_names(self, message: str, field_path: str) -> dict[int, str]:
        """Return the names of a field's values by number, or an empty dict. `field_path` is as in `named_value`."""
        field = field_at(self.message(message), field_path)
        if field and field.type == "int16" and field_path[-9:].lower() == "errorcode":
            return {row.code: row.name for row in self.errors}
        names = self._enums.names(f"{message}.{field_path}")
        return {int(value): name for value, name in names.items() if value.lstrip("-").isdigit()}

    def named_value(self, message: str, field_path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
        """Return the name of a field's value, or None; names joined by | for a bit set.

        A path has no indexes: Topics.ErrorCode. Record batches, and what Kafka writes by hand, have no names.
        """
        name = self._by_name.get(message.lower())
        if name is None:
            return None
        if field_path[-9:].lower() == "errorcode" and isinstance(value, int):
            field = field_at(self.message(name), field_path)
            return self.error_name(value) if field and field.type == "int16" else None
        return self._enums.name(f"{name}.{field_path}", value)


def catalog(specs: Paths = ()) -> Catalog:
    """Return every message definition.

    Look up by name (`c["MetadataResponse"]`) or api (`c.api("metadata")`, `c.api(3)`). Calls with the same argument
    return the same object, until a file changes.

    `specs` is a value of --specs or several: files, folders and jars of further definitions, which replace definitions
    of the same name; overlays (files, or names of bundled ones), which are applied in their order; and a release
    ("3.9") for layouts that differ between releases under one version number.

    Raise InputError for an unknown release, several releases or a missing file, and SpecError (file, line, column) for
    an invalid definition or an overlay that does not fit.
    """
    if not specs:
        return _cached_catalog((), None, ())
    from kwire_cli.spec.overlay import bundled_overlays, is_overlay, overlay_file  # noqa: PLC0415 - as in _cached_catalog

    releases: list[str] = []
    overlays: list[Path] = []
    files: list[str] = []
    for text in map(str, [specs] if isinstance(specs, str | os.PathLike) else specs):
        if _RELEASE.fullmatch(text) and not os.path.lexists(text):
            releases.append(text)
        elif is_overlay(text):
            overlays.append(overlay_file(text))
        elif os.path.lexists(text):
            files.append(text)
        else:
            close = did_you_mean(close_to(text, bundled_overlays()))
            raise InputError(f"there is no such file, folder, release or overlay{close}", file=text)
    if len(releases) > 1:
        raise InputError(f"--specs takes one release, not {' and '.join(releases)}")
    return _cached_catalog(_stamped(json_files(files)), releases[0] if releases else None, _stamped(overlays))


_RELEASE = re.compile(r"v?\d+\.\d+(\.\d+)?")


def _stamped(files: Iterable[Path]) -> tuple[Stamped, ...]:
    stamped = []
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None
        stamped.append((str(file), status.st_mtime_ns, status.st_size))
    return tuple(stamped)


@lru_cache(maxsize=32)
def _cached_catalog(files: tuple[Stamped, ...], kafka: str | None, laid: tuple[Stamped, ...]) -> Catalog:
    if not files and not laid:
        return _make(kafka, ())
    from kwire_cli.spec.overlay import EVERY, load_overlay, load_paths  # noqa: PLC0415 - only who brings definitions or overlays pays for the parser that keeps positions

    overlays = [load_overlay(file) for file, _, _ in laid]
    made = _make(kafka, load_paths([file for file, _, _ in files]), overlays)
    names = [entry.name for entry in made]
    for overlay in overlays:
        for name in overlay.messages:
            if name not in names and name != EVERY:
                raise overlay.fail(_unknown("message", name, names).reason, ("messages", name))
    return made


@lru_cache(maxsize=16)
def _sent(kafka: str | None, pickled: bytes) -> Catalog:
    """Return the catalogue that another process sent; the same object for the same data."""
    import pickle  # noqa: PLC0415 - only tasks of Spark need it

    return _make(kafka, *pickle.loads(pickled)) if pickled else _cached_catalog((), kafka, ())  # noqa: S301 - our own


def _make(kafka: str | None, added: Sequence[MessageSpec], overlays: Sequence[Overlay] = ()) -> Catalog:
    index = read_bundled("index.json")
    rows: dict[str, Row] = {row["name"]: row for row in index["messages"]}
    early: EarlyVersions = index["releases"]
    for name, release in _layouts_at(kafka, early).items() if kafka else ():
        file = layout_file(release, name)
        rows[name] |= {"file": file} | _versions_row(_bundled_definition(file))
    return Catalog(rows, added, {} if kafka or overlays else early, overlays, kafka)


def _layouts_at(kafka: str, early: EarlyVersions) -> dict[str, str]:
    """Return the messages whose layouts at a release were replaced, with the last release that had the layout."""
    from kwire_cli.spec.accepted import known_releases, minor  # noqa: PLC0415 - only who names a release needs it

    known = known_releases()
    kept = known[known.index(next(iter(early))) :]
    release = minor(kafka)
    if release not in kept:
        raise InputError(f"no layouts of Kafka {kafka} are kept; choose one of {', '.join(kept)}")
    layouts: dict[str, str] = {}
    for last in reversed(early):
        if known.index(last) >= known.index(release):
            layouts |= dict.fromkeys(early[last], last)
    return layouts


def _entry(row: Row) -> Entry:
    headers = tuple((Versions.parse(span), int(number)) for span, number in row.get("headerVersions", {}).items())
    return Entry(
        row["name"], row["type"], row.get("apiKey"), Versions.parse(row["validVersions"]),
        Versions.parse(row["flexibleVersions"]), row["file"],
        tuple(row.get("aliases", ())), row.get("module"), headers,
    )  # fmt: skip


def _with_specs(rows: Mapping[str, Row], added: Sequence[MessageSpec]) -> dict[str, Row]:
    """Return the rows with added definitions: in place of an old row of the same name, or at the end."""
    merged = {**rows}
    for spec in added:
        old = merged.get(spec.name, {})
        merged[spec.name] = {
            "name": spec.name,
            "type": spec.type,
            "apiKey": spec.api_key,
            **_versions_row(spec),
            "file": spec.file or "",
            "aliases": old.get("aliases", ()),
            "module": old.get("module"),
            "headerVersions": {str(versions): number for versions, number in spec.header_versions},
        }
        # A definition brought by the user is the one that its key means.
        for name, row in merged.items() if spec.type in {"request", "response"} else ():
            if name != spec.name and (row["type"], row.get("apiKey")) == (spec.type, spec.api_key):
                merged[name] = row | {"successor": spec.name}
    return merged


def _versions_row(spec: MessageSpec) -> Row:
    return {"validVersions": str(spec.valid_versions), "flexibleVersions": str(spec.flexible_versions)}


@cache
def _bundled_definition(file: str) -> MessageSpec:
    report = Report(f"{specs_folder()}/{file}")
    definition = read_definition(read_bundled(file), report)
    if not definition or report.findings:
        raise SpecError("a definition of kwire's installation is damaged", file=report.file)
    return definition.spec


def _stem(name: str, of: str | None = None) -> str:
    """Return a name without Request or Response; `of` is the name to search for them if case should not count."""
    for suffix in ("request", "response"):
        if (of or name).lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _api(key: int, pair: dict[str, Row], old: list[str]) -> Api:
    request, response = (pair[half]["name"] if half in pair else None for half in ("request", "response"))
    named = pair.get("request") or pair["response"]
    names = dict.fromkeys([_stem(alias) for alias in named.get("aliases", ())] + old)
    return Api(key, _stem(named["name"]), request, response, tuple(names))


def _unknown(what: str, name: str, names: list[str]) -> InputError:
    close = close_to(name, names) or _messages_of_closest_api(name, names)
    return InputError(f"no {what} is called {name!a}{did_you_mean(close) or '; kwire spec list lists all'}")


def _messages_of_closest_api(name: str, names: list[str]) -> list[str]:
    """Return the messages of the api whose name is the closest."""
    stems: dict[str, list[str]] = {}
    for message in names:
        stems.setdefault(_stem(message), []).append(message)
    messages: list[str] = []
    for stem in close_to(name, stems, most=1):
        messages += stems[stem]
    return messages
