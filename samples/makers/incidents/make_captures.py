"""Make captures that have too little or too much: packets cut short, packets that tcpdump lost, packets seen twice.

Usage: KAFKA_JARS=JARS python make_captures.py [cut|lost|twice]...

Needs the package confluent-kafka, and for `twice` the rights to make network namespaces.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cluster import CLIENTS, CONTROLLERS, INTERNAL, cluster, recording
from confluent_kafka import Producer


def producer(address: str) -> Producer:
    return Producer({"bootstrap.servers": address, "client.id": "meter", "linger.ms": 0})


def write(client: Producer, count: int, size: int) -> None:
    """Write records one by one, each acknowledged before the next."""
    for _ in range(count):
        client.produce("readings", b"r" * size)
        client.flush(5)


def cut() -> None:
    """A capture with the first 120 bytes of each packet, as `-s 120` makes it."""
    with cluster() as brokers:
        brokers.topic("readings")
        with recording("cut-short.pcap", options=("-s", "120")):
            write(producer(brokers.address()), 20, 400)


def lost() -> None:
    """tcpdump with a buffer of a few packets, which stands still for a moment while a producer goes on.

    No packet here is larger than the snap length. A larger one makes a larger buffer.
    """
    with cluster() as brokers:
        brokers.topic("readings")
        with recording("lost-packets.pcap", options=("-s", "2000", "-B", "64", "--immediate-mode")) as tcpdump:
            client = producer(brokers.address())
            write(client, 4, 400)
            tcpdump.send_signal(signal.SIGSTOP)
            write(client, 60, 1000)
            tcpdump.send_signal(signal.SIGCONT)
            time.sleep(0.5)
            write(client, 4, 400)


def twice() -> None:
    """A capture on `any` of a machine with a bridge, as those with containers have: the bridge and the interface behind
    it both see each packet.
    """
    if os.environ.get("KWIRE_NAMESPACE") is None:
        command = ["unshare", "-n", sys.executable, __file__, "twice"]
        subprocess.run(command, check=True, env={**os.environ, "KWIRE_NAMESPACE": "yes"})
        return
    address, namespace = f"10.90.92.1:{CLIENTS}", "kwire-container"
    subprocess.run(
        f"ip link set lo up && ip link add kwire-bridge type bridge && "
        f"ip address add 10.90.92.1/24 dev kwire-bridge && ip link set kwire-bridge up && ip netns add {namespace} && "
        f"ip link add kwire-veth type veth peer name eth0 netns {namespace} && "
        f"ip link set kwire-veth master kwire-bridge up && ip -n {namespace} address add 10.90.92.2/24 dev eth0 && "
        f"ip -n {namespace} link set eth0 up",
        shell=True, check=True,
    )  # fmt: skip
    listeners = f"CLIENTS://{address},INTERNAL://127.0.0.1:{INTERNAL},CONTROLLER://127.0.0.1:{CONTROLLERS}"
    try:
        with cluster(clients={1: address}, settings={"listeners": listeners}) as brokers:
            brokers.topic("readings")
            with recording("twice.pcap", device="any"):
                code = f"from make_captures import *; write(producer({address!r}), 20, 100)"
                command = ["ip", "netns", "exec", namespace, sys.executable, "-c", code]
                subprocess.run(command, check=True, timeout=60, cwd=Path(__file__).parent)
    finally:
        subprocess.run(["ip", "netns", "delete", namespace], check=False)


if __name__ == "__main__":
    kinds = {"cut": cut, "lost": lost, "twice": twice}
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
