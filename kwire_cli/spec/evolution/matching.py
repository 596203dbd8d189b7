"""Which message of an old set of definitions is which of a new one, and which of their versions are the same bytes by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.names import module_of
from kwire_cli.spec.versions import MAX, NONE, Versions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.spec.evolution.given import Given
    from kwire_cli.spec.evolution.sources import Definitions


class Common(NamedTuple):
    """A version of an old definition, and the new definition and version under which the same number stands for it on the wire."""

    version: int
    new: Given
    new_version: int


@dataclass(frozen=True)
class Match:
    """A message with what became of it. `new` is None where it is gone; `lost` are versions that nothing stands for any more.

    A new definition without versions is reserved: the message is gone, and nothing else may take its apiKey.
    """

    old: Given
    new: Given | None
    common: tuple[Common, ...] = ()
    lost: tuple[int, ...] = ()
    unreleased: frozenset[int] = frozenset()
    """Old versions that were never released (latestVersionUnstable)."""
    withdrawn: tuple[int, ...] = ()
    """Released versions that the new definition does not release."""


def message_pairs(old: Definitions, new: Definitions, *, part: bool = False) -> list[tuple[Given | None, Given | None]]:
    """Every message with its successor, those that are gone with None in the order of the old, then the new ones.

    A successor is of the same name, or of the same type and apiKey under a new name. With `part` the new definitions are not all that there are: what
    is not among them is left out, and a message alone on either side is the other's whatever their names.
    """
    if part and len(old) == len(new) == 1:
        return [(next(iter(old.values())), next(iter(new.values())))]
    renamed = {_identity(given): given for name, given in new.items() if name not in old and given.spec.valid_versions}
    pairs: list[tuple[Given | None, Given | None]] = []
    for name, given in old.items():
        successor = new.get(name)
        if (not successor or not successor.spec.valid_versions) and given.spec.api_key is not None:
            successor = renamed.get(_identity(given), successor)
        if successor or not part:
            pairs.append((given, successor))
    taken = {id(successor) for _, successor in pairs}
    return pairs + [(None, given) for given in new.values() if id(given) not in taken]


def matched(old: Definitions, new: Definitions, *, part: bool = False) -> list[Match]:
    """Every old message that has versions with what became of it; `part` as in `message_pairs`."""
    pairs = message_pairs(old, new, part=part)
    return [_match(given, successor, old, new) for given, successor in pairs if given and given.spec.valid_versions]


def _identity(given: Given) -> tuple[str, str | None, int | None]:
    return given.spec.type, module_of(given.definition.keys), given.spec.api_key


def _match(old: Given, new: Given | None, before: Definitions, after: Definitions) -> Match:
    unreleased = _unreleased(old, before)
    if not new or not new.spec.valid_versions:
        return Match(old, new, lost=tuple(versions_of(old)), unreleased=frozenset(unreleased.each()))
    if new.spec.type == "coordinator-key" and old.spec.type == "data":
        common = _record_types(old, new, after)
    else:
        valid = versions_of(new)
        common = tuple(Common(version, new, version) for version in versions_of(old) if version in valid)
    kept = {each.version for each in common}
    hidden = _unreleased(new, after)
    return Match(
        old,
        new,
        common,
        lost=tuple(version for version in versions_of(old) if version not in kept),
        unreleased=frozenset(unreleased.each()),
        withdrawn=tuple(each.version for each in common if each.new_version in hidden and each.version not in unreleased),
    )


def _record_types(old: Given, new: Given, after: Definitions) -> tuple[Common, ...]:
    """The number of a coordinator's record type was the version of its key up to Kafka 3.9, and is its apiKey since; the bytes are the same."""
    module = module_of(new.definition.keys)
    keys = {
        given.spec.api_key: given
        for given in after.values()
        if given.spec.type == "coordinator-key" and module_of(given.definition.keys) == module and 0 in given.spec.valid_versions
    }
    return tuple(Common(version, keys[version], 0) for version in versions_of(old) if version in keys)


def versions_of(given: Given) -> range:
    """The valid versions. There are no more than an int16 can number."""
    valid = given.spec.valid_versions
    return range(valid.low, min(valid.high, MAX) + 1)


def _unreleased(given: Given, among: Definitions) -> Versions:
    """The latest version, if it is unstable; a response has it from its request."""
    spec = given.spec
    unstable = spec.latest_version_unstable or any(
        other.spec.latest_version_unstable for other in _requests(spec.api_key, among.values()) if spec.type == "response"
    )
    return Versions(spec.valid_versions.high, spec.valid_versions.high) if unstable else NONE


def _requests(api_key: int | None, among: Iterable[Given]) -> list[Given]:
    return [given for given in among if given.spec.type == "request" and given.spec.api_key == api_key and api_key is not None]
