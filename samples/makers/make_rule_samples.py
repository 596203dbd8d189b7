"""Captures of one connection for rules of `kwire diagnose`, with calls made up after reports of users.

Usage: PYTHONPATH=tests python samples/makers/make_rule_samples.py FOLDER
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import ssl
import subprocess
import tempfile
from pathlib import Path

from kit.captures import Wire, packet_of, spoken_capture
from kit.traffic import Talk, block, enhanced, interface, section

from kwire_cli.structs.network import SECRETS_BLOCK

START = 1_790_000_000
SECOND = 1_000_000_000
SUBSCRIPTION = base64.b64encode(b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff\0\0\0\0").decode()
TOPIC_ID = "Wg6nBlB7TIOaMoA5IIT1cA"
NO_ID = "A" * 22
GROUP = {"groupId": "inventory", "memberId": "worker-1-9f1c2a", "groupInstanceId": None}


def write(path, client, calls):
    """Write a capture of calls: api, version, request, response, seconds from the start, and seconds that it took."""
    said = []
    times = []
    for number, (api, version, request, response, at, took) in enumerate(calls, 1):
        said.append((0, Wire.request(api, version, number, client, **request)))
        said.append((1, Wire.response(api, version, number, **response)))
        times += [round((START + at) * SECOND), round((START + at + took) * SECOND)]
    path.write_bytes(spoken_capture(*said, times=times))


def login():
    """Return a login with SASL PLAIN, as bytes of the client (side 0) and of the broker (side 1)."""
    token = base64.b64encode(b"\0checkout\0throw-away password").decode()
    said = []
    for number, (api, version, request, response) in enumerate(
        [
            ("SaslHandshake", 1, {"mechanism": "PLAIN"}, {"errorCode": 0, "mechanisms": ["PLAIN"]}),
            ("SaslAuthenticate", 2, {"authBytes": token}, {"errorCode": 0, "errorMessage": None, "authBytes": ""}),
        ],
        1,
    ):
        said.append((0, Wire.request(api, version, number, "checkout", **request)))
        said.append((1, Wire.response(api, version, number, **response)))
    return said


def write_tls(path, said):
    """Write a capture of bytes on one connection with TLS, whose keys are in the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        make = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "3650", "-subj", "/CN=broker", *files]
        subprocess.run(make, check=True, capture_output=True)
        broker = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        broker.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.load_verify_locations(folder / "cert.pem")
        client.check_hostname = False
        client.keylog_filename = str(folder / "keys.txt")
        talk = Talk()
        segments = talk.handshake() + [talk.segment(side, data) for side, data in encrypted(client, broker, said)]
        lines = (folder / "keys.txt").read_text().splitlines()
    keys = "".join(f"{line}\n" for line in lines if not line.startswith(("#", "EXPORTER"))).encode()
    packets = [packet_of(segment, number) for number, segment in enumerate(segments + talk.goodbye(), 1)]
    secrets = block("<", SECRETS_BLOCK, b"KSLT" + len(keys).to_bytes(4, "little") + keys)
    body = b"".join(enhanced("<", packet) for packet in packets)
    path.write_bytes(section("<") + interface("<") + secrets + body)


def encrypted(client, broker, said):
    """Yield the bytes on the wire by side: a TLS handshake, then these bytes in TLS records."""
    incoming = [ssl.MemoryBIO(), ssl.MemoryBIO()]
    outgoing = [ssl.MemoryBIO(), ssl.MemoryBIO()]
    ends = [
        client.wrap_bio(incoming[0], outgoing[0]),
        broker.wrap_bio(incoming[1], outgoing[1], server_side=True),
    ]
    for side in (0, 1, 0, 1):
        with contextlib.suppress(ssl.SSLWantReadError):
            ends[side].do_handshake()
        data = outgoing[side].read()
        incoming[1 - side].write(data)
        yield side, data
    for side, text in said:
        ends[side].write(text)
        data = outgoing[side].read()
        incoming[1 - side].write(data)
        ends[1 - side].read()
        yield side, data


