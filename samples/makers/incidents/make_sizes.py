"""Make captures of sizes in trouble: a request over socket.request.max.bytes, batches that come near their limit, and a
response that a client does not accept.

Usage: KAFKA_JARS=JARS python make_sizes.py [request|batches|response]...

Needs the package confluent-kafka.
"""

from __future__ import annotations

import sys
import time

from cluster import cluster, recording
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def request() -> None:
    """A producer that was allowed to send 200 MB at once, and a broker that takes 100 MB, as it does by default.

    The broker closes the connection when it has read the size. Its receive buffer is small, so that the client has
    sent little of the request by then.
    """
    with cluster(settings={"socket.receive.buffer.bytes": "4096"}) as brokers:
        brokers.topic("scans", 1, "--config", "max.message.bytes=209715200")
        client = Producer(
            {
                "bootstrap.servers": brokers.address(), "client.id": "scanner", "message.max.bytes": 209_715_200,
                "linger.ms": 0, "retry.backoff.ms": 3000, "retry.backoff.max.ms": 3000,
            }
        )  # fmt: skip
        with recording("too-large-request.pcap"):
            client.produce("scans", b"a small scan")
            client.flush(5)
            client.produce("scans", b"." * 120_000_000)
            client.flush(5)
            client.purge()


def batches() -> None:
    """A producer whose documents grow to nearly what the topic takes, which another client has just made."""
    with cluster() as brokers, recording("near-limit.pcap"):
        address = {"bootstrap.servers": brokers.address()}
        admin = AdminClient({**address, "client.id": "deploy"})
        for future in admin.create_topics([NewTopic("documents", 1, config={"max.message.bytes": "10000"})]).values():
            future.result(10)
        client = Producer({**address, "client.id": "archive", "linger.ms": 0})
        for size in (400, 2000, 9600):
            client.produce("documents", b"d" * size)
            client.flush(5)
            time.sleep(0.2)


def response() -> None:
    """A consumer that accepts responses of 2,000 bytes, and a record of 6,000 bytes."""
    with cluster() as brokers:
        brokers.topic("scans")
        producer = Producer({"bootstrap.servers": brokers.internal, "linger.ms": 0})
        producer.produce("scans", b"." * 6000)
        producer.flush(5)
        with recording("response-not-read.pcap"):
            client = Consumer(
                {
                    "bootstrap.servers": brokers.address(), "client.id": "viewer", "group.id": "viewers",
                    "auto.offset.reset": "earliest", "receive.message.max.bytes": 2000, "fetch.max.bytes": 1000,
                    "message.max.bytes": 1000, "reconnect.backoff.ms": 1000,
                }
            )  # fmt: skip
            client.assign([TopicPartition("scans", 0)])
            until = time.time() + 4
            while time.time() < until:
                client.poll(0.5)
            client.close()


if __name__ == "__main__":
    kinds = {"request": request, "batches": batches, "response": response}
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
