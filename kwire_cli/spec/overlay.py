"""User definitions, and overlays, which are JSON files that change definitions.

An overlay is applied to the JSON form of a definition, and the result is checked by the same rules as a file. A
violation that the original did not have is an error with its place in the overlay, so that every result can be used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError, SpecError, did_you_mean
from kwire_cli.spec.accepted import definition_of
from kwire_cli.spec.files import Report, jar_texts, json_files, read_text, specs_folder
from kwire_cli.spec.jsontext import JsonText, parse
from kwire_cli.spec.model import changed, fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES, sized_encoding
from kwire_cli.spec.rules import FATAL, LOADING, examine, examine_value

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kwire_cli.spec.files import Finding
    from kwire_cli.spec.jsontext import Keys, Place
    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.reading import Definition


# Load message definitions that people bring: from text or files, leniently.


def load_text(text: str, file: str | None = None) -> MessageSpec:
    """Load a definition from JSON text: any of Kafka's own, KIP-482's and its draft's, with KAFKA-9927's keys.

    SpecError with file, line, column and path, and nothing else, where the text has no usable meaning.
    """
    return read_text_leniently(text, file)[0].spec


def read_text_leniently(text: str, file: str | None = None) -> tuple[Definition, list[Finding]]:
    """Read a definition as `load_text` does, with the positions of its parts in the text."""
    return _usable(*examine(text, file, LOADING), file)


def _usable(
    definition: Definition | None, findings: list[Finding], file: str | None
) -> tuple[Definition, list[Finding]]:
    fatal = next((finding for finding in findings if finding.rule in FATAL), None)
    if fatal:
        raise SpecError(fatal.message, file=file, line=fatal.line, column=fatal.column, path=fatal.path)
    assert definition  # noqa: S101 - only a fatal finding leaves none
    return definition, findings


def load_file(path: str | os.PathLike[str]) -> MessageSpec:
    """Load the definition in a file, as `load_text` does; InputError where the file cannot be read."""
    return load_text(read_text(path), str(path))


def load_paths(paths: Sequence[str | os.PathLike[str]]) -> list[MessageSpec]:
    """Load files, the definitions in Kafka's jars, and the *.json files of folders (in the order of their names)."""
    specs: list[MessageSpec] = []
    for path in json_files(paths):
        if path.suffix == ".jar":
            specs += [load_text(text, place) for place, text in jar_texts(path)]
        else:
            specs.append(load_file(path))
    return specs


# Overlays: a JSON file that changes encodings, tags and types in definitions, and adds, renames and removes fields, so
# that a proposed format can be created, read and priced.

EVERY = "*"
"""As a message: every message except those whose type is in WITHIN. At the end of a path: every integer field and array
of integers at this place and below."""


