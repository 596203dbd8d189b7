"""A stream written to files until somebody says that it is enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire_cli.pipeline.files import HOW, as_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

POLL = 0.2
"""Seconds between two looks at how far it is."""
CHECKPOINT = "_checkpoint"
"""The folder beside the files in which it stands how far they go; readers of the files leave it out, as its name begins so."""
_NAME = "kwire"


def follow(frame: DataFrame, folder: str, fmt: str, by: Sequence[str], *, every: float, over: Callable[[], bool], raw_csv: bool = False) -> int:
    """Write what comes, each `every` seconds, going on where files in the folder end; how many rows came until `over`.

    InputError as `files.as_files`; what ends the stream otherwise is Spark's exception.
    """
    counted = as_files(frame, fmt, by, raw_csv=raw_csv).observe(_NAME, f.count(f.lit(1)).alias("rows"))
    writer = counted.writeStream.format(fmt).options(**HOW[fmt]).partitionBy(*by).option("checkpointLocation", f"{folder}/{CHECKPOINT}")
    query = writer.trigger(processingTime=f"{every} seconds").start(folder)
    rows = _Rows(query)
    try:
        while not over() and query.isActive:
            rows.look()
            time.sleep(POLL)
        if (ended := query.exception()) is not None:
            raise ended
    finally:
        query.stop()
    rows.look()
    return rows.count


class _Rows:
    """The rows of the batches that are written; each is counted once."""

    def __init__(self, query: StreamingQuery) -> None:
        self.count = 0
        self._query, self._last = query, -1

    def look(self) -> None:
        """Count those of batches that are new."""
        for progress in self._query.recentProgress:
            if progress.batchId > self._last and (row := progress.observedMetrics.get(_NAME)) is not None:
                self._last = progress.batchId
                self.count += row.rows
