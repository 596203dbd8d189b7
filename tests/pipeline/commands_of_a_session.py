"""Run commands in one session on a cluster: run by test_cluster, with the master's address and settings of Spark.

Each line of standard input is the words of a command, in JSON; a line of standard output is its exit code, what it
printed and what it said.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from command_line import kwire

from kwire_cli.pipeline.session import session


def main(master, settings):
    with session(master, json.loads(settings)):
        for line in sys.stdin:
            done = kwire(*json.loads(line))
            print(json.dumps([done.code, done.out, done.err]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
