"""Make captures of clients in trouble: Metadata in a loop, a load balancer that forgets connections, an old setting.

Usage: KAFKA_JARS=JARS python make_clients.py [metadata|stale|held-back]...

Needs the packages confluent-kafka and kafka-python.
"""

from __future__ import annotations

import select
import socket
import sys
import threading
import time

from cluster import CLIENTS, cluster, recording
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, TopicPartition

FRONT = "127.0.0.1", CLIENTS + 9
TCP_REPAIR = 19
"""The option of Linux to close a socket without a word to its peer."""


def metadata() -> None:
    """A health check that lists all topics each 150 ms, beside a producer that does its work."""
    with cluster() as brokers:
        for name in ("orders", "payments", "shipments"):
            brokers.topic(name)
        with recording("metadata-storm.pcap"):
            writer = Producer({"bootstrap.servers": brokers.address(), "client.id": "shop", "linger.ms": 0})
            check = AdminClient({"bootstrap.servers": brokers.address(), "client.id": "health-check"})
            for step in range(40):
                check.list_topics(timeout=5)
                if step % 10 == 0:
                    writer.produce("orders", f"order {step}")
                    writer.flush()
                time.sleep(0.15)


class LoadBalancer(threading.Thread):
    """Forwards connections of FRONT to a broker, and forgets those of clients when it is told to."""

    def __init__(self, broker: tuple[str, int]) -> None:
        super().__init__(daemon=True)
        self.broker = broker
        self.front = socket.create_server(FRONT)
        self.peers: dict[socket.socket, socket.socket] = {}
        self.clients: list[socket.socket] = []

    def run(self) -> None:
        while True:
            for ready in select.select([self.front, *self.peers], [], [], 0.05)[0]:
                if ready is self.front:
                    client, _ = self.front.accept()
                    back = socket.create_connection(self.broker)
                    self.peers |= {client: back, back: client}
                    self.clients.append(client)
                elif ready in self.peers:
                    if data := ready.recv(1 << 16):
                        self.peers[ready].sendall(data)
                    else:
                        peer = self.peers.pop(ready)
                        del self.peers[peer]
                        peer.close()
                        ready.close()

    def forget(self) -> None:
        """Drop all connections of clients: no FIN and no RST is sent, and later segments are answered with a RST."""
        for client in self.clients:
            if client in self.peers:
                back = self.peers.pop(client)
                del self.peers[back]
                client.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
                client.close()
                back.close()
        self.clients.clear()


def stale() -> None:
    """A producer that has nothing to do for a minute, behind a load balancer that forgets its idle connections."""
    with cluster(clients={1: f"{FRONT[0]}:{FRONT[1]}"}) as brokers:
        brokers.topic("orders")
        balancer = LoadBalancer(("127.0.0.1", CLIENTS))
        balancer.start()
        with recording("stale-connection.pcap", f"tcp port {FRONT[1]}"):
            writer = Producer({"bootstrap.servers": f"{FRONT[0]}:{FRONT[1]}", "client.id": "nightly", "linger.ms": 0})
            writer.produce("orders", "the first order")
            writer.flush()
            time.sleep(30)
            balancer.forget()
            time.sleep(35)
            writer.produce("orders", "another order")
            writer.flush()


def held_back() -> None:
    """Two monitors of one software, one of which was told long ago that brokers are of 2.4."""
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("held-back.pcap"):
            for name, version in (("lag-monitor", None), ("old-lag-monitor", (2, 4))):
                reader = KafkaConsumer(bootstrap_servers=brokers.address(), client_id=name, api_version=version)
                for _ in range(12):
                    reader.end_offsets([TopicPartition("orders", 0)])
                    time.sleep(0.2)
                reader.close()


if __name__ == "__main__":
    kinds = {"metadata": metadata, "stale": stale, "held-back": held_back}
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
