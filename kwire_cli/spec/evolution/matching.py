"""Which message of an old set of definitions is which of a new one, and which of their versions are the same bytes by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.evolution.stretches import ranges
from kwire_cli.spec.names import module_of
from kwire_cli.spec.versions import NONE, Versions

if TYPE_CHECKING:
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
    lost: tuple[Versions, ...] = ()
    unreleased: Versions = NONE
    """The old version that was never released (latestVersionUnstable), if there is one."""
    withdrawn: Versions = NONE
    """The released version that the new definition does not release, if there is one."""


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
    unstable = (_unstable(old), _unstable(new))
    return [_match(given, successor, new, unstable) for given, successor in pairs if given and given.spec.valid_versions]


def _identity(given: Given) -> tuple[str, str | None, int | None]:
    return given.spec.type, module_of(given.definition.keys), given.spec.api_key


def _match(old: Given, new: Given | None, after: Definitions, unstable: tuple[frozenset[int], frozenset[int]]) -> Match:
    unreleased = _unreleased(old, unstable[0])
    if not new or not new.spec.valid_versions:
        return Match(old, new, lost=(old.spec.valid_versions,), unreleased=unreleased)
    if new.spec.type == "coordinator-key" and old.spec.type == "data":
        common = _record_types(old, new, after)
    else:
        both = old.spec.valid_versions & new.spec.valid_versions
        common = tuple(Common(version, new, version) for version in both.each())
    kept = {each.version for each in common}
    hidden = _unreleased(new, unstable[1]) & old.spec.valid_versions
    return Match(
        old,
        new,
        common,
        lost=ranges(version for version in old.spec.valid_versions.each() if version not in kept),
        unreleased=unreleased,
        withdrawn=NONE if unreleased.covers(hidden) else hidden,
    )


def _record_types(old: Given, new: Given, after: Definitions) -> tuple[Common, ...]:
    """The number of a coordinator's record type was the version of its key up to Kafka 3.9, and is its apiKey since; the bytes are the same."""
    module = module_of(new.definition.keys)
    keys = {
        given.spec.api_key: given
        for given in after.values()
        if given.spec.type == "coordinator-key" and module_of(given.definition.keys) == module and 0 in given.spec.valid_versions
    }
    return tuple(Common(version, keys[version], 0) for version in old.spec.valid_versions.each() if version in keys)


def _unstable(among: Definitions) -> frozenset[int]:
    """The apiKeys of requests whose latest version is unstable."""
    specs = [given.spec for given in among.values()]
    return frozenset(spec.api_key for spec in specs if spec.type == "request" and spec.latest_version_unstable and spec.api_key is not None)


def _unreleased(given: Given, unstable: frozenset[int]) -> Versions:
    """The latest version, if it is unstable; a response has it from its request."""
    spec = given.spec
    latest = spec.latest_version_unstable or (spec.type == "response" and spec.api_key in unstable)
    return Versions(spec.valid_versions.high, spec.valid_versions.high) if latest else NONE
