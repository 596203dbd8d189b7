"""A table of secrets: messages, versions and where a secret stands in them; frames and captures that carry one, whole
and damaged.
"""

import base64
import functools
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq

import kwire_cli
from kit import logs
from kit.captures import capture_of_all
from kit.commands import kwire
from kit.traffic import Wire
from kit.views import page_data
from kwire_cli.message.roles import CONFIG_VALUES, SECRET_FIELDS
from kwire_cli.spec.kafka import CLUSTER_METADATA_ID

CATALOG = kwire_cli.catalog()
SECRET = "Zq7#kPx2!vRm9~wLt4^y"
TABLE = {
    message: SECRET_FIELDS.get(message, frozenset()) | CONFIG_VALUES.get(message, frozenset())
    for message in SECRET_FIELDS | CONFIG_VALUES
}


def holds(message, path, version):
    spec = CATALOG[message]
    fields = spec.fields
    for name in path.split("."):
        field = next(field for field in fields if field.json_name == name.removesuffix("[]"))
        if version not in field.versions:
            return False
        fields = spec.struct_fields(field)
    return True


FIELDS = [
    (m, path, version)
    for m in sorted(TABLE)
    for path in sorted(TABLE[m])
    for version in CATALOG[m].valid_versions.each()
]
ENTRIES = [row for row in FIELDS if holds(*row)]
NEWEST = [
    (m, p, max(v for v in CATALOG[m].valid_versions.each() if holds(m, p, v)))
    for m in sorted(TABLE)
    for p in sorted(TABLE[m])
]


def value_of(spec, fields, version, target, prefix="", name="sasl.jaas.config"):
    """A value with an element in every array, and the secret at the path `target`; what stands beside it names a
    sensitive config.
    """
    out = {}
    for field in fields:
        path = f"{prefix}{field.json_name}{'[]' if field.is_array else ''}"
        wanted = target.startswith(path)
        if version not in field.versions or (field.tag is not None and not wanted):
            continue
        if not wanted and version in field.nullable_versions and (field.struct_name or field.is_array):
            out[field.json_name] = None
            continue
        if field.struct_name:
            one = value_of(spec, spec.struct_fields(field), version, target, f"{path}.", name)
        elif path == target:
            one = SECRET if field.element_type == "string" else base64.b64encode(SECRET.encode()).decode()
        else:
            text = name if field.json_name in {"name", "key"} else "x"
            plain = {"string": text, "bool": False, "bytes": "AA==", "uuid": "AAAAAAAAAAAAAAAAAAAAAQ"}
            one = plain.get(field.element_type, 1)
        out[field.json_name] = [one] if field.is_array else one
    return out


def body_of(message, path, version, **options):
    spec = CATALOG[message]
    value = value_of(spec, spec.fields, version, path, **options)
    return kwire_cli.encode(value, message=message, version=version)


def framed(api_key, version, body, client_id=b"me", correlation=0):
    """A request with a size; a client id of None is null."""
    form = CATALOG.header_version("request", api_key, version)
    text = b"\xff\xff" if client_id is None else len(client_id).to_bytes(2, "big") + client_id
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation.to_bytes(4, "big")
    return sized(header + text * (form > 0) + b"\0" * (form == 2) + body)


def answered(api_key, version, body, correlation=0):
    """A response with a size."""
    return sized(correlation.to_bytes(4, "big") + b"\0" * CATALOG.header_version("response", api_key, version) + body)


def sized(data):
    return len(data).to_bytes(4, "big") + data


def shows(text, secret=SECRET, window=4):
    """Whether four bytes of the secret in a row can be read in a text, in any of the forms in which bytes are shown.

    The entries of a page are packed.
    """
    if text.startswith("<!doctype html>"):
        text += json.dumps(page_data(text), ensure_ascii=False)
    return any(piece in text for piece in forms(secret, window))