def fetch(number):
    """Return a Fetch that asks for a session, and gets one."""
    asked = {"currentLeaderEpoch": 0, "fetchOffset": 5, "lastFetchedEpoch": -1, "logStartOffset": -1}
    asked["partitionMaxBytes"] = 1 << 20
    answered = {"errorCode": 0, "highWatermark": 5, "lastStableOffset": 5, "logStartOffset": 0}
    answered |= {"abortedTransactions": [], "preferredReadReplica": -1, "records": None}
    topics = []
    responses = []
    for topic in ("orders", "returns"):
        topics.append({"topic": topic, "partitions": [asked | {"partition": index} for index in (0, 1)]})
        responses.append({"topic": topic, "partitions": [answered | {"partitionIndex": index} for index in (0, 1)]})
    request = {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "isolationLevel": 0}
    request |= {"sessionId": 0, "sessionEpoch": 0, "topics": topics}
    response = {"errorCode": 0, "sessionId": 70_000_001 + 7919 * number, "responses": responses}
    return "Fetch", 11, request, response, 0.6 * number, 0.5


def join(at, generation):
    """Return the JoinGroup of the leader of a group of two."""
    protocol = {"name": "range", "metadata": SUBSCRIPTION}
    request = GROUP | {"sessionTimeoutMs": 45_000, "rebalanceTimeoutMs": 300_000, "protocolType": "consumer"}
    members = [
        {"memberId": f"worker-{number}-9f1c2a", "groupInstanceId": None, "metadata": SUBSCRIPTION} for number in (1, 2)
    ]
    response = {"errorCode": 0, "generationId": generation, "protocolName": "range", "leader": GROUP["memberId"]}
    response |= {"memberId": GROUP["memberId"], "members": members}
    return "JoinGroup", 5, request | {"protocols": [protocol]}, response, at, 0.01


def sync(at, generation):
    """Return the SyncGroup of the leader, with 300 partitions for each member, which the coordinator can't store."""
    assignments = []
    for number in (1, 2):
        partitions = b"".join(index.to_bytes(4, "big") for index in range(300 * number - 300, 300 * number))
        data = b"\0\1\0\0\0\1\0\6orders" + (300).to_bytes(4, "big") + partitions + b"\xff\xff\xff\xff"
        assignments.append({"memberId": f"worker-{number}-9f1c2a", "assignment": base64.b64encode(data).decode()})
    request = GROUP | {"generationId": generation, "assignments": assignments}
    return "SyncGroup", 3, request, {"errorCode": -1, "assignment": ""}, at, 0.03


def metadata(at, *, is_known):
    """Return a Metadata about the topic orders."""
    partition = {"errorCode": 0, "partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1]}
    partition |= {"isrNodes": [1], "offlineReplicas": []}
    topic = {"errorCode": 0, "name": "orders", "topicId": TOPIC_ID, "isInternal": False, "partitions": [partition]}
    if not is_known:
        topic |= {"errorCode": 3, "topicId": NO_ID, "partitions": []}
    request = {"topics": [{"topicId": NO_ID, "name": "orders"}], "allowAutoTopicCreation": False}
    request["includeTopicAuthorizedOperations"] = False
    brokers = [{"nodeId": 1, "host": "10.0.0.2", "port": 9092, "rack": None}]
    response = {"brokers": brokers, "clusterId": "kf2JnBlB7TIOaMoA5IIT1A", "controllerId": 1, "topics": [topic]}
    return "Metadata", 12, request, response, at, 0.002


def main():
    """Write all captures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write(folder / "fetch-sessions-ignored.pcap", "billing", [fetch(number) for number in range(8)])
    rounds = []
    for number in range(3):
        rounds += [join(3 * number, number + 1), sync(3 * number + 0.1, number + 1)]
    write(folder / "sync-failed.pcap", "worker", rounds)
    known = [metadata(at, is_known=True) for at in (0, 5)]
    unknown = [metadata(at, is_known=False) for at in (7, 7.1, 7.3, 8.4)]
    write(folder / "topic-deleted.pcap", "shop", [*known, *unknown])
    write_tls(folder / "sasl-plain.pcapng", login())


if __name__ == "__main__":
    main()
