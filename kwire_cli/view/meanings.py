"""The meanings of numbers: names of errors, apis and enum values, and dates of timestamps.

A meaning is shown next to the number and never replaces it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import instant

if TYPE_CHECKING:
    from kwire_cli.engine.program import Leaf
    from kwire_cli.spec.catalog import Catalog

TIME_NAMES = ("timestamp", "timestampms", "timems", "expirytime")
"""Endings of the lower-case names of fields that are timestamps."""
API_KEYS = ("requestApiKey", "apiKey")
EARLIEST_MS = 946_684_800_000
"""The year 2000. A smaller number is not shown as a date."""
LATEST_MS = 4_102_444_800_000
"""The year 2100. This and larger numbers are not shown as dates."""


def meaning(catalog: Catalog, message: str, leaf: Leaf, value: Any) -> str | None:
    """Return the meaning of a field's value: the name of an error, api or enum value, or the date of a timestamp.

    Return None if the value has no meaning besides itself.
    """
    if isinstance(value, float) or value is None:
        return None
    if leaf.name in API_KEYS and leaf.kind == "int16":
        api = catalog.named_api(value)
        return api.name if api else None
    return _named(catalog, message, leaf.path, value) or _date(leaf, value)


@lru_cache(maxsize=4096, typed=True)
def _named(catalog: Catalog, message: str, path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
    return catalog.named_value(message, path.replace("[]", ""), value)


def _date(leaf: Leaf, value: Any) -> str | None:
    return moment(value) if leaf.kind == "int64" and leaf.name.lower().endswith(TIME_NAMES) else None


def moment(value: int) -> str | None:
    """Return milliseconds since 1970 as a date. Return None for dates before 2000 or from 2100 on."""
    return str(instant(value)) if EARLIEST_MS <= value < LATEST_MS else None