GAP = "TAG_NOT_CONTIGUOUS"
"""The rule that an overlay may break: another proposal may use the tags before its tags."""
WITHIN = ("header", "data")
"""Types of messages around or within other messages. A change to the other messages does not change these."""
ENCODINGS = {"encoding": False, "elementEncoding": True}
"""The keys that name encodings, with whether they are for arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """A checked overlay file: its changes by message, and the positions of their keys in its text."""

    file: str
    text: JsonText

    @property
    def messages(self) -> tuple[str, ...]:
        """The names of the messages that it changes, including EVERY if it changes all."""
        return tuple(self.text.value["messages"])

    @property
    def about(self) -> str:
        """The overlay's description of itself, empty if the file omits it."""
        return str(self.text.value.get("about", ""))

    def fail(self, message: str, keys: Keys, path: str | None = None) -> SpecError:
        """Return an error at the place of these keys."""
        place = self.text.nearest(keys)
        return SpecError(message, file=self.file, line=place.line, column=place.column, path=path)

    def laid(self, spec: MessageSpec) -> MessageSpec:
        """Return the definition with the overlay applied, or the same object if the overlay does not change it.

        Raise SpecError with the place in the overlay for a field that the message does not have, and for any new
        violation of the rules of Kafka's generator or KAFKA-9927 in the result.
        """
        names = [
            name for name in (EVERY, spec.name) if name in self.messages and not (name == EVERY and spec.type in WITHIN)
        ]
        if not names:
            return spec
        plain = definition_of(replace(changed(spec, lambda _, field: field), common_structs=()))
        usual = {(finding.rule, finding.path) for finding in examine_value(plain, Report(), LOADING)[1]}
        merge = _OverlayMerge(self, spec, plain)
        for name in names:
            merge.apply_layer(name)
        if not merge.places:
            return spec
        report = Report(self.file, JsonText(plain, merge.places))
        definition, findings = examine_value(plain, report, LOADING)
        wrong = [
            finding
            for finding in findings
            if finding.severity == "error" and finding.rule != GAP and (finding.rule, finding.path) not in usual
        ]
        if wrong:
            # Report the first violation, because later ones may be consequences.
            met = [(finding.rule, finding.path) for finding in report.findings]
            first = min(wrong, key=lambda finding: met.index((finding.rule, finding.path)))
            path = f"{spec.name}.{first.path}" if first.path else spec.name
            raise SpecError(
                f"{first.message} ({first.rule})", file=self.file, line=first.line, column=first.column, path=path
            )
        assert definition  # noqa: S101 - what definition_of gives is one
        laid = replace(definition.spec, file=spec.file)
        if spec.type == "header" and _head(laid) != _head(spec):
            raise self.fail(
                "an overlay cannot change the fields of header version 0, by which a message is recognised",
                ("messages", spec.name),
            )
        return laid


def _head(header: MessageSpec) -> list[tuple[str, FieldSpec]]:
    """Return the first fields of a header, which also belong to its version 0."""
    fields = [*fields_by_path(header)]
    return fields[: sum(0 in field.versions for _, field in fields)]


