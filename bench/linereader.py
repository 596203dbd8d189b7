"""Readers in other languages: processes that measure when they are told to by a line, so that they take their turns
like everyone else.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from javareader import NotHereError, Told, fetch

HERE = Path(__file__).parent


class LineReader(Told):
    """A running process that speaks as `java/Records.java` says."""

    def __init__(self, command: list[str], hello: str) -> None:
        super().__init__(command)
        if not self.version.startswith(hello):
            raise NotHereError("it does not start")

    def measure(self, path: Path, seconds: float, *, crc: bool) -> tuple[float, tuple[int, ...]]:
        """Seconds a record, and the sums that show what was read."""
        nanoseconds, *sums = self.ask(path, int(crc), seconds)
        return float(nanoseconds) / 1e9, tuple(map(int, sums))


def java() -> LineReader:
    """kafka-clients."""
    if not shutil.which("java"):
        raise NotHereError("no java")
    fetch(HERE / "java")
    return LineReader(
        ["java", "-Xmx1g", "-cp", str(HERE / "java" / "lib" / "*"), str(HERE / "java" / "Records.java")], "java"
    )


def go() -> LineReader:
    """franz-go's kmsg."""
    program = HERE / "go" / "gorec"
    if not program.exists():
        if not shutil.which("go"):
            raise NotHereError("no go")
        if subprocess.run(
            ["go", "build", "-o", program.name, "."], cwd=program.parent, capture_output=True, timeout=600, check=False
        ).returncode:
            raise NotHereError("go could not build it")
    return LineReader([str(program)], "go")
