"""Block `startup`: processor time of whole processes. `kwire decode` of one frame against a Python that only imports
what kwire stands on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from timing import Row, find, measure_in_turns, print_verdict, ratio, ratio_at_best

FRAME = (
    "0000003a0003000c00000007000762656e63682d31000200000000000000000000000000000000136f72646572732d6279"
    "2d637573746f6d657200010000"
)
"""A Metadata v12 request, size prefix included."""
BARE, LIBRARIES, DECODE, HELP = (
    "python -c pass",
    "python -c 'import click, rich, construct'",
    "kwire decode FRAME",
    "kwire --help",
)
WHERE = "one process"


def block(runs: int) -> None:
    rows = [
        Row(WHERE, BARE, _process(sys.executable, "-c", "pass")),
        Row(WHERE, LIBRARIES, _process(sys.executable, "-c", "import click, rich, construct")),
        Row(
            WHERE,
            "python -c 'import click, rich.console, construct'",
            _process(sys.executable, "-c", "import click, rich.console, construct"),
        ),
    ]
    program = kwire()
    for name, words in ((DECODE, ("decode", FRAME)), (HELP, ("--help",))):
        rows.append(Row(WHERE, name, _process(program, *words)) if program else Row(WHERE, name, None, "no kwire"))
    measure_in_turns(rows, runs)
    base = find(rows, WHERE, LIBRARIES).seconds or 1.0
    for row in rows:
        print(
            f"    {row.name:<52} "
            + (f"{row.seconds * 1e3:>8.0f} ms {row.seconds / base:>9.2f}x" if row.seconds else f"not here ({row.why})")
        )
    print("\n  ratios")
    print_verdict(f"{DECODE} / {LIBRARIES}, medians", ratio(rows, WHERE, DECODE, LIBRARIES), at_most=1.7)
    print_verdict(f"{DECODE} / {LIBRARIES}, best turns", ratio_at_best(rows, WHERE, DECODE, LIBRARIES), at_most=1.7)


def kwire() -> str | None:
    """The program, beside this Python or on the path."""
    beside = Path(sys.executable).parent / "kwire"
    return str(beside) if beside.exists() else shutil.which("kwire")


def _process(*command: str):
    """A function that runs a process and returns the time that processors were busy with it. The first, unmeasured
    turn leaves compiled modules behind, as an installation does.
    """
    unkept = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}
    environment = {name: value for name, value in os.environ.items() if name not in unkept}

    def once() -> float:
        child = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        return usage.ru_utime + usage.ru_stime

    return once
