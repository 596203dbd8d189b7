"""A field to add to a message, as one line of text: `clientZone: string, nullable, tag`.

The line is `PATH: TYPE` and then, in any order, `nullable`, `tag` or `tag N`, `default VALUE` and `versions RANGE`. It
becomes an overlay, so the same rules check it. Without versions the field is in all flexible versions, or in all valid
versions of a message that has no flexible ones. Versions that the message does not have become valid.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.spec.model import fields_by_path, free_tags
from kwire_cli.spec.overlay import read_overlay

if TYPE_CHECKING:
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Overlay

FORM = "PATH: TYPE[, nullable][, tag [N]][, default VALUE][, versions RANGE]"
_FIELD = re.compile(r"\s*(?P<path>[A-Za-z][\w.\[\]]*)\s*:\s*(?P<type>[\w\[\]]+)\s*(?P<rest>(?:,.*)?)")
_VERSIONS = re.compile(r"\d{1,5}(?:\+|-\d{1,5})?")


def is_field_text(text: str) -> bool:
    """Return whether a text begins with the path and the type of a field."""
    return _FIELD.fullmatch(text) is not None


def overlay_of_field(spec: MessageSpec, text: str) -> Overlay:
    """Return the overlay that adds the field in `text` to a message.

    Raises:
        InputError: The text does not have the form FORM.
        SpecError: The field breaks a rule of definitions.

    """
    match = _FIELD.fullmatch(text)
    if match is None:
        raise InputError(f"{text!a} is not a field: {FORM}")
    if match["path"] in dict(fields_by_path(spec)):
        raise InputError(f"{spec.name} has a field {match['path']} already")
    settings = dict(_setting(word.strip(), text) for word in match["rest"].split(",")[1:])
    usual = spec.flexible_versions or spec.valid_versions
    versions = settings.get("versions", f"{usual.low}+")
    field: dict[str, Any] = {"type": match["type"], "versions": versions}
    if "nullable" in settings:
        field |= {"nullableVersions": versions, "default": "null"}
    if "tag" in settings:
        number = settings["tag"] or free_tags(spec).get(match["path"].rpartition(".")[0], 0)
        field |= {"tag": int(number), "taggedVersions": versions}
    if "default" in settings:
        field["default"] = settings["default"]
    layer: dict[str, Any] = {"fields": {match["path"]: field}}
    first = int(versions.rstrip("+").partition("-")[0])
    if first > spec.valid_versions.high:
        layer["validVersions"] = f"{spec.valid_versions.low}-{first}"
    return read_overlay(json.dumps({"messages": {spec.name: layer}}), f"the new field {text!a}")


def _setting(word: str, text: str) -> tuple[str, str]:
    name, _, value = word.partition(" ")
    fits = {
        "nullable": not value,
        "tag": not value or value.isdecimal(),
        "default": True,
        "versions": _VERSIONS.fullmatch(value),
    }
    if not fits.get(name):
        raise InputError(f"{word!a} in {text!a} is not a setting of a field: {FORM}")
    return name, value.strip()
