"""What a number means: names of error codes, apis and enums, timestamps as dates. Shown beside the number, never instead of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire_cli.engine.program import Leaf
    from kwire_cli.spec.catalog import Catalog

TIME_NAMES = ("timestamp", "timestampms", "timems", "expirytime")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
API_KEYS = ("requestApiKey", "apiKey")
EARLIEST_MS, LATEST_MS = 946_684_800_000, 4_102_444_800_000
"""2000 and 2100: what lies outside is no date."""


def meaning(catalog: Catalog, message: str, leaf: Leaf, value: Any) -> str | None:
    """The name of a field's value, if it has one."""
    if isinstance(value, float) or value is None:
        return None
    if leaf.name in API_KEYS and leaf.kind == "int16":
        api = catalog.api_by_key(value)
        return api.name if api else None
    return _named(catalog, message, leaf.path, value) or _date(leaf, value)


@lru_cache(maxsize=4096, typed=True)
def _named(catalog: Catalog, message: str, path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
    return catalog.named_value(message, path.replace("[]", ""), value)


def _date(leaf: Leaf, value: Any) -> str | None:
    return moment(value) if leaf.kind == "int64" and leaf.name.lower().endswith(TIME_NAMES) else None


def instant(milliseconds: int) -> str | int | None:
    """Return milliseconds since 1970 as ISO 8601 in UTC, for programs; None for -1, and the number outside the years 1 to 9999."""
    if milliseconds == -1:
        return None
    try:
        return _text(milliseconds)
    except (OverflowError, OSError, ValueError):
        return milliseconds


def moment(value: int) -> str | None:
    """Milliseconds since 1970 as a date; None where they can hardly be one."""
    if not EARLIEST_MS <= value < LATEST_MS:
        return None
    return _text(value)


def _text(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
