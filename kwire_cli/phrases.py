"""Names, numbers and times as texts. It stands apart from `answer`, which start-up does not need."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def words(name: str) -> str:
    """Return the words of a camelCase name: `overheadBytes` is `overhead bytes`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 byte` or `2 bytes`; `many` is the plural of `one` if it is not `one` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def instant(milliseconds: int) -> str | int | None:
    """Return milliseconds since 1970 as ISO 8601 in UTC; None for -1, and the number outside the years 1 to 9999."""
    if milliseconds == -1:
        return None
    try:
        time = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, OSError, ValueError):
        return milliseconds
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
