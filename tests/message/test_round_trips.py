import json

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.messages import values

import kwire_cli as kwire
from kwire_cli.facts.costs.ledger import ledger
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.structs.messages import declare

CATALOG = kwire.catalog()
LAYOUTS = [
    (entry.name, version)
    for entry in CATALOG
    for version in (entry.valid_versions.each() if entry.valid_versions else ())
]


def check(spec, version, value):
    data = encode_spec(spec, value, version)
    decoded = decode_spec(spec, data, version)
    assert decoded.value == value
    assert decoded.anomalies == []
    assert decoded.exact
    assert declare(spec, version).parse(data) == value
    assert encode_spec(spec, json.loads(json.dumps(decoded.to_json(lossless=True))), version) == data
    assert sum(row.prefix_bytes + row.value_bytes for row in ledger(decoded)) == len(data)


@examples(150)
@given(st.data())
def test_any_valid_value_of_any_message_encodes_and_decodes_to_itself(data):
    name, version = data.draw(st.sampled_from(LAYOUTS))
    spec = CATALOG.message(name)
    check(spec, version, data.draw(values(declare(spec, version))))


ODD = [
    ("ApiVersionsResponse", 3, "0000 8100 00000000 00", "an overlong count"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 02 01 08 0000000000000007 00 01 01", "tags out of order"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 02 03 01 01 03 01 00", "a tag twice, at its default the second time"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 02 63 01 01 63 01 02", "an unknown tag twice"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 01 03 01 02", "a tagged bool of 2"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 01 03 05 01", "a tag whose size lies"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 01 03 01 00", "a tag at its default"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 01 ffffffff0f 01 00", "a negative tag"),
    ("ApiVersionsResponse", 3, "0000 00 00000000 00", "null where there is none"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 8000", "an overlong tag count"),
    ("ApiVersionsResponse", 3, "0000 01 00000000 01 8100 8100 01 00", "an overlong tag"),
    (
        "MetadataResponse",
        1,
        "00000000 00000001 00000000 02 0001 ff 03 00000000 00",
        "invalid UTF-8, bools and a byte too many",
    ),
    ("MetadataResponse", 1, "80000000 00000001 fffffffe", "negative counts"),
    ("ConsumerGroupHeartbeatResponse", 0, "00000000 0000 00 00 00000000 00000000 05 01 00 00", "a presence of 5"),
    ("SaslHandshakeRequest", 1, "0003 efbfbd", "a replacement character that was really there"),
    ("SaslHandshakeRequest", 1, "0003 c0afff", "one that was not"),
]


@pytest.mark.parametrize(("message", "version", "data"), [row[:3] for row in ODD], ids=[row[3] for row in ODD])
def test_odd_bodies_come_back_from_the_lossless_form(message, version, data):
    decoded = decode_spec(CATALOG.message(message), bytes.fromhex(data), version)
    document = json.loads(json.dumps(decoded.to_json(lossless=True)))
    assert encode_spec(decoded.spec, document, version).hex() == data.replace(" ", "")


LOSSLESS_THAT_LIE = [
    5,
    "x",
    {},
    [5],
    ["x"],
    [{}],
    [{"path": "", "kind": "message"}],
    [{"path": "", "kind": "message", "data": "?"}],
    [{"path": "", "kind": "message", "data": 5}],
    [{"path": [], "kind": {}, "data": ""}],
    [{"path": "mechanism", "kind": "int8", "data": ""}],
    [{"path": "nowhere", "kind": "string", "data": ""}],
    [{"path": "", "kind": "struct", "data": ""}, {"path": "mechanism", "kind": "string", "data": ""}],
]


@pytest.mark.parametrize("patches", LOSSLESS_THAT_LIE, ids=str)
def test_patches_that_do_not_fit_are_refused(patches):
    value = {"mechanism": "PLAIN", "_lossless": patches}
    if patches == {}:
        assert kwire.encode(value, message="SaslHandshakeRequest", version=1) == b"\0\5PLAIN"
        return
    with pytest.raises(kwire.EncodeError):
        kwire.encode(value, message="SaslHandshakeRequest", version=1)