class _OverlayMerge:
    """One definition, in Kafka's grammar, during the application of layers. `places` has the position in the overlay
    for each changed key.
    """

    def __init__(self, overlay: Overlay, spec: MessageSpec, plain: dict[str, Any]) -> None:
        self.overlay = overlay
        self.spec = spec
        self.plain = plain
        self.places: dict[Keys, Place] = {}
        self.removed = self._remove(overlay.text.value["messages"].get(spec.name, {}).get("fields", {}))
        self.fields = {path: (field, keys) for path, field, keys in _walk(plain, (), "")}

    def _remove(self, layer: Mapping[str, Any]) -> frozenset[str]:
        """Take out the fields that are null in a layer, and return their paths."""
        found = [(path, keys) for path, _, keys in _walk(self.plain, (), "") if path in layer and layer[path] is None]
        for _, (*above, number) in reversed(found):
            owner: Any = self.plain
            for key in above:
                owner = owner[key]
            del owner[number]
        return frozenset(path for path, _ in found)

    def apply_layer(self, name: str) -> None:
        """Apply the overlay's part for a message. Values for one field take precedence over values for a whole
        struct.
        """
        at: Keys = ("messages", name)
        layer = self.overlay.text.value["messages"][name]
        for key, value in layer.items():
            if key not in {"fields", "about"}:
                self._set(self.plain, (), key, value, (*at, key))
        patterns = layer.get("fields", {})
        for pattern in sorted(patterns, key=lambda text: (not _is_wildcard(text), len(text))):
            where = (*at, "fields", pattern)
            values = patterns[pattern]
            if _is_wildcard(pattern):
                self._lay_all(name, pattern, values, where)
            elif pattern in self.removed:
                self.places[()] = self.overlay.text.nearest(where)
            elif pattern in self.fields and values is not None:
                self._lay_one(pattern, values, where)
            elif values is not None and "type" in values and self._has_place(pattern):
                self._add(pattern, values, where)
            else:
                raise self.overlay.fail(
                    f"no field is called {pattern!a}{self._hint(pattern, self.fields)}", where, self.spec.name
                )

    def _has_place(self, path: str) -> bool:
        """Return whether the struct of a new field exists."""
        above = path.rpartition(".")[0].removesuffix("[]")
        return not above or above in self.fields

    def _add(self, path: str, values: Mapping[str, Any], where: Keys) -> None:
        """Add a field at the end of its struct."""
        above, _, name = path.rpartition(".")
        owner, keys = self.fields[above.removesuffix("[]")] if above else (self.plain, ())
        siblings = owner.setdefault("fields", [])
        versions = {"versions": values.get("taggedVersions", owner.get("versions", "0+"))}
        field: dict[str, Any] = {"name": name[:1].upper() + name[1:], "type": values["type"], **versions}
        siblings.append(field)
        self.fields[path] = field, (*keys, "fields", len(siblings) - 1)
        self._lay_one(path, values, where)

    def _lay_all(self, name: str, pattern: str, values: Mapping[str, Any], where: Keys) -> None:
        above = pattern.removesuffix(EVERY)
        laid = False
        for path, (field, _) in self.fields.items():
            fitting = {
                key: value
                for key, value in values.items()
                if key in ENCODINGS and _encodable(field, array=ENCODINGS[key])
            }
            if path.startswith(above) and fitting:
                self._lay_one(path, fitting, where)
                laid = True
        if not laid and name != EVERY:
            all_of = [f"{path.rpartition('.')[0]}.{EVERY}" for path in self.fields if "." in path]
            raise self.overlay.fail(
                f"{pattern} is not an integer field{self._hint(pattern, dict.fromkeys(all_of))}", where, self.spec.name
            )

    def _lay_one(self, path: str, values: Mapping[str, Any], where: Keys) -> None:
        field, keys = self.fields[path]
        kind = str(values.get("type", field["type"]))
        self.places[keys] = self.overlay.text.nearest(where)
        for key, value in values.items():
            if key != "about":
                self._set(field, keys, key, _with_width(value, kind) if key in ENCODINGS else value, (*where, key))

    def _set(self, owner: dict[str, Any], keys: Keys, key: str, value: Any, where: Keys) -> None:
        if value is None:
            owner.pop(key, None)
        else:
            owner[key] = value
        self.places[*keys, key] = self.overlay.text.nearest(where)
        for inner in value if isinstance(value, dict) else ():
            self.places[*keys, key, inner] = self.overlay.text.nearest((*where, inner))

    def _hint(self, path: str, known: Collection[str]) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - for an error message only

        close = [candidate for candidate in known if candidate.endswith(f".{path}")] or get_close_matches(
            path, known, n=3, cutoff=0.5
        )
        return did_you_mean(close)


def _walk(owner: Mapping[str, Any], keys: Keys, above: str) -> Iterator[tuple[str, dict[str, Any], Keys]]:
    """Yield the fields of a definition in Kafka's grammar: the path in JSON names as in `spec.changing`, the JSON
    object, and the keys that lead to it.
    """
    for number, field in enumerate(owner.get("fields", ())):
        name = field["name"]
        path = above + name[:1].lower() + name[1:]
        at = (*keys, "fields", number)
        yield path, field, at
        yield from _walk(field, at, f"{path}[]." if field["type"].startswith("[]") else f"{path}.")


def _is_wildcard(pattern: str) -> bool:
    return pattern == EVERY or pattern.endswith(f".{EVERY}")


def _encodable(field: Mapping[str, Any], *, array: bool) -> bool:
    return field["type"] in ({f"[]{kind}" for kind in ENCODABLE_TYPES} if array else ENCODABLE_TYPES)


def _with_width(value: Any, kind: str) -> Any:
    """Return an encoding with its width, also in an object of version ranges: packed is packed16 on an int16."""
    if isinstance(value, dict):
        return {span: _with_width(name, kind) for span, name in value.items()}
    return sized_encoding(value, kind.removeprefix("[]")) if isinstance(value, str) else value


