import pytest
from kit.messages import sample

import kwire_cli as kwire

BODY = bytes.fromhex("0000 02 0012 0000 0004 00 00000000 00")


def test_decode_and_encode():
    decoded = kwire.decode(BODY, message="ApiVersionsResponse", version=3)
    assert decoded.value == {
        "errorCode": 0,
        "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 4}],
        "throttleTimeMs": 0,
    }
    assert (decoded.message, decoded.version, decoded.size, decoded.exact, decoded.guess) == (
        "ApiVersionsResponse",
        3,
        len(BODY),
        True,
        False,
    )
    assert kwire.encode(decoded.value, message="ApiVersionsResponse", version=3) == BODY


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


def test_a_partial_value_a_gap_and_truncated():
    decoded = kwire.decode(BODY[:6], message="ApiVersionsResponse", version=3)
    assert decoded.value == {"errorCode": 0, "apiKeys": [{"apiKey": 18}]}
    assert [anomaly.code for anomaly in decoded.anomalies] == ["TRUNCATED"]
    assert (decoded.complete, decoded.exact, decoded.size) == (False, False, 5)
    gap = decoded.spans[-1]
    assert (gap.path, gap.kind, gap.start, gap.end) == ("apiKeys[0].minVersion", "gap", 5, 6)


def test_strict_raises_for_any_anomaly_with_what_was_decoded():
    with pytest.raises(kwire.DecodeError, match="TRAILING_BYTES") as caught:
        kwire.decode(BODY + b"\1", message="ApiVersionsResponse", version=3, strict=True)
    assert caught.value.offset == len(BODY)
    assert caught.value.partial.value["errorCode"] == 0
    assert kwire.decode(BODY + b"\1", message="ApiVersionsResponse", version=3).anomalies


def test_nothing_decoded_raises():
    with pytest.raises(kwire.DecodeError, match="nothing of ApiVersionsResponse 3") as caught:
        kwire.decode(b"\0", message="ApiVersionsResponse", version=3)
    assert caught.value.partial.spans[0].kind == "gap"
    assert caught.value.offset == 0


def test_a_message_without_fields_is_whole():
    assert kwire.decode(b"", message="ApiVersionsRequest", version=0).value == {}
    assert kwire.encode({}, message="ApiVersionsRequest", version=0) == b""


def test_a_version_newer_than_known_is_a_guess():
    decoded = kwire.decode(BODY, message="ApiVersionsResponse", version=77)
    assert decoded.anomalies[0].code == "UNKNOWN_VERSION"
    assert (decoded.guess, decoded.exact, decoded.version) == (True, False, 77)
    assert decoded.layout_version == decoded.spec.valid_versions.high
    assert decoded.value["errorCode"] == 0


def test_the_layout_of_a_release():
    new, old = (kwire.catalog(kafka=kafka)["ReadShareGroupStateSummaryResponse"] for kafka in ("4.4", "3.9"))
    assert new != old
    rows = [row for row in sample() if row.kafka.startswith("3.9")]
    assert all(kwire.decode(row.body, message=row.message, version=row.version, kafka="3.9").exact for row in rows)
    with pytest.raises(kwire.InputError, match=r"no layouts of Kafka 1\.0"):
        kwire.decode(b"", message="MetadataResponse", version=0, kafka="1.0")


def test_definitions_of_ones_own(tmp_path):
    (tmp_path / "MineRequest.json").write_text(
        '{"name": "MineRequest", "type": "request", "apiKey": 9000, "validVersions": "0", "flexibleVersions": "0+",'
        ' "fields": [{"name": "Id", "type": "int32", "versions": "0+", "encoding": "upacked32"}]}'
    )
    keys = {"message": "MineRequest", "version": 0, "specs": [tmp_path]}
    assert kwire.encode({"id": 300}, **keys) == b"\xac\x02\0"
    assert kwire.decode(b"\xac\x02\0", **keys).value == {"id": 300}


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
