"""Jobs on a cluster, in each of which an executor dies: run in commands_of_a_session, with a path for marks, and what
is asked.
"""

import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark import TaskContext

from kwire_cli.pipeline import tables
from kwire_cli.pipeline.into import Cut, scan_into
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.output import write
from kwire_cli.pipeline.parts import Rows

OFTEN = 20


def kill_executor(mark):
    """Kill the executor of this task, unless another one died of this mark."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(executor, signal.SIGKILL)


class Tables(frozenset):
    """Tables of a lake. A task that has asked often whether one of them is wanted dies."""

    asked = 0

    def __contains__(self, name):
        Tables.asked += 1
        if TaskContext.get() is not None and Tables.asked > OFTEN:
            kill_executor(self.mark)
        return super().__contains__(name)


def die_once(mark, batches):
    for batch in batches:
        yield batch
        kill_executor(mark)


def then(make, do, batches):
    return do(make(batches))


def run(spark, died, *asked):
    """`asked` are a table, its columns and a path in turn. Tables whose rows tasks write are written, and read
    again; those of a lake are left in its folder.
    """
    for table, columns, path in zip(asked[::3], asked[1::3], asked[2::3], strict=True):
        if table == "lake":
            wanted = Tables(columns.split(","))
            wanted.mark = f"{died}-{table}"
            scan_into(spark, [path], Path(f"{died}-{table}-files"), Wanted(wanted, Reading()), cut=Cut(3000, parts=20))
            assert Path(wanted.mark).exists()
            continue
        found = tables(spark, path, split_size=9000).rows(table, columns.split(","))
        die = partial(die_once, f"{died}-{table}")
        if isinstance(found, Rows):
            folder = f"{died}-{table}-files"
            made = write(replace(found, make=partial(then, found.make, die)), folder, "parquet", (), overwrite=False)
            frame = spark.read.parquet(folder)
            assert made == frame.count()
            assert not [*Path(folder).glob("_temporary*")]
        else:
            frame = found.mapInArrow(die, found.schema)
        rows = frame.collect()
        assert Path(f"{died}-{table}").exists()
        for row in sorted(map(str, (tuple(row) for row in rows))):
            print(table, row)
