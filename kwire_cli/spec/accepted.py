"""Which versions of which apis each release of Kafka accepts: `specs/releases.json`, one row a release, made from the definitions of its jars."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.spec.location import read_bundled
from kwire_cli.spec.versions import Versions
from kwire_cli.spec.writer import rows_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    Row = dict[str, dict[str, str]]
    """Ranges by api key: `accepted`, and where there are any `deprecated`."""

FILE = "releases.json"


class Accepted(NamedTuple):
    """What one release accepts, by api key: what a broker or a controller answers. `deprecated` are versions that it says a later one will refuse.

    Versions that a release calls unstable are not among them: a broker speaks these only where a test asks it to.
    """

    release: str
    versions: dict[int, Versions]
    deprecated: dict[int, Versions]


def known_releases() -> tuple[str, ...]:
    """The releases, from the oldest on."""
    return tuple(read_bundled(FILE))


def accepted_by(release: str) -> Accepted:
    """What a release accepts: `4.4`, or a patch of it, `4.4.1`. InputError where its definitions were never read."""
    known: dict[str, Any] = read_bundled(FILE)
    name = minor(release)
    if name not in known:
        raise InputError(f"what Kafka {release!a} accepts is not known; choose one of {', '.join(known)}")
    row = known[name]
    return Accepted(name, _ranges(row["accepted"]), _ranges(row.get("deprecated", {})))


def minor(release: str) -> str:
    """The release that a patch belongs to, since patches change no versions: 4.4 of 4.4.1."""
    return ".".join(release.strip().removeprefix("v").split(".")[:2])


def _ranges(texts: Mapping[str, str]) -> dict[int, Versions]:
    return {int(key): Versions.parse(text) for key, text in texts.items()}


def accepted_row(definitions: Iterable[Mapping[str, Any]], *, base: str | None = None, specs: Path | None = None) -> Row:
    """The row of a release, of the definitions in its jars; with `base`, the row of that release in a specs folder with these in it."""
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
    return {name: dict(sorted(ranges.items(), key=_number)) for name, ranges in (("accepted", accepted), ("deprecated", deprecated)) if ranges}


def _number(item: tuple[str, str]) -> int:
    return int(item[0])


def _rows(specs: Path) -> dict[str, Row]:
    file = specs / FILE
    rows: dict[str, Row] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return rows


def write_row(specs: Path, release: str, row: Row) -> None:
    """Write the row of a release into a specs folder's file, beside those of others that it has already."""
    rows = _rows(specs) | {minor(release): row}
    text = rows_text({name: rows[name] for name in sorted(rows, key=lambda name: [int(part) for part in name.split(".")])})
    (specs / FILE).write_text(text, "utf-8")
