"""Make captures of producers in trouble with transactions and batches: fenced, waiting for markers, one record a batch,
a crash with offsets in a transaction.

Usage: KAFKA_JARS=JARS python make_transactions.py [fenced|markers|batches|offsets]...

Needs the package confluent-kafka. Others of this kind are in make_producers.py.
"""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

from cluster import cluster, keep, recording
from confluent_kafka import Consumer, KafkaException, Producer
from make_groups import fill
from make_members import WITHOUT_ACKS


def fenced() -> None:
    """Two instances of an application with one transactional id, as when a deployment is scaled up: each fences the
    other one.
    """
    with cluster() as brokers:
        brokers.topic("orders")

        def instance(name: str) -> Producer:
            producer = Producer({"bootstrap.servers": brokers.address(), "client.id": name, "linger.ms": 0,
                                 "transactional.id": "checkout"})  # fmt: skip
            producer.init_transactions()
            return producer

        with recording("fenced-producer.pcap"):
            first = instance("checkout-0")
            first.begin_transaction()
            first.produce("orders", "order 1", "a")
            first.commit_transaction()
            first.begin_transaction()
            first.produce("orders", "order 2", "a")
            first.flush()
            second = instance("checkout-1")  # its InitProducerId aborts the transaction of the first one
            second.begin_transaction()
            second.produce("orders", "order 2", "a")
            try:
                first.produce("orders", "order 3", "a")
                first.commit_transaction()
            except KafkaException as error:
                print("first:", error)
            second.commit_transaction()
        keep(brokers, "fenced-producer", "orders-0", "__transaction_state-0")


def markers() -> None:
    """A broker that stops to answer while markers have to be written to it: the next transaction waits for these."""
    settings = {"transaction.state.log.replication.factor": "1", "broker.session.timeout.ms": "60000"}
    with cluster(brokers=3, settings=settings) as brokers:
        for node in brokers.brokers:
            brokers.admin("TopicCommand", "--create", "--topic", f"orders-{node}", "--replica-assignment", str(node))
        producer = Producer({"bootstrap.servers": brokers.address(), "client.id": "fulfilment", "linger.ms": 0,
                             "transactional.id": "fulfilment-1", "retry.backoff.ms": 50,
                             "topic.metadata.refresh.interval.ms": 600000})  # fmt: skip
        with recording("waiting-for-markers.pcap"):
            producer.init_transactions()
            described = brokers.admin("TopicCommand", "--describe", "--topic", "__transaction_state")
            coordinator = int(described.rpartition("Leader: ")[2].split()[0])
            stopped, calm = (node for node in brokers.brokers if node != coordinator)
            producer.begin_transaction()
            for node in (stopped, calm):
                producer.produce(f"orders-{node}", "order 1", "a")
            producer.commit_transaction()
            producer.begin_transaction()
            producer.produce(f"orders-{stopped}", "order 2", "a")
            producer.flush()
            brokers.running[stopped].send_signal(signal.SIGSTOP)
            producer.commit_transaction()
            producer.begin_transaction()
            producer.produce(f"orders-{calm}", "order 3", "a")
            time.sleep(2)
            brokers.running[stopped].send_signal(signal.SIGCONT)
            producer.commit_transaction()


def batches() -> None:
    """A producer that sends each record in a batch of its own, and another that waits for no answer."""
    with cluster() as brokers:
        brokers.topic("clicks")
        brokers.topic("metrics")
        base: dict[str, Any] = {"bootstrap.servers": brokers.address(), "topic.metadata.refresh.interval.ms": 600000}
        with recording("small-batches.pcap"):
            clicks = Producer({**base, "client.id": "web", "linger.ms": 0, "compression.type": "gzip"})
            metrics = Producer({**base, "client.id": "probe", "acks": 0, "linger.ms": 50})
            for number in range(60):
                clicks.produce("clicks", f"click {number}", "a")
                clicks.poll(0)
                if number % 10 == 0:
                    metrics.produce("metrics", f"load {number}", "a")
                    metrics.poll(0)
                time.sleep(0.003)
            clicks.flush()
            metrics.flush()


def offsets() -> None:
    """A processor ends after it sent the offsets of its group in a transaction, and its successor asks for them."""
    with cluster() as brokers:
        brokers.topic("orders")
        fill(brokers, "orders", 1, 10)
        base = {"bootstrap.servers": brokers.address(), "topic.metadata.refresh.interval.ms": 600000}
        options = {**base, "group.id": "fulfilment", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        with recording("offsets-not-stable.pcap", WITHOUT_ACKS):
            consumer = Consumer({**options, "client.id": "fulfilment-1"})
            consumer.subscribe(["orders"])
            consumer.consume(10, 10)
            producer = Producer({**base, "client.id": "fulfilment-1", "transactional.id": "fulfilment-1"})
            producer.init_transactions()
            producer.begin_transaction()
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
            )
            consumer.close()
            successor = Consumer({**options, "client.id": "fulfilment-2"})
            successor.subscribe(["orders"])
            successor.consume(1, 5)
            successor.close()
            producer.purge()


if __name__ == "__main__":
    for incident in sys.argv[1:] or ["fenced", "markers", "batches", "offsets"]:
        {"fenced": fenced, "markers": markers, "batches": batches, "offsets": offsets}[incident]()
