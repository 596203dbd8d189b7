"""Make captures of connections in trouble: addresses that nobody answers, silence, full buffers, missing permissions,
certificates that nobody trusts, lost packets.

Usage: KAFKA_JARS=JARS python make_networks.py [NAME]...

Needs the packages confluent-kafka and kafka-python.
"""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cluster import CLIENTS, CONTROLLERS, INTERNAL, SAMPLES, Cluster, cluster, recording
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from kafka.errors import KafkaError
from make_connections import keystore

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PASSWORD = "throw-away"


def producer(brokers: Cluster, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": brokers.address(), "client.id": "checkout", **settings})


def refused() -> None:
    """A broker that advertises a port on which nobody listens."""
    with cluster(clients={1: f"127.0.0.1:{CLIENTS + 9}"}) as brokers:
        brokers.topic("orders")
        with recording("refused.pcap"):
            client = producer(brokers)
            client.produce("orders", b"one order")
            client.flush(5)


def swallowed() -> None:
    """A broker that advertises an address from which no answer comes: a full backlog swallows SYNs, as firewalls do."""
    address = "127.0.0.1", CLIENTS + 9
    with cluster(clients={1: f"{address[0]}:{address[1]}"}) as brokers, socket.create_server(address, backlog=0):
        brokers.topic("orders")
        full = [socket.socket() for _ in range(4)]
        for one in full:
            one.setblocking(False)
            one.connect_ex(address)
        time.sleep(1)
        for one in full[1:]:
            one.close()
        with recording("swallowed.pcap"):
            client = producer(brokers, **{"socket.connection.setup.timeout.ms": 3000})
            client.produce("orders", b"one order")
            client.flush(8)
        full[0].close()


def silent() -> None:
    """A broker that is stopped in the middle: the kernel accepts connections and bytes for it."""
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("silent.pcap"):
            client = producer(brokers)
            client.produce("orders", b"one order")
            client.flush(5)
            brokers.running[1].send_signal(signal.SIGSTOP)
            late = AdminClient({"bootstrap.servers": brokers.address(), "client.id": "monitor"})
            client.produce("orders", b"another order")
            try:
                late.list_topics(timeout=1)
            except KafkaException as error:
                print(error)
            client.flush(13)
            brokers.running[1].send_signal(signal.SIGCONT)
            client.flush(5)


def window() -> None:
    """A consumer with a small receive buffer that is stopped while it fetches."""
    with cluster() as brokers:
        brokers.topic("orders")
        writer = KafkaProducer(bootstrap_servers=brokers.internal, client_id="writer")
        writer.send("orders", b"one order").get(5)
        settings = {
            "bootstrap.servers": brokers.address(), "client.id": "reports", "group.id": "reports",
            "auto.offset.reset": "earliest", "socket.receive.buffer.bytes": 4096, "fetch.wait.max.ms": 2000,
        }  # fmt: skip
        code = (
            "from confluent_kafka import Consumer\n"
            f"c = Consumer({settings})\n"
            "c.subscribe(['orders'])\n"
            "while True:\n    m = c.poll(1)\n    if m: print(m.offset(), flush=True)\n"
        )
        with recording("window.pcap"):
            reader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
            assert reader.stdout is not None
            print(reader.stdout.readline())
            time.sleep(0.5)
            reader.send_signal(signal.SIGSTOP)
            writer.send("orders", b"order " * 4000).get(5)
            time.sleep(4)
            reader.send_signal(signal.SIGCONT)
            print(reader.stdout.readline())
            reader.kill()
            reader.wait()
        writer.close()


def storm() -> None:
    """A producer for each order."""
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("storm.pcap"):
            for number in range(12):
                client = KafkaProducer(
                    bootstrap_servers=brokers.address(), client_id="webshop", enable_idempotence=False,
                    api_version=(2, 1),
                )  # fmt: skip
                client.send("orders", b"order %d" % number).get(5)
                client.close()


def permissions() -> None:
    """A client that is logged in, and for which there is no ACL."""
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f'{LOGIN} user_checkout="{PASSWORD}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    login = {
        "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
        "sasl.username": "checkout", "sasl.password": PASSWORD,
    }  # fmt: skip
    with cluster(protocol="SASL_PLAINTEXT", settings=settings) as brokers:
        brokers.topic("orders")
        with recording("permissions.pcap"):
            client = producer(brokers, **login, **{"enable.idempotence": False})
            client.produce("orders", b"one order")
            client.flush(2)
            reader = Consumer({
                "bootstrap.servers": brokers.address(), "client.id": "reports", "group.id": "billing", **login,
            })  # fmt: skip
            reader.subscribe(["orders"])
            print(reader.poll(2))
            reader.close()
            in_transactions = producer(brokers, **login, **{"transactional.id": "payments", "client.id": "payments"})
            try:
                in_transactions.init_transactions(2)
            except KafkaException as error:
                print(error)
            admin = AdminClient({"bootstrap.servers": brokers.address(), "client.id": "deploy", **login})
            for future in admin.create_topics([NewTopic("invoices", 1)]).values():
                print(future.exception(3))