# Overlay files: finding them, and checking their form. The parts for a message are checked when they are applied to it.

TOP_KEYS = ("about", "messages")


MESSAGE_KEYS = ("about", "validVersions", "flexibleVersions", "fields")
FIELD_KEYS = (
    "about", "name", "type", "fields", "entityType", "mapKey", "versions", "nullableVersions", "flexibleVersions",
    "default", "ignorable", "tag", "taggedVersions", *ENCODINGS,
)  # fmt: skip


def bundled_overlays() -> dict[str, Path]:
    """Return the overlays that are part of kwire, by name."""
    return {file.stem: file for file in sorted(Path(specs_folder(), "overlays").glob("*.json"))}


def overlay_file(name: str | os.PathLike[str]) -> Path:
    """Return the file (or pipe) at this path, or else the bundled overlay of this name.

    Raise InputError if neither exists.
    """
    path = Path(name)
    try:
        if path.exists() and not path.is_dir():
            return path
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=str(name)) from error
    bundled = bundled_overlays()
    if str(name) not in bundled:
        raise InputError(f"no overlay, neither a file nor one of {', '.join(bundled)}", file=str(name))
    return bundled[str(name)]


_OVERLAY = re.compile(r'"messages"\s*:')
"""The key that overlays have and definitions do not."""


def is_overlay(name: str) -> bool:
    """Return whether this is a file with an overlay, or the name of a bundled one. Files take precedence."""
    path = Path(name)
    if not path.exists():
        return name in bundled_overlays()
    return path.is_file() and path.suffix != ".jar" and bool(_OVERLAY.search(read_text(path)))


def load_overlay(name: str | os.PathLike[str]) -> Overlay:
    """Load the overlay in a file, or the bundled one of this name.

    Raise InputError if it does not exist, and SpecError with file, line and column if it is malformed.
    """
    file = overlay_file(name)
    return read_overlay(read_text(file), str(file))


def read_overlay(text: str, file: str = "overlay") -> Overlay:
    """Read an overlay from JSON text, as `load_overlay` does; `file` is its name in errors."""
    overlay = Overlay(file, parse(text, file))
    if after := overlay.text.trailing:
        raise SpecError("nothing may follow an overlay", file=file, line=after.line, column=after.column)
    for keys, place in overlay.text.duplicates:
        raise SpecError(f"the key {keys[-1]!a} occurs twice", file=file, line=place.line, column=place.column)
    _object(overlay, overlay.text.value, (), TOP_KEYS)
    messages = _object(overlay, overlay.text.value.get("messages"), ("messages",))
    for name, layer in messages.items():
        at: Keys = ("messages", name)
        keys = MESSAGE_KEYS if name != EVERY else ("about", "fields")
        _object(overlay, layer, at, keys)
        for path, values in _object(overlay, layer.get("fields", {}), (*at, "fields")).items():
            where = (*at, "fields", path)
            everywhere = path == EVERY or path.endswith(f".{EVERY}")
            if values is None and not everywhere:
                continue
            _object(overlay, values, where, ("about", *ENCODINGS) if everywhere else FIELD_KEYS)
            if name == EVERY and path != EVERY:
                raise overlay.fail(
                    f"of every message only {EVERY} can be meant: messages have no field in common", where
                )
    return overlay


def _object(overlay: Overlay, value: Any, at: Keys, known: Collection[str] = ()) -> dict[str, Any]:
    """Return `value` if it is an object. Raise SpecError for another type, or for a key outside `known` if that is
    given.
    """
    if not isinstance(value, dict):
        raise overlay.fail(
            f"{at[-1]!a} takes an object" if at else "an overlay is an object, and messages is a key of it", at
        )
    for key in value:
        if known and key not in known:
            raise overlay.fail(f"{key!a} is not a key here; keys are {', '.join(known)}", (*at, key))
    return value
