"""Overlay files: where they are found, and whether they have the form of one; what they say about a message is checked when it is laid over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.files import read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.location import specs_folder
from kwire_cli.spec.overlay import ENCODINGS, EVERY, Overlay

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from kwire_cli.spec.jsontext import Keys

TOP_KEYS = ("about", "messages")
MESSAGE_KEYS = ("about", "validVersions", "flexibleVersions", "fields")
FIELD_KEYS = (
    "about", "type", "versions", "nullableVersions", "flexibleVersions", "default", "ignorable", "tag", "taggedVersions", *ENCODINGS,
)  # fmt: skip


def bundled_overlays() -> dict[str, Path]:
    """The overlays that come with kwire, by name."""
    return {file.stem: file for file in sorted(Path(specs_folder(), "overlays").glob("*.json"))}


def overlay_file(name: str | os.PathLike[str]) -> Path:
    """The file (or pipe) that is meant: one of this path, else the bundled overlay of this name; InputError where there is neither."""
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


def load_overlay(name: str | os.PathLike[str]) -> Overlay:
    """The overlay in a file, or the bundled one of this name.

    InputError where there is none, SpecError with file, line and column where it has not the form of one.
    """
    file = overlay_file(name)
    return read_overlay(read_text(file), str(file))


def read_overlay(text: str, file: str = "overlay") -> Overlay:
    """The overlay in a text, as `load_overlay` reads it; `file` is what errors call it."""
    overlay = Overlay(file, parse(text, file=file, comments=True))
    for keys, place in overlay.text.duplicates:
        # Two version ranges of one encoding that are the same get the message that overlapping ones get.
        if len(keys) < 2 or keys[-2] not in ENCODINGS:
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
            _object(overlay, values, where, ("about", *ENCODINGS) if everywhere else FIELD_KEYS)
            if name == EVERY and path != EVERY:
                raise overlay.fail(f"of every message only {EVERY} can be meant: messages have no field in common", where)
    return overlay


def _object(overlay: Overlay, value: Any, at: Keys, known: Collection[str] = ()) -> dict[str, Any]:
    """`value` if it is an object, with none but the `known` keys where these are given."""
    if not isinstance(value, dict):
        raise overlay.fail(f"{at[-1]!a} takes an object" if at else "an overlay is an object, and messages is a key of it", at)
    for key in value:
        if known and key not in known:
            raise overlay.fail(f"{key!a} is not a key here; keys are {', '.join(known)}", (*at, key))
    return value
