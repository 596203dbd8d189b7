"""The table `faults` of log directories: those of segments, and of indexes and checkpoints beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.pipeline.index_table import INDEX_FAULTS, IndexTable
from kwire_cli.pipeline.kinds import INDEXES, SEGMENTS, by_kind
from kwire_cli.pipeline.segment_tables import FAULTS_NAME, SEGMENT_FAULTS, SegmentTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading

    Part = tuple[int, Any]
    """The number of a table in TABLES, and a part of it."""

TABLES: tuple[SegmentTable | IndexTable, ...] = (SEGMENT_FAULTS, INDEX_FAULTS)


@dataclass(frozen=True)
class PartitionFaults:
    """As `model.Table`."""

    name: str = FAULTS_NAME
    schema: pa.Schema = SEGMENT_FAULTS.schema

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Part]:
        """Those of segments, and those of indexes."""
        found = by_kind(paths, SEGMENTS, INDEXES)
        for number, (table, files) in enumerate(zip(TABLES, found, strict=True)):
            yield from ((number, part) for part in table.parts_of(files, filters, split_size))

    def read(self, part: Part, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`."""
        number, own = part
        return TABLES[number].read(own, names, reading)


PARTITION_FAULTS = PartitionFaults()
