"""Make captures of groups in trouble: members that come and go in the consumer protocol and in a share group, and lag.

Usage: KAFKA_JARS=JARS python make_groups.py [consumer|share|lag]...

Needs the packages confluent-kafka and kafka-python. The classic protocol is samples/incidents/rebalancing.pcap.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from cluster import Cluster, cluster, java, keep, recording
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

if TYPE_CHECKING:
    from collections.abc import Callable

FAST = {
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000",
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.session.timeout.ms": "4000",
    "group.share.session.timeout.ms": "4000",
    "group.share.min.record.lock.duration.ms": "3000",
    "group.share.record.lock.duration.ms": "3000",
}
"""Seconds where a broker by default takes five of them or more, so that a capture stays small."""


def fill(brokers: Cluster, topic: str, partitions: int, messages: int) -> None:
    producer = Producer({"bootstrap.servers": brokers.address(), "client.id": "shop"})
    for number in range(messages):
        producer.produce(topic, f"payment {number}", str(number), partition=number % partitions)
    producer.flush()


def alongside(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def consumer() -> None:
    """Two members of the consumer protocol, one of which takes longer for its work than max.poll.interval.ms."""
    with cluster(settings=FAST) as brokers:
        brokers.topic("payments", 4)
        fill(brokers, "payments", 4, 40)

        def work(name: str, interval_ms: int, pause: float, until: float) -> None:
            client = Consumer(
                {
                    "bootstrap.servers": brokers.address(), "client.id": name, "group.id": "payment-workers",
                    "group.protocol": "consumer", "max.poll.interval.ms": interval_ms, "auto.offset.reset": "earliest",
                    "enable.auto.commit": False, "fetch.wait.max.ms": 5000, "fetch.queue.backoff.ms": 5000,
                }
            )  # fmt: skip
            client.subscribe(["payments"])
            while time.time() < until:
                if client.poll(0.5) is not None:
                    time.sleep(pause)
            client.close()

        with recording("rebalancing-consumer.pcap"):
            until = time.time() + 24
            calm = alongside(lambda: work("worker-1", 30_000, 0.05, until))
            time.sleep(2)
            work("worker-2", 3_000, 4.0, until - 2)
            calm.join()


def share() -> None:
    """A share group whose member dies while it works on its records, as a container does that is killed for its memory.

    The console consumer does its work by printing. Nobody reads the pipe, which is smaller than a record, so that it is
    at work until it is killed; its heartbeats go on.
    """
    with cluster(settings=FAST) as brokers:
        brokers.topic("payments", 1)
        brokers.admin(
            "ConfigCommand", "--alter", "--entity-type", "groups", "--entity-name", "payment-sharers",
            "--add-config", "share.auto.offset.reset=earliest,share.record.lock.duration.ms=3000",
        )  # fmt: skip
        producer = Producer({"bootstrap.servers": brokers.internal, "client.id": "shop", "compression.type": "gzip"})
        producer.produce("payments", f"payment 1 {'.' * 8000}", "1")
        producer.flush()
        with recording("rebalancing-share.pcap"):
            for _ in range(4):
                process = subprocess.Popen(
                    java(
                        "org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", brokers.address(),
                        "--topic", "payments", "--group", "payment-sharers",
                        "--command-property", "client.id=sharer", "--command-property", "fetch.max.wait.ms=3000",
                    ),
                    stdout=subprocess.PIPE,
                    pipesize=4096,
                )  # fmt: skip
                time.sleep(9)
                process.kill()
                process.wait()


def lag() -> None:
    """A consumer that does less than a producer adds, and the log directories of both topics afterwards."""
    with cluster() as brokers:
        brokers.topic("clicks")
        producer = Producer({"bootstrap.servers": brokers.address(), "client.id": "site", "linger.ms": 1000})
        until = time.time() + 14

        def write() -> None:
            number = 0
            while time.time() < until:
                producer.produce("clicks", f"click {number}")
                producer.poll(0)
                number += 1
                time.sleep(0.02)
            producer.flush()

        with recording("lag.pcap"):
            writer = alongside(write)
            client = KafkaConsumer(
                bootstrap_servers=brokers.address(), client_id="counter", group_id="click-counters",
                auto_offset_reset="earliest", enable_auto_commit=False, max_poll_records=30, fetch_max_wait_ms=1000,
                fetch_min_bytes=1, max_partition_fetch_bytes=500,
            )  # fmt: skip
            client.subscribe(["clicks"])
            while time.time() < until:
                for partition, records in client.poll(500).items():
                    time.sleep(0.05 * len(records))
                    end = OffsetAndMetadata(records[-1].offset + 1, "", -1)
                    client.commit({TopicPartition(partition.topic, partition.partition): end})
            writer.join()
            client.close(autocommit=False)
        keep(brokers, "lag", "clicks-0", "__consumer_offsets-0")


if __name__ == "__main__":
    for incident in sys.argv[1:] or ["consumer", "share", "lag"]:
        {"consumer": consumer, "share": share, "lag": lag}[incident]()
