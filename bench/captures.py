"""Block `captures`: whole processes against tshark on the same captures; and kwire's memory on a capture and on one ten
times as long.

Measured is processor time: all rows are one busy thread, and a machine that has other things to do gives the same
ratios.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import make_traffic
import startup
from timing import Row, measure_in_turns, print_verdict, ratio, ratio_at_best

import kwire_cli

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = (
    "frame.number",
    "kafka.api_key",
    "kafka.api_version",
    "kafka.correlation_id",
    "kafka.client_id",
    "kafka.topic_name",
)
VERBOSE, EK, SOME = "tshark -V", "tshark -Y kafka -J kafka -T ek", "tshark -T fields"
JSONL, TABLE = "kwire decode --format jsonl", "kwire decode --format table"
BASE64 = "kwire decode --format jsonl --records base64"
TSHARK = {
    VERBOSE: ("-V",),
    EK: ("-Y", "kafka", "-J", "kafka", "-T", "ek"),
    SOME: ("-T", "fields", *(word for name in FIELDS for word in ("-e", name))),
}
KWIRE = {
    JSONL: ("decode", "--format", "jsonl"),
    BASE64: ("decode", "--format", "jsonl", "--records", "base64"),
    TABLE: ("decode", "--format", "table"),
}
TARGETS = ((JSONL, VERBOSE, 1.0), (JSONL, EK, 3.0), (BASE64, EK, 3.0), (TABLE, SOME, 1.5))


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    kwire, tshark = installed(), shutil.which("tshark")
    if not kwire:
        return
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        files = make_traffic.captures(where, messages)
        if not tshark:
            print("  tshark is not here: kwire alone")
        rows = [
            Row(name, row, *busy(tshark, "-n", "-r", str(path), *words))
            for name, path in files.items()
            for row, words in TSHARK.items()
        ]
        rows += [
            Row(name, row, *busy(kwire, *words, str(path)))
            for name, path in files.items()
            for row, words in KWIRE.items()
        ]
        measure_in_turns(rows, runs)
        for name, path in files.items():
            print(f"\n  {name}: {path.stat().st_size / 1e6:.0f} MB")
            for row in (row for row in rows if row.input == name):
                print(f"    {row.name:<46} " + (f"{row.seconds:>8.2f} s" if row.seconds else f"not here ({row.why})"))
            for fast, slow, wanted in TARGETS:
                print_verdict(f"{slow} / {fast}", ratio(rows, name, slow, fast), at_least=wanted)
        long = make_traffic.small(where / "small-long.pcap", 10 * messages)
        for row, words in KWIRE.items():
            one, ten = (peak(kwire, *words, str(path)) for path in (files["small"], long))
            print(f"\n  memory of {row}: {one / 1e6:.0f} MB, ten times as much traffic {ten / 1e6:.0f} MB")
            print_verdict("memory on ten times as much / on the capture", ten / one, at_most=1.1)


def print_beside(
    commands: dict[str, tuple[str, ...]],
    judged: Sequence[str],
    runs: int,
    folder: Path | None,
    messages: int,
    *,
    most: float,
    most_memory: float,
) -> None:
    """Measure commands on the captures, and print their times.

    Those that are `judged` take at most `most` times as long as the first command. On ten times as much traffic the
    first of them needs at most `most_memory` times the memory.
    """
    kwire = installed()
    if not kwire:
        return
    plain = next(iter(commands))
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        files = make_traffic.captures(where, messages)
        rows = [
            Row(name, row, *timed(kwire, *words, str(path)))
            for name, path in files.items()
            for row, words in commands.items()
        ]
        measure_in_turns(rows, runs)
        for name, path in files.items():
            print(f"\n  {name}: {path.stat().st_size / 1e6:.0f} MB")
            for row in (row for row in rows if row.input == name):
                print(f"    {row.name:<46} {row.seconds:>8.2f} s, at best {row.best:.2f}")
            for command in judged:
                print_verdict(f"{command} / {plain}", ratio(rows, name, command, plain), at_most=most)
                print_verdict("the same, best turns", ratio_at_best(rows, name, command, plain), at_most=most)
        long = make_traffic.small(where / "small-long.pcap", 10 * messages)
        one, ten = (peak(kwire, *commands[judged[0]], str(path)) for path in (files["small"], long))
        print_verdict(
            f"memory on ten times as much traffic ({ten / 1e6:.0f} MB) / on the capture ({one / 1e6:.0f} MB)",
            ten / one,
            at_most=most_memory,
        )


def installed() -> str | None:
    """The program kwire, its modules compiled as an installation does; None, and said so, where it is not here."""
    program = startup.kwire()
    if program:
        compileall.compile_dir(str(Path(kwire_cli.__file__).parent), quiet=2)
    else:
        print("  not here: no kwire")
    return program


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(program: str | None, *words: str):
    """What measures a process, or None and why it is not here."""
    if program is None:
        return None, "not installed"

    def once() -> float:
        start = time.perf_counter()
        subprocess.run(
            (program, *words),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return time.perf_counter() - start

    return once, ""


def busy(program: str | None, *words: str):
    """As `timed`, but the time that processors were busy with it."""
    if program is None:
        return None, "not installed"

    def once() -> float:
        usage = _usage(program, *words)
        return usage.ru_utime + usage.ru_stime

    return once, ""


def peak(*command: str) -> int:
    """The most memory that a process had, in bytes."""
    return _usage(*command).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _usage(*command: str):
    child = subprocess.Popen(
        command, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage
