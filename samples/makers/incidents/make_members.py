"""Make captures of members in trouble: two with one group.instance.id, one that is killed, and one too many.

Usage: KAFKA_JARS=JARS python make_members.py [static|killed|idle]...

Needs the package confluent-kafka. Members are processes of their own, as they are killed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from cluster import CLIENTS, Cluster, cluster, recording
from confluent_kafka import Consumer

if TYPE_CHECKING:
    from collections.abc import Mapping

FAST = {"group.min.session.timeout.ms": "1000"}
TOPIC = "payments"
NO_ACKS = (
    "(tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst) != 0 or ip[2:2] - ((ip[0] & 15) << 2) - ((tcp[12] & 240) >> 2) != 0)"
)
"""A filter that leaves packets without data out, so that a capture stays small."""
WITHOUT_ACKS = f"tcp portrange {CLIENTS}-{CLIENTS + 9} and {NO_ACKS}"
RUNNING: list[subprocess.Popen[bytes]] = []


def member(address: str, name: str, settings: Mapping[str, str]) -> None:
    """Run a member until it is ended; a setting without a value is left out."""
    options = (
        {
            "bootstrap.servers": address, "client.id": name, "group.id": "payment-workers",
            "auto.offset.reset": "earliest", "enable.auto.commit": False, "heartbeat.interval.ms": 1000,
            "session.timeout.ms": 4000, "fetch.wait.max.ms": 10_000, "fetch.queue.backoff.ms": 5000,
            "partition.assignment.strategy": "range", "topic.metadata.refresh.interval.ms": -1,
            **{key: value for key, value in settings.items() if key != "x"},
        }
    )  # fmt: skip
    client = Consumer({key: value for key, value in options.items() if value != ""})
    client.subscribe([TOPIC])
    until = time.time() + float(settings.get("x", 1e9))
    while time.time() < until:
        client.poll(0.5)
    client.close()


def start(brokers: Cluster, name: str, *settings: str) -> subprocess.Popen[bytes]:
    """Start a member as a process; settings are `name=value`."""
    process = subprocess.Popen([sys.executable, __file__, "member", brokers.address(), name, *settings])
    RUNNING.append(process)
    return process


def end(*processes: subprocess.Popen[bytes], kill: bool = True) -> None:
    for process in processes:
        (process.kill if kill else process.terminate)()
        process.wait()


def static() -> None:
    """Two deployments run with one group.instance.id; a supervisor starts anew whichever is fenced."""
    with cluster(settings=FAST) as brokers:
        brokers.topic(TOPIC, 2)
        with recording("static-member.pcap", WITHOUT_ACKS):
            own = "group.instance.id=worker-a"
            blue = start(brokers, "blue", own)
            time.sleep(4)
            green = start(brokers, "green", own)
            time.sleep(2)
            end(blue)
            blue = start(brokers, "blue", own)
            time.sleep(2)
            end(green)
            green = start(brokers, "green", own)
            time.sleep(2)
            end(blue, green)


def killed() -> None:
    """A member of two is killed again and again; the session timeout is 4 seconds."""
    with cluster(settings=FAST) as brokers:
        brokers.topic(TOPIC, 4)
        with recording("killed-member.pcap", WITHOUT_ACKS):
            calm = start(brokers, "worker-1")
            time.sleep(3)
            for _ in range(2):
                other = start(brokers, "worker-2")
                time.sleep(5)
                end(other)
                time.sleep(7)
            end(calm)


def idle() -> None:
    """Three members for two partitions; the third one comes and goes, and gets nothing."""
    with cluster(settings=FAST) as brokers:
        brokers.topic(TOPIC, 2)
        with recording("idle-member.pcap", WITHOUT_ACKS):
            both = [start(brokers, f"worker-{number}") for number in (1, 2)]
            time.sleep(4)
            for seconds in (1, 11):
                start(brokers, "worker-3", f"x={seconds}").wait(40)
                time.sleep(1)
            end(*both)


if __name__ == "__main__":
    if sys.argv[1:2] == ["member"]:
        member(sys.argv[2], sys.argv[3], dict(setting.split("=", 1) for setting in sys.argv[4:]))
    else:
        try:
            for incident in sys.argv[1:] or ["static", "killed", "idle"]:
                {"static": static, "killed": killed, "idle": idle}[incident]()
        finally:
            end(*RUNNING)
