"""Kafka's own reader (kafka-clients 4.4.0), as a process that measures when told to, so that it takes its turns like
everyone else.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from inputs import DATA, METADATA, MIX

HERE = Path(__file__).parent / "java"
WARM = {**dict.fromkeys(METADATA, 2.0), MIX: 8.0}
"""Seconds until the JIT compiler has done its work."""


class NotHereError(Exception):
    """There is no Java here, or no kafka-clients."""


class Told:
    """A running process that says what it is, and then answers each line that it is told with one."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.version = self._line()

    def _line(self) -> str:
        return self.process.stdout.readline().strip() if self.process.stdout else ""

    def ask(self, *words: object) -> list[str]:
        """The words of the answer."""
        assert self.process.stdin
        print(*words, file=self.process.stdin, flush=True)
        return self._line().split()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


class JavaReader(Told):
    """The running process."""

    def __init__(self) -> None:
        if not shutil.which("java"):
            raise NotHereError("no java")
        fetch(HERE)
        super().__init__(["java", "-Xmx1g", "-cp", str(HERE / "lib" / "*"), str(HERE / "Reader.java"), str(DATA)])
        if not self.version.startswith("java"):
            raise NotHereError("java is older than 17, or kafka-clients can't be loaded")
        for name, seconds in WARM.items():
            self.measure(name, seconds)

    def measure(self, name: str, seconds: float = 0.3) -> float:
        nanoseconds, check = self.ask(name, seconds)
        assert int(check) == (777 if name == MIX else 150), f"Java read something else: {check}"
        return float(nanoseconds) / 1e9


def fetch(folder: Path) -> None:
    """The jars that the pom.xml of a folder names, into its lib/."""
    if any(folder.glob("lib/*.jar")):
        return
    if not shutil.which("mvn"):
        raise NotHereError("no mvn to fetch Kafka's jars with")
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False).returncode:
        raise NotHereError("mvn could not fetch Kafka's jars")
