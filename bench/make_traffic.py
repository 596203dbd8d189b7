"""Captures of Kafka traffic for the block `captures`: 8 connections, segments of 1448 bytes, delayed acknowledgments,
the timestamps option.
"""

from __future__ import annotations

import base64
import random
import struct
from typing import TYPE_CHECKING, Any

from construct import Int8sb, Int16sb, Int32sb, Int32ub, Int64sb, Struct, ZigZag
from make_captures import MASK, TIMESTAMPS, Capture

import kwire_cli as kwire
from kwire_cli.message.encode import encode_document
from kwire_cli.spec.model import default_value
from kwire_cli.structs.network import ACK, FIN, PSH, SYN

if TYPE_CHECKING:
    from pathlib import Path

MSS = 1448
CATALOG = kwire.catalog()
CLASSIC = {"ApiVersions": 2, "Metadata": 8, "Produce": 7, "Fetch": 10, "Heartbeat": 3, "OffsetCommit": 7}
MODERN = {"ApiVersions": 3, "Metadata": 12, "Produce": 9, "Fetch": 12, "Heartbeat": 4, "OffsetCommit": 8}
TOPIC = "orders.events.0000"
POOL = 24
"""Different exchanges of each kind; they come again with other correlation ids."""

CHECKED = Struct(
    "attributes" / Int16sb,
    "last_offset" / Int32sb,
    "base_time" / Int64sb,
    "max_time" / Int64sb,
    "producer" / Int64sb,
    "epoch" / Int16sb,
    "sequence" / Int32sb,
    "count" / Int32sb,
)
FRONT = Struct("base_offset" / Int64sb, "size" / Int32sb, "leader_epoch" / Int32sb, "magic" / Int8sb, "crc" / Int32ub)
TIME = 1_795_255_200_000


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    crc = MASK
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ MASK


def zigzag(value: int) -> bytes:
    return ZigZag.build(value)


