"""Fields of keys and values that are not shown, as --redact names them: 'value.card.*'."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.structs.lengths import redacted

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS = ("key", "value")


@dataclass(frozen=True)
class FieldRedaction:
    """Patterns of paths. `*` stands for any text, dots included, so that all below a field is redacted with it."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> FieldRedaction:
        """Return the redaction of patterns. InputError for one that begins with neither key nor value."""
        for pattern in patterns:
            if pattern.partition(".")[0] not in PARTS:
                raise InputError(f"fields to redact begin with key or value, as in 'value.card.*', not {pattern!a}")
        return cls(tuple(patterns))

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of a record that have fields to redact."""
        return frozenset(pattern.partition(".")[0] for pattern in self.patterns)

    @cached_property
    def _matches(self) -> re.Pattern[str]:
        return re.compile("|".join(map(translate, self.patterns)))

    def masked(self, part: str, data: Any) -> Any:
        """Return the data of a key or value without the fields to redact."""
        return self._mask(part, data)

    def _mask(self, path: str, data: Any) -> Any:
        if self._matches.match(path):
            return hidden(data)
        if isinstance(data, dict):
            return {key: self._mask(f"{path}.{key}", value) for key, value in data.items()}
        return [self._mask(path, item) for item in data] if isinstance(data, list) else data


def hidden(data: Any) -> str | None:
    """Return the text that stands for a value; null stays null."""
    if data is None:
        return None
    text = data if isinstance(data, str) else json.dumps(data)
    return redacted(len(text.encode("utf-8", "replace")))
