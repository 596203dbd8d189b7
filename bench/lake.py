"""Block `lake`: tables written once, and questions asked of them, beside reading the captures for each question.

Times are those that processors were busy, of whole processes; a row named `start` is the same command on a capture of
a few frames, which is mostly the start of Python and of machine code. Where a ratio is of the work alone, this is
subtracted. Two cores against one are measured by the clock, in sessions of Spark that are up and warm.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import make_traffic
from captures import busy, installed, peak
from timing import Row, find, measure_in_turns, print_verdict

REAL = Path(__file__).resolve().parents[2] / "shared" / "real" / "own"
SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "captures" / "ipv6.pcap"
FRAMES, ALL = "export, frames", "export, all tables but bodies"
BODIES, TSHARK, STATS = "export, bodies", "tshark -T fields to csv", "stats"
REPORT = "query stats"
START = "start"
FIELDS = (
    *("frame.number", "frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.stream"),
    *("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "kafka.client_id", "kafka.topic_name"),
    *("kafka.error", "kafka.len"),
)
TIMES = 8
"""How much longer the longer capture is."""
FILES = 500
SHORT, FEW_SHORT = 1000, 250
"""Captures of short connections. The slope over both numbers leaves out the start."""
FEW_SECONDS = 3
"""Processor seconds for all real captures, also with logs."""
BY_TIME = "select api_key, count(*) from {} group by api_key order by 2 desc"


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    kwire, tshark = installed(), shutil.which("tshark")
    if not kwire:
        return
    with tempfile.TemporaryDirectory() as scratch:
        Block(kwire, tshark, Path(scratch), folder or Path(scratch), messages).run(runs)


@dataclass
class Block:
    """The captures, a folder for what is written, and the rows."""

    kwire: str
    tshark: str | None
    scratch: Path
    folder: Path
    messages: int
    rows: list[Row] = field(default_factory=list)

    def run(self, runs: int) -> None:
        files = make_traffic.captures(self.folder, self.messages)
        long = make_traffic.small(self.folder / f"small-{TIMES}.pcap", TIMES * self.messages)
        pieces = make_traffic.rotated(
            self.folder / "pieces", make_traffic.CLASSIC, files=FILES, size=40_000, connections=8, small=True
        )
        whole = self.folder / "pieces.pcap"
        if not whole.exists():
            make_traffic.write(whole, make_traffic.CLASSIC, size=40_000 * FILES, small=True)
        for name, count in ("short", SHORT), ("few short", FEW_SHORT):
            make_traffic.short(self.folder / f"short-{count}", files=count, size=33_000)
            self.export(name, ALL, [self.folder / f"short-{count}"])
        lake = self.scratch / "asked"
        subprocess.run((self.kwire, "export", str(long), "-o", str(lake)), check=True, capture_output=True)
        for name, path in ("small", files["small"]), ("modern", files["modern"]), (START, SAMPLE):
            for row, tables in (FRAMES, "frames"), (ALL, "frames,costs,names,faults"), (BODIES, "bodies"):
                self.export(name, row, [path], tables)
        csv = self.scratch / "frames.csv"
        self.rows.append(Row("small", TSHARK, *busy(self.tshark, *self.fields(files["small"]))))
        self.export("long", ALL, [long], "frames,costs,names,faults")
        self.rows.append(Row("long", STATS, *busy(self.kwire, "stats", str(long))))
        self.rows.append(Row("long", REPORT, *busy(self.kwire, "query", str(lake), "stats")))
        self.export("pieces", ALL, [self.folder / "pieces"], "frames,costs,names,faults")
        self.export("whole", ALL, [whole], "frames,costs,names,faults")
        if REAL.is_dir():
            self.export("real", ALL, [REAL])
            self.export("sessions", ALL, [REAL / "captures"])
        measure_in_turns(self.rows, runs)
        for row in self.rows:
            shown = f"{row.seconds:>8.2f} s, at best {row.best:.2f}" if row.seconds else f"not here ({row.why})"
            print(f"    {row.input:<8} {row.name:<46} {shown}")
        self.verdicts(files, long, len(pieces))
        self.jobs(long)
        self.cores(long)
        self.questions(lake, csv)

    def fields(self, path: Path) -> tuple[str, ...]:
        """Return the arguments with which tshark writes fields of Kafka's frames."""
        names = [word for name in FIELDS for word in ("-e", name)]
        form = [word for setting in ("separator=,", "header=y", "occurrence=f") for word in ("-E", setting)]
        return ("-n", "-r", str(path), "-Y", "kafka", "-T", "fields", *form, *names)

    def export(self, name: str, row: str, paths: list[Path], tables: str | None = None) -> None:
        """Add a row that writes tables of captures anew."""
        into = self.scratch / "written" / name
        words = ("export", *map(str, paths), "-o", str(into), "--force", "--jobs", "1")
        words += ("--tables", tables) if tables else ()
        self.rows.append(Row(name, row, *busy(self.kwire, *words)))

    def frames(self, name: str) -> int:
        """Return the number of frames that a row has written."""
        words = (self.kwire, "query", str(self.scratch / "written" / name), "select count(*) as frames from frames")
        return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["frames"]

    def work(self, name: str, row: str) -> float | None:
        """Return the best seconds of a row without those that it takes to start."""
        best, first = find(self.rows, name, row).best, find(self.rows, START, row).best
        return best - first if best and first and best > first else None

    def verdicts(self, files: dict[str, Path], long: Path, pieces: int) -> None:
        """Print the ratios."""
        tshark = find(self.rows, "small", TSHARK).best
        whole = find(self.rows, "small", FRAMES).best
        print_verdict(
            "tshark to csv / export of frames, whole processes", tshark and whole and tshark / whole, at_least=4
        )
        large = self.work("modern", FRAMES)
        speed = large and files["modern"].stat().st_size / 1e6 / large
        print_verdict(
            "export of frames with 1 kB records, MB a second and core / 150", speed and speed / 150, at_least=1
        )
        stats, report = (find(self.rows, "long", name).best for name in (STATS, REPORT))
        print_verdict("stats / query stats", stats and report and stats / report, at_least=20)
        one, many = (find(self.rows, name, ALL).best for name in ("whole", "pieces"))
        print_verdict(f"{pieces} small captures / one with the same bytes", one and many and many / one, at_most=2)
        grown, own = self.work("long", ALL), self.work("small", ALL)
        print_verdict(
            f"{TIMES} times the capture / {TIMES} times the work", grown and own and grown / own / TIMES, at_most=1.1
        )
        work, few = (find(self.rows, name, ALL).best for name in ("short", "few short"))
        frames = self.frames("short") - self.frames("few short")
        print_verdict(
            "frames of short connections a second / 20,000", work and few and frames / (work - few) / 20_000, at_least=1
        )
        first, last = (
            peak(self.kwire, "export", str(path), "--jobs", "1", "-o", str(self.scratch / "memory" / path.stem))
            for path in (files["small"], long)
        )
        print_verdict(f"memory on {TIMES} times the capture ({last / 1e6:.0f} MB)", last / first, at_most=1.3)
        for name, what in ("sessions", "captures and request logs"), ("real", "captures, request logs and segments"):
            real = next((row.best for row in self.rows if row.input == name), None)
            print_verdict(f"all real {what}, seconds / {FEW_SECONDS}", real and real / FEW_SECONDS, at_most=1)

    def jobs(self, path: Path) -> None:
        """Print how much faster two processes write the tables than one, with their start."""
        rows = [
            Row("jobs", f"export --jobs {jobs}", partial(self.seconds, path, jobs, self.scratch / f"jobs-{jobs}"))
            for jobs in (1, 2)
        ]
        measure_in_turns(rows, 3)
        one, two = (row.best for row in rows)
        print_verdict("export with one job / with two", one and two and one / two, at_least=1.2)

    def seconds(self, path: Path, jobs: int, into: Path) -> float:
        """Return the seconds in which so many processes write the tables of a capture."""
        words = (self.kwire, "export", str(path), "-o", str(into), "--force", "--jobs", str(jobs))
        start = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        return time.perf_counter() - start

    def cores(self, path: Path) -> None:
        """Print how much faster Spark writes the tables on two cores, in sessions that are up and warm."""
        seconds = []
        for cores in (1, 2):
            into = str(self.scratch / f"cores-{cores}")
            words = (sys.executable, __file__, str(path), f"local[{cores}]", into)
            try:
                done = subprocess.run(words, check=True, capture_output=True, text=True)
            except subprocess.CalledProcessError as error:
                print(f"    Spark does not run here: {error.stderr.strip().splitlines()[-1:]}")
                return
            seconds.append(float(done.stdout))
            print(f"    {'cores':<8} {f'export --master local[{cores}]':<46} {seconds[-1]:>8.2f} s")
        print_verdict("export --master on one core / on two", seconds[0] / seconds[1], at_least=1.7)

    def questions(self, lake: Path, csv: Path) -> None:
        """Print what the same question takes DuckDB, of Parquet and of tshark's csv."""
        import duckdb

        rows = []
        sources = {"Parquet": f"read_parquet('{lake}/frames/day=*/*.parquet')"}
        if self.tshark:
            with csv.open("wb") as out:
                subprocess.run((self.tshark, *self.fields(self.folder / "small.pcap")), check=True, stdout=out)
            sources["tshark's csv"] = (
                f"(select \"kafka.api_key\" as api_key from read_csv('{csv}', all_varchar = true, delim = ','))"
            )
        with duckdb.connect() as connection:
            for name, source in sources.items():
                rows.append(Row("question", f"DuckDB over {name}", lambda source=source: timed(connection, source)))
            measure_in_turns(rows, 5)
        for row in rows:
            print(f"    {row.input:<8} {row.name:<46} {row.seconds:>8.3f} s")


def timed(connection: object, source: str) -> float:
    """Return the seconds that DuckDB takes for a question."""
    start = time.perf_counter()
    connection.execute(BY_TIME.format(source)).fetchall()
    return time.perf_counter() - start


def exported(path: str, master: str, into: str) -> float:
    """Return the seconds in which Spark writes the tables of a capture; the session has written those of another."""
    from kwire_cli.lake.export import write_tables
    from kwire_cli.lake.inputs import named_files
    from kwire_cli.lake.model import Reading, Wanted
    from kwire_cli.spark.export import SparkTasks
    from kwire_cli.spark.session import session

    wanted = Wanted(frozenset({"frames", "costs", "names", "faults"}), Reading())
    with session(master) as spark:
        write_tables(SparkTasks(spark), named_files([str(SAMPLE)]), Path(into), wanted)
        start = time.perf_counter()
        write_tables(SparkTasks(spark), named_files([path]), Path(into), wanted)
        return time.perf_counter() - start


if __name__ == "__main__":
    print(exported(*sys.argv[1:]))
