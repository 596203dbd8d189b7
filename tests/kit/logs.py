"""Record sets, folders of partitions, records of Kafka's own topics, and lines of request logs."""

import base64
import functools
import json
import struct

import crc32c
from hypothesis import strategies as st

import kwire_cli as kwire
from kit.commands import ROOT
from kwire_cli.analysis.coordinators import Event
from kwire_cli.analysis.state import topics
from kwire_cli.analysis.state.tables import state_answer
from kwire_cli.engine.fixed import fixed
from kwire_cli.message.encode import encode
from kwire_cli.records.compression import compress
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import kip82, kip98, v0, v1, v2
from kwire_cli.view.answers import answer_document

# Record sets to read: made by the declarations, with right checksums, so that any of them can be made wrong on
# purpose.

RECORD_SETS = {
    "v0": v0.MESSAGE_SET,
    "v1": v1.MESSAGE_SET,
    "v2": v2.BATCHES,
    "kip98-draft": kip98.MESSAGE_SETS,
    "kip82-draft": kip82.MESSAGE_SET,
}
"""The declaration of a whole record set of each format."""
SEGMENTS = ROOT / "samples" / "segments"
HEAD = {"partitionLeaderEpoch": 0, "magic": 2, "crc": 0, "attributes": 0}
HEAD |= dict.fromkeys(("baseTimestamp", "maxTimestamp"), 1_760_000_000_000)
HEAD |= dict.fromkeys(("producerId", "producerEpoch", "baseSequence"), -1)


def b64(data):
    return None if data is None else base64.b64encode(data).decode()


def with_crc(name, data):
    """The bytes of a batch with the checksum that they should have."""
    layout = LAYOUTS[name]
    right = layout.checksum(data[layout.crc_from :])
    return data[: layout.crc_at] + right.to_bytes(4, "big") + data[layout.crc_at + 4 :]


def record(key=None, value=b"v", offset=0, timestamp=0, headers=()):
    return {
        "attributes": 0,
        "timestampDelta": timestamp,
        "offsetDelta": offset,
        "key": b64(key),
        "value": b64(value),
        "headers": [{"key": name, "value": b64(data)} for name, data in headers],
    }


def batch(base=0, records=(), codec=0, packed=None, **head):
    """A batch of format v2; `packed` stands in place of its records' bytes."""
    area = v2.RECORDS.build({"records": list(records)}) if packed is None else packed
    if codec and packed is None:
        area = compress(codec, area)
    filled = {"baseOffset": base, "lastOffsetDelta": len(records) - 1, "recordsCount": len(records), **HEAD, **head}
    filled["attributes"] |= codec
    layout = LAYOUTS["v2"]
    # The declaration takes records one by one or packed; by its header alone the bytes can be anything.
    start = v2.HEADER.build(filled | {"batchLength": layout.head.size - 12 + len(area)})
    return with_crc("v2", start + area)


def message(name="v1", offset=0, key=None, value=b"v", attributes=0, timestamp=1_760_000_000_000, **more):
    """A message of format v0, v1 or the KIP-82 draft."""
    layout = LAYOUTS[name]
    fields = {"offset": offset, "crc": 0, "magic": layout.magic, "attributes": attributes}
    fields |= {"key": b64(key), "value": b64(value), **more}
    if name != "v0":
        fields["timestamp"] = timestamp
    return with_crc(name, layout.decl.build(fields))


def wrapper(name="v1", offset=0, inner=b"", codec=1, **more):
    """A compressed wrapper message."""
    magic = LAYOUTS[name].magic
    return message(
        name, offset, None, compress(codec, inner, magic=min(magic, 1)), more.pop("attributes", 0) | codec, **more
    )


@functools.cache
def committed(base, damage=b"", count=2, **head):
    """A batch of commits of group g as `__consumer_offsets` has them, the last one with bytes behind its value."""
    key, value = b"\0\1\0\1g\0\1a\0\0\0", b"\0\3" + bytes(8) + b"\xff" * 4 + bytes(2) + bytes(8)
    records = [record(key + bytes([at]), value + damage * (at == count - 1), at) for at in range(count)]
    return batch(base, records, **head)


@functools.cache
def segments():
    """Return the sample segments, by folder."""
    return {path.parent.name: path.read_bytes() for path in sorted(SEGMENTS.glob("*/*"))}


@st.composite
def damaged_segments(draw):
    """Draw a sample segment that is cut, and has up to three bytes replaced in up to four places."""
    whole = segments()[draw(st.sampled_from(sorted(segments())))]
    damaged = bytearray(whole[: draw(st.integers(1, len(whole)))])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(damaged)))
        damaged[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(damaged)


# A partition's folder written by hand: batches, indexes, snapshots; and damage done to one.

HEADER = fixed(v2.HEADER)
TIME = 1_700_000_000_000


def with_header(data, **changes):
    """A batch with some fields of its header changed, and the CRC that fits."""
    values = dict(zip(HEADER.names, HEADER.unpack(data, 0), strict=True)) | changes
    return with_crc("v2", v2.HEADER.build(values) + data[HEADER.size :])


def batch_at(
    base,
    count=1,
    *,
    producer=-1,
    epoch=-1,
    sequence=-1,
    time=TIME,
    leader=0,
    transactional=False,
    control=None,
    kept=None,
):
    """A batch of `count` offsets from `base` on; `control` is key and value of its record, `kept` how many records
    compaction has left.
    """
    left = count if kept is None else kept
    records = [record(*control)] if control else [record(None, b"value", at) for at in range(left)]
    return batch(
        base,
        records,
        partitionLeaderEpoch=leader,
        attributes=(16 if transactional else 0) | (32 if control else 0),
        lastOffsetDelta=count - 1,
        baseTimestamp=time,
        maxTimestamp=time,
        producerId=producer,
        producerEpoch=epoch,
        baseSequence=sequence,
    )


def marker(base, *, producer, epoch, commit, coordinator=0, time=TIME):
    key, value = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, coordinator)
    return batch_at(base, producer=producer, epoch=epoch, transactional=True, control=(key, value), time=time)


