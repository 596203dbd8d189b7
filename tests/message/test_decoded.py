import pytest
from kit.messages import sample

import kwire_cli as kwire

BODY = bytes.fromhex("0000 02 0012 0000 0004 00 00000000 00")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data)).cast("b")])
def test_any_bytes_like_will_do(kind):
    data = kind(BODY)
    decoded = kwire.decode(data, message="apiversionsresponse", version=3)
    assert decoded.value["apiKeys"][0]["maxVersion"] == 4
    assert decoded.to_json(lossless=True) == decoded.value
    assert not decoded.anomalies


def test_data_is_not_copied():
    data = bytearray(BODY)
    decoded = kwire.decode(data, message="ApiVersionsResponse", version=3)
    assert decoded.data.obj is data
    assert kwire.decode(BODY, message="ApiVersionsResponse", version=3).data is BODY


@pytest.mark.parametrize("data", ["0000", 5, None, [1, 2], memoryview(BODY)[::2]])
def test_what_is_no_bytes(data):
    with pytest.raises(kwire.InputError, match="decoding takes bytes"):
        kwire.decode(data, message="ApiVersionsResponse", version=3)


def test_unknown_messages_get_a_hint():
    with pytest.raises(kwire.InputError, match="did you mean MetadataResponse"):
        kwire.decode(b"", message="MetadataRespnse", version=0)
    with pytest.raises(kwire.InputError, match="has versions"):
        kwire.encode({}, message="MetadataResponse", version=99)


def test_nothing_decoded_raises():
    with pytest.raises(kwire.DecodeError, match="nothing of ApiVersionsResponse 3") as caught:
        kwire.decode(b"\0", message="ApiVersionsResponse", version=3)
    assert caught.value.partial.spans[0].kind == "gap"
    assert caught.value.offset == 0


def test_the_layout_of_a_release():
    new, old = (kwire.catalog(kafka)["ReadShareGroupStateSummaryResponse"] for kafka in ("4.4", "3.9"))
    assert new != old
    rows = [row for row in sample() if row.kafka.startswith("3.9")]
    assert all(kwire.decode(row.body, message=row.message, version=row.version, specs="3.9").exact for row in rows)
    with pytest.raises(kwire.InputError, match=r"no layouts of Kafka 1\.0"):
        kwire.decode(b"", message="MetadataResponse", version=0, specs="1.0")


@pytest.mark.parametrize("records", ["raw", "", None])
def test_records_have_three_forms(records):
    decoded = kwire.decode(BODY, message="ApiVersionsResponse", version=3)
    with pytest.raises(kwire.InputError, match="records"):
        decoded.to_json(records=records)


def test_hidden_spans_are_redacted_and_refused():
    decoded = kwire.decode(b"\0\0\0\3abc", message="SaslAuthenticateRequest", version=0)
    shown = decoded.to_json(hidden=frozenset({0}))
    assert shown == {"authBytes": "<redacted 3 bytes>"}
    with pytest.raises(kwire.EncodeError, match="redacted"):
        kwire.encode(shown, message="SaslAuthenticateRequest", version=0)
    with pytest.raises(kwire.InputError, match="lossless"):
        decoded.to_json(lossless=True, hidden=frozenset({0}))
