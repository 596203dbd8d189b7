"""The values of a definition's keys, coerced as Kafka's parser (Jackson) coerces them: "0" for 0, "false" for false, 1 for "1"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.spec.findings import Report, Spot

_NUMBER_DIGITS = 20
"""No number of a definition is longer."""


def stated(keys: Mapping[str, Any], key: str) -> bool:
    """Whether a key says anything: for Kafka an empty text and null are the same as an absent key."""
    value = keys.get(key)
    return value is not None and value != ""


def text(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> str | None:
    """The text under a key; None where it is absent or JSON's null."""
    value = keys.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    report.add("KEY_TYPE", f"{key} takes a text, not {_kind(value)}", spot.key(key))
    return None


def versions(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> Versions | None:
    """The version range under a key; None where it is absent or unreadable. An empty text is the same as an absent one, as for Kafka."""
    value = text(keys, key, spot, report)
    if not value or not value.strip():
        return None
    try:
        return Versions.parse(value)
    except ValueError as error:
        report.add("VERSIONS_SYNTAX", str(error), spot.key(key))
        return None


def integer(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> int | None:
    """The integer under a key; None where it is absent or none."""
    value = keys.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        digits = value.strip()
        if digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) <= _NUMBER_DIGITS:
            return int(digits)
    report.add("KEY_TYPE", f"{key} takes an integer, not {_kind(value)}", spot.key(key))
    return None


def boolean(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> bool:
    """The truth value under a key; False where it is absent or none."""
    value = keys.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    report.add("KEY_TYPE", f"{key} takes true or false, not {_kind(value)}", spot.key(key))
    return False


def items(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> Iterator[tuple[Mapping[str, Any], Spot]]:
    """The objects in the list under a key with their places; a single object may stand for a list of one."""
    value = keys.get(key)
    if value is None:
        return
    single = not isinstance(value, list)
    for index, item in enumerate([value] if single else value):
        if not isinstance(item, dict):
            report.add("KEY_TYPE", f"{key} takes a list of objects, not {_kind(item)}", spot.key(key))
            continue
        name = item.get("name")
        at = spot.item(key, index, name if isinstance(name, str) else "")
        yield item, at._replace(keys=(*spot.keys, key)) if single else at


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else ascii(value)[:40]
