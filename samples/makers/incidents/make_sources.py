"""Make what other places give: streams of tcpdump, mirrored packets, TLS with keys, what eBPF prints, request logs.

Usage: KAFKA_JARS=JARS python make_sources.py [stream|mirror|java|librdkafka|ebpf|strimzi]...

Needs the packages confluent-kafka and kafka-python, kcat and cc for `librdkafka`, bpftrace and a mounted tracefs for
`ebpf`, and the jar of extract-tls-secrets (TLS_AGENT) for `java`.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import CLIENTS, SAMPLES, Cluster, cluster, java, recording, run
from confluent_kafka import Producer
from kafka import KafkaConsumer
from make_connections import PASSWORD, keystore

HERE = Path(__file__).resolve().parent
STRIMZI = "%d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n"
"""The pattern of Strimzi's default logging for brokers (KafkaCluster.properties of its cluster operator)."""


def work(brokers: Cluster, messages: int = 3) -> None:
    """A producer, and two consumers, one of which misspells the topic."""
    producer = Producer({"bootstrap.servers": brokers.address(), "client.id": "shop"})
    for number in range(messages):
        producer.produce("orders", f"order {number}", str(number))
    producer.flush()
    for name, topic, patience in (("packing", "orders", 1500), ("mailer", "order", 500)):
        consumer = KafkaConsumer(
            topic, bootstrap_servers=brokers.address(), client_id=name, group_id=name, auto_offset_reset="earliest",
            consumer_timeout_ms=patience, allow_auto_create_topics=False,
        )  # fmt: skip
        list(consumer)
        consumer.close()


def stream() -> None:
    """Return what tcpdump writes to standard output on all interfaces, as in a container beside a broker."""
    with cluster() as brokers:
        brokers.topic("orders")
        with recording("any.pcap", device="any"):
            work(brokers)


def mirror() -> None:
    """The packets of over-the-limit.pcap, each in VXLAN, as a traffic mirror sends them: Ethernet, IPv4, UDP 4789."""
    data = (SAMPLES / "over-the-limit.pcap").read_bytes()
    out, at = [data[:24]], 24
    while at < len(data):
        seconds, micros, have, length = struct.unpack_from("<IIII", data, at)
        inner = data[at + 16 : at + 16 + have]
        at += 16 + have
        vxlan = struct.pack(">II", 0x0800_0000, 7_243_127 << 8)
        udp = struct.pack(">HHHH", 49152 + sum(inner[26:38]) % 16384, 4789, 16 + length, 0)
        address = bytes([10, 20, 1, 15]) + bytes([10, 20, 9, 4])
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 36 + length, 0, 0x4000, 254, 17, 0) + address
        ethernet = bytes.fromhex("0a58a9feac02 0a58a9feac01 0800")
        packet = ethernet + ip + udp + vxlan + inner
        out.append(struct.pack("<IIII", seconds, micros, len(packet), len(packet) - have + length) + packet)
    (SAMPLES / "mirror.pcap").write_bytes(b"".join(out))
    print(f"mirror.pcap: {sum(map(len, out))} bytes")


def trust(folder: Path) -> list[str]:
    """Write the broker's certificate, and return kcat's arguments that trust it."""
    command = ["keytool", "-exportcert", "-rfc", "-alias", "broker", "-keystore", str(folder / "keystore.p12")]
    done = subprocess.run([*command, "-storepass", PASSWORD], check=True, capture_output=True)
    (folder / "ca.pem").write_bytes(done.stdout)
    return ["-X", "security.protocol=ssl", "-X", f"ssl.ca.location={folder}/ca.pem"]