def untrusted() -> None:
    """A client that does not trust the broker's certificate."""
    keys = keystore(Path(tempfile.mkdtemp()))
    with cluster(protocol="SSL", settings=keys) as brokers:
        context = ssl.create_default_context()
        context.keylog_filename = str(SAMPLES / "untrusted.keys")
        with recording("untrusted.pcap"):
            try:
                KafkaProducer(
                    bootstrap_servers=brokers.address(), client_id="checkout", security_protocol="SSL",
                    ssl_context=context, bootstrap_timeout_ms=700,
                )  # fmt: skip
            except KafkaError as error:
                print(error)


def certificate() -> None:
    """A listener that wants a certificate of its clients, and a client that has none."""
    keys = keystore(Path(tempfile.mkdtemp()))
    with (
        cluster(protocol="SSL", settings=keys | {"ssl.client.auth": "required"}) as brokers,
        recording("certificate.pcap"),
    ):
        client = producer(
            brokers,
            **{
                "security.protocol": "SSL",
                "enable.ssl.certificate.verification": False,
                "reconnect.backoff.ms": 500,
            },
        )
        client.produce("orders", b"one order")
        client.flush(2)


class LossyLink(threading.Thread):
    """Forwards packets between two TUN devices, and loses each tenth by chance: one here, one in a namespace."""

    def __init__(self, own: str, other: str, namespace: str) -> None:
        super().__init__(daemon=True)
        self.ends = [tunnel("kwire0"), tunnel("kwire1")]
        self.chance = random.Random(9092)
        subprocess.run(
            f"ip address add {own}/24 dev kwire0 && ip link set kwire0 up && ip netns add {namespace} && "
            f"ip link set kwire1 netns {namespace} && ip -n {namespace} address add {other}/24 dev kwire1 && "
            f"ip -n {namespace} link set kwire1 up",
            shell=True, check=True,
        )  # fmt: skip

    def run(self) -> None:
        while True:
            for ready in select.select(self.ends, [], [])[0]:
                packet = os.read(ready, 1 << 16)
                if self.chance.random() >= 0.1:
                    os.write(self.ends[ready == self.ends[0]], packet)


def tunnel(name: str) -> int:
    """Return the descriptor of a new TUN device."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF; IFF_TUN | IFF_NO_PI
    return end


def loss() -> None:
    """A producer behind a link that loses one packet of ten, in a network namespace of its own."""
    if os.environ.get("KWIRE_NAMESPACE") is None:
        command = ["unshare", "-n", sys.executable, __file__, "loss"]
        subprocess.run(command, check=True, env={**os.environ, "KWIRE_NAMESPACE": "yes"})
        return
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    address, namespace = f"10.90.92.1:{CLIENTS}", "kwire-client"
    LossyLink("10.90.92.1", "10.90.92.2", namespace).start()
    listeners = f"CLIENTS://{address},INTERNAL://127.0.0.1:{INTERNAL},CONTROLLER://127.0.0.1:{CONTROLLERS}"
    code = (
        "from confluent_kafka import Producer\n"
        f"p = Producer({{'bootstrap.servers': '{address}', 'client.id': 'meter', 'linger.ms': 0}})\n"
        "for n in range(90):\n    p.produce('orders', f'order {n}')\n    p.flush()\n"
    )
    try:
        with cluster(clients={1: address}, settings={"listeners": listeners}) as brokers:
            brokers.topic("orders")
            with recording("loss.pcap", device="kwire0"):
                subprocess.run(["ip", "netns", "exec", namespace, sys.executable, "-c", code], check=True, timeout=120)
    finally:
        subprocess.run(["ip", "netns", "delete", namespace], check=False)


if __name__ == "__main__":
    kinds = {
        "refused": refused, "swallowed": swallowed, "silent": silent, "window": window, "storm": storm,
        "permissions": permissions, "untrusted": untrusted, "certificate": certificate, "loss": loss,
    }  # fmt: skip
    for incident in sys.argv[1:] or kinds:
        kinds[incident]()