@functools.cache
def forms(secret, window):
    """Return all that `shows` looks for."""
    raw = secret.encode()
    pieces = {raw[i : i + window] for i in range(len(raw) - window + 1)}
    # base64 of bytes at any alignment: the characters that do not depend on what stands before or after
    inner = {base64.b64encode(b"\0" * lead + raw).decode()[(8 * lead + 5) // 6 :].rstrip("=")[:-2] for lead in range(3)}
    return {form for piece in pieces for form in (piece.decode(), piece.hex(), piece.hex(" "))} | {
        text64[i : i + 6] for text64 in inner for i in range(len(text64) - 5)
    }


def numbers(text, secret=SECRET):
    """The numbers of two, four or eight bytes of the secret in a row that stand in a text in decimal."""
    return numbers_of(secret) & {int(each) for each in re.findall(r"(?<![\d.])\d{4,19}(?![\d.]*\d)", text)}


@functools.cache
def numbers_of(secret):
    """Return the numbers that `numbers` looks for."""
    raw = secret.encode()
    return {int.from_bytes(raw[i : i + size], "big") for size in (2, 4, 8) for i in range(len(raw) - size + 1)}


def damages(frame):
    """A frame with its secret, damaged in each of the ways in which framing fails; by what was done."""
    size = int.from_bytes(frame[:4], "big")
    at = frame.index(SECRET.encode())
    yield "whole", frame
    for count in (1, 2, 3):
        yield f"missing {count}", frame[count:]
        for stray in (0x00, 0x01, 0x41, 0xFF):
            yield f"extra {count} of {stray:#x}", bytes([stray]) * count + frame
        yield f"missing {count} in the header", frame[:5] + frame[5 + count :]
        yield f"missing {count} in the body", frame[: at - count - 1] + frame[at - 1 :]
        yield f"extra {count} in the body", frame[: at - 1] + b"\0" * count + frame[at - 1 :]
    for more in (-2, -1, 1, 2, 9, 300):
        yield f"size {more:+}", max(size + more, 0).to_bytes(4, "big") + frame[4:]
    for start in (5, 9, 13, 14, 16, 19, at - 9, at - 5, at - 4, at - 3, at - 2, at - 1, at, at + 5):
        if 0 < start < len(frame):
            yield f"from byte {start} on", frame[start:]
    for stop in range(at + 4, len(frame), 5):
        yield f"cut at {stop}", frame[:stop]


def batch_of(message, path, codec=0):
    """A batch of the metadata log with a secret in the second of its three records."""
    topic = kwire_cli.encode({"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}, message="TopicRecord", version=0)
    values = [b"\1\2\0" + topic, bytes([1, CATALOG[message].api_key, 0]) + body_of(message, path, 0), b"\1\2\0" + topic]
    records = [logs.record(value=value, offset=at, headers=[("h", b"x")]) for at, value in enumerate(values)]
    return logs.batch(1, records, codec=codec)


def answer_of(api, version, topic, records):
    """A request for records of a topic of Kafka's, and the response that brings them."""
    name = {"topicId": CLUSTER_METADATA_ID} if api == "Fetch" and version > 12 else {"topic": topic, "name": topic}
    text = base64.b64encode(records).decode()
    part = {"partitionIndex": 0, "index": 0, "abortedTransactions": None, "records": text, "unalignedRecords": text}
    fields = ("partitionIndex", "abortedTransactions", "records") if api == "Fetch" else ("index", "unalignedRecords")
    key = "topicId" if "topicId" in name else "topic" if api == "Fetch" else "name"
    asked = [] if api == "FetchSnapshot" else [{key: name[key], "partitions": [{"partition": 0}]}]
    answer = [{key: name[key], "partitions": [{field: part[field] for field in fields}]}]
    more = {"responses": answer} if api == "Fetch" else {"topics": answer}
    return Wire.request(api, version, 7, topics=asked), Wire.response(api, version, 7, **more)


def misaligned(frame):
    """Damages of the middle of a frame after which its fields are elsewhere, by what was done."""
    for place in (*range(9, 72, 4), *range(72, len(frame) - 3, 23)):
        for count in (1, 2, 3):
            yield f"without {count} at {place}", frame[:place] + frame[place + count :]
            yield f"without {count} at {place}, resized", sized(frame[4:place] + frame[place + count :])
            yield f"{count} more at {place}", sized(frame[4:place] + b"\2" * count + frame[place:])


def authentication(key, tokens, *, first=0):
    """A SCRAM exchange in which the requests from the `first` on have a wrong api key."""
    said = [
        (0, Wire.request("SaslHandshake", 1, 1, mechanism="SCRAM-SHA-512")),
        (1, Wire.response("SaslHandshake", 1, 1, errorCode=0, mechanisms=["SCRAM-SHA-512"])),
    ]
    for number, token in enumerate(tokens):
        text, correlation = base64.b64encode(token).decode(), 2 + number // 2
        if number % 2:
            said.append((1, Wire.response("SaslAuthenticate", 2, correlation, errorMessage=None, authBytes=text)))
            continue
        frame = Wire.request("SaslAuthenticate", 2, correlation, authBytes=text)
        said.append((0, frame if number < first else frame[:4] + key.to_bytes(2, "big") + frame[6:]))
    return said


def conversation(message, version, body, *, client_id=b"c", correlation=5):
    """What both sides say before, the frame that holds the body, and what they say behind it: as (side, bytes)."""
    kind = "request" if message.endswith("Request") else "response"
    api = CATALOG.api_by_key(CATALOG[message].api_key)
    client = None if client_id is None else client_id.decode()
    before, after = (
        [(0, Wire.request("Metadata", 1, number, client=client)), (1, Wire.response("Metadata", 1, number))]
        for number in (1, correlation + 1)
    )
    if kind == "request":
        return before, (0, framed(api.key, version, body, client_id, correlation)), after
    request = Wire.request(api.name, version, correlation, client=client)
    return [*before, (0, request)], (1, answered(api.key, version, body, correlation)), after


def capture(said, *, opened=True, piece=None, skip=0):
    """A pcap file in which this is said on one connection; in pieces of so many bytes, without the first packets of
    data.
    """
    return capture_of_all([said], opened=opened, piece=piece, skip=skip)


def text_of(done):
    """Return what a command printed, as text."""
    if done.raw.startswith(b"PAR1"):
        return repr(pq.read_table(io.BytesIO(done.raw)).to_pylist())
    if done.raw.startswith(b"ARROW1"):
        return repr(pa.ipc.open_file(io.BytesIO(done.raw)).read_all().to_pylist())
    if done.raw.startswith((b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")):
        return done.raw.decode("latin-1")  # a capture
    return done.out


def piped(*arguments, **options):
    """Run a command. Hex in its last argument comes from standard input: bytes that a user types are shown."""
    *words, last = arguments
    if "stdin" in options or not re.fullmatch(r"(?:[0-9a-f]{2})+", str(last)):
        return kwire(*arguments, **options)
    return kwire(*words, "-", stdin=str(last).encode(), **options)
