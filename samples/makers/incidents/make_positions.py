"""Make captures of consumers and share groups that do not get records: no offset, no partition, slow work, given up.

Usage: KAFKA_JARS=JARS python make_positions.py [offsets|share|slow|partition|logins|controller]...

Needs the packages confluent-kafka and kafka-python.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from pathlib import Path

from cluster import CLIENTS, Cluster, cluster, java, recording, run
from confluent_kafka import Consumer, KafkaException
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import NoOffsetForPartitionError
from make_groups import FAST, fill
from make_members import WITHOUT_ACKS

SHARE = FAST | {"group.share.min.delivery.count.limit": "2", "group.share.delivery.count.limit": "3"}
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
WORKER = str(Path(__file__).with_name("ShareWorker.java"))
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_shop="shop-secret";'


def offsets() -> None:
    """A group without offsets, with auto.offset.reset=none and latest."""
    with cluster() as brokers:
        brokers.topic("orders", 2)
        fill(brokers, "orders", 2, 12)
        with recording("no-offset.pcap", WITHOUT_ACKS):
            client = KafkaConsumer(
                "orders", bootstrap_servers=brokers.address(), client_id="py", group_id="g-py", auto_offset_reset="none"
            )
            try:
                next(client)
            except NoOffsetForPartitionError as error:
                print(error)
            client.close()
        with recording("no-offset-latest.pcap", WITHOUT_ACKS):
            words = ("--bootstrap-server", brokers.address(), "--topic", "orders", "--group", "g-latest")
            run(java(CONSOLE, *words, "--consumer-property", "client.id=subscribe-1"), 18)


def share() -> None:
    """Share groups that reject, release and accept each third record."""
    with cluster(settings=SHARE) as brokers:
        brokers.topic("orders", 2)
        fill(brokers, "orders", 2, 12)
        for name, kind in (("rejected", "REJECT"), ("archived", "RELEASE"), ("accepted", "ACCEPT")):
            group = ("--entity-type", "groups", "--entity-name", name)
            brokers.admin("ConfigCommand", "--alter", *group, "--add-config", "share.auto.offset.reset=earliest")
            with recording(f"share-{name}.pcap", WITHOUT_ACKS):
                run(java(WORKER, brokers.address(), name, kind), 60)


def slow() -> None:
    """A consumer that works five seconds on each record; max.poll.interval.ms is three seconds."""
    settings = {"group.id": "g-poll-rd", "client.id": "rd", "auto.offset.reset": "earliest"}
    settings |= {"enable.auto.commit": "false", "max.poll.interval.ms": "3000", "session.timeout.ms": "3000"}
    with cluster(settings={"group.min.session.timeout.ms": "1000"}) as brokers:
        brokers.topic("slow")
        fill(brokers, "slow", 1, 4)
        with recording("slow-polls.pcap", WITHOUT_ACKS):
            client = Consumer(settings | {"bootstrap.servers": brokers.address(), "fetch.wait.max.ms": "2000"})
            client.subscribe(["slow"])
            until = time.time() + 24
            while time.time() < until:
                message = client.poll(0.5)
                if message is not None and not message.error():
                    time.sleep(5)
                    try:
                        client.commit(message, asynchronous=False)
                    except KafkaException as error:
                        print(error)
            client.close()


def partition() -> None:
    """Metadata 7, ListOffsets 3 and Fetch 6, made by hand, about partition 7 of two."""
    topic = struct.pack(">ih6s", 1, 6, b"orders")
    listing = struct.pack(">ib", -1, 0) + topic + struct.pack(">iiqiq", 2, 0, -2, 7, -2)
    fetch = struct.pack(">iiiib", -1, 100, 1, 1_000_000, 0) + topic + struct.pack(">iiqqi", 1, 7, 0, -1, 1_000_000)
    with cluster() as brokers:
        brokers.topic("orders", 2)
        with recording("unknown-partition.pcap", WITHOUT_ACKS), socket.create_connection(("127.0.0.1", CLIENTS)) as one:
            for number in range(3):
                for key, version, body in ((3, 7, topic + b"\0"), (2, 3, listing), (1, 6, fetch)):
                    request = struct.pack(">hhih8s", key, version, number, 8, b"sync-job") + body
                    one.sendall(struct.pack(">i", len(request)) + request)
                    one.recv(65536)
                time.sleep(0.5)


def logins() -> None:
    """Eight producers of a host, each with its client id, and SASL PLAIN without TLS."""
    plain = {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": LOGIN}
    settings = {f"listener.name.clients.{name}": value for name, value in plain.items()}
    with cluster(settings=settings, protocol="SASL_PLAINTEXT") as brokers:
        brokers.topic("orders")
        with recording("short-ids.pcap", WITHOUT_ACKS):
            for number in range(8):
                client = KafkaProducer(
                    bootstrap_servers=brokers.address(), client_id=f"short-{number}", sasl_mechanism="PLAIN",
                    security_protocol="SASL_PLAINTEXT", sasl_plain_username="shop", sasl_plain_password="shop-secret",
                )  # fmt: skip
                client.send("orders", b"x").get(20)
                client.close()


def controller() -> None:
    """Two brokers that are the controllers too. The second one is killed, and a consumer looks for it."""
    with cluster(brokers=2) as brokers:
        brokers.topic("orders", 4)
        fill(brokers, "orders", 4, 8)
        _without_second(brokers)


def _without_second(brokers: Cluster) -> None:
    brokers.stop(2, kill=True)
    time.sleep(4)
    with recording("controller-gone.pcap", "tcp portrange 29092-29101 or tcp portrange 29292-29301"):
        client = KafkaConsumer(
            "orders", bootstrap_servers=brokers.address(), client_id="py", auto_offset_reset="earliest",
            consumer_timeout_ms=6000,
        )  # fmt: skip
        print(len(list(client)))
        client.close()


if __name__ == "__main__":
    kinds = {
        "offsets": offsets, "share": share, "slow": slow, "partition": partition, "logins": logins,
        "controller": controller,
    }  # fmt: skip
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
