"""Block `logs`: whole processes on segments, `kwire dump` against DumpLogSegments; kwire's memory on a segment and on
one ten times as long.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from captures import installed, peak, timed
from make_records import segment, segments
from startup import FRAME
from timing import Row, measure_in_turns, print_verdict, ratio, ratio_at_best

DUMP, VERIFY, DEEP = "kwire dump", "kwire dump --verify", "kwire dump --deep --format jsonl"
KWIRE = {DUMP: ("dump",), VERIFY: ("dump", "--verify"), DEEP: ("dump", "--deep", "--format", "jsonl")}
HEADERS, ITERATED, PRINTED = "DumpLogSegments", "DumpLogSegments --deep-iteration", "DumpLogSegments --print-data-log"
KAFKA: dict[str, tuple[str, ...]] = {
    HEADERS: (),
    ITERATED: ("--deep-iteration",),
    PRINTED: ("--deep-iteration", "--print-data-log"),
}
TARGETS = ((DUMP, HEADERS, 3.0), (VERIFY, HEADERS, 2.0), (DEEP, PRINTED, 1.0))
"""Of the segment without compression; of the others 1 each."""
SMALL, DECODE = "a small segment", "kwire decode FRAME"
OPTIONS = (
    "-Xmx256M -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent"
)
"""Those of Kafka's own scripts."""
TOOLS = Path(__file__).parent / "java" / "tools"
SAMPLE = Path(__file__).parent.parent / "samples" / "segments" / "orders-zstd-0" / "00000000000000000000.log"


def block(runs: int, folder: Path | None) -> None:
    kwire = installed()
    if not kwire:
        return
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        files = segments(where)
        kafka, why = _kafka()
        rows = [
            Row(name, row, *timed(kwire, *words, str(path)))
            for name, path in files.items()
            for row, words in KWIRE.items()
        ]
        for name, path in files.items():
            for row, words in KAFKA.items():
                rows.append(Row(name, row, timed(*kafka, "--files", str(path), *words)[0] if kafka else None, why))
        rows += [
            Row(SMALL, DUMP, *timed(kwire, "dump", str(SAMPLE))),
            Row(SMALL, DECODE, *timed(kwire, "decode", FRAME)),
        ]
        if kafka:
            rows.append(Row(SMALL, HEADERS, timed(*kafka, "--files", str(SAMPLE))[0]))
        measure_in_turns(rows, runs)
        for name in (*files, SMALL):
            print(f"\n  {name}" + (f": {files[name].stat().st_size / 1e6:.0f} MB" if name in files else ""))
            for row in (row for row in rows if row.input == name):
                print(
                    f"    {row.name:<42} "
                    + (
                        f"{row.seconds:>8.2f} s, at best {min(row.times):.2f}"
                        if row.seconds
                        else f"not here ({row.why})"
                    )
                )
        print("\n  ratios")
        for name in files:
            for fast, slow, wanted in TARGETS:
                least = wanted if name == "none" else 1.0
                print_verdict(f"{name}: {slow} / {fast}", ratio(rows, name, slow, fast), at_least=least)
                print_verdict(f"{name}: the same, best turns", ratio_at_best(rows, name, slow, fast), at_least=least)
        print_verdict(f"{SMALL}: {DUMP} / {DECODE}", ratio(rows, SMALL, DUMP, DECODE), at_most=1.1)
        short = segment(where, "none", 30)
        for row, words in KWIRE.items():
            one, ten = (peak(kwire, *words, str(path)) for path in (short, files["none"]))
            print_verdict(
                f"{row}: memory on 300 MB ({ten / 1e6:.0f} MB) / on 30 MB ({one / 1e6:.0f} MB)", ten / one, at_most=1.1
            )


def _kafka() -> tuple[list[str], str]:
    """The command without its arguments, or none and why."""
    if not shutil.which("java"):
        return [], "no java"
    try:
        fetch(TOOLS)
    except NotHereError as error:
        return [], str(error)
    logging = f"-Dlog4j2.configurationFile={TOOLS / 'log4j2.yaml'}"
    return [
        "java",
        *OPTIONS.split(),
        "-Djava.awt.headless=true",
        logging,
        "-cp",
        str(TOOLS / "lib" / "*"),
        "org.apache.kafka.tools.DumpLogSegments",
    ], ""


class NotHereError(Exception):
    """There is no Java or Maven here."""


def fetch(folder: Path) -> None:
    """Fetch the jars that the pom.xml of a folder names into its lib/."""
    if any(folder.glob("lib/*.jar")):
        return
    if not shutil.which("mvn"):
        raise NotHereError("no mvn to fetch Kafka's jars with")
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False).returncode:
        raise NotHereError("mvn could not fetch Kafka's jars")
