"""Messages to read and write: golden bodies, values of any version, early layouts and definitions made up."""

import base64
import gzip
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

import kwire_cli
from kit.captures import spoken_capture
from kit.commands import ROOT
from kit.traffic import Wire
from kwire_cli.engine.lower import entry_for
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.reading import Reading
from kwire_cli.source.schema_inputs import schemas_at
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.overlay import load_text
from kwire_cli.structs.composites import UNKNOWN_KEY, MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

# The golden vectors: bodies that Kafka's own classes wrote, with their JSON form.

SHARED = ROOT.parent / "shared"
SAMPLE = ROOT / "samples" / "golden" / "messages.jsonl"


@dataclass(frozen=True)
class Row:
    kafka: str
    message: str
    version: int
    variant: str
    body: bytes
    json: dict
    unknown_tags: tuple = ()
    records: tuple = ()

    def __str__(self):
        return f"{self.message}-{self.version}-{self.variant}-{self.kafka}"

    @property
    def catalog(self):
        return kwire_cli.catalog(self.kafka if self.kafka.startswith("3.9") else ())


def parse(line, kafka=None):
    row = json.loads(line)
    body = bytes.fromhex(row["hex"])
    more = tuple(row.get("unknownTags", ())), tuple(row.get("records", ()))
    return Row(row.get("kafka", kafka), row["spec"], row["version"], row["variant"], body, row["json"], *more)


@cache
def sample():
    return tuple(parse(line) for line in SAMPLE.read_text("utf-8").split("\n") if line)


@cache
def shared():
    """Every golden body of the reference data; trunk of 2024-10 is one step after 3.9."""
    rows = []
    for name, kafka in (("kafka-4.4.0", None), ("kafka-3.9.2", None), ("kafka-trunk-2024-10", "3.9.2")):
        with gzip.open(SHARED / "golden" / f"{name}.messages.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows += [parse(line, kafka) for line in lines]
    return tuple(rows)


@cache
def record_sets():
    """Every golden record set of the reference data: its bytes, and what Kafka read of them."""
    found = []
    for file in sorted((SHARED / "golden").glob("*batches*.jsonl*")):
        text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text("utf-8")
        found += [json.loads(line) for line in text.split("\n") if line]
    return tuple(found)


def without_unknown_tags(value):
    """A value as Kafka's JSON form has it, which drops unknown tags."""
    if isinstance(value, dict):
        return {key: without_unknown_tags(part) for key, part in value.items() if key != "unknownTaggedFields"}
    return [without_unknown_tags(part) for part in value] if isinstance(value, list) else value


def as_kafka_prints(value, names=("records", "unalignedRecords")):
    """As above, with records shown as the empty text that Kafka's JSON form has for them."""
    if isinstance(value, dict):
        return {
            key: "" if key in names and isinstance(part, str) else as_kafka_prints(part, names)
            for key, part in value.items()
            if key != "unknownTaggedFields"
        }
    return [as_kafka_prints(part, names) for part in value] if isinstance(value, list) else value


# Many messages of one layout walked together, for the tests of what is compiled.


def walked(entry, bodies):
    """The compiled walk over these bodies, one after the other."""
    from kwire_cli.engine.compiled import jobs_of, octets, walk_many

    starts, at = [], 0
    for body in bodies:
        starts.append(at)
        at += len(body)
    return walk_many(entry.program, octets(b"".join(bodies) or b"\0"), jobs_of(entry, starts, [*starts[1:], at]))


def by_layout(rows):
    """The rows of each layout: definition, version, entry, bodies."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.kafka, row.message, row.version].append(row)
    for same in groups.values():
        spec = same[0].catalog.message(same[0].message)
        yield spec, same[0].version, entry_for(spec, same[0].version), [row.body for row in same]


def hostile(body):
    """Cut and changed forms of a body."""
    yield body[: len(body) // 2]
    yield body + b"\0"
    yield bytes(byte ^ 0xFF if k % 7 == 3 else byte for k, byte in enumerate(body))
    yield bytes(byte ^ 1 if k % 11 == 5 else byte for k, byte in enumerate(body))
    yield b"\xff" * 12


def hostile_layouts():
    """The sample's layouts with a few of their bodies, damaged."""
    for spec, version, entry, bodies in by_layout(sample()):
        yield spec, version, entry, [bad for body in bodies[:3] for bad in hostile(body)]


# A request and a response of every version of every api, with values that go to the edges; and the same damaged.

NAMES = ("orders", "Zürich-9", "", "ssl.keystore.password", "retention.ms", "no config", "x" * 200)


def value(dice, decl):  # noqa: PLR0911 - a case for each kind
    """A value of a construct in JSON form; tagged fields stand in half of the structs."""
    if isinstance(decl, MessageStruct):
        out = {sc.name: value(dice, sc.subcon) for sc in decl.subcons}
        for field in decl.tags.known if decl.tags and dice.random() < 0.5 else ():
            out[field.name] = value(dice, field.subcon)
        return out
    if isinstance(decl, NullableStruct):
        return value(dice, decl.subcon) if dice.random() < 0.7 else None
    if getattr(decl, "nullable", False) and dice.random() < 0.2:
        return None
    if isinstance(decl, ArrayOf):
        return [value(dice, decl.element) for _ in range(dice.choice((0, 1, 2)))]
    if isinstance(decl, FixedInt):
        return dice.choice((decl.low, decl.high, 0, 1, max(decl.low, -1), dice.randint(decl.low, decl.high)))
    if isinstance(decl, Bool):
        return dice.random() < 0.5
    if isinstance(decl, Float64):
        return dice.choice((0.5, -1e300, 3.0))
    if isinstance(decl, Uuid):
        return base64.urlsafe_b64encode(dice.randbytes(16)).decode()[:22]
    if decl.kind == "string":
        return dice.choice(NAMES)
    return "" if decl.kind == "records" else base64.b64encode(dice.randbytes(dice.choice((0, 3, 30)))).decode()


def exchanges(dice):
    """Yield a request and a response of each version of each api, as documents."""
    catalog = kwire_cli.catalog()
    for api in catalog.apis:
        for number in range(2):
            if not api.request or not api.response:
                continue
            request, response = catalog.message(api.request), catalog.message(api.response)
            for version in range(request.valid_versions.low, request.valid_versions.high + 1):
                for kind, spec in (("request", request), ("response", response)):
                    body = value(dice, declare(spec, version))
                    if kind == "request" and "acks" in body:
                        body["acks"] = 1
                    names_client = kind == "request" and (api.name, version) != ("ControlledShutdown", 0)
                    header = {"correlationId": 7 + number} | ({"clientId": "kwire"} if names_client else {})
                    yield {"kind": kind, "api": api.name, "apiVersion": version, "header": header, "body": body}


def damaged(dice, data, header):
    """A frame of which some bytes behind the header are others, or missing; its size is right."""
    data = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5)) if len(data) > header else 0):
        at = dice.randrange(header, len(data))
        data[at] = dice.choice((data[at] ^ 1 << dice.randrange(8), 0, 255, 128, dice.randrange(256)))
    if len(data) > header and dice.random() < 0.3:
        del data[dice.randrange(header, len(data)) :]
    data[:4] = (len(data) - 4).to_bytes(4)
    return bytes(data)


