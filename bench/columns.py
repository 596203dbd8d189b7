"""Block `columns`: the compiled engine on a segment, in process and on one thread, against what DumpLogSegments takes
for each further MB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from captures import timed
from logs import ITERATED, KAFKA, _kafka
from make_records import segment
from timing import Row, find, measure_in_turns, print_verdict, ratio, ratio_at_best

from kwire_cli.records.codecs import crc32c
from kwire_cli.records.reading import source_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.records.batch import Source

SHORT, LONG = 30, 300
NAME = f"{LONG} MB of records of 1 kB, none compressed"
CHECKSUM = "CRC-32C of the whole file in one call"
BATCHES, RECORDS = "kwire: every batch located, CRCs checked", "kwire: every record located, CRCs checked"
ALL = "kwire: all columns of the table records"
DEEP = f"{ITERATED}, each further MB"


def block(turns: int, folder: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        rows = rows_of(segment(where, "none", SHORT), segment(where, "none", LONG))
        measure_in_turns(rows, turns)
        for row in rows:
            if row.seconds is None:
                print(f"    {row.name:<50} not here ({row.why})")
            else:
                print(f"    {row.name:<50} {1 / row.seconds:>7.0f} MB/s, at best {1 / min(row.times):>7.0f}")
        print("\n  ratios")
        print_verdict(f"{DEEP} / {RECORDS}", ratio(rows, NAME, DEEP, RECORDS), at_least=5)
        print_verdict("the same, best turns", ratio_at_best(rows, NAME, DEEP, RECORDS), at_least=5)
        if find(rows, NAME, RECORDS).seconds:
            print(f"\n  no target: {RECORDS} / {CHECKSUM}: {ratio(rows, NAME, RECORDS, CHECKSUM):.2f}x")


def rows_of(short: Path, path: Path) -> list[Row]:
    """Seconds for a MB of a segment, by kwire and by DumpLogSegments; `short` is one of less of the same, which takes
    what starting Java takes.
    """
    try:
        rows = [Row(NAME, name, _timed(work, path)) for name, work in _works().items()]
    except ImportError as error:
        rows = [Row(NAME, name, None, f"no {error.name}") for name in (BATCHES, RECORDS, ALL)]
    kafka, why = _kafka()
    return [*rows, Row(NAME, DEEP, _each_further(kafka, short, path) if kafka else None, why)]


def _works() -> dict[str, Callable[[Source], object]]:
    from kwire_cli.records.bulk_batches import heads, located
    from kwire_cli.records.columns import record_columns

    return {
        CHECKSUM: lambda source: crc32c(source.view()),
        BATCHES: lambda source: sum(len(found) for found in heads(source)),  # type: ignore[arg-type] # nothing here is odd
        RECORDS: lambda source: sum(int(found.first[-1]) for found in located(source)),  # type: ignore[union-attr]
        ALL: lambda source: sum(rows.num_rows for rows in record_columns(source)),  # type: ignore[union-attr]
    }


def _timed(work: Callable[[Source], object], path: Path) -> Callable[[], float]:
    """Seconds for a MB; the file is opened anew each time, and lies in the system's cache."""
    import time

    def run() -> float:
        start = time.perf_counter()
        work(source_of(path))
        return (time.perf_counter() - start) * 1e6 / path.stat().st_size

    return run


def _each_further(kafka: list[str], short: Path, path: Path) -> Callable[[], float]:
    """Seconds for a MB beyond the first ones: what starting Java and warming it up takes is left out."""
    few, many = (timed(*kafka, "--files", str(each), *KAFKA[ITERATED])[0] for each in (short, path))

    def run() -> float:
        return max((many() - few()) * 1e6 / (path.stat().st_size - short.stat().st_size), 1e-9)

    return run
