"""A job on a cluster in which an executor dies: run in commands_of_a_session, with a path for its mark, and what it
writes.
"""

import os
import signal
from pathlib import Path

from pyspark import TaskContext

from kwire_cli.lake.export import Cut, write_tables
from kwire_cli.lake.inputs import named_files
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.spark.export import SparkTasks

OFTEN = 4


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


def run(spark, died, tables, path):
    """Write these tables of a lake, and leave them in its folder."""
    wanted = Tables(tables.split(","))
    wanted.mark = died
    write_tables(
        SparkTasks(spark), named_files([path]), Path(f"{died}-lake"), Wanted(wanted, Reading()), cut=Cut(3000, parts=20)
    )
    assert Path(wanted.mark).exists()
