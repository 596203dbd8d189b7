"""Registers of the KIP-82 draft: the names of header keys, which are numbers.

The document divides the numbers into ranges and shows two sample registers (`structs.records.kip82`). An organisation
has its own register, which is a JSON file here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.structs.numbers import shown
from kwire_cli.structs.records.kip82 import KEY_RANGES, REGISTERED, key_range

if TYPE_CHECKING:
    from collections.abc import Mapping

USER_RANGE = next(keys for keys in KEY_RANGES if (keys.space, keys.use) == ("Local", "User"))
"""The range of numbers for names that no register has."""
_HIGHEST = KEY_RANGES[-1].last


class Register:
    """Numbers of names: the user's first, then the rest of the document's two sample registers, then from 0x00140000 up
    as names appear.
    """

    def __init__(self, own: Mapping[str, int] | None = None) -> None:
        numbers = dict(own or {})
        taken = {*numbers.values()}
        self._numbers = {name: key for key, name in REGISTERED.items() if key not in taken} | numbers
        self._names = {number: name for name, number in self._numbers.items()}
        self._next = USER_RANGE.first

    def number(self, name: str) -> int | None:
        """Return the number of a name, or None if all numbers that the name could get are taken."""
        assigned = self._numbers.get(name)
        if assigned is not None:
            return assigned
        while self._next in self._names and self._next <= USER_RANGE.last:
            self._next += 1
        if self._next > USER_RANGE.last:
            return None
        self._numbers[name], self._names[self._next] = self._next, name
        return self._next

    def label(self, number: int) -> str:
        """Return the name of a number, if it has one, and the range that the number is in."""
        name = self._names.get(number)
        where = key_range(number).label
        return f"{name} ({where})" if name else f"({where})"

    def name(self, number: int) -> str:
        """Return the name of a number, or the number itself as text if it has no name."""
        return self._names.get(number, str(number))


def register_of(document: Any, file: str | None = None) -> Register:
    """Return a register from JSON: an object of names with their numbers. Raise InputError for anything else."""
    if not isinstance(document, dict):
        raise InputError(f'a register is {{"name": number, …}}, not {shown(document)}', file=file)
    own: dict[str, int] = {}
    taken: set[int] = set()
    for name, number in document.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _HIGHEST:
            raise InputError(
                f"a register has names with numbers from 0 to {_HIGHEST}, not {shown(name)} with {shown(number)}",
                file=file,
            )
        if number in taken:
            raise InputError(f"the register gives the number {number} twice", file=file)
        own[name] = number
        taken.add(number)
    return Register(own)


def read_register(file: str | None) -> Register:
    """Return the register in a JSON file, or the sample registers if there is no file."""
    if not file:
        return Register()
    try:
        return register_of(json.loads(Path(file).read_bytes()), file)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    except ValueError as error:
        raise InputError(f"the register is not one JSON value: {error}", file=file) from None
