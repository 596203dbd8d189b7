"""A job on a cluster whose first executor dies in the middle of it: run by test_cluster, with the master's address and a path."""

import os
import signal
import sys
from pathlib import Path

from kwire_cli.pipeline import tables
from kwire_cli.pipeline.session import session


def main(master, path, died):
    settings = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}

    def die_once(batches):
        for batch in batches:
            yield batch
            try:
                os.close(os.open(died, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)

    with session(master, settings) as spark:
        frame = tables(spark, path, split_size=3000).table("batches", ["topic", "position", "size"])
        rows = frame.mapInArrow(die_once, frame.schema).collect()
        assert Path(died).exists()
        for row in sorted(tuple(row) for row in rows):
            print(*row)


if __name__ == "__main__":
    main(*sys.argv[1:])
