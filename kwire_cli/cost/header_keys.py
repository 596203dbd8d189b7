"""The keys of headers as names and as numbers: what a form with integer keys needs, and what it says of a form without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kwire_cli.errors import InputError
from kwire_cli.structs.places import shown
from kwire_cli.structs.records.kip82 import KEY_RANGES, REGISTERED

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping

    Headers = tuple[tuple[str | int, bytes | None], ...]

Key = TypeVar("Key", int, str)

USER_RANGE = next(each for each in KEY_RANGES if (each.space, each.use) == ("Local", "User"))
"""Where names that no register has get their numbers."""
_HIGHEST = KEY_RANGES[-1].last

UNNUMBERED = "headers left out: the Local User range of keys is full"
NULLS = "headers with null values, written as empty ones"
REPEATED = "headers left out: their key comes again, and a map has the last one alone"
UNSORTED = "records whose headers change their order"


class Register:
    """Numbers of names: the user's own, then those of the document's two sample registers that are left, then from 0x00140000 up as names appear."""

    def __init__(self, own: Mapping[str, int] | None = None) -> None:
        given = dict(own or {})
        taken = {*given.values()}
        self._numbers = {each.name: each.key for each in REGISTERED.values() if each.key not in taken} | given
        self._names = {number: name for name, number in self._numbers.items()}
        self._next = USER_RANGE.first

    def number(self, name: str) -> int | None:
        """That of a name; None where all numbers that it could get are taken."""
        known = self._numbers.get(name)
        if known is not None:
            return known
        while self._next in self._names and self._next <= USER_RANGE.last:
            self._next += 1
        if self._next > USER_RANGE.last:
            return None
        self._numbers[name], self._names[self._next] = self._next, name
        return self._next

    def name(self, number: int) -> str:
        """That of a number; the number itself where it has none."""
        return self._names.get(number, str(number))


def register_of(document: Any, file: str | None = None) -> Register:
    """A register from JSON: an object of names with their numbers, or a list of objects with `key` and `name`. InputError for anything else."""
    if isinstance(document, list):
        if not all(isinstance(each, dict) and {"key", "name"} <= each.keys() for each in document):
            raise InputError('a register is {"name": number, …} or [{"key": number, "name": "…"}, …]', file=file)
        pairs = [(each["name"], each["key"]) for each in document]
    elif isinstance(document, dict):
        pairs = [*document.items()]
    else:
        raise InputError(f"a register is an object or a list of objects, not {shown(document)}", file=file)
    own: dict[str, int] = {}
    taken: set[int] = set()
    for name, number in pairs:
        if not isinstance(name, str) or isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _HIGHEST:
            raise InputError(f"a register has names with numbers from 0 to {_HIGHEST}, not {shown(name)} with {shown(number)}", file=file)
        if number in taken:
            raise InputError(f"the register gives the number {number} twice", file=file)
        own[name] = number
        taken.add(number)
    return Register(own)


def named(headers: Headers, register: Register) -> list[tuple[str, bytes | None]]:
    """Headers with names for keys."""
    return [(register.name(key) if isinstance(key, int) else key, value) for key, value in headers]


def mapped(headers: Headers, register: Register, lost: Counter[str]) -> dict[str, bytes]:
    """Headers as a map of names, without nulls; what that loses is counted in `lost`."""
    return _without_nulls(named(headers, register), lost)


def numbered(headers: Headers, register: Register, lost: Counter[str]) -> dict[int, bytes]:
    """Headers as the KIP-82 draft has them: a map of numbers, ascending; what that loses is counted in `lost`."""
    keys = [(key if isinstance(key, int) else register.number(key), value) for key, value in headers]
    lost[UNNUMBERED] += sum(key is None for key, _ in keys)
    found = _without_nulls([(key, value) for key, value in keys if key is not None], lost)
    ascending = dict(sorted(found.items()))
    lost[UNSORTED] += [*ascending] != [*found]
    return ascending


def _without_nulls(pairs: Iterable[tuple[Key, bytes | None]], lost: Counter[str]) -> dict[Key, bytes]:
    found: dict[Key, bytes | None] = {}
    for key, value in pairs:
        lost[REPEATED] += key in found
        found[key] = value
    lost[NULLS] += sum(value is None for value in found.values())
    return {key: value or b"" for key, value in found.items()}
