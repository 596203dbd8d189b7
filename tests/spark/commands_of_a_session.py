"""Run commands, and jobs that lose executors, in one session on a cluster: run by test_cluster, with the master's
address and settings of Spark.

Each line of standard input is a program and its words, in JSON; a line of standard output is its exit code, what it
printed and what it said.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

# PYTHONSAFEPATH may keep the folder of this file out.
sys.path.append(str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[1]))

import losing_workers
from kit.commands import kwire
from pyspark import cloudpickle

from kwire_cli.spark.session import session

cloudpickle.register_pickle_by_value(losing_workers)  # which workers do not have


def main(master, settings):
    with session(master, json.loads(settings)) as spark:
        for line in sys.stdin:
            program, *words = json.loads(line)
            if program == "kwire":
                done = kwire(*words)
                answer = done.code, done.out, done.err
            else:
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    losing_workers.run(spark, *words)
                answer = 0, said.getvalue(), ""
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