def batch(dice: random.Random, count: int, size: int) -> str:
    """A record batch as base64: values that look like JSON, keys of 16 bytes."""
    records = b""
    for offset in range(count):
        value = (b'{"id":"%032x","pad":"' % dice.getrandbits(128) + dice.randbytes(size // 2).hex().encode())[
            : size - 2
        ] + b'"}'
        body = (
            b"\0"
            + zigzag(offset)
            + zigzag(offset)
            + zigzag(16)
            + b"%016x" % dice.getrandbits(64)
            + zigzag(len(value))
            + value
            + b"\0"
        )
        records += zigzag(len(body)) + body
    fields = {
        "attributes": 0,
        "last_offset": count - 1,
        "base_time": TIME,
        "max_time": TIME + count - 1,
        "producer": -1,
        "epoch": -1,
        "sequence": -1,
    }
    checked = CHECKED.build({**fields, "count": count}) + records
    front = FRONT.build(
        {"base_offset": 0, "size": len(checked) + 9, "leader_epoch": 7, "magic": 2, "crc": crc32c(checked)}
    )
    return base64.b64encode(front + checked).decode()


def filled(spec: Any, fields: Any, version: int, value: dict[str, Any]) -> dict[str, Any]:
    """The fields of this version: what is given, defaults for the rest."""
    out: dict[str, Any] = {}
    for field in fields:
        name = field.json_name
        if version not in field.versions or (name not in value and version in field.tagged_versions):
            continue
        inner = spec.struct_fields(field) if field.struct_name else ()
        if name not in value:
            out[name] = filled(spec, inner, version, {}) if inner and not field.is_array else default_value(field)
        elif inner and value[name] is not None:
            out[name] = (
                [filled(spec, inner, version, each) for each in value[name]]
                if field.is_array
                else filled(spec, inner, version, value[name])
            )
        else:
            out[name] = value[name]
    return out


def frame(kind: str, api: str, version: int, client: str, **body: Any) -> bytes:
    spec = CATALOG.message(f"{api}{kind.title()}")
    header = {"correlationId": 0, "clientId": client} if kind == "request" else {"correlationId": 0}
    return encode_document(
        CATALOG,
        {
            "kind": kind,
            "api": api,
            "apiVersion": version,
            "header": header,
            "body": filled(spec, spec.fields, version, body),
        },
    )


def exchange(dice: random.Random, api: str, version: int, client: str, *, small: bool) -> tuple[bytes, bytes]:
    """A request and its answer."""
    partition = dice.randrange(12)
    question, answer = _bodies(dice, api, partition, small=small)
    return frame("request", api, version, client, **question), frame("response", api, version, client, **answer)


def _bodies(dice: random.Random, api: str, partition: int, *, small: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    def records(batches: int) -> str:
        return (
            batch(dice, 1, 100)
            if small
            else base64.b64encode(b"".join(base64.b64decode(batch(dice, 16, 1000)) for _ in range(batches))).decode()
        )

    group = {
        "groupId": "orders-consumer",
        "generationId": 12,
        "generationIdOrMemberEpoch": 12,
        "memberId": "consumer-1-3f1c",
    }
    offset = dice.randrange(1 << 40)
    if api == "ApiVersions":
        keys = [{"apiKey": key, "minVersion": 0, "maxVersion": 3 + key % 14} for key in range(75)]
        return {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": "4.4.0"}, {"apiKeys": keys}
    if api == "Metadata":
        parts = [
            {"partitionIndex": n, "leaderId": n % 6, "replicaNodes": [n % 6, 1, 2], "isrNodes": [1, 2]}
            for n in range(12)
        ]
        brokers = [{"nodeId": n, "host": f"broker-{n}.kafka.example.internal", "port": 9092} for n in range(6)]
        return {"topics": None}, {
            "brokers": brokers,
            "clusterId": "MkU3OEVBNTcwNTJENDM2Qk",
            "topics": [{"name": TOPIC, "partitions": parts}],
        }
    if api == "Produce":
        data = [{"name": TOPIC, "partitionData": [{"index": partition, "records": records(1)}]}]
        return {"acks": -1, "timeoutMs": 30000, "topicData": data}, {
            "responses": [{"name": TOPIC, "partitionResponses": [{"index": partition, "baseOffset": offset}]}]
        }
    if api == "Fetch":
        wanted = [
            {"partition": n, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
            for n in (partition, (partition + 1) % 12)[: 1 if small else 2]
        ]
        found = [
            {
                "partitionIndex": each["partition"],
                "highWatermark": offset + 32,
                "records": records(2) if not small or dice.random() < 0.5 else "",
            }
            for each in wanted
        ]
        question = {
            "replicaId": -1,
            "maxWaitMs": 500,
            "minBytes": 1,
            "topics": [{"topic": TOPIC, "partitions": wanted}],
        }
        return question, {"responses": [{"topic": TOPIC, "partitions": found}]}
    if api == "Heartbeat":
        return group, {}
    numbers = (partition,) if small else range(12)
    commits = [{"partitionIndex": n, "committedOffset": offset, "committedMetadata": ""} for n in numbers]
    done = [{"partitionIndex": n} for n in numbers]
    return {**group, "topics": [{"name": TOPIC, "partitions": commits}]}, {
        "topics": [{"name": TOPIC, "partitions": done}]
    }


class Fast(Capture):
    """Capture, with packets made from a template: building every header from its declaration would take minutes."""

    def packet(
        self, ends: tuple[bytes, int, bytes, int], sequence: int, acknowledgment: int, flags: int, payload: bytes = b""
    ) -> None:
        source, source_port, destination, destination_port = ends
        size = 20 + 20 + len(TIMESTAMPS) + len(payload)
        self.time += 20
        seconds, fraction = divmod(self.time, 1_000_000)
        ip = (0x45, 0, size, self.packets & 0xFFFF, 0x4000, 64, 6, 0, source, destination)
        head = _HEADERS.pack(
            *ip, source_port, destination_port, sequence & MASK, acknowledgment & MASK, 0x80, flags, 512, 0, 0
        )
        self.packets += 1
        self.file.write(
            _RECORD.pack(seconds, fraction, 14 + size, 14 + size) + self.ethernet + head + TIMESTAMPS + payload
        )


_RECORD = struct.Struct("<IIII")
_HEADERS = struct.Struct(">BBHHHBBH4s4sHHIIBBHHH")


class Connection:
    def __init__(self, capture: Capture, number: int) -> None:
        self.capture, self.number, self.correlation = capture, number, 0
        there = (bytes([10, 0, 0, 10 + number % 200]), 20000 + number % 45_000, bytes([10, 0, 1, 1 + number % 3]), 9092)
        self.ends = there, (*there[2:], *there[:2])
        self.next = [1000 + number * 100_000, 900_000 + number * 77_777]

    def say(self, side: int, flags: int, payload: bytes = b"") -> None:
        self.capture.packet(self.ends[side], self.next[side], self.next[1 - side] if flags & ACK else 0, flags, payload)
        self.next[side] += len(payload) + bool(flags & (SYN | FIN))

    def hello(self) -> None:
        self.say(0, SYN)
        self.say(1, SYN | ACK)
        self.say(0, ACK)

    def bye(self) -> None:
        self.say(0, FIN | ACK)
        self.say(1, FIN | ACK)
        self.say(0, ACK)

    def send(self, side: int, data: bytes) -> None:
        for number, at in enumerate(range(0, len(data), MSS)):
            last = at + MSS >= len(data)
            self.say(side, ACK | PSH if last else ACK, data[at : at + MSS])
            if number % 2 or last:
                self.say(1 - side, ACK)

    def exchange(self, question: bytes, answer: bytes) -> None:
        self.correlation += 1
        number = self.correlation.to_bytes(4, "big")
        # Behind the size, and in a request behind api key and version.
        self.send(0, question[:8] + number + question[12:])
        self.send(1, answer[:4] + number + answer[8:])


class Talk:
    """Traffic that goes on for as long as is asked: half of the connections produce, half consume."""

    def __init__(self, capture: Capture, versions: dict[str, int], connections: int, *, small: bool) -> None:
        self.dice, self.small = random.Random(5), small
        self.pools = {
            (api, role): [exchange(self.dice, api, version, f"{role}-0", small=small) for _ in range(POOL)]
            for role in ("producer", "consumer")
            for api, version in versions.items()
        }
        self.connections = [Connection(capture, number) for number in range(connections)]
        for connection in self.connections:
            connection.hello()
            if not small:
                for api in ("ApiVersions", "Metadata"):
                    connection.exchange(*self.dice.choice(self.pools[api, "consumer"]))

    def go_on(self) -> None:
        """One more request and its answer."""
        connection = self.dice.choice(self.connections)
        if connection.number < len(self.connections) // 2:
            api, role = "Produce", "producer"
        else:
            more = (
                ("Fetch", "Fetch", "OffsetCommit", "Heartbeat")
                if self.small
                else ("Fetch",) * 5 + ("OffsetCommit", "Heartbeat")
            )
            api, role = self.dice.choice(more), "consumer"
        connection.exchange(*self.dice.choice(self.pools[api, role]))

    def end(self) -> None:
        for connection in self.connections:
            connection.bye()


def write(path: Path, versions: dict[str, int], *, size: int = 0, messages: int = 0, small: bool = False) -> Path:
    """A capture of about `size` bytes, or of so many messages."""
    capture = Fast(path)
    talk = Talk(capture, versions, 8, small=small)
    said = 0
    while capture.file.tell() < size or said < messages:
        talk.go_on()
        said += 2
    talk.end()
    capture.file.close()
    return path


def rotated(
    folder: Path, versions: dict[str, int], *, files: int, size: int, connections: int = 64, small: bool = False
) -> list[Path]:
    """Captures of about `size` bytes each, one behind the other: connections go on over all of them. Those that are
    there already stay.
    """
    paths = [folder / f"{number:03}.pcap" for number in range(files)]
    if not folder.exists():
        scratch = folder.with_suffix(".part")
        scratch.mkdir(parents=True, exist_ok=True)
        capture = Fast(scratch / paths[0].name)
        talk = Talk(capture, versions, connections, small=small)
        for path in paths:
            if path != paths[0]:
                capture.turn_to(scratch / path.name)
            while capture.file.tell() < size:
                talk.go_on()
        talk.end()
        capture.file.close()
        scratch.rename(folder)
    return paths


def short(folder: Path, *, files: int, size: int) -> list[Path]:
    """Captures of about `size` bytes each, whose connections have ten or twelve messages from SYN to FIN."""
    paths = [folder / f"{number:04}.pcap" for number in range(files)]
    if not folder.exists():
        folder.mkdir(parents=True)
        capture = Fast(paths[0])
        talk = Talk(capture, MODERN, 0, small=True)
        count = 0
        for path in paths:
            capture.turn_to(path)
            while capture.file.tell() < size:
                connection = Connection(capture, count)
                connection.hello()
                role = ("producer", "consumer")[count % 2]
                apis = (
                    ("Fetch", "OffsetCommit", "Heartbeat", "Fetch") if count % 2 else ("Produce", "Produce", "Produce")
                )
                for api in ("ApiVersions", "Metadata", *apis):
                    connection.exchange(*talk.dice.choice(talk.pools[api, role]))
                connection.bye()
                count += 1
        capture.file.close()
    return paths


def small(path: Path, messages: int) -> Path:
    return path if path.exists() else write(path, CLASSIC, messages=messages, small=True)


def captures(folder: Path, messages: int) -> dict[str, Path]:
    """The three captures by name; those that are in the folder already are left as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"small": small(folder / "small.pcap", messages)}
    for name, versions in (("classic", CLASSIC), ("modern", MODERN)):
        path = folder / f"{name}.pcap"
        found[name] = path if path.exists() else write(path, versions, size=60_000_000)
    return found