def java_keys() -> None:
    """A Java producer whose JVM has an agent that writes its keys."""
    folder, log = Path(tempfile.mkdtemp()), SAMPLES / "java-tls.keys"
    keys = keystore(folder)
    log.unlink(missing_ok=True)
    with cluster(protocol="SSL", settings=keys) as brokers:
        brokers.topic("orders")
        with recording("java-tls.pcap"):
            properties = ["client.id=checkout", "security.protocol=SSL"]
            properties += [f"{name}={value}" for name, value in keys.items() if "trust" in name]
            pairs = [part for text in properties for part in ("--command-property", text)]
            agent = f"-javaagent:{os.environ['TLS_AGENT']}={log}"
            command = java(
                "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", brokers.address(), "--topic", "orders",
                *pairs, options=(agent,),
            )  # fmt: skip
            run(command, 20, "order 1\norder 2\n")


def librdkafka_keys() -> None:
    """kcat with a preloaded library that writes OpenSSL's keys."""
    folder, log = Path(tempfile.mkdtemp()), SAMPLES / "librdkafka-tls.keys"
    keys = keystore(folder)
    library = folder / "keylog.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(HERE / "keylog.c"), "-ldl"], check=True)
    log.unlink(missing_ok=True)
    with cluster(protocol="SSL", settings=keys) as brokers:
        brokers.topic("orders")
        kcat = ["kcat", "-b", f"localhost:{CLIENTS}", "-X", "client.id=meter", "-t", "orders", *trust(folder)]
        environment = {**os.environ, "SSLKEYLOGFILE": str(log), "LD_PRELOAD": str(library)}
        with recording("librdkafka-tls.pcap"):
            subprocess.run([*kcat, "-P"], input=b"12 kWh\n13 kWh\n", env=environment, check=True, timeout=30)


def ebpf() -> None:
    """Return what bpftrace prints of kcat's calls of OpenSSL: bytes before they are encrypted."""
    folder = Path(tempfile.mkdtemp())
    keys = keystore(folder)
    with cluster(protocol="SSL", settings=keys) as brokers:
        brokers.topic("orders")
        kcat = ["kcat", "-b", f"localhost:{CLIENTS}", "-X", "client.id=meter", "-t", "orders", *trust(folder)]
        out = SAMPLES / "bpftrace.txt"
        with out.open("wb") as text:
            environment = {**os.environ, "BPFTRACE_STRLEN": "200"}
            tracer = subprocess.Popen(["bpftrace", str(HERE / "tls.bt")], stdout=text, env=environment)
            time.sleep(5)
            subprocess.run([*kcat, "-P"], input=b"12 kWh\n13 kWh\n", check=True, timeout=30)
            time.sleep(1)
            tracer.terminate()
            tracer.wait()
        print(f"bpftrace.txt: {out.stat().st_size} bytes")


def strimzi() -> None:
    """A broker's standard output in Strimzi's pattern, while its requests are logged."""
    name = "kafka.request.logger"
    loggers = f"logger.request.name={name}\nlogger.request.level=INFO\n"
    with cluster(pattern=STRIMZI, loggers=loggers) as brokers:
        brokers.topic("orders")
        logger = ("--entity-type", "broker-loggers", "--entity-name", "1")
        brokers.admin("ConfigCommand", "--alter", *logger, "--add-config", f"{name}=DEBUG")
        work(brokers, 1)
        brokers.admin("ConfigCommand", "--alter", *logger, "--add-config", f"{name}=INFO")
        text = (brokers.folder / "broker-1.out").read_text().replace(str(brokers.folder), "/var/lib/kafka")
        lines = text.splitlines(keepends=True)
        logged = [line for line in lines if '"listener":"CLIENTS"' in line]
        (SAMPLES / "strimzi-broker.log").write_text("".join([*lines[-60:-50], *logged[:24]]))
    print(f"strimzi-broker.log: {(SAMPLES / 'strimzi-broker.log').stat().st_size} bytes")


INCIDENTS = {
    "stream": stream, "mirror": mirror, "java": java_keys, "librdkafka": librdkafka_keys, "ebpf": ebpf,
    "strimzi": strimzi,
}  # fmt: skip

if __name__ == "__main__":
    for incident in sys.argv[1:] or INCIDENTS:
        INCIDENTS[incident]()
