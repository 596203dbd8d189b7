"""Where the bytes of captures and segments go, counted in tasks as `kwire overhead` counts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.overhead.summed import Summed
from kwire_cli.cost.overhead.tallies import Tallies
from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.folding import Faults, FileFault, folded
from kwire_cli.source.logs.segments import segments_of
from kwire_cli.stores import location, mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.codec.model import Limits
    from kwire_cli.pipeline.line_columns import Line
    from kwire_cli.source.capture.points import Naming
    from kwire_cli.source.logs.segments import Segment
    from kwire_cli.spec.catalog import Catalog


@dataclass
class Spent:
    """What was counted, and what could not be read; `file_bytes` are those of the captures, whatever is in them."""

    bytes: Summed
    file_bytes: int = 0
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: Spent) -> None:
        """Count what another one has, which comes later."""
        self.bytes.merge(other.bytes)
        self.file_bytes += other.file_bytes
        self.faults.merge(other.faults)


def spent(
    spark: SparkSession,
    captures: Sequence[str],
    segments: Sequence[str],
    dimensions: Sequence[str],
    catalog: Catalog,
    *,
    port: int | None = None,
    key_logs: Sequence[str] = (),
    limits: Limits | None = None,
    naming: Naming | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Spent:
    """The bytes of captures, connection by connection, and of segments, file by file, by these dimensions (of dimensions.OF_MESSAGE).

    Both are read by the definitions of a catalogue. `naming` and `note` are as for `Captures`.
    """
    total = Spent(Summed(dimensions))
    for some in folded(spark, segments_of(segments), partial(_of_segments, catalog, dimensions, limits), Spent.merge) if segments else ():
        total.merge(some)
    if captures:
        found = Captures(spark, captures, port=port, catalog=catalog, key_logs=key_logs, naming=naming, note=note)
        for some in found.folded(partial(_of_lines, catalog, dimensions, limits), Spent.merge):
            total.merge(some)
        total.file_bytes = found.size
        total.faults.add(*found.unread())
    return total


def _of_lines(catalog: Catalog, dimensions: Sequence[str], limits: Limits | None, lines: Iterable[Line]) -> Spent:
    """What one task counts of captures, whose files and connections are those of the table `frames`."""

    def packet(_: Any) -> dict[str, Any]:
        """What the line that is counted is called: its file, and its packet there."""
        return line.captured.where._asdict()

    tallies = Tallies(catalog, dimensions, limits=limits, named=packet)
    for line in lines:
        tallies.file, line.captured.stream = line.captured.where.file, line.stream
        tallies.add(line.captured)
    return Spent(_summed(tallies))


def _of_segments(catalog: Catalog, dimensions: Sequence[str], limits: Limits | None, segments: Iterable[Segment]) -> Spent:
    """What one task counts of segments. One that cannot be read is a fault."""
    tallies, faults = Tallies(catalog, dimensions, limits=limits), Faults()
    for segment in segments:
        try:
            data = mapped(segment.path)
        except InputError as error:
            faults.add(FileFault(segment.path, error.reason))
            continue
        tallies.file = location(segment.path)
        for _ in tallies.records(data, segment.topic, segment.partition, "auto"):
            pass
    return Spent(_summed(tallies), faults=faults)


def _summed(tallies: Tallies) -> Summed:
    out = Summed(tallies.dimensions)
    out.merge(tallies)
    return out
