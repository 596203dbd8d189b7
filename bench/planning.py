"""Block `planning`: what a driver and a worker hold of 800,000 captures of 125 MB, and how long the plan takes.

The files do not exist: tasks make up their outlines, of which the real functions make the real plan and its windows. A
worker then looks at its share of each window as tasks do, but reads nothing.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

FILES, SIZE, BROKERS = 800_000, 125_000_000, 100
PACKETS = 150_000
SECOND = 1_000_000_000


def block() -> None:
    for name, what in (("folders", "a capture point for each of 100 brokers"), ("merged", "one capture point of all")):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, __file__, name, folder], capture_output=True, text=True, check=True)
            driver = json.loads(run.stdout.splitlines()[-1])
            run = subprocess.run(
                [sys.executable, __file__, "worker", folder], capture_output=True, text=True, check=True
            )
            worker = json.loads(run.stdout.splitlines()[-1])
        print(f"  {FILES:,} files, {FILES * SIZE / 1e12:.0f} TB, {what}")
        for key, value in (driver | worker).items():
            print(f"    {key:<44}{value:>12,}")


def listing(files: int) -> pa.Table:
    """Make up a listing: each broker writes a file every 100 seconds, into a folder for each day."""
    import pyarrow as pa

    from kwire_cli.pipeline.lake.units import LISTED

    each = files // BROKERS
    paths = (
        f"/data/captures/broker-{broker:03d}/broker-{broker:03d}_{number:05d}_20261101000000.pcap"
        for broker in range(BROKERS)
        for number in range(each)
    )
    count = each * BROKERS
    columns = {
        "path": pa.array(paths, pa.string()),
        "kind": pa.repeat(pa.scalar("capture"), count),
        "size": pa.repeat(pa.scalar(SIZE, pa.int64()), count),
        "modified": pa.nulls(count, LISTED.field("modified").type),
        "digest": pa.array((f"{number:032x}" for number in range(count)), pa.string()),
    }
    return pa.table([columns[field.name] for field in LISTED], LISTED)


def outlines(each: int, files: pa.Table) -> Iterator[pa.RecordBatch]:
    """Make up outlines, as a task makes them of files."""
    from kwire_cli.engine.arrow import batch_of
    from kwire_cli.pipeline.lake.windows import OUTLINES

    rows = []
    for number in files["number"].to_pylist():
        broker, at = divmod(number, each)
        first = 1_790_000_000 * SECOND + at * 100 * SECOND + broker * SECOND // 2
        latest = first + 99 * SECOND
        parts = [(24, SIZE, [], 0, -(1 << 63), first, latest)]
        rows.append((number, PACKETS, first, latest, None, None, parts))
    yield batch_of(rows, OUTLINES)


def driver(name: str, folder: Path) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa

    from kwire_cli.pipeline.into import SparkTasks
    from kwire_cli.pipeline.lake.tables import INPUTS
    from kwire_cli.pipeline.lake.units import units_of, work_of
    from kwire_cli.pipeline.lake.window_tasks import Job, owners_of
    from kwire_cli.pipeline.lake.windows import OUTLINES, planned, windows
    from kwire_cli.pipeline.model import Reading, Wanted
    from kwire_cli.pipeline.parts import MOST_TASKS
    from kwire_cli.pipeline.session import session
    from kwire_cli.source.files import Naming

    seen: dict[str, Any] = {}
    clock = time.perf_counter()

    def lap(what: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        seen[what], clock = round(now - clock, 1), now

    naming = Naming(merged=name == "merged")
    with session("local[2]") as spark:
        spark.range(1).collect()
        files = listing(FILES)
        start = memory()
        clock = time.perf_counter()
        rows = pa.table({"number": np.arange(FILES), "path": files["path"]})
        found = SparkTasks(spark).looked_at(
            folder, "_captures", rows, np.full(FILES, SIZE), partial(outlines, FILES // BROKERS), OUTLINES
        )
        lap("seconds: the job that outlines all files")
        java = max(memory(child) for child in children(processes()))
        plan = planned(files, found, naming)
        lap("seconds: plan")
        names = (None if number is None else plan.points[number].name for number in plan.of_files)
        work = work_of(INPUTS.empty_table(), units_of(files, names), again=False)
        lap("seconds: what is new")
        count = packs = owners = 0
        wanted = Wanted(frozenset({"frames", "costs", "names", "faults"}), Reading())
        for window in windows(plan, folder, range(len(plan.points))):
            job = Job(folder, "parquet", window, (), wanted, plan.secrets)
            (folder / f"job-{count:05d}").write_bytes(pickle.dumps(job))
            count, packs, owners = count + 1, packs + window.packs, owners + owners_of(window, 1000)
        lap("seconds: windows")
    return seen | {
        "jobs": count + 1,
        "tasks that outline (1,000 cores)": MOST_TASKS,
        "tasks that describe packets": packs,
        "tasks that own connections (1,000 cores)": owners,
        "tasks of a window, on average": -(-packs // count) + -(-owners // count),
        "files of the plan on disk, MB": sum(path.stat().st_size for path in folder.iterdir()) >> 20,
        "driver before the plan, MB": start,
        "driver at most, MB": memory(),
        "driver's Java at most, MB": java,
        "units": len(work.units),
    }


def worker(folder: Path) -> dict[str, Any]:
    """Look at the shares of a worker that takes part in all windows."""
    import gc

    from kwire_cli.pipeline.lake import window_tasks
    from kwire_cli.pipeline.lake.windows import Opened, origin_of, parts_of

    gc.collect()
    start, most = memory(), 0
    for path in sorted(folder.glob("job-*")):
        job = pickle.loads(path.read_bytes())
        for pack in range(0, job.window.packs, 100):
            for part in parts_of(job.window, job.hidden, pack).parts:
                assert Opened(job.hidden)[part.file] == part.part.file
                origin = origin_of(job.window.points[part.point], part.point, job.hidden)
                if hasattr(origin, "row"):
                    assert origin.place(part.before + 1).packet == 1
            most = max(most, memory())
    assert window_tasks
    return {"worker before its first task, MB": start, "worker at most, MB": most}


def memory(process: str | int = "self") -> int:
    """Return the most memory that a process had so far, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) >> 10
    return 0


def processes() -> dict[int, int]:
    """Return the parent of each process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def children(parents: dict[int, int]) -> list[int]:
    """Return the processes below this one that are Java's."""
    own, more = {os.getpid()}, True
    while more:
        below = {process for process, parent in parents.items() if parent in own} - own
        own |= below
        more = bool(below)
    return [process for process in own if (Path(f"/proc/{process}/comm").read_text().strip() == "java")]


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(worker(folder) if what == "worker" else driver(what, folder)))
