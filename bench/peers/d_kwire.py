"""kwire in the peers harness, block D (MetadataResponse v12 in process): copy to its workers/ folder.

`run` calls the compiled kernel for one message, so that the price of a call from Python is in it. `check` reads the
value that decode gives.
"""

import numpy as np
from pyworker import main

import kwire_cli as kwire
from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.compiled import compiled_kernel
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import first_state

ROOM = 1 << 14
entry = entry_for(kwire.catalog().message("MetadataResponse"), 12)
run_kernel = compiled_kernel()
code, tables = np.array(entry.program.code, np.int64), np.array(entry.program.tables, np.int64)
node, value, end, flags = (np.zeros(4 * ROOM, kind) for kind in (np.int32, np.int64, np.int64, np.int64))
jobs = np.zeros(p.JOB, np.int64)
first = np.array(first_state(entry.program, [entry.pc, 0, 0, 0, 0, 0, 0], ROOM), np.int64)
state = first.copy()


def run(buf, _crc):
    state[:] = first
    state[2] = jobs[2] = len(buf)
    status = run_kernel(code, tables, np.frombuffer(buf, np.uint8), jobs, node, value, end, flags, state)
    assert status == kernel.DONE and jobs[5] == 0  # noqa: PT018 - one check less in the loop
    return node, value, end


def check(buf):
    run(buf, 0)
    m = kwire.decode(buf, message="MetadataResponse", version=12).value
    parts = [part for topic in m["topics"] for part in topic["partitions"]]
    leaders, epochs = (sum(part[name] for part in parts) for name in ("leaderId", "leaderEpoch"))
    replicas, isr = (sum(sum(part[name]) for part in parts) for name in ("replicaNodes", "isrNodes"))
    names = sum(len(topic["name"]) for topic in m["topics"])
    return (
        f"b={len(m['brokers'])} t={len(m['topics'])} p={len(parts)} l={leaders} e={epochs} r={replicas} "
        f"i={isr} n={names}"
    )


main(run, check)
