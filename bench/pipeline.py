"""Block `pipeline`: tables on Spark against Spark's own reading of Parquet, DumpLogSegments and tshark, on one core and
two, on more and more data.

Each number of cores is a process of its own, on as many processors, with a session that is up and warm. Sizes are
powers of two: of segments in folders of partitions, and of rotated captures whose connections go on over all files.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import columns
import kernel
import linereader
import make_records
import make_traffic
import records
import startup
from captures import JSONL, KWIRE, SOME, TSHARK, timed
from inputs import Body, catalog
from javareader import NotHereError
from sparkreader import AGGREGATE, COSTS, FRAMES, FROM_PARQUET, TO_PARQUET, SparkReader
from timing import Row, find, measure_in_turns, print_verdict

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkreader import Measured

TIMES = (1, 2, 4, 8)
CORES = (1, 2)
PARQUET_TIMES = 4
"""How much of the segments becomes Parquet."""
SEGMENT_MB, CAPTURE_MB = 300, 70
QUICK = 10
"""How much smaller all is with --quick."""
SEGMENTS, LARGE, SMALL = "segments, 1 kB records", "captures, 1 kB records", "captures, small requests"
WORK = {SEGMENTS: AGGREGATE, LARGE: COSTS, SMALL: COSTS}
TSHARK_TIMES = {LARGE: 4, SMALL: 10}
"""How many times as fast as tshark the ledger has to be."""
BODIES = 2000
"""Bodies of responses that other readers for Python are given."""
SAMPLES = Path(__file__).parent.parent / "samples" / "segments"
SCAN, EMPTY, STARTED = "kwire scan of a small folder", "an empty PySpark session, one trivial query", "first result"
TRIVIAL = (
    "from pyspark.sql import SparkSession; "
    "print(SparkSession.builder.master('local[*]').getOrCreate().range(10).count(), flush=True)"
)
FIRST = ("scan", str(SAMPLES), "--sql", "select count(*) as batches from batches", "--format", "jsonl")


def block(turns: int, record_folder: Path | None, capture_folder: Path | None, *, quick: bool = False) -> None:
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        files = _made(record_folder or Path(scratch), capture_folder or Path(scratch), QUICK if quick else 1)
        tables = _Tables(stack, files, Path(scratch) / "parquet")
        others = _others(stack, files)
        started = _first_results()
        measure_in_turns([*tables.rows, *others, *started], turns)
        tables.show()
        print(f"\n  {'on one file, or in memory':<100} {'thousand/s':>10} {'best':>9}")
        for row in others:
            rates = (
                f"{1e-3 / row.seconds:>10.1f} {1e-3 / row.best:>9.1f}"
                if row.seconds and row.best
                else f"not here ({row.why})"
            )
            print(f"  {row.input:<50} {row.name:<49} {rates}")
        for row in started:
            print(
                f"  {row.input:<50} {row.name:<49} "
                + (f"{row.seconds:>8.2f} s" if row.seconds else f"not here ({row.why})")
            )
        for what in ("seconds", "best"):
            print(f"\n  ratios, {'medians' if what == 'seconds' else 'best turns'}")
            _verdicts(tables, [*others, *started], attrgetter(what))
        for name in files:
            few, many = (
                tables.peak.get((tables.of(name, times), tables.by(WORK[name], CORES[-1]))) for times in (2, TIMES[-1])
            )
            print_verdict(
                f"{name}: memory of a worker on 8 x / on 2 x", many / few if few and many else None, at_most=1.1
            )


def _made(record_folder: Path, capture_folder: Path, smaller: int) -> dict[str, list[Path]]:
    """The files by name."""
    made = {
        SEGMENTS: [
            make_records.segment(record_folder, "none", SEGMENT_MB // smaller, partition)
            for partition in range(TIMES[-1])
        ]
    }
    for name, kind in ((LARGE, "large"), (SMALL, "small")):
        size, folder = CAPTURE_MB // smaller, capture_folder / f"rotated-{kind}-{CAPTURE_MB // smaller}"
        made[name] = make_traffic.rotated(
            folder, make_traffic.CLASSIC, files=TIMES[-1], size=size * make_records.MB, small=kind == "small"
        )
    return made


class _Tables:
    """The work of the sessions. By input, `amount` is how many records or frames it has; by input and row, `peak` the
    most memory of a worker.
    """

    def __init__(self, stack: contextlib.ExitStack, files: dict[str, list[Path]], out: Path) -> None:
        self.files = files
        self.amount: dict[str, int] = {}
        self.peak: dict[tuple[str, str], int] = {}
        self._readers: dict[int, SparkReader] = {}
        self._why = ""
        try:
            for cores in CORES:
                self._readers[cores] = SparkReader(cores)
                stack.callback(self._readers[cores].close)
        except NotHereError as error:
            self._why = str(error)
        self.rows = [
            self._row(name, times, work, cores) for name, work in WORK.items() for cores in CORES for times in TIMES
        ]
        self.rows.append(self._row(SEGMENTS, PARQUET_TIMES, TO_PARQUET, CORES[-1], out))
        self.rows.append(self._row(SEGMENTS, PARQUET_TIMES, FROM_PARQUET, CORES[-1], out))
        self.rows += [self._row(name, 1, FRAMES, CORES[-1]) for name in (LARGE, SMALL)]

    @staticmethod
    def of(name: str, times: int) -> str:
        return f"{name}, {times} x"

    @staticmethod
    def by(work: str, cores: int) -> str:
        return f"{work}, {cores} core{'s' if cores > 1 else ''}"

    def _row(self, name: str, times: int, work: str, cores: int, *words: Path) -> Row:
        where, who = self.of(name, times), self.by(work, cores)
        paths = [] if work == FROM_PARQUET else self.files[name][:times]

        def measure() -> float:
            found = self._readers[cores].measure(work, *words, *paths)
            self._keep(where, who, found)
            return found.seconds

        return Row(where, who, measure if cores in self._readers else None, self._why)

    def _keep(self, where: str, who: str, found: Measured) -> None:
        known = self.amount.setdefault(where, found.amount)
        assert found.amount == known, f"{who} of {where} found {found.amount}, not {known}"
        self.peak[where, who] = max(found.peak, self.peak.get((where, who), 0))

    def size(self, name: str, times: int) -> float:
        """MB of files."""
        return sum(path.stat().st_size for path in self.files[name][:times]) / 1e6

    def show(self) -> None:
        print(
            f"\n  {'tables on Spark':<31} {'':<24} {'MB':>6} {'seconds':>8} {'best':>7} {'MB/s':>7} "
            f"{'thousand/s':>11} {'worker, MB':>11}"
        )
        for row in self.rows:
            if not row.seconds or not row.best:
                print(f"  {row.input:<31} {row.name:<24} not here ({row.why})")
                continue
            name, times = row.input.rsplit(", ", 1)
            size, peak = self.size(name, int(times.split()[0])), self.peak[row.input, row.name] / 1e6
            rates = f"{size / row.seconds:>7.0f} {self.amount[row.input] / row.seconds / 1e3:>11.0f} {peak:>11.0f}"
            print(f"  {row.input:<31} {row.name:<24} {size:>6.0f} {row.seconds:>8.2f} {row.best:>7.2f} {rates}")


def _others(stack: contextlib.ExitStack, files: dict[str, list[Path]]) -> list[Row]:
    """kwire in one process, and other readers: seconds for a record, a frame, or a body."""
    segment = files[SEGMENTS][0]
    folder, size = segment.parent.parent, segment.stat().st_size
    short = make_records.segment(folder, "none", max(size // make_records.MB // 10, 1))
    rows = [_each(row, size / make_records.MB / _records_in(segment)) for row in columns.rows_of(short, segment)]
    readers = {
        name: records.started(start) for name, start in ((records.JAVA, linereader.java), (records.GO, linereader.go))
    }
    for reader in readers.values():
        if not isinstance(reader, str):
            stack.callback(reader.close)
    rows += records.rows_of(make_records.LARGE, make_records.in_memory(folder)[make_records.LARGE], readers, crc=True)
    for name in (LARGE, SMALL):
        path = str(files[name][0])
        found = [*_bodies(files[name][0])]
        tshark, kwire = shutil.which("tshark"), startup.kwire()
        whole = [
            Row(name, SOME, *timed(tshark, "-n", "-r", path, *TSHARK[SOME])),
            Row(name, JSONL, *timed(kwire, *KWIRE[JSONL], path)),
        ]
        rows += [_each(row, 1 / len(found)) for row in whole]
        rows += kernel.readers(f"{name}: bodies of responses", [body for body in found if body][:BODIES])
    return rows


def _each(row: Row, share: float) -> Row:
    """The row with its time for one of what it reads."""
    measure = row.measure
    return Row(row.input, row.name, (lambda: measure() * share) if measure else None, row.why)


def _records_in(segment: Path) -> int:
    return sum(batch.head.records_count for batch in kwire_cli.read_records(segment))  # type: ignore[union-attr, misc] # batches of v2, and no gaps


def _bodies(path: Path) -> Iterator[Body | None]:
    """Something for each frame of a capture: of a response its body."""
    for line in traffic(catalog(), Capture(path)):
        plain = line.plain
        if plain is None or line.kind != "response":
            yield None
            continue
        layout = plain.layout
        yield Body(layout.api, catalog().message(layout.message), layout.version, bytes(plain.data[plain.start :]))


def _first_results() -> list[Row]:
    program = startup.kwire()
    return [
        Row(STARTED, EMPTY, _first_line(sys.executable, "-c", TRIVIAL)),
        Row(STARTED, SCAN, _first_line(program, *FIRST) if program else None, "not installed"),
    ]


def _first_line(*command: str) -> Callable[[], float]:
    """Seconds until a process has printed something; what it does to end does not count."""

    def once() -> float:
        start = time.perf_counter()
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout
            line = process.stdout.readline()
            taken = time.perf_counter() - start
        assert line.strip(), f"{command[0]} printed nothing"
        return taken

    return once


def _verdicts(tables: _Tables, others: list[Row], taken: Callable[[Row], float | None]) -> None:
    def seconds(name: str, times: int, work: str, cores: int = CORES[-1]) -> float | None:
        return taken(find(tables.rows, tables.of(name, times), tables.by(work, cores)))

    def over(one: float | None, other: float | None) -> float | None:
        return one / other if one and other else None

    def other(where: str, name: str) -> float | None:
        return taken(find(others, where, name))

    most = TIMES[-1]
    engine = over(other(columns.NAME, columns.DEEP), other(columns.NAME, columns.RECORDS))
    print_verdict(f"{columns.DEEP} / {columns.RECORDS}", engine, at_least=5)
    parquet = seconds(SEGMENTS, PARQUET_TIMES, FROM_PARQUET)
    print_verdict(
        "an aggregate over segments / all columns from Parquet",
        over(seconds(SEGMENTS, PARQUET_TIMES, AGGREGATE), parquet),
        at_most=1,
    )
    print_verdict(
        "all records of segments to Parquet / all columns from Parquet",
        over(seconds(SEGMENTS, PARQUET_TIMES, TO_PARQUET), parquet),
        at_most=3,
    )
    for name, wanted in TSHARK_TIMES.items():
        each = over(seconds(name, most, COSTS), tables.amount.get(tables.of(name, most)))
        print_verdict(f"{name}: {SOME} / ledger, a frame", over(other(name, SOME), each), at_least=wanted)
    for name, work in WORK.items():
        print_verdict(
            f"{name}: 1 core / 2 cores", over(seconds(name, most, work, 1), seconds(name, most, work)), at_least=1.7
        )
    for name, work in WORK.items():
        times = [seconds(name, each, work) for each in TIMES]
        print_verdict(
            f"{name}: each further MB from 4 x to 8 x / from 1 x to 4 x",
            over(_further(times, -2, -1), _further(times, 0, -2)),
            at_most=1.15,
        )
    print_verdict(f"first result: {SCAN} / {EMPTY}", over(other(STARTED, SCAN), other(STARTED, EMPTY)), at_most=1.3)


def _further(seconds: list[float | None], fewer: int, more: int) -> float | None:
    """Seconds that each further unit of data takes; None where more took less, as on a machine that has other things to
    do.
    """
    a, b = seconds[fewer], seconds[more]
    return (b - a) / (TIMES[more] - TIMES[fewer]) if a and b and b > a else None
