"""Make captures of brokers in trouble: a follower that stands still, and the leader of the metadata quorum that dies.

Usage: KAFKA_JARS=JARS python tests/incidents/make_brokers.py [isr|election]...

Needs the package confluent-kafka.
"""

from __future__ import annotations

import signal
import sys
import time

from cluster import CONTROLLERS, Cluster, cluster, recording
from confluent_kafka import Producer

QUORUM = f"tcp portrange {CONTROLLERS}-{CONTROLLERS + 2}"


def active(brokers: Cluster) -> int:
    """Return the node that leads the metadata quorum."""
    text = brokers.admin("MetadataQuorumCommand", "describe", "--status")
    return int(next(line.split(":")[1] for line in text.splitlines() if line.startswith("LeaderId")))


def isr() -> None:
    """A follower that stands still for five seconds, as in a long collection of garbage, while a producer writes."""
    settings = {"replica.lag.time.max.ms": "1500", "min.insync.replicas": "2", "broker.session.timeout.ms": "18000"}
    with cluster(brokers=3, settings=settings) as brokers:
        brokers.topic("orders")
        options = {"bootstrap.servers": brokers.address(), "client.id": "shop", "metadata.max.age.ms": 1000}
        producer = Producer({**options, "topic.metadata.refresh.interval.ms": 1000, "linger.ms": 0})
        leader = producer.list_topics("orders").topics["orders"].partitions[0].leader
        asleep = next(node for node in brokers.brokers if node not in {leader, active(brokers)})
        with recording("isr.pcap"):
            until = time.time() + 10
            for step in range(20):
                if step in {2, 12}:
                    brokers.running[asleep].send_signal(signal.SIGSTOP if step == 2 else signal.SIGCONT)
                producer.produce("orders", f"order {step}")
                producer.flush()
                time.sleep(max(min(0.5, until - time.time()), 0))


def election() -> None:
    """The leader of the metadata quorum is killed: the other two elect one of them."""
    settings = {"controller.quorum.election.timeout.ms": "500", "controller.quorum.fetch.timeout.ms": "1000"}
    with cluster(brokers=3, settings=settings) as brokers:
        brokers.stop(active(brokers), kill=True)
        time.sleep(0.2)
        with recording("election.pcap", QUORUM):  # most of a second later
            time.sleep(1.5)


if __name__ == "__main__":
    for incident in sys.argv[1:] or ["isr", "election"]:
        {"isr": isr, "election": election}[incident]()
