"""Arrow arrays for the columns of tables: lists, dictionaries of repeated strings, and times.

All functions work on whole columns, as a loop over rows in Python would be slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.facts.frame_values import LAST_SECOND
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

Span = TypeVar("Span", "int", "Ints")
"""Nanoseconds of one frame or of many frames."""
WORD = pa.dictionary(pa.int32(), pa.string())
"""The type of strings with few distinct values."""
WORDS = pa.list_(pa.string())
TIME = pa.timestamp("us", "UTC")
ARROW_TYPES = {
    "text": pa.string(),
    "word": WORD,
    "texts": WORDS,
    "int32": pa.int32(),
    "int32s": pa.list_(pa.int32()),
    "int64": pa.int64(),
    "flag": pa.bool_(),
    "time": TIME,
    "amounts": pa.map_(pa.string(), pa.int64()),
}
"""The types of columns, by the names that `kwire_cli.facts.columns` uses."""
ARROW_OF_DUCKDB = {
    "VARCHAR": pa.string(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "TIMESTAMPTZ": TIME,
}
"""The types of columns, by the names of DuckDB's types."""


def arrow_schema(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    """Return the schema of columns with these names and types."""
    return pa.schema([pa.field(name, ARROW_TYPES[kind]) for name, kind in columns])


def schema_of(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    """Return the schema of columns with these names and types of DuckDB."""
    return pa.schema([pa.field(name, ARROW_OF_DUCKDB[kind]) for name, kind in columns])


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without dictionaries: a dictionary becomes the type of its values."""
    return pa.schema(
        [
            pa.field(each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
            for each in schema
        ],
        metadata=schema.metadata,
    )


def latency_us(nanoseconds: Span) -> Span:
    """Convert the time from a request to its response to microseconds, rounded. Negative times stay negative."""
    return (nanoseconds + 500) // 1000


def list_offsets(job: Ints, count: int) -> npt.NDArray[np.int32]:
    """Return the offsets of lists. `job` is the frame of each value."""
    out = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(job, minlength=count), out=out[1:])
    return out


def padded(lists: pa.ListArray) -> pa.ListArray:
    """Return the lists with a null in place of an empty list, so that each has a first value."""
    lengths = np.diff(lists.offsets.to_numpy())
    if lengths.all():
        return lists
    flat = lists.flatten()
    take = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    picked = flat.take(pa.array(take, mask=lengths == 0))
    return pa.ListArray.from_arrays(pa.array(np.arange(len(lengths) + 1, dtype=np.int32)), picked)


def once(lists: pa.ListArray) -> pa.ListArray:
    """Return lists without duplicates. The first occurrence of each value is kept."""
    offsets = lists.offsets.to_numpy()
    lengths = np.diff(offsets)
    long = np.flatnonzero(lengths > 1)
    if not len(long):
        return lists
    flat = lists.flatten()
    codes = flat.dictionary_encode().indices.to_numpy()
    base = int(offsets[0])
    keep = np.ones(len(codes), np.bool_)
    known: dict[bytes, npt.NDArray[np.bool_]] = {}
    for row in long.tolist():
        low = int(offsets[row]) - base
        high = int(offsets[row + 1]) - base
        own = codes[low:high]
        key = own.tobytes()
        mask = known.get(key)
        if mask is None:
            mask = np.zeros(len(own), np.bool_)
            mask[np.unique(own, return_index=True)[1]] = True
            known[key] = mask
        keep[low:high] = mask
    if keep.all():
        return lists
    kept = np.concatenate(([0], np.cumsum(keep)))
    new = kept[np.concatenate(([0], np.cumsum(lengths)))].astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(new), flat.filter(pa.array(keep)))


def side_by_side(one: pa.ListArray, other: pa.ListArray) -> pa.ListArray:
    """Concatenate two columns of lists, row by row."""
    left, right = (np.diff(each.offsets.to_numpy()) for each in (one, other))
    if not right.any():
        return one
    first = one.flatten()
    second = other.flatten()
    total = np.column_stack((left, right)).reshape(-1)
    begin = np.column_stack((np.cumsum(left) - left, len(first) + np.cumsum(right) - right)).reshape(-1)
    take = np.arange(int(total.sum())) + np.repeat(begin - (np.cumsum(total) - total), total)
    offsets = np.concatenate(([0], np.cumsum(left + right))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays([first, second]).take(pa.array(take)))


def shifted(offsets: pa.Array) -> pa.Array:
    """Return the offsets of lists relative to the first value of the first list."""
    return pc.subtract(offsets, offsets[0]) if offsets[0].as_py() else offsets


def word(text: str | None, count: int) -> pa.Array:
    """Return a column with the same string in each row."""
    if text is None:
        return pa.nulls(count, WORD)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text], pa.string()))


def words(codes: Ints, texts: Sequence[str | None]) -> pa.Array:
    """Return the strings with these numbers."""
    null = np.array([text is None for text in texts], np.bool_)
    indices = pa.array(codes.astype(np.int32), mask=null[codes] if null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array([text or "" for text in texts], pa.string()))


def repeated_words(texts: Iterable[str], counts: Ints) -> pa.Array:
    """Return a column with each string as often as its count."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
    return words(np.repeat(codes, counts), (*known,))


def times(nanoseconds: Ints) -> pa.Array:
    """Convert nanoseconds to times. Unknown times, and times that a date cannot represent, become null."""
    none = (nanoseconds == NO_TIME) | (nanoseconds < 0) | (nanoseconds // 1_000_000_000 >= LAST_SECOND)
    return pa.array(np.where(none, 0, nanoseconds) // 1000, mask=none if none.any() else None).cast(TIME)
