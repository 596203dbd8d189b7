"""Any bytes under any definition: a result or a KwireError, every byte accounted for, in steps proportional to the
bytes.
"""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.messages import definition, sample, values
from kit.peers import mutated
from kit.traffic import Wire

import kwire_cli as kwire
from kwire_cli.engine.tree import places
from kwire_cli.facts.costs.ledger import ledger
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_document, encode_spec
from kwire_cli.message.frames import Hints
from kwire_cli.message.guess import response_candidates
from kwire_cli.message.reading import read_all
from kwire_cli.spec.reading import ENCODING_NAMES
from kwire_cli.structs.messages import declare

CATALOG = kwire.catalog()
LAYOUTS = [
    (entry.name, version)
    for entry in CATALOG
    for version in (entry.valid_versions.each() if entry.valid_versions else ())
]


def survive(spec, version, data, *, deep=True):
    """Decode some bytes, look at everything: no byte is lost or counted twice, and the lossless form has all."""
    decoded = decode_spec(spec, data, version)
    raw = decoded.raw
    at = 0
    for value, end in zip(raw.value, raw.end, strict=True):
        assert at <= value <= end
        at = end
    assert at == len(data)
    assert len(raw.node) <= len(data) + 1
    assert sum(row.prefix_bytes + row.value_bytes for row in ledger(decoded)) == len(data)
    found = decoded.anomalies
    assert decoded.exact or found
    assert all(0 <= anomaly.offset <= len(data) for anomaly in found)
    if deep:
        at = 0
        for span in decoded.spans:
            assert span.start == at
            at = span.end
        assert at == len(data)
        json.dumps(decoded.to_json(), allow_nan=False)
        document = json.loads(json.dumps(decoded.to_json(lossless=True)))
        assert encode_spec(spec, document, version) == data
    return decoded


def few(rows, count):
    """Rows of as many different messages as there can be, among the longer of the small ones."""
    chosen = {}
    for row in sorted(rows, key=lambda row: -len(row.body)):
        if 20 <= len(row.body) <= 90:
            chosen.setdefault(row.message, row)
    return list(chosen.values())[:count]


BYTES = (0, 1, 2, 3, 4, 5, 0x0F, 0x10, 0x1F, 0x20, 0x40, 0x7E, 0x7F, 0x80, 0x81, 0x82, 0x8F, 0xC0, 0xF0, 0xFE, 0xFF)


@pytest.mark.parametrize("row", few(sample(), 6), ids=str)
def test_every_change_of_a_single_byte_is_survived(row):
    spec = row.catalog.message(row.message)
    data = bytearray(row.body)
    for at, old in enumerate(row.body):
        for new in {*BYTES, old ^ 1, old ^ 0x80, old + 1 & 0xFF, old - 1 & 0xFF}:
            data[at] = new
            survive(spec, row.version, bytes(data), deep=new in {0, 1, 0x7F, 0x80, 0xFF})
        data[at] = old


@pytest.mark.parametrize("row", few(sample(), 12), ids=str)
def test_many_mutations_are_survived(row):
    spec = row.catalog.message(row.message)
    chance = random.Random(len(row.body))
    for _ in range(100):
        survive(spec, row.version, mutated(row.body, chance))


@examples(300)
@given(st.sampled_from(LAYOUTS), st.binary(max_size=80) | st.lists(st.sampled_from(BYTES), max_size=60).map(bytes))
def test_any_bytes_under_any_message_are_survived(layout, data):
    name, version = layout
    decoded = survive(CATALOG.message(name), version, data)
    assert sum(1 for _ in places(decoded.tree.root)) <= 12 * (len(data) + 12)
    if decoded.anomalies:
        with pytest.raises(kwire.DecodeError) as caught:
            kwire.decode(data, message=name, version=version, strict=True)
        assert caught.value.partial.raw.node == decoded.raw.node


@examples(40)
@given(st.binary(max_size=40), st.integers(-(2**15), 2**15 - 1))
def test_any_version_is_decoded_by_the_nearest(data, version):
    decoded = survive(CATALOG.message("MetadataResponse"), version, data)
    assert decoded.guess == (version not in decoded.spec.valid_versions)


KINDS = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "uuid", "float64", "string", "bytes")
TYPES = st.sampled_from([*KINDS, "records", *(f"[]{kind}" for kind in KINDS)])
ENCODABLE = {"int16", "int32", "int64"}


@st.composite
def definitions(draw, depth=0):
    """Fields that no message of Kafka's has together."""
    fields = []
    for i in range(draw(st.integers(0, 5))):
        subs = depth < 2 and draw(st.booleans())
        keys = {"name": f"F{i}", "type": draw(st.sampled_from(["S", "[]S"])) if subs else draw(TYPES)}
        if subs:
            keys["fields"] = draw(definitions(depth + 1))
        if keys["type"].removeprefix("[]") in ENCODABLE and draw(st.booleans()):
            keys["encoding" if keys["type"] in ENCODABLE else "elementEncoding"] = draw(st.sampled_from(ENCODING_NAMES))
        if (subs or keys["type"][0] == "[" or keys["type"] in {"string", "bytes"}) and draw(st.booleans()):
            keys["nullableVersions"] = "0+"
        if keys["type"] != "records" and draw(st.booleans()):
            keys |= {"tag": sum("tag" in other for other in fields), "taggedVersions": "1+"} | (
                {"versions": "1+"} if draw(st.booleans()) else {}
            )
        fields.append(keys)
    return fields