# Values in JSON form that a declaration takes: hypothesis strategies made from the declarations themselves.

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
BYTES = st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode())
UUIDS = st.binary(min_size=16, max_size=16).map(lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="))
FLOATS = st.sampled_from(["NaN", "Infinity", "-Infinity"]) | st.floats(allow_nan=False, allow_infinity=False)


def integers(low, high):
    edges = [n for n in (low, -1, 0, 1, 63, 64, 127, 128, 16383, 16384, high) if low <= n <= high]
    return st.sampled_from(edges) | st.integers(low, high)


def values(decl):
    """Values of a construct: for a message a dict in which tagged fields may be absent, and unknown tags may stand."""
    if isinstance(decl, MessageStruct):
        return structs(decl)
    if isinstance(decl, NullableStruct):
        return st.none() | structs(decl.subcon)
    if isinstance(decl, ArrayOf):
        lists = st.lists(values(decl.element), max_size=3)
        return st.none() | lists if decl.nullable else lists
    if isinstance(decl, FixedInt | Varint):
        return integers(decl.low, decl.high)
    for kind, strategy in ((Bool, st.booleans()), (Float64, FLOATS), (Uuid, UUIDS)):
        if isinstance(decl, kind):
            return strategy
    sized = TEXT if decl.kind == "string" else BYTES
    return st.none() | sized if decl.nullable else sized


def structs(decl):
    plain = {sc.name: values(sc.subcon) for sc in decl.subcons}
    if not decl.tags:
        return st.fixed_dictionaries(plain)
    tagged = {
        field.name: values(field.subcon).filter(lambda v, field=field: v != field.default) for field in decl.tags.known
    }
    taken = {field.tag for field in decl.tags.known} | decl.tags.invalid
    tags = integers(0, 2**31 - 1).filter(lambda tag: tag not in taken)
    unknown = st.dictionaries(tags, BYTES, min_size=1, max_size=2).map(
        lambda d: [{"tag": tag, "data": d[tag]} for tag in sorted(d)]
    )
    return st.fixed_dictionaries(plain, optional=tagged | {UNKNOWN_KEY: unknown})


# Values that serializers wrote (samples/schemas), and the schemas of each writer.

FOLDER = ROOT / "samples" / "schemas"
BY = {
    "confluent": ("confluent/schemas.json", "_schemas-0"),
    "registry": ("registry/schemas.json",),
}
"""Where the schemas of each writer are: of Confluent's as answers of the registry, and as the topic that it writes."""


def rows(writer):
    return [json.loads(line) for line in (FOLDER / writer / "records.jsonl").read_text("utf-8").splitlines()]


@cache
def store(place):
    return SchemaStore(schemas_at([str(FOLDER / place)] if place else [], Reading(catalog=catalog())))


def headers_of(row):
    return tuple((name, base64.b64decode(value)) for name, value in row["headers"])


# Message definitions made up for a test.

FLEXIBLE = 1
"""In the definitions below version 0 is plain and version 1 flexible."""


def definition(*fields, common=(), **keys):
    """The definition of a message `Test` with these fields; a field is its keys, of which `versions` may be left
    out.
    """
    document = {"name": "Test", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+"}
    document["fields"] = [_field(f) for f in fields]
    document["commonStructs"] = [struct | {"fields": [_field(f) for f in struct["fields"]]} for struct in common]
    return load_text(json.dumps(document | keys))


def _field(keys):
    subs = {"fields": [_field(sub) for sub in keys["fields"]]} if "fields" in keys else {}
    return {"versions": "0+"} | keys | subs


def field(kind, **keys):
    return {"name": "F", "type": kind} | keys


# Bytes in early layouts, which later releases replaced under the same version.


class EarlyBody(NamedTuple):
    """A message in an early layout, with the last release that had it and a part of the value."""

    release: str
    message: str
    data: bytes
    part: dict[str, object]


def _body(release: str, message: str, text: str, **part: object) -> EarlyBody:
    return EarlyBody(release, message, bytes.fromhex(text), part)


ID = "AAAAAAAAAAEAAAAAAAAAAg"
_ID = "00000000000000010000000000000002"

BODIES = (
    _body(
        "3.6",
        "ConsumerGroupHeartbeatRequest",
        "0267026d000000000000ffffffff02027402720672616e6765020278000000000000000201000000",
        subscribedTopicRegex="r",
        serverAssignor="range",
    ),
    _body(
        "3.6",
        "ConsumerGroupHeartbeatResponse",
        "00000000000000026d0000000301000013880100010100010301020000",
        shouldComputeAssignment=True,
    ),
    _body(
        "3.7",
        "ConsumerGroupDescribeResponse",
        "0000000002000000026707537461626c65000000000000000008756e69666f726d02026d00000000000002630268020274"
        f"0002{_ID}02740300000000000000010003000000040207"
        f"0002{_ID}02740300000000000000010003000000040207"
        "0000800000000000",
    ),
    _body(
        "3.7",
        "ConsumerGroupMemberMetadataValue",
        "01010263026802027401ffffffff010202780000000000000002010000",
        subscribedTopicNames=["t"],
    ),
    _body(
        "3.7",
        "ConsumerGroupPartitionMetadataValue",
        f"0000000502{_ID}027400000002010000",
        epoch=5,
        topics=[{"topicId": ID, "topicName": "t", "numPartitions": 2, "partitionMetadata": []}],
    ),
    _body(
        "3.7",
        "ConsumerGroupTargetAssignmentMemberValue",
        f"0102{_ID}020000000000000202 0900",
        topicPartitions=[{"topicId": ID, "partitions": [0]}],
        metadataBytes="CQ==",
    ),
    _body(
        "3.7",
        "ConsumerGroupCurrentMemberAssignmentValue",
        f"00000006000000050000000602{_ID}02000000000001010000010100",
        targetMemberEpoch=6,
        assignedPartitions=[{"topicId": ID, "partitions": [0]}],
    ),
    _body(
        "4.0",
        "ReadShareGroupStateSummaryResponse",
        f"02{_ID}0200000001000000000000020000000000000003000000",
    ),
    _body("4.0", "ShareGroupMetadataValue", "0000000400", epoch=4),
    _body(
        "4.0",
        "ShareGroupPartitionMetadataValue",
        f"02{_ID}027400000002010000",
        topics=[{"topicId": ID, "topicName": "t", "numPartitions": 2, "partitionMetadata": []}],
    ),
    _body(
        "4.0",
        "ShareGroupStatePartitionMetadataValue",
        f"02{_ID}0274020000000000 0100",
        initializedTopics=[{"topicId": ID, "topicName": "t", "partitions": [0]}],
    ),
    _body(
        "4.0",
        "ShareSnapshotValue",
        "00010000000200000003000000000000000402000000000000000400000000000000090200010000",
        snapshotEpoch=1,
        startOffset=4,
    ),
    _body(
        "4.0",
        "ShareUpdateValue",
        "000100000003000000000000000402000000000000000400000000000000090200010000",
        snapshotEpoch=1,
        startOffset=4,
    ),
)
"""Written by kafka-clients, kafka-group-coordinator and kafka-share-coordinator of 3.6.2, 3.7.2 and 4.0.1."""


def body_of(message: str) -> bytes:
    """Return the bytes of a message in its early layout."""
    return next(body.data for body in BODIES if body.message == message)


EARLY_PACKET = 45


def early_capture():
    """Return a capture of ConsumerGroupDescribe. The response in packet EARLY_PACKET has the layout of Kafka 3.7."""
    said = []
    for number in range(40):
        response = Wire.response("ConsumerGroupDescribe", 0, number, groups=[])
        if number == 20:
            payload = number.to_bytes(4) + b"\0" + body_of("ConsumerGroupDescribeResponse")
            response = len(payload).to_bytes(4) + payload
        said += [(0, Wire.request("ConsumerGroupDescribe", 0, number, groupIds=["g"])), (1, response)]
    return spoken_capture(*said)
