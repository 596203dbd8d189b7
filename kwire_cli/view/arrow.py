"""Tables of answers in Arrow's format: as pyarrow tables, and as Parquet and Arrow IPC files.

The kind of a column determines its type. Ids and elements of lists are integers if all of them are, otherwise text. A
cell whose value does not fit the type is null.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.view.json import dumps
from kwire_cli.view.tables import json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from kwire_cli.answer import Column, Table

FORMATS = ("parquet", "arrow")
"""File formats with types."""


def _pyarrow() -> Any:
    """Import pyarrow, which is optional and slow to load. Raise InputError if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("Parquet and Arrow need pyarrow, which is not installed: pip install 'kwire[lake]'") from None
    return pyarrow


def write_batches(write: Callable[[bytes], None], batches: pa.RecordBatchReader, form: str) -> int:
    """Write record batches of Arrow unchanged, in one of FORMATS. Return the number of rows."""
    pyarrow = _pyarrow()
    count = 0
    sink = _Sink(write)
    with sink.writing():
        if form == "parquet":
            out = pyarrow.parquet.ParquetWriter(sink, batches.schema)
        else:
            out = pyarrow.ipc.new_file(sink, batches.schema)
        for batch in batches:
            out.write_batch(batch)
            count += batch.num_rows
        out.close()
    return count


class _Sink(io.RawIOBase):
    """A file that pyarrow can write to.

    Bytes are only written within `writing`. After an error, the garbage collector closes the abandoned writer, which
    would otherwise write the end of the file.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write_bytes = write
        self._at = 0
        self._is_open = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Enable writing within this context."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def writable(self) -> bool:
        """Return True, as pyarrow only accepts writable files."""
        return True

    def tell(self) -> int:
        """Return the number of written bytes."""
        return self._at

    def write(self, data: Any) -> int:
        """Write bytes, or drop them outside of `writing`."""
        if self._is_open:
            self._write_bytes(bytes(data))
        self._at += len(data)
        return len(data)


def write_table(write: Callable[[bytes], None], table: Table, form: str) -> None:
    """Write the rows of a table of an answer in one of FORMATS."""
    write_batches(write, arrow_table(table).to_reader(), form)


def arrow_table(table: Table) -> pa.Table:
    """Return the rows of a table of an answer as an Arrow table."""
    pyarrow = _pyarrow()
    rows = list(table.rows)
    arrays = {}
    for at, column in enumerate(table.columns):
        if column.kind != "bar":
            values = [row[at] for row in rows]
            kind, cell = _typed(pyarrow, column, values)
            arrays[column.name] = pyarrow.array([cell(value) for value in values], kind)
    return pyarrow.table(arrays)


def data_frame(table: pa.Table, library: str) -> Any:
    """Return an Arrow table as a DataFrame of pandas or polars. Raise InputError if the library is not installed."""
    try:
        if library == "pandas":
            return table.to_pandas()
        import polars  # noqa: ICN001, PLC0415 - few need it

        return polars.from_arrow(table)
    except ImportError:
        raise InputError(f"this needs {library}, which is not installed: pip install {library}") from None


def _typed(pa: Any, column: Column, values: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """Return the type of a column, and the function that converts its values to cells."""
    types: dict[Any, Any] = {
        _int: pa.int64(),
        _float: pa.float64(),
        _flag: pa.bool_(),
        _time: pa.timestamp("us", "UTC"),
        _text: pa.string(),
    }
    kind = column.kind
    if kind == "map":
        cell: Callable[[Any], Any] = _float if column.unit == "s" else _int
        return pa.map_(pa.string(), types[cell]), _map_of(cell)
    if kind in {"list", "spark"}:
        elements = list(chain.from_iterable(map(_elements, values)))
        cell = _int if elements and all(map(_is_id, elements)) else _text
        cell = _float if kind == "spark" else cell
        return pa.list_(types[cell]), _list_of(cell)
    cell = _CELLS.get(kind, _text)
    if kind == "id" and all(map(_is_id, values)):
        cell = _int
    return types[cell], cell


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _list_of(cell: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else [cell(each) for each in _elements(value)]


def _map_of(cell: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else [(_text(str(name)), cell(count)) for name, count in value.items()]


def _elements(value: Any) -> Iterable[Any]:
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str | None:
    """Convert a value to text. Bytes of file names that are not UTF-8 are escaped."""
    if value is None:
        return None
    text = value if isinstance(value, str) else dumps(json_value(value), indent=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _int(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else None


def _float(value: Any) -> float | None:
    """Convert a number, or the text that JSON has for infinities and NaN."""
    if value is None or isinstance(value, float | int):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _time(value: Any) -> datetime | None:
    """Parse a time in ISO 8601. Return None for a number, which is a time outside the years 1 to 9999."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


_CELLS: dict[str, Callable[[Any], Any]] = {
    "count": _int,
    "bytes": _int,
    "number": _float,
    "share": _float,
    "duration": _float,
    "flag": _flag,
    "instant": _time,
}
"""Functions for cells by the kind of a column. Ids, lists and maps depend on their values; other kinds are text."""