def snapshot(*rows):
    body = struct.pack(">i", len(rows)) + b"".join(struct.pack(">qhiqiqiq", *row) for row in rows)
    return struct.pack(">hI", 1, crc32c.crc32c(body)) + body


class Folder:
    """A partition's folder with what a test puts into it."""

    batch = staticmethod(batch_at)
    marker = staticmethod(marker)
    snapshot = staticmethod(snapshot)
    with_header = staticmethod(with_header)
    time = TIME

    def __init__(self, path):
        self.path = path

    def put(self, base, kind, *parts):
        (self.path / f"{base:020}.{kind}").write_bytes(b"".join(parts))
        return self

    def offsets(self, base, *rows):
        return self.put(base, "index", *(struct.pack(">ii", offset - base, position) for offset, position in rows))

    def times(self, base, *rows):
        return self.put(base, "timeindex", *(struct.pack(">qi", time, offset - base) for time, offset in rows))

    def aborted(self, base, *rows):
        return self.put(base, "txnindex", *(struct.pack(">hqqqq", 0, *row) for row in rows))

    def faults(self, **options):
        from kwire_cli.analysis.verify import verify_part

        return list(verify_part(self.path, **options))

    def codes(self):
        return [fault.code for fault in self.faults()]


# Lines of a request log, as Kafka's RequestConvertToJson writes them.

CLIENT = {"softwareName": "apache-kafka-java", "softwareVersion": "3.7.2"}
UNKNOWN = {"softwareName": "unknown", "softwareVersion": "unknown"}


def document(
    api_key=3,
    version=12,
    *,
    client="c",
    correlation=1,
    request=None,
    response=None,
    port=50012,
    told=CLIENT,
    forwarded=False,
    broker=9092,
    **more,
):
    header = {"requestApiKey": api_key, "requestApiVersion": version, "correlationId": correlation, "clientId": client}
    return {
        "isForwarded": forwarded,
        "requestHeader": header,
        "request": {} if request is None else request,
        "response": {} if response is None else response,
        "connection": f"10.0.0.2:{broker}-10.0.0.1:{port}-0-7",
        "totalTimeMs": 2.5,
        "requestQueueTimeMs": 0.5,
        "localTimeMs": 1.5,
        "remoteTimeMs": 0.0,
        "throttleTimeMs": 0,
        "responseQueueTimeMs": 0.25,
        "sendTimeMs": 0.25,
        "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "clientInformation": told,
    } | more


def line(*given, time="2026-11-21 10:00:00,123", **options):
    """As log4j writes it with Kafka's own pattern."""
    return (
        f"[{time}] DEBUG Completed request:{json.dumps(document(*given, **options))} (kafka.request.logger)\n".encode()
    )


def offers(**highest):
    """The body of an ApiVersions response: highest versions by api key, `k0=9`."""
    return {
        "errorCode": 0,
        "apiKeys": [{"apiKey": int(key[1:]), "minVersion": 0, "maxVersion": high} for key, high in highest.items()],
    }


# Records for folds, made as Kafka would write them: values in Kafka's JSON form, encoded by definition.


@functools.cache
def catalog():
    return kwire.catalog()


def body(name, version, value):
    return encode(catalog(), value, name, version)


def int16(number):
    return number.to_bytes(2, "big", signed=True)


def keyed(number, name, key, value, version=0, key_version=0):
    """The key and value of a coordinator's record; `name` without Key and Value, `value` None for a tombstone."""
    return int16(number) + body(f"{name}Key", key_version, key), None if value is None else int16(version) + body(
        f"{name}Value", version, value
    )


def framed(name, value, version=0):
    """The value of a record of the metadata log."""
    number = catalog().entry(name).api_key
    return None, bytes([1, number, version]) + body(name, version, value)


COMMIT, ABORT = (b"\0\0\0\1", b"\0\0\0\0\0\0"), (b"\0\0\0\0", b"\0\0\0\0\0\0")


def tables_of(*parts, hide=None):
    """The tables of the answer of partitions of one topic, in their JSON form."""
    return answer_document(state_answer(parts, hide=hide))["tables"]


class Log:
    """A topic's log and what it says so far."""

    def __init__(self, topic):
        self.topic, self.state, self.offset = topic, topics.STATES[topic](catalog(), topic), 0

    def add(self, record, producer=-1, control=False, epoch=0):
        self.state.apply(Event(self.offset, 1_760_000_000_000, producer, epoch, control, *record))
        self.offset += 1
        return self

    def end(self, producer, marker):
        return self.add(marker, producer, control=True)

    def tables(self, hide=None):
        """The tables of its answer in their JSON form."""
        return tables_of(self.state, hide=hide)

    def rows(self, table):
        return [row for name, row in self.state.rows(hide=None) if name == table]
