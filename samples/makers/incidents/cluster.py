"""Real brokers on the loopback interface, and tcpdump beside them: what the scripts of this folder make incidents with.

Kafka's jars are those of `bench/java/tools/pom.xml`. Fetch them once, and set KAFKA_JARS to that folder:
`mvn -f bench/java/tools/pom.xml dependency:copy-dependencies -DoutputDirectory=JARS`.
Java 17, tcpdump and the rights to capture on `lo` are needed. pytest does not collect these scripts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SAMPLES = Path(__file__).resolve().parents[2] / "incidents"
CLIENTS = 29092
"""The port of the first broker's listener for clients; the next broker has the next port."""
INTERNAL = 29192
CONTROLLERS = 29292
LOGGING = """
status=error
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern={pattern}
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=OUT
{more}
"""


def jars() -> str:
    """Return the class path of Kafka."""
    return str(Path(os.environ["KAFKA_JARS"]) / "*")


def java(main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """Return the command that runs one of Kafka's classes."""
    return ["java", "-Xmx256m", *options, "-cp", jars(), main, *arguments]


def tool(main: str, *arguments: str) -> str:
    """Run an admin tool of Kafka, and return what it prints."""
    done = subprocess.run(java(main, *arguments), capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{main}: {done.stdout}{done.stderr}")
    return done.stdout


class Cluster:
    """Brokers in KRaft mode, each with a listener for clients and another for brokers and tools."""

    def __init__(
        self,
        folder: Path,
        brokers: int = 1,
        settings: Mapping[str, str] | None = None,
        clients: Mapping[int, str] | None = None,
        protocol: str = "PLAINTEXT",
        pattern: str = "[%d] %p %m (%c)%n",
        loggers: str = "",
    ) -> None:
        self.folder, self.brokers, self.settings = folder, range(1, brokers + 1), dict(settings or {})
        self.clients = dict(clients or {})
        """The address that a broker advertises to clients, if it isn't its own."""
        self.protocol = protocol
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        (folder / "log4j2.properties").write_text(LOGGING.format(pattern=pattern, more=loggers))
        for node in self.brokers:
            self._format(node)

    def address(self, node: int = 1) -> str:
        return f"127.0.0.1:{CLIENTS + node - 1}"

    @property
    def internal(self) -> str:
        return f"127.0.0.1:{INTERNAL}"

    def log_directory(self, node: int = 1) -> Path:
        return self.folder / f"data-{node}"

    def _format(self, node: int) -> None:
        """Write a broker's properties, and an empty log directory."""
        copies = str(len(self.brokers))
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{CONTROLLERS + n - 1}" for n in self.brokers),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INTERNAL",
            "listener.security.protocol.map": (
                f"CLIENTS:{self.protocol},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
            ),
            "listeners": (
                f"CLIENTS://{self.address(node)},INTERNAL://127.0.0.1:{INTERNAL + node - 1},"
                f"CONTROLLER://127.0.0.1:{CONTROLLERS + node - 1}"
            ),
            "advertised.listeners": (
                f"CLIENTS://{self.clients.get(node, self.address(node))},INTERNAL://127.0.0.1:{INTERNAL + node - 1}"
            ),
            "log.dirs": str(self.log_directory(node)),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.dedupe.buffer.size": "10485760",
            "auto.create.topics.enable": "false",
            **self.settings,
        }
        file = self.folder / f"broker-{node}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        tool("kafka.tools.StorageTool", "format", "-t", "kwireIncidentsAAAAAAAA", "-c", str(file))

    def replace_disk(self, node: int) -> None:
        """Give a broker that is stopped an empty log directory."""
        shutil.rmtree(self.log_directory(node))
        self._format(node)

    def start(self, node: int) -> None:
        """Start a broker, and return before it answers."""
        options = (f"-Dlog4j2.configurationFile={self.folder}/log4j2.properties",)
        command = java("kafka.Kafka", str(self.folder / f"broker-{node}.properties"), options=options)
        with (self.folder / f"broker-{node}.out").open("ab") as out:
            self.running[node] = subprocess.Popen(command, stdout=out, stderr=out)

    def stop(self, node: int, kill: bool = False) -> None:
        process = self.running.pop(node)
        (process.kill if kill else process.terminate)()
        process.wait(60)

    def wait(self) -> None:
        """Wait until all brokers that run are told to clients."""
        for _ in range(60):
            with_brokers = subprocess.run(
                java("org.apache.kafka.tools.BrokerApiVersionsCommand", "--bootstrap-server", self.internal),
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            if with_brokers.count(" -> (") == len(self.running):
                return
            time.sleep(0.5)
        raise RuntimeError("the brokers do not answer: " + (self.folder / "broker-1.out").read_text()[-2000:])

    def topic(self, name: str, partitions: int = 1, *more: str) -> None:
        self.admin(
            "TopicCommand", "--create", "--topic", name, "--partitions", str(partitions),
            "--replication-factor", str(len(self.brokers)), *more,
        )  # fmt: skip

    def admin(self, command: str, *arguments: str) -> str:
        package = "kafka.admin" if command == "ConfigCommand" else "org.apache.kafka.tools"
        return tool(f"{package}.{command}", "--bootstrap-server", self.internal, *arguments)


@contextmanager
def cluster(**options: object) -> Iterator[Cluster]:
    """Run brokers with these options of Cluster, and stop them."""
    folder = Path(tempfile.mkdtemp(prefix="kwire-incident-"))
    brokers = Cluster(folder, **options)  # type: ignore[arg-type]
    try:
        for node in brokers.brokers:
            brokers.start(node)
        brokers.wait()
        yield brokers
    finally:
        for node in list(brokers.running):
            brokers.stop(node, kill=True)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def recording(
    name: str,
    filter_: str = f"tcp portrange {CLIENTS}-{CLIENTS + 9}",
    device: str = "lo",
    options: tuple[str, ...] = ("-s", "0"),
) -> Iterator[subprocess.Popen[bytes]]:
    """Capture what the filter lets through, by default that of the listeners for clients, into samples/incidents."""
    path = SAMPLES / name
    command = ["tcpdump", "-i", device, *options, "-U", "-w", "-", filter_]
    with path.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)
        assert process.stderr is not None
        while b"listening on" not in process.stderr.readline():
            pass
        time.sleep(0.5)
        try:
            yield process
        finally:
            time.sleep(1)
            process.terminate()
            process.wait()
    print(f"{path.name}: {path.stat().st_size} bytes")


def keep(brokers: Cluster, incident: str, *partitions: str) -> None:
    """Keep the first segment of these partitions in a folder of samples/incidents."""
    shutil.rmtree(SAMPLES / incident, ignore_errors=True)
    for partition in partitions:
        (SAMPLES / incident / partition).mkdir(parents=True)
        shutil.copy(brokers.log_directory() / partition / "00000000000000000000.log", SAMPLES / incident / partition)


def run(command: list[str], seconds: float, text: str = "") -> str:
    """Run a client for so long at most, with this on standard input, and print what it logs."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    print(f"--- {' '.join(command[4:])[:200]}\n{out[-3000:]}")
    return out
