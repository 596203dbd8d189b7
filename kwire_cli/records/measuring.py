"""How many bytes each field of records of format v2 takes, by a reader that passes over them and counts."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.reader import records_counter
from kwire_cli.engine.sinks import Counter
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = ("key", "value", "headers", "content")
"""What the last of a meter's numbers are of: the largest key and value, the most bytes of headers in a record, and of
what a record has from its key's length on.
"""


class _Meter(Counter):
    names = MappingProxyType({name: name for name in ("timestampDelta", "key", "value", "headers")})

    def before(self, name: str) -> Sequence[str]:
        if name == "key":
            return ("content = at",)
        return ("headers = at",) if name == "headers" else ()

    def after(self, name: str) -> Sequence[str]:
        if name == "headers":
            return ("headers = at - headers", "if headers > most_headers: most_headers = headers")
        return (f"if {name}_size > most_{name}: most_{name} = {name}_size",) if name in {"key", "value"} else ()


@cache
def meter() -> Counter:
    """Return the counter of records of format v2: `count(data, at, stop, sums, rows)`.

    It returns how many records there are, and the bytes of keys, values and headers; None, and `sums` stay, where a
    record is malformed. The last of `sums` are those of LARGEST. `rows`, unless it is None, gets for each record its
    timestamp delta and its bytes from the key's length on.
    """
    entry = records_entry(v2.RECORDS)
    then = (
        "content = at - content",
        "if content > most_content: most_content = content",
        "if rows is not None: rows.append((timestampDelta, content))",
    )
    return records_counter(entry, _Meter(entry.program, most=[f"most_{name}" for name in LARGEST]), ("rows",), then)