def with_struct_names(fields, names):
    """The same with a name of its own for each struct."""

    def named(keys):
        array = keys["type"].startswith("[]")
        return keys | {"type": "[]" * array + f"S{next(names)}", "fields": with_struct_names(keys["fields"], names)}

    return [named(keys) if "fields" in keys else keys for keys in fields]


@examples(150)
@given(st.data(), definitions(), st.sampled_from([0, 1]))
def test_any_bytes_and_values_under_any_definition(draw, fields, version):
    spec = definition(*with_struct_names(fields, iter(range(1000))))
    survive(spec, version, draw.draw(st.binary(max_size=50)))
    value = draw.draw(values(declare(spec, version)))
    data = encode_spec(spec, value, version)
    decoded = survive(spec, version, data)
    assert decoded.value == value
    # Kafka's readers refuse elements without bytes.
    assert {anomaly.code for anomaly in decoded.anomalies} <= {"COUNT_MISMATCH", "INVALID_LENGTH"}
    assert declare(spec, version).parse(data) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@examples(180)
@given(st.data())
def test_any_json_encodes_or_is_refused(data):
    name, version = data.draw(st.sampled_from(LAYOUTS))
    spec = CATALOG.message(name)
    value = data.draw(JSON)
    if data.draw(st.booleans()):
        value = data.draw(values(declare(spec, version)))
        spoil(value, data)
    with suppress(kwire.KwireError):
        assert isinstance(encode_spec(spec, value, version), bytes)


def spoil(value, data):
    """Put any JSON somewhere into a valid value."""
    while isinstance(value, dict | list) and value:
        key = (
            data.draw(st.sampled_from(sorted(value)))
            if isinstance(value, dict)
            else data.draw(st.integers(0, len(value) - 1))
        )
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 3)):
            value = value[key]
            continue
        value[key] = data.draw(JSON)
        return


KEYS = [
    *("kind", "api", "apiKey", "apiVersion", "header", "body", "message", "version", "prefixed"),
    *("bodyVersion", "_lossless", "headerVersion", "flavour"),
]
TEXTS = ("request", "response", "ApiVersions", "Metadata", "MetadataRequest", "kip482", "x")
FITTING = st.sampled_from([*TEXTS, 0, 1, 3, 18, {}, None, True, []])


@examples(180)
@given(
    st.dictionaries(
        st.sampled_from(KEYS), FITTING | JSON | st.dictionaries(st.sampled_from(KEYS), FITTING, max_size=3), max_size=8
    )
    | JSON
)
def test_any_document_encodes_or_is_refused(document):
    with suppress(kwire.KwireError):
        assert isinstance(encode_document(CATALOG, document), bytes)


@pytest.mark.parametrize("key", ["kind", "apiVersion", "apiKey", "header", "body"])
def test_what_a_document_lacks_is_named(key):
    frame = Wire.request("Heartbeat", 4, 1, "me", groupId="g", memberId="m")
    (whole,) = (found.to_json() for found in read_all(CATALOG, frame, Hints()))
    del whole["api"]
    assert encode_document(CATALOG, whole)[-len(frame) :] == frame
    for document in (whole | {key: None}, {name: value for name, value in whole.items() if name != key}):
        with pytest.raises(kwire.EncodeError) as error:
            encode_document(CATALOG, document)
        assert error.value.path == key


@pytest.mark.parametrize("deep", [900, 20_000])
def test_json_that_nests_deep_is_refused(deep):
    value = []
    for _ in range(deep):
        value = [value]
    for document in (value, {"topics": value}, {"mechanism": value}):
        with pytest.raises(kwire.EncodeError):
            kwire.encode(document, message="SaslHandshakeRequest", version=1)


@examples(25)
@given(st.binary(max_size=40) | st.lists(st.sampled_from(BYTES), max_size=40).map(bytes))
def test_any_bytes_are_frames_of_some_kind(data):
    found = read_all(CATALOG, data, Hints())
    assert b"".join(data[frame.start : frame.stop] for frame in found) == data
    for frame in found:
        document = frame.to_json(lossless=True)
        json.dumps(document, allow_nan=False)
        assert encode_document(CATALOG, document) == data[frame.start : frame.stop]
        assert all(anomaly.detail for anomaly in frame.anomalies)


@examples(120)
@given(
    st.sampled_from([api.key for api in CATALOG.apis]),
    st.integers(-3, 25),
    st.binary(max_size=40),
    st.sampled_from(["request", "response"]),
)
def test_any_bytes_after_a_header_are_survived(key, version, rest, kind):
    data = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + b"\0\0\0\1" + rest
    hints = Hints(kind="request") if kind == "request" else Hints(CATALOG.api(key), version, "response")
    for frame in read_all(CATALOG, data, hints):
        json.dumps(frame.to_json(), allow_nan=False)


@examples(20)
@given(st.binary(max_size=60))
def test_a_guess_raises_nothing(data):
    found = response_candidates(CATALOG, data, 0, len(data))
    assert [candidate.bits for candidate in found] == sorted(candidate.bits for candidate in found)
