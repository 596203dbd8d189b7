"""Make captures of producers in trouble: the wrong leader, a quota, lost records, a transaction that nobody ends.

Usage: KAFKA_JARS=JARS python make_producers.py [leader|quota|sequence|hanging]...

Needs the package confluent-kafka, and kwire itself.
"""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import kwire
from cluster import CLIENTS, cluster, java, keep, recording, run
from confluent_kafka import Consumer, Producer

if TYPE_CHECKING:
    from collections.abc import Mapping


def leader() -> None:
    """Three brokers behind one address, as behind a load balancer or a port that is forwarded: all that they lead goes
    to the first.
    """
    one = f"127.0.0.1:{CLIENTS}"
    with cluster(brokers=3, clients={1: one, 2: one, 3: one}) as brokers:
        brokers.topic("orders", 3)
        with recording("not-leader.pcap"):
            options = (f"-Dlog4j2.configurationFile={brokers.folder}/log4j2.properties",)
            properties = {
                "client.id": "checkout",
                "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
                "retry.backoff.ms": "500",
                "retry.backoff.max.ms": "1000",
            }
            pairs = [part for pair in properties.items() for part in ("--command-property", "=".join(pair))]
            command = java(
                "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", one, "--topic", "orders",
                "--request-timeout-ms", "3000", *pairs, options=options,
            )  # fmt: skip
            run(command, 15, "first\nsecond\nthird\n")


def quota() -> None:
    """A client with a quota of 2 kB a second that writes more, beside another without a quota."""
    with cluster() as brokers:
        brokers.topic("invoices")
        brokers.admin(
            "ConfigCommand", "--alter", "--entity-type", "clients", "--entity-name", "importer",
            "--add-config", "producer_byte_rate=2000",
        )  # fmt: skip
        with recording("throttled.pcap"):
            clients = {name: Producer({"bootstrap.servers": brokers.address(), "client.id": name, "linger.ms": 0})
                       for name in ("importer", "billing")}  # fmt: skip
            for _ in range(12):
                clients["importer"].produce("invoices", b"i" * 3000)
                clients["billing"].produce("invoices", b"b" * 50)
                for client in clients.values():
                    client.flush()
                time.sleep(0.4)


def sequence() -> None:
    """A broker that loses power, and with it the last records of a log: the producer knows that it wrote them."""
    with cluster(settings={"log.retention.check.interval.ms": "3600000"}) as brokers:
        brokers.topic("meters")
        options = (f"-Dlog4j2.configurationFile={brokers.folder}/log4j2.properties",)
        command = java(
            "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", brokers.address(), "--topic", "meters",
            "--timeout", "0", "--command-property", "client.id=meter-reader", "--command-property", "linger.ms=0",
            options=options,
        )  # fmt: skip
        with recording("out-of-order.pcap"):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert process.stdin
            assert process.stdout
            for number in range(6):
                process.stdin.write(b"reading %d\n" % number)
                process.stdin.flush()
                time.sleep(1 if number else 5)
            brokers.stop(1, kill=True)
            log = brokers.log_directory() / "meters-0" / "00000000000000000000.log"
            lines = [item.to_json() for item in kwire.read_records(log)]
            data = log.read_bytes()
            log.write_bytes(data[: lines[-2]["position"]])  # the last two batches were never on the disk
            brokers.start(1)
            brokers.wait()
            time.sleep(2)
            for number in range(6, 9):
                process.stdin.write(b"reading %d\n" % number)
                process.stdin.flush()
                time.sleep(2)
            process.stdin.close()
            time.sleep(2)
            process.kill()
            print("\n".join(
                line for line in process.stdout.read().decode().splitlines() if "equence" in line or "ERROR" in line
            ))  # fmt: skip
        keep(brokers, "out-of-order", "meters-0")


class Wire:
    """One connection to a broker, on which requests are sent as they are written here."""

    def __init__(self, port: int, client: str) -> None:
        self.socket, self.client, self.correlation = socket.create_connection(("127.0.0.1", port)), client, 0

    def ask(self, api: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request of a version that is not flexible, and return the body of its response."""
        self.correlation += 1
        name = self.client.encode()
        header = struct.pack(">hhih", kwire.catalog().api(api).key, version, self.correlation, len(name)) + name
        frame = header + kwire.encode(body, message=f"{api}Request", version=version)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._read(4))
        value: dict[str, Any] = kwire.decode(self._read(size)[4:], message=f"{api}Response", version=version).value
        return value

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.socket.recv(size - len(data))
        return data


def late_records(producer_id: int, epoch: int) -> dict[str, Any]:
    """Return the body of a Produce request with a record of a transaction."""
    batch = {
        "isTransactional": True, "producerId": producer_id, "producerEpoch": epoch, "baseSequence": 0,
        "records": [{"timestamp": int(time.time() * 1000), "key": {"text": "a"}, "value": {"text": "payment, late"}}],
    }  # fmt: skip
    records = base64.b64encode(kwire.write_records([batch])).decode()
    return {
        "transactionalId": "settlement-7", "acks": -1, "timeoutMs": 3000,
        "topicData": [{"name": "payments", "partitionData": [{"index": 0, "records": records}]}],
    }  # fmt: skip


def hanging() -> None:
    """A transaction that the log has and its coordinator has not: a Produce request that came after the abort.

    Brokers before 3.6 took such a request; one with `transaction.partition.verification.enable=false` still does, from
    clients that do not speak KIP-890.
    """
    settings = {"transaction.partition.verification.enable": "false"}
    with cluster(settings=settings) as brokers:
        brokers.topic("payments")
        with recording("hanging-transaction.pcap"):
            client = Producer({"bootstrap.servers": brokers.address(), "client.id": "ledger", "linger.ms": 0,
                               "transactional.id": "ledger-1"})  # fmt: skip
            client.init_transactions()
            client.begin_transaction()
            client.produce("payments", "payment 1", "a")
            client.commit_transaction()
            late = Wire(CLIENTS, "settlement")
            late.ask("ApiVersions", 0, {})
            identity = late.ask("InitProducerId", 1, {
                "transactionalId": "settlement-7", "transactionTimeoutMs": 60000,
            })  # fmt: skip
            late.ask("Produce", 8, late_records(identity["producerId"], identity["producerEpoch"]))
            for number in range(2, 5):
                client.begin_transaction()
                client.produce("payments", f"payment {number}", "a")
                client.commit_transaction()
            reader = Consumer({"bootstrap.servers": brokers.address(), "client.id": "reports", "group.id": "reports",
                               "auto.offset.reset": "earliest", "isolation.level": "read_committed"})  # fmt: skip
            reader.subscribe(["payments"])
            until, read = time.time() + 6, []
            while time.time() < until:
                message = reader.poll(0.5)
                read += [message.value()] if message is not None and not message.error() else []
            print("read_committed reads", read)
        keep(brokers, "hanging-transaction", "payments-0", "__transaction_state-0")
        find = ("TransactionsCommand", "find-hanging", "--broker", "1", "--max-transaction-timeout", "0")
        print(brokers.admin(*find))
        place = ("--topic", "payments", "--partition", "0", "--start-offset", "2")
        print(brokers.admin("TransactionsCommand", "abort", *place), brokers.admin(*find))


if __name__ == "__main__":
    for incident in sys.argv[1:] or ["leader", "quota", "sequence", "hanging"]:
        {"leader": leader, "quota": quota, "sequence": sequence, "hanging": hanging}[incident]()
