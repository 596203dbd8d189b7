"""The names of fields in all definitions of a catalogue, which paths of fields consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.spec.model import FieldSpec, MessageSpec

_FRAMES = ("header", "response", "request")
"""The types of definitions of frames, the ones with the most used names first."""


class FieldNames:
    """The names of the fields of all headers and messages, in JSON form. Definitions are read until one has the
    requested name.

    `definitions` are pairs of a type and a name, in the order of the catalogue; `read` returns the definition of a
    name.
    """

    any_in_records = False  # whether decoded records may have fields of any name

    def __init__(self, definitions: Iterable[tuple[str, str]], read: Callable[[str], MessageSpec]) -> None:
        self._frames: set[str] = set()
        self._others: set[str] = set()
        pairs = [*definitions]
        frames = sorted((pair for pair in pairs if pair[0] in _FRAMES), key=lambda pair: _FRAMES.index(pair[0]))
        self._unread = (read(name) for _, name in frames)
        self._unread_others = (read(name) for kind, name in pairs if kind not in _FRAMES)

    def in_frames(self, name: str) -> bool:
        """Return whether a header, request or response has a field of this name."""
        return name in self._frames or any(name in _add(spec, self._frames) for spec in self._unread)

    def in_payloads(self, name: str) -> bool:
        """Return whether another definition has a field of this name: a record of Kafka's own topics, or a payload."""
        return name in self._others or any(name in _add(spec, self._others) for spec in self._unread_others)

    def of_payloads(self) -> Iterator[str]:
        """Return the names of the fields of these definitions, sorted."""
        for spec in self._unread_others:
            _add(spec, self._others)
        return iter(sorted(self._others))

    def __contains__(self, name: str) -> bool:
        return self.in_frames(name) or self.in_payloads(name)

    def __iter__(self) -> Iterator[str]:
        for spec in self._unread:
            _add(spec, self._frames)
        return iter(sorted({*self._frames, *self.of_payloads()}))


def _add(spec: MessageSpec, names: set[str]) -> set[str]:
    waiting: list[FieldSpec] = list(spec.fields)
    for struct in spec.common_structs:
        waiting += struct.fields
    while waiting:
        field = waiting.pop()
        names.add(field.json_name)
        waiting += field.fields
    return names
