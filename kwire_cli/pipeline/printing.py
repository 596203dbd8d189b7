"""Rows as text: made in the tasks, many at a time, so that whoever prints them only has to pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.view.rows import ROW_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame


def texts(frame: DataFrame, fmt: str, limit: int | None) -> Iterator[tuple[int, str]]:
    """Texts in order, of one row or of several joined by ends of lines, with how many these are.

    With a limit only as many parts of files are read as it takes.

    Raises:
        InputError: Two columns have one name, which JSON can't say.

    """
    names = frame.columns
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two columns are named {twice}: name one of them otherwise, with `as`")
    text_of, each = ROW_TEXTS[fmt], limit is not None

    def lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in batches:
            made = [text_of(names, values) for values in zip(*(column.to_pylist() for column in some.columns), strict=True)]
            if made:
                counts, shown = ([1] * len(made), made) if each else ([len(made)], ["\n".join(made)])
                yield pa.RecordBatch.from_arrays([pa.array(counts, pa.int32()), pa.array(shown, pa.string())], ["rows", "text"])

    shown = frame.mapInArrow(lines, "rows int, text string")
    for row in shown.take(limit) if limit is not None else shown.toLocalIterator(prefetchPartitions=True):
        yield row.rows, row.text
