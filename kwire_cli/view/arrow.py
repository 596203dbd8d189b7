"""Tables of answers in Arrow's format: as pyarrow tables, and as Parquet and Arrow IPC files.

Rows are written in batches as they arrive, so a table does not have to fit into memory. Answers have no schema, so the
first batch of rows determines the types of ids and lists. Types have names: `text`, `int`, `float`, `flag`, `time`
(microseconds in UTC), `[]` before the type of the elements of a list, `{}` before the type of the numbers of a map. A
cell whose value does not fit the type is null.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.view.json import dumps
from kwire_cli.view.tables import json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from kwire_cli.answer import Column, Row, Table

FORMATS = ("parquet", "arrow")
"""File formats with types."""
FIRST = 1 << 16
"""Rows of one batch. The first batch determines which ids and lists of an answer are numbers."""


def _pyarrow() -> Any:
    """Import pyarrow, which is optional and slow to load. Raise InputError if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("Parquet and Arrow need pyarrow, which is not installed: pip install 'kwire[lake]'") from None
    return pyarrow


def write_batches(write: Callable[[bytes], None], batches: pa.RecordBatchReader, form: str) -> int:
    """Write record batches of Arrow unchanged, in one of FORMATS. Return the number of rows."""
    count = 0
    sink = _Sink(write)
    with sink.writing():
        out = _writer(_pyarrow(), sink, batches.schema, form)
        for batch in batches:
            out.write_batch(batch)
            count += batch.num_rows
        out.close()
    return count


def _writer(pa: Any, sink: _Sink, schema: pa.Schema, form: str) -> Any:
    return pa.parquet.ParquetWriter(sink, schema) if form == "parquet" else pa.ipc.new_file(sink, schema)


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


def _encodable(value: Any) -> Any:
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    if isinstance(value, dict):
        return {name: _encodable(each) for name, each in value.items()}
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


# Types, and cells that fit them.


def _arrow_type(pa: Any, kind: str) -> Any:
    if kind.startswith("[]"):
        return pa.list_(_arrow_type(pa, kind[2:]))
    if kind.startswith("{}"):
        return pa.map_(pa.string(), _arrow_type(pa, kind[2:]))
    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
    }
    return types.get(kind) or pa.string()


def _cell_of(kind: str) -> Callable[[Any], Any]:
    """Return the function that converts values to cells of a type."""
    if kind.startswith("[]"):
        element = _cell_of(kind[2:])
        return lambda value: None if value is None else [element(each) for each in _elements(value)]
    if kind.startswith("{}"):
        number = _cell_of(kind[2:])
        return lambda value: None if value is None else [(str(name), number(count)) for name, count in value.items()]
    return _CELLS[kind]


def _elements(value: Any) -> Iterable[Any]:
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else dumps(json_value(value), indent=False)


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
    "text": _text,
    "int": _int,
    "float": _float,
    "flag": _flag,
    "time": _time,
}


# Tables of answers.

_KINDS = {
    "count": "int",
    "bytes": "int",
    "number": "float",
    "share": "float",
    "duration": "float",
    "flag": "flag",
    "instant": "time",
    "spark": "[]float",
}
"""Types by the kind of a column. `_type_of` handles ids, lists and maps; other kinds are text."""


def write_table(write: Callable[[bytes], None], table: Table, form: str) -> None:
    """Write the rows of a table of an answer in one of FORMATS, a batch at a time.

    Ids and elements of lists are integers if the first rows contain only integers.
    """
    pa = _pyarrow()
    columns = [(at, column) for at, column in enumerate(table.columns) if column.kind != "bar"]
    rows = iter(table.rows)
    first = [*islice(rows, FIRST)]
    types = [_type_of(column, at, first) for at, column in columns]
    fields = zip(columns, types, strict=True)
    schema = pa.schema([(column.name, _arrow_type(pa, kind)) for (_, column), kind in fields])
    sink = _Sink(write)
    with sink.writing():
        out = _writer(pa, sink, schema, form)
        while first:
            arrays = []
            for (at, _), kind, field in zip(columns, types, schema, strict=True):
                values = [row[at] for row in first]
                arrays.append(_array(pa, list(map(_cell_of(kind), values)), field.type))
            out.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            first = [*islice(rows, FIRST)]
        out.close()


def _array(pa: Any, values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return pa.array([_encodable(value) for value in values], kind)


def arrow_table(table: Table) -> pa.Table:
    """Return the rows of a table of an answer as an Arrow table."""
    pieces: list[bytes] = []
    write_table(pieces.append, table, "arrow")
    return _pyarrow().ipc.open_file(b"".join(pieces)).read_all()


def data_frame(table: pa.Table, library: str) -> Any:
    """Return an Arrow table as a DataFrame of pandas or polars. Raise InputError if the library is not installed."""
    try:
        if library == "pandas":
            return table.to_pandas()
        import polars  # noqa: ICN001, PLC0415 - few need it

        return polars.from_arrow(table)
    except ImportError:
        raise InputError(f"this needs {library}, which is not installed: pip install {library}") from None


def _type_of(column: Column, at: int, rows: Iterable[Row]) -> str:
    match column.kind:
        case "id":
            return "int" if all(_is_id(row[at]) for row in rows) else "text"
        case "list":
            lists = [_elements(row[at]) for row in rows if row[at] is not None]
            elements = list(chain.from_iterable(lists))
            return "[]int" if elements and all(map(_is_id, elements)) else "[]text"
        case "map":
            return "{}float" if column.unit == "s" else "{}int"
        case kind:
            return _KINDS.get(kind, "text")


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
