"""Make captures of groups that do not take a client in, or no longer: assignors, no coordinator, a pause, no topic.

Usage: KAFKA_JARS=JARS python make_refusals.py [assignors|coordinator|paused|streams]...

Needs the package confluent-kafka, and for `streams` kafka-streams and rocksdbjni in JARS:
`mvn dependency:copy -Dartifact=org.apache.kafka:kafka-streams:4.3.1 -DoutputDirectory=JARS`.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from cluster import cluster, java, recording, run
from confluent_kafka import Consumer
from make_groups import FAST
from make_members import FAST as CLASSIC, RUNNING, TOPIC, WITHOUT_ACKS, end, start

SHORT = FAST | {"group.consumer.min.session.timeout.ms": "4000", "group.consumer.session.timeout.ms": "4000"}

CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Settings that are the broker's in the consumer protocol."""


def assignors() -> None:
    """A rolling update from the assignor range to cooperative-sticky, without the step between that has both."""
    with cluster(settings=CLASSIC) as brokers:
        brokers.topic(TOPIC, 2)
        with recording("assignors.pcap", WITHOUT_ACKS):
            old = start(brokers, "worker-1")
            start(brokers, "worker-2", "x=5").wait(20)
            new = start(brokers, "worker-2", "partition.assignment.strategy=cooperative-sticky")
            time.sleep(8)
            end(old, new)


def coordinator() -> None:
    """A cluster of one broker whose __consumer_offsets is to have three replicas: it can't be made."""
    with cluster(settings={"offsets.topic.replication.factor": "3"}) as brokers:
        brokers.topic(TOPIC)
        with recording("no-coordinator.pcap", WITHOUT_ACKS):
            client = Consumer(
                {"bootstrap.servers": brokers.address(), "client.id": "worker-1", "group.id": "payment-workers"}
            )
            client.subscribe([TOPIC])
            until = time.time() + 34
            while time.time() < until:
                client.poll(0.5)
            client.close()


def paused() -> None:
    """A member of the consumer protocol that stands still longer than its session, as a machine that is moved does."""
    modern = ("group.protocol=consumer", *(f"{name}=" for name in CLASSIC_ONLY))
    with cluster(settings=SHORT) as brokers:
        brokers.topic(TOPIC, 4)
        with recording("paused-member.pcap", WITHOUT_ACKS):
            calm, asleep = (start(brokers, f"worker-{number}", *modern) for number in (1, 2))
            time.sleep(6)
            asleep.send_signal(signal.SIGSTOP)
            time.sleep(8)
            asleep.send_signal(signal.SIGCONT)
            time.sleep(5)
            end(calm, asleep)


def streams() -> None:
    """An application of Kafka Streams in the streams protocol (KIP-1071) that joins two topics: one of them is missing
    at first, and has another number of partitions then.
    """
    application = str(Path(__file__).with_name("Settlement.java"))
    with cluster() as brokers:
        brokers.topic("orders", 2)
        with recording("streams-missing.pcap", WITHOUT_ACKS):
            run(java(application, brokers.address()), 12)
        brokers.topic("payments", 3)
        with recording("streams-partitions.pcap", WITHOUT_ACKS):
            run(java(application, brokers.address()), 12)


if __name__ == "__main__":
    kinds = {"assignors": assignors, "coordinator": coordinator, "paused": paused, "streams": streams}
    try:
        for incident in sys.argv[1:] or kinds:
            kinds[incident]()
    finally:
        end(*RUNNING)
