"""Redaction of the fields of keys and values that --redact names, such as 'value.card.*'."""

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
    """Patterns of paths. `*` matches any text, dots included, so that everything below a field is redacted too."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> FieldRedaction:
        """Return the redaction of patterns. InputError if a pattern begins with neither key nor value."""
        for pattern in patterns:
            if pattern.partition(".")[0] not in PARTS:
                raise InputError(f"{pattern!a}: a field to redact begins with key or value, as in 'value.card.*'")
        return cls(tuple(patterns))

    @cached_property
    def parts(self) -> frozenset[str]:
        """Return the parts of a record that have fields to redact."""
        return frozenset(pattern.partition(".")[0] for pattern in self.patterns)

    @cached_property
    def _matches(self) -> re.Pattern[str]:
        return re.compile("|".join(map(translate, self.patterns)))

    def masked(self, part: str, data: Any) -> Any:
        """Return the data of a key or value with its secret fields redacted."""
        return self._mask(part, data)

    def _mask(self, path: str, data: Any) -> Any:
        if self._matches.match(path):
            return hidden(data)
        if isinstance(data, dict):
            return {key: self._mask(f"{path}.{key}", value) for key, value in data.items()}
        return [self._mask(path, item) for item in data] if isinstance(data, list) else data


def hidden(data: Any) -> str | None:
    """Return the text that replaces a value. Null stays null."""
    if data is None:
        return None
    text = data if isinstance(data, str) else json.dumps(data)
    return redacted(len(text.encode("utf-8", "replace")))
