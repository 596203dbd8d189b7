"""Make captures of clients that can't connect: an address that is not reached, TLS and no TLS, a wrong password,
and more connections than a broker takes.

Usage: KAFKA_JARS=JARS python make_connections.py [advertised|tls|sasl|plain|limit]...
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import Cluster, cluster, java, recording, run

PASSWORD = "throw-away"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def produce(brokers: Cluster, *properties: str, topic: str = "orders") -> list[str]:
    """Return the command of a Java producer that logs to standard output."""
    pairs = [part for text in properties for part in ("--command-property", text)]
    options = (f"-Dlog4j2.configurationFile={brokers.folder}/log4j2.properties",)
    return java(
        "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", brokers.address(), "--topic", topic, *pairs,
        options=options,
    )  # fmt: skip


def said(brokers: Cluster, *words: str) -> None:
    """Print the last lines of the broker's log with one of these words."""
    lines = (brokers.folder / "broker-1.out").read_text().splitlines()
    print("\n".join([line for line in lines if any(word in line for word in words)][-10:]))


def advertised() -> None:
    """A broker that advertises the name of its pod to clients outside the cluster."""
    name = "kafka-0.kafka-headless.prod.svc.cluster.local:9092"
    with cluster(clients={1: name}) as brokers:
        brokers.topic("orders")
        with recording("advertised.pcap"):
            run(produce(brokers, "client.id=checkout", "reconnect.backoff.max.ms=4000"), 12, "one order\n")


def keystore(folder: Path) -> dict[str, str]:
    """Make a broker's key, and return the settings with it."""
    path = folder / "keystore.p12"
    subprocess.run(
        ["keytool", "-genkeypair", "-alias", "broker", "-keyalg", "EC", "-dname", "CN=localhost", "-validity", "3650",
         "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-keystore", str(path), "-storepass", PASSWORD,
         "-storetype", "PKCS12"],
        check=True, capture_output=True,
    )  # fmt: skip
    return {
        "ssl.keystore.location": str(path), "ssl.keystore.password": PASSWORD, "ssl.keystore.type": "PKCS12",
        "ssl.truststore.location": str(path), "ssl.truststore.password": PASSWORD, "ssl.truststore.type": "PKCS12",
    }  # fmt: skip


def tls() -> None:
    """A client of TLS on a listener without it, and a client without TLS on a listener with it."""
    keys = keystore(Path(tempfile.mkdtemp()))
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("tls-to-plain.pcap"):
            trust = [f"{name}={value}" for name, value in keys.items() if "trust" in name]
            run(produce(brokers, "client.id=checkout", "security.protocol=SSL", *trust), 5, "one order\n")
        said(brokers, "WARN", "Invalid")
    with cluster(protocol="SSL", settings=keys) as brokers:
        brokers.topic("orders")
        with recording("plain-to-tls.pcap"):
            run(produce(brokers, "client.id=checkout"), 5, "one order\n")
        said(brokers, "SSL", "Failed")


def sasl() -> None:
    """A client with a wrong password, another with a mechanism that is not enabled, a third without SASL."""
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f'{LOGIN} user_checkout="{PASSWORD}";',
    }
    with cluster(protocol="SASL_PLAINTEXT", settings=settings) as brokers:
        brokers.topic("orders")
        with recording("sasl.pcap"):
            login = f'sasl.jaas.config={LOGIN} username="checkout" password="that of last year";'
            protocol = "security.protocol=SASL_PLAINTEXT"
            run(produce(brokers, "client.id=checkout", protocol, "sasl.mechanism=PLAIN", login), 6, "one order\n")
            scram = login.replace("plain.PlainLoginModule", "scram.ScramLoginModule")
            run(produce(brokers, "client.id=billing", protocol, "sasl.mechanism=SCRAM-SHA-512", scram), 6, "one\n")
            run(produce(brokers, "client.id=legacy"), 4, "one order\n")
        said(brokers, "auth")


def plain() -> None:
    """A client with SASL on a listener without it."""
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("sasl-to-plain.pcap"):
            login = f'sasl.jaas.config={LOGIN} username="checkout" password="{PASSWORD}";'
            protocol = "security.protocol=SASL_PLAINTEXT"
            run(produce(brokers, "client.id=checkout", protocol, "sasl.mechanism=PLAIN", login), 6, "one order\n")
        said(brokers, "ILLEGAL_SASL_STATE")


def limit() -> None:
    """Three producers of one host at a broker that takes four connections of a host; each producer needs two."""
    with cluster(settings={"max.connections.per.ip": "4"}) as brokers:
        brokers.topic("orders")
        with recording("connection-limit.pcap"):
            producers = []
            for _ in range(3):
                producer = subprocess.Popen(produce(brokers, "client.id=webshop"), stdin=subprocess.PIPE)
                assert producer.stdin is not None
                producer.stdin.write(b"one order\n")
                producer.stdin.flush()
                producers.append(producer)
                time.sleep(5)
        for producer in producers:
            producer.kill()
        said(brokers, "Too many connections")


if __name__ == "__main__":
    for incident in sys.argv[1:] or ["advertised", "tls", "sasl", "plain", "limit"]:
        {"advertised": advertised, "tls": tls, "sasl": sasl, "plain": plain, "limit": limit}[incident]()
