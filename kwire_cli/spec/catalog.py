"""Every message definition, looked up by name, api key or alias; header versions, error names and named values beside
them.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, SpecError, close_to, did_you_mean
from kwire_cli.spec.field_names import FieldNames
from kwire_cli.spec.files import Finding, Report, json_files, layout_file, read_bundled, specs_folder
from kwire_cli.spec.model import Enums, Versions, field_at, header_version_of
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Loaded, Overlay
    from kwire_cli.spec.serdes import Serdes

    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

HeaderVersions = tuple[tuple[Versions, int], ...]

EarlyVersions = dict[str, dict[str, str]]
"""Messages whose layouts were replaced under the same version, with these versions, by the last release that had them.
The oldest release comes first.
"""


Stamped = tuple[str, int, int]
"""A file with its time and size: what is made from it is made again when these change."""


class Entry(NamedTuple):
    """A definition as known before it is read.

    `module` is Kafka's, for records: their api keys are unique within a module.
    """

    name: str
    type: str
    api_key: int | None
    valid_versions: Versions
    flexible_versions: Versions
    file: str
    aliases: tuple[str, ...] = ()
    module: str | None = None
    successor: str | None = None
    """The message that took over this one's api key; lookup by key finds that one."""
    header_versions: HeaderVersions = ()


class Api(NamedTuple):
    """A pair of a request and its response, each named in full; None where a catalogue lacks one of them."""

    key: int
    name: str
    request: str | None
    response: str | None
    aliases: tuple[str, ...] = ()


class ErrorCode(NamedTuple):
    """A row of Kafka's error codes; `retriable` says whether its exception is a RetriableException (`Errors`)."""

    code: int
    name: str
    retriable: bool


class ErrorMeaning(NamedTuple):
    """An error code in words: what it means, by whom and when it is given, and what clients do about it."""

    meaning: str
    given: str
    clients: str


