"""Make captures of brokers in trouble: a follower or leader that stands still, a restart, controllers that die or stop,
a new disk, a partition without a leader.

Usage: KAFKA_JARS=JARS python make_brokers.py [isr|election|leaders|slow|controller|snapshots|leaderless]...

Needs the package confluent-kafka.
"""

from __future__ import annotations

import signal
import sys
import threading
import time

from cluster import CLIENTS, CONTROLLERS, Cluster, cluster, recording
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from make_members import NO_ACKS, WITHOUT_ACKS

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


def leaders() -> None:
    """A broker is restarted, and gets the partitions back that it led before."""
    with cluster(brokers=3, settings={"auto.leader.rebalance.enable": "false"}) as brokers:
        brokers.topic("orders", 3)
        node = next(node for node in brokers.brokers if node not in {1, active(brokers)})
        options = {"bootstrap.servers": brokers.address(), "client.id": "shop", "metadata.max.age.ms": 1000}
        producer = Producer({**options, "topic.metadata.refresh.interval.ms": 1000, "linger.ms": 0})
        working = True

        def work() -> None:
            step = 0
            while working:
                producer.produce("orders", f"order {step}", partition=step % 3)
                producer.flush(1)
                step += 1
                time.sleep(0.5)

        with recording("leader-changes.pcap"):
            worker = threading.Thread(target=work)
            worker.start()
            time.sleep(2)
            brokers.stop(node)
            brokers.start(node)
            brokers.wait()
            time.sleep(1)
            brokers.admin("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
            time.sleep(2)
            working = False
            worker.join()


def slow() -> None:
    """A broker that stands still for 50 ms again and again, as one without enough processor time does."""
    with cluster(brokers=3) as brokers:
        brokers.topic("orders", 3)
        node = next(node for node in brokers.brokers if node not in {1, active(brokers)})
        options = {"bootstrap.servers": brokers.address(), "client.id": "shop", "acks": 1, "linger.ms": 0}
        producer = Producer(options)
        for partition in range(3):
            producer.produce("orders", "the first", partition=partition)
        producer.flush()
        ended = threading.Event()

        def hold() -> None:
            while not ended.is_set():
                brokers.running[node].send_signal(signal.SIGSTOP)
                time.sleep(0.05)
                brokers.running[node].send_signal(signal.SIGCONT)
                time.sleep(0.05)

        holder = threading.Thread(target=hold)
        with recording("slow-broker.pcap"):
            holder.start()
            for step in range(52):
                for partition in range(3):
                    producer.produce("orders", f"{step}", partition=partition)
                producer.flush()
            ended.set()
            holder.join()


def controller() -> None:
    """The active controller stands still for six seconds, two times, while topics are made."""
    settings = {"controller.quorum.fetch.timeout.ms": "30000", "controller.quorum.request.timeout.ms": "30000"}
    with cluster(brokers=3, settings=settings) as brokers:
        node = active(brokers)
        other = next(one for one in brokers.brokers if one != node)
        admin = AdminClient({"bootstrap.servers": brokers.address(other), "client.id": "deploy"})
        admin.list_topics(timeout=5)
        port = CONTROLLERS + node - 1
        with recording("slow-controller.pcap", f"tcp portrange {CLIENTS}-{CLIENTS + 2} or tcp port {port}"):
            for turn in range(2):
                time.sleep(0.5)
                brokers.running[node].send_signal(signal.SIGSTOP)
                made = admin.create_topics([NewTopic(f"orders-{turn}", 1, 3)], request_timeout=20)
                time.sleep(6)
                brokers.running[node].send_signal(signal.SIGCONT)
                for future in made.values():
                    print(future.exception(20))


def snapshots() -> None:
    """A node whose disk was replaced comes back with an empty one, when the metadata log lacks its beginning."""
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": "2000", "metadata.max.retention.ms": "1000",
        "metadata.log.segment.ms": "5000",
    }  # fmt: skip
    with cluster(brokers=3, settings=settings) as brokers:
        leader = active(brokers)
        node = next(node for node in brokers.brokers if node not in {1, leader})
        for number in range(2):
            brokers.topic(f"orders-{number}", 20)
            time.sleep(3)
        brokers.stop(node)
        time.sleep(75)  # the log is cleaned each minute
        brokers.replace_disk(node)
        with recording("metadata-snapshot.pcap", f"tcp port {CONTROLLERS + leader - 1} and {NO_ACKS}"):
            brokers.start(node)
            time.sleep(3)


def leaderless() -> None:
    """A topic with one replica, whose broker is stopped."""
    with cluster(brokers=3) as brokers:
        stopped = next(node for node in brokers.brokers if node not in {1, active(brokers)})
        brokers.admin("TopicCommand", "--create", "--topic", "carts", "--replica-assignment", str(stopped))
        brokers.stop(stopped)
        time.sleep(3)
        with recording("no-leader.pcap", WITHOUT_ACKS):
            producer = Producer(
                {
                    "bootstrap.servers": brokers.address(), "client.id": "shop", "message.timeout.ms": 6000,
                    "topic.metadata.refresh.fast.interval.ms": 500, "enable.metrics.push": False,
                }
            )  # fmt: skip
            producer.produce("carts", b"cart 1")
            producer.flush(8)


if __name__ == "__main__":
    kinds = {
        "isr": isr, "election": election, "leaders": leaders, "slow": slow, "controller": controller,
        "snapshots": snapshots, "leaderless": leaderless,
    }  # fmt: skip
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
