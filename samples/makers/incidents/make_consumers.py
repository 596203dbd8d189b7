"""Make captures of consumers in trouble: records that were deleted, a commit for each record, no room for sessions.

Usage: KAFKA_JARS=JARS python make_consumers.py [deleted|commits|sessions|evicted|forgotten]...

Needs the packages confluent-kafka and kafka-python.
"""

from __future__ import annotations

import json
import sys
import time

from cluster import Cluster, cluster, recording
from kafka import KafkaConsumer
from make_groups import alongside, fill


def reader(brokers: Cluster, name: str, group: str | None, **options: object) -> KafkaConsumer:
    """Return a consumer of `orders` that commits when it is told to."""
    return KafkaConsumer(
        "orders", bootstrap_servers=brokers.address(), client_id=name, group_id=group, auto_offset_reset="earliest",
        enable_auto_commit=False, **options,
    )  # fmt: skip


def deleted() -> None:
    """A consumer that comes back after kafka-delete-records.sh deleted what it had not read yet."""
    with cluster() as brokers:
        brokers.topic("orders")
        fill(brokers, "orders", 1, 40)
        with recording("offset-out-of-range.pcap"):
            client = reader(brokers, "billing", "billing", max_poll_records=10)
            while not client.poll(500):
                pass
            client.commit()
            client.close()
            file = brokers.folder / "delete.json"
            partition = {"topic": "orders", "partition": 0, "offset": 30}
            file.write_text(json.dumps({"partitions": [partition], "version": 1}))
            print(brokers.admin("DeleteRecordsCommand", "--offset-json-file", str(file)))
            client = reader(brokers, "billing", "billing", consumer_timeout_ms=1500)
            print([message.offset for message in client])
            client.close()


def commits() -> None:
    """A consumer that commits behind each record, as an example of a first tutorial does."""
    with cluster() as brokers:
        brokers.topic("orders")
        fill(brokers, "orders", 1, 80)
        with recording("commits.pcap"):
            client = reader(brokers, "billing", "billing", consumer_timeout_ms=1000, max_poll_records=1)
            for _ in client:
                time.sleep(0.03)
                client.commit()
            client.close()


def sessions() -> None:
    """Consumers of a broker that has no room for their fetch sessions."""
    with cluster(settings={"max.incremental.fetch.session.cache.slots": "1"}) as brokers:
        brokers.topic("orders", 6)
        fill(brokers, "orders", 6, 12)

        def work(name: str) -> None:
            client = reader(brokers, name, None, consumer_timeout_ms=4000, fetch_max_wait_ms=250)
            list(client)
            client.close()

        with recording("fetch-sessions.pcap"):
            beside = alongside(lambda: work("audit"))
            work("billing")
            beside.join()


def evicted() -> None:
    """A consumer whose fetch session is older than two minutes, when others with more partitions want the room."""
    with cluster(settings={"max.incremental.fetch.session.cache.slots": "8"}) as brokers:
        brokers.topic("orders", 6)
        brokers.topic("payments", 12)
        fill(brokers, "orders", 6, 12)

        def work() -> None:
            client = reader(brokers, "billing", None, consumer_timeout_ms=135_000, fetch_max_wait_ms=400)
            list(client)
            client.close()

        def crowd() -> None:
            client = KafkaConsumer("payments", bootstrap_servers=brokers.internal, consumer_timeout_ms=8000)
            list(client)
            client.close()

        worker = alongside(work)
        time.sleep(126)
        with recording("fetch-sessions-evicted.pcap"):
            others = [alongside(crowd) for _ in range(16)]
            worker.join()
        for other in others:
            other.join()


def forgotten() -> None:
    """A consumer whose broker is restarted: it keeps its session, which the broker has forgotten."""
    with cluster() as brokers:
        brokers.topic("orders", 3)
        fill(brokers, "orders", 3, 6)

        def work() -> None:
            client = reader(brokers, "billing", None, consumer_timeout_ms=25_000, fetch_max_wait_ms=400)
            list(client)
            client.close()

        with recording("fetch-sessions-forgotten.pcap"):
            worker = alongside(work)
            time.sleep(4)
            brokers.stop(1)
            brokers.start(1)
            worker.join()


if __name__ == "__main__":
    kinds = {"deleted": deleted, "commits": commits, "sessions": sessions, "evicted": evicted, "forgotten": forgotten}
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