class Catalog:
    """Message definitions by name and api key; made by `catalog()`. Definitions are read when first asked for."""

    serdes: Serdes | None = None  # the formats of records that applications wrote, if they are known

    def __init__(
        self,
        entries: Sequence[Entry],
        added: Sequence[Loaded],
        early: EarlyVersions,
        folder: str,
        overlays: Sequence[Overlay] = (),
        kafka: str | None = None,
    ) -> None:
        self._folder = folder
        self._kafka, self._brought = kafka, tuple(added)
        self._overlays = tuple(overlays)
        self._added = {loaded.spec.name: loaded.spec for loaded in added}
        self._read: dict[str, MessageSpec] = {}
        self._early = early
        self.findings: tuple[Finding, ...] = tuple(finding for loaded in added for finding in loaded.findings)
        self.entries = _merge(entries, [loaded.spec for loaded in added])
        if overlays:
            self.entries = tuple(self._overlaid(entry) for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a catalogue with the definitions and overlays that people brought: their files need not be there."""
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

        return pickle.dumps((self._brought, self._overlays)) if self._brought or self._overlays else b""

    def __getitem__(self, key: str | int) -> MessageSpec | Api:
        """A message by its full name, or an api by its key (3) or name ("metadata"); InputError if there is neither."""
        if isinstance(key, str) and key.strip().lower() in self._by_name:
            return self.message(key)
        try:
            return self.api(key)
        except InputError:
            names = [*(entry.name for entry in self.entries), *(api.name for api in self.apis)]
            raise _unknown("message or api", str(key), names) from None

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        names = {alias.lower(): entry for entry in self.entries for alias in entry.aliases}
        return names | {entry.name.lower(): entry for entry in self.entries}

    def entry(self, name: str) -> Entry:
        """The entry of a message by its full name or an alias, in any case; InputError names close matches."""
        message_entry = self._by_name.get(name.strip().lower())
        if not message_entry:
            raise _unknown("message", name, [entry.name for entry in self.entries])
        return message_entry

    def message(self, name: str) -> MessageSpec:
        """The definition of a message by its full name or an alias, in any case; InputError names close matches."""
        entry = self.entry(name)
        return self._read.get(entry.name) or self._definition(entry)

    def _definition(self, entry: Entry) -> MessageSpec:
        spec = self._added.get(entry.name) or _read_bundled_definition(self._folder, entry)
        for overlay in self._overlays:
            spec = overlay.laid(spec)
        self._read[entry.name] = spec
        return spec

    def _overlaid(self, entry: Entry) -> Entry:
        """The entry with the versions that overlays give it; what they say about it is checked at once."""
        if not any(entry.name in overlay.messages for overlay in self._overlays):
            return entry
        spec = self._definition(entry)
        return entry._replace(valid_versions=spec.valid_versions, flexible_versions=spec.flexible_versions)

    @cached_property
    def field_names(self) -> FieldNames:
        """The names of the fields in all definitions."""
        names = FieldNames(((entry.type, entry.name) for entry in self), self.message)
        names.any_in_records = self.serdes is not None
        return names

    @cached_property
    def apis(self) -> tuple[Api, ...]:
        """Every api, by ascending key."""
        pairs: dict[int, dict[str, Entry]] = {}
        old: dict[int, list[str]] = {}
        for entry in self.entries:
            if entry.type not in {"request", "response"} or entry.api_key is None:
                continue
            if entry.successor and entry.successor.lower() in self._by_name:
                old.setdefault(entry.api_key, []).append(_stem(entry.name))
            else:
                pairs.setdefault(entry.api_key, {})[entry.type] = entry
        return tuple(_api(key, pair, old.get(key, [])) for key, pair in sorted(pairs.items()))

    @cached_property
    def _apis_by_key(self) -> dict[int, Api]:
        return {api.key: api for api in self.apis}

    @cached_property
    def _apis_by_name(self) -> dict[str, Api]:
        names = {alias.lower(): api for api in self.apis for alias in api.aliases}
        return names | {api.name.lower(): api for api in self.apis}

    @cached_property
    def _readable_by_key(self) -> dict[int, Api]:
        return {
            api.key: api
            for api in self.apis
            if all(self.entry(half).valid_versions for half in (api.request, api.response) if half)
        }

    def api_by_key(self, key: int) -> Api | None:
        """The api of a key whose messages can be read; None if there is none, or if it is reserved (no versions)."""
        return self._readable_by_key.get(key)

    def named_api(self, key: int) -> Api | None:
        """The api of a key, reserved or not, for its name; None if there is none."""
        return self._apis_by_key.get(key)

    def api(self, text: str | int) -> Api:
        """The api of a key (3, "3") or a name in any case (metadata, ListOffset); InputError with close matches where
        there is none.
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

    def request_header_version(self, api_key: int, version: int) -> int:
        """Return the header version of a request: by headerVersions, Kafka's exceptions, else 2 if flexible or 1."""
        return self._header_version(api_key, version, "request")

    def response_header_version(self, api_key: int, version: int) -> int:
        """Return the header version of a response: by headerVersions, Kafka's exceptions, else 1 if flexible or 0."""
        return self._header_version(api_key, version, "response")

    def _header_version(self, api_key: int, version: int, kind: str) -> int:
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
        return _of_release(self.entry(name), release)[1]

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
        return {row["name"]: ErrorMeaning(row["meaning"], row["given"], row["clients"]) for row in rows}

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
        """Return the names of a field's values, by the number; empty if they have none. A path as in `named_value`."""
        field = field_at(self.message(message), field_path)
        if field and field.type == "int16" and field_path[-9:].lower() == "errorcode":
            return {row.code: row.name for row in self.errors}
        names = self._enums.names(f"{message}.{field_path}")
        return {int(value): name for value, name in names.items() if value.lstrip("-").isdigit()}

    def named_value(self, message: str, field_path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
        """Return the name of a field's value, or None; names joined by | for a bit set.

        A path has no indexes: Topics.ErrorCode. Record batches, and what Kafka writes by hand, have no names.
        """
        entry = self._by_name.get(message.lower())
        if entry is None:
            return None
        if field_path[-9:].lower() == "errorcode" and isinstance(value, int):
            field = field_at(self.message(entry.name), field_path)
            return self.error_name(value) if field and field.type == "int16" else None
        return self._enums.name(f"{entry.name}.{field_path}", value)


def catalog(specs: Paths | None = None, kafka: str | None = None, overlays: Paths | None = None) -> Catalog:
    """Return every message definition.

    Look up by name (`c["MetadataResponse"]`) or api (`c.api("metadata")`, `c.api(3)`). There is one object for
    all who ask for the same, while their files stay as they are.

    `specs` is a file or a folder, or several, of further definitions, which replace those of their name; `kafka`
    chooses the release ("3.9") whose layouts count where releases differ under one version number. `overlays` are
    files, or names of bundled ones, that are laid over the definitions in this order. InputError for an unknown release
    or a missing file, SpecError (file, line, column) for a definition that can't be loaded or an overlay that does not
    fit; lesser problems are in `.findings`.
    """
    if not specs and not overlays:
        return _bundled(kafka)
    files = tuple((str(file), *_stamp(file)) for file in json_files(_several(specs)))
    if not overlays:
        return _with_added(files, kafka)
    from kwire_cli.spec.overlay import overlay_file  # noqa: PLC0415 - as in _with_overlays

    laid = [overlay_file(name) for name in _several(overlays)]
    return _with_overlays(files, kafka, tuple((str(file), *_stamp(file)) for file in laid))


def _several(paths: Paths | None) -> list[str | os.PathLike[str]]:
    return [paths] if isinstance(paths, str | os.PathLike) else [*(paths or ())]


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _with_overlays(files: tuple[Stamped, ...], kafka: str | None, laid: tuple[Stamped, ...]) -> Catalog:
    from kwire_cli.spec.overlay import EVERY, load_overlay, load_paths  # noqa: PLC0415 - only who brings definitions or overlays pays for the parser that keeps positions

    overlays = [load_overlay(file) for file, _, _ in laid]
    names = [entry.name for entry in (_with_added(files, kafka) if files else _bundled(kafka))]
    for overlay in overlays:
        for name in overlay.messages:
            if name not in names and name != EVERY:
                raise overlay.fail(_unknown("message", name, names).reason, ("messages", name))
    return _make(kafka, load_paths([file for file, _, _ in files]), overlays)


@lru_cache(maxsize=16)
def _with_added(files: tuple[Stamped, ...], kafka: str | None) -> Catalog:
    from kwire_cli.spec.overlay import load_paths  # noqa: PLC0415 - only who brings definitions pays for the parser that keeps positions

    return _make(kafka, load_paths([file for file, _, _ in files]))


@cache
def _bundled(kafka: str | None) -> Catalog:
    return _make(kafka, ())


@lru_cache(maxsize=16)
def _sent(kafka: str | None, pickled: bytes) -> Catalog:
    """The catalogue that came from another process: one object however often it comes."""
    import pickle  # noqa: PLC0415 - only tasks of Spark need it

    return _make(kafka, *pickle.loads(pickled)) if pickled else _bundled(kafka)  # noqa: S301 - our own


def _make(kafka: str | None, added: Sequence[Loaded], overlays: Sequence[Overlay] = ()) -> Catalog:
    index = read_bundled("index.json")
    memo: dict[str, Versions] = {}
    entries = [_entry(row, memo) for row in index["messages"]]
    early: EarlyVersions = index["releases"]
    if kafka:
        layouts = _layouts_at(kafka, early)
        entries = [_of_release(entry, layouts[entry.name])[0] if entry.name in layouts else entry for entry in entries]
    return Catalog(entries, added, {} if kafka or overlays else early, specs_folder(), overlays, kafka)


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


@cache
def _of_release(entry: Entry, release: str) -> tuple[Entry, MessageSpec]:
    """Return the entry and the definition of the layout that a message had up to a release."""
    file = layout_file(release, entry.name)
    spec = _read_bundled_definition(specs_folder(), entry._replace(file=file))
    early = entry._replace(file=file, valid_versions=spec.valid_versions, flexible_versions=spec.flexible_versions)
    return early, spec


def _entry(row: dict[str, Any], memo: dict[str, Versions]) -> Entry:
    def versions(text: str) -> Versions:
        # The index has few different ranges: reading each once is most of a millisecond saved.
        return memo.get(text) or memo.setdefault(text, Versions.parse(text))

    headers = tuple((Versions.parse(span), int(number)) for span, number in row.get("headerVersions", {}).items())
    return Entry(
        row["name"], row["type"], row.get("apiKey"), versions(row["validVersions"]), versions(row["flexibleVersions"]),
        row["file"],
        tuple(row.get("aliases", ())), row.get("module"), row.get("successor"), headers,
    )  # fmt: skip


def _merge(entries: Sequence[Entry], added: Sequence[MessageSpec]) -> tuple[Entry, ...]:
    """The entries with those of added definitions: of the same name in place of the old, the rest at the end."""
    merged = {entry.name: entry for entry in entries}
    for spec in added:
        old = merged.get(spec.name)
        merged[spec.name] = Entry(
            spec.name, spec.type, spec.api_key, spec.valid_versions, spec.flexible_versions, spec.file or "",
            old.aliases if old else (), old.module if old else None, None, spec.header_versions,
        )  # fmt: skip
        if spec.type in {"request", "response"}:
            # A definition brought by the user is the one that its key means.
            for entry in list(merged.values()):
                if entry.name != spec.name and (entry.type, entry.api_key) == (spec.type, spec.api_key):
                    merged[entry.name] = entry._replace(successor=spec.name)
    return tuple(merged.values())


def _read_bundled_definition(folder: str, entry: Entry) -> MessageSpec:
    report = Report(f"{folder}/{entry.file}")
    definition = read_definition(read_bundled(entry.file), report)
    if not definition or report.findings:
        raise SpecError("a definition of kwire's installation is damaged", file=report.file)
    return definition.spec


def _stem(name: str, of: str | None = None) -> str:
    """A name without Request or Response; `of` is the name to look for them in, where case should not count."""
    for suffix in ("request", "response"):
        if (of or name).lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _api(key: int, pair: dict[str, Entry], old: list[str]) -> Api:
    request, response = pair.get("request"), pair.get("response")
    named = request or response
    assert named  # noqa: S101 - a pair holds at least the entry it was made for
    names = dict.fromkeys([_stem(alias) for alias in named.aliases] + old)
    return Api(key, _stem(named.name), request and request.name, response and response.name, tuple(names))


def _unknown(what: str, name: str, names: list[str]) -> InputError:
    return InputError(
        f"no {what} is called {name!a}"
        f"{did_you_mean(close_to(name, names) or _halves(name, names)) or '; kwire spec list lists all'}"
    )


def _halves(name: str, names: list[str]) -> list[str]:
    """The messages of the api whose name is the closest."""
    stems: dict[str, list[str]] = {}
    for message in names:
        stems.setdefault(_stem(message), []).append(message)
    return [message for stem in close_to(name, stems, most=1) for message in stems[stem]]
