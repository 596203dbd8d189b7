"""The selection of batches and records by offset, time, key and pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.records.batch import Batch, Record

    Range = tuple[int | None, int | None]

NO_RANGE: Range = (None, None)


class RowFilter(Protocol):
    """A compiled filter of batches or frames, such as `filter.Filter`."""

    @property
    def deep(self) -> bool:
        """True if the filter needs the records, not only the batches around them."""

    @property
    def matches(self) -> Callable[[Any], bool]:
        """The test of one row."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The wanted records: a range of offsets, a range of timestamps (milliseconds), a key and a pattern.

    A range goes from a first to a last value, both included. None means no bound.
    """

    offsets: Range = NO_RANGE
    times: Range = NO_RANGE
    key: bytes | None = None
    pattern: re.Pattern[bytes] | None = None
    filter: RowFilter | None = None
    """A filter of batches, which whoever reads them asks."""

    @property
    def everything(self) -> bool:
        """Return whether the selection includes everything."""
        return self == Selection()

    @property
    def by_content(self) -> bool:
        """Return whether the records must be read to decide."""
        return self.key is not None or self.pattern is not None or (self.filter is not None and self.filter.deep)

    def may_have(self, batch: Batch) -> bool:
        """Return whether a batch can hold wanted records, by its header alone."""
        head = batch.head
        first, last = self.offsets
        if (last is not None and head.base_offset > last) or (first is not None and head.last_offset < first):
            return False
        # The base timestamp is that of the first record, which need not be the lowest: there is no lower bound.
        return self.times[0] is None or head.max_timestamp >= self.times[0]

    def wants(self, record: Record) -> bool:
        """Return whether a record is wanted."""
        if not (_within(record.offset, self.offsets) and _within(record.timestamp, self.times)):
            return False
        if self.key is not None and record.key != self.key:
            return False
        return self.pattern is None or _found(self.pattern, record)


def _within(number: int, bounds: Range) -> bool:
    first, last = bounds
    return (first is None or number >= first) and (last is None or number <= last)


def _found(pattern: re.Pattern[bytes], record: Record) -> bool:
    search = pattern.search
    if (record.key and search(record.key)) or (record.value and search(record.value)):
        return True
    return any(search(str(name).encode()) or (data and search(data)) for name, data in record.headers)


def offset_range(text: str) -> Range:
    """`A-B`, `A-`, `-B` or `A`; InputError otherwise."""
    return _range(text, int, "offsets", "A-B, A-, -B or A")


def time_range(text: str) -> Range:
    """The same of times: milliseconds since 1970, or dates such as 2026-11-21T10:00:00Z, in UTC where they do not
    say.
    """
    return _range(text, _moment, "times", "A-B with milliseconds or dates such as 2026-11-21T10:00:00Z")


def grep_pattern(text: str) -> re.Pattern[bytes]:
    """A regular expression over bytes; InputError where it is none."""
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise InputError(f"{text!r} is not a regular expression: {error}") from None


def _range(text: str, read: Callable[[str], int | None], what: str, forms: str) -> Range:
    """A date has dashes of its own: the one that parts the two is the one that leaves two that can be read."""
    turned = ""
    for at in (i for i, char in enumerate(text) if char == "-"):
        try:
            first, last = (read(part.strip()) if part.strip() else None for part in (text[:at], text[at + 1 :]))
        except ValueError:
            continue
        if first is not None and last is not None and first > last:
            turned = turned or f"{text[at + 1 :]}-{text[:at]}"
        elif (first, last) != NO_RANGE:
            return first, last
    try:
        only = read(text.strip())
    except ValueError:
        if turned:
            raise InputError(f"{what} go from the lower to the higher one: {turned}, not {text}") from None
        raise InputError(f"{what} are {forms}, not {text!r}") from None
    return only, only


def _moment(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return date_ms(text)


def date_ms(text: str) -> int:
    """Return an ISO 8601 date, in UTC unless it says otherwise, as milliseconds since 1970. Raises ValueError."""
    from datetime import UTC, datetime  # noqa: PLC0415 - most selections have no date

    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
