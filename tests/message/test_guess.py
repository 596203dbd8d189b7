import json
import random

import pytest
from kit import secrets
from kit.commands import kwire as command
from kit.messages import BODIES, sample
from kit.traffic import body_of

import kwire_cli as kwire
from kwire_cli.message.guess import response_candidates

CATALOG = kwire.catalog()


def response_of(row):
    api = CATALOG.api(row.message)
    return secrets.answered(api.key, row.version, row.body, 7)[4:], api


def responses():
    return [
        row for row in sample() if row.message.endswith("Response") and row.kafka == "4.4.0" and len(row.body) < 200
    ]


def test_versions_that_share_a_layout_are_found_as_each_alone_is():
    for row in responses()[:60:3]:
        data, _ = response_of(row)
        alone = []
        for api in CATALOG.apis:
            for version in CATALOG[api.response].valid_versions.each() if api.response else ():
                own = CATALOG.header_version("response", api.key, version)
                candidates = response_candidates(CATALOG, data, 0, len(data), api=api, version=version)
                alone += [each for each in candidates if each.header_version == own and each.aligned]
        found = [each for each in response_candidates(CATALOG, data, 0, len(data)) if each.aligned]
        assert sorted(found, key=str) == sorted(alone, key=str)
        assert found


def test_a_response_in_an_early_layout_is_found():
    for body in BODIES:
        if body.message.endswith("Response"):
            data = b"\0\0\0\7\0" + body.data
            frame, *_ = kwire.read_frames(data)
            assert (frame.body.message, frame.guess, frame.body.is_early) == (body.message, True, True)


def test_what_begins_with_a_negative_size_is_no_frame():
    rows = [
        row for row in sample() if row.message.endswith("Request") and row.kafka == "4.4.0" and len(row.body) < 200
    ][:30]
    assert len(rows) > 20
    for row in rows:
        api = CATALOG.api(row.message)
        request = secrets.framed(api.key, row.version, row.body, b"c", 7)[4:]
        (bare,) = kwire.read_frames(request)
        assert (bare.kind, bare.api) == ("request", api.name)
        for size in (-1, -len(request), -(2**31)):
            (frame,) = kwire.read_frames(size.to_bytes(4, signed=True) + request)
            assert (frame.kind, frame.body) == ("unknown", None)
            assert [(note.code, str(size) in note.detail) for note in frame.anomalies] == [
                ("FRAME_SIZE_MISMATCH", False)
            ]


# DescribeTopicPartitions 0 for an unknown topic; OffsetCommit 3; Produce 5; Fetch 16 with tags at their defaults.
PARTITIONS = bytes.fromhex(
    "00 00000000 02 0003 12 756e6b6e6f776e2d746f7069632d717578 00000000000000000000000000000000 00 0180000000 00 ff 00"
)
OFFSET_COMMIT = bytes.fromhex("00000064 00000001 0005 746f706963 00000001 00000000 0000")
PRODUCE = bytes.fromhex(
    "00000001 000f 746573742d6e6f2d68656164657273 00000001 00000000 0000 0000000000000008 ffffffffffffffff"
    "0000000000000000 00000000"
)
SHIFTED = bytes.fromhex("0000 03 0000 0000 0003 00 0012 0000 0004 00 00000000 00 00")
IDS = (0, 3, 16, 1 << 24, 439041101, (1 << 31) - 9, -5)


def answered(body, correlation_id):
    data = correlation_id.to_bytes(4, signed=True) + body
    return len(data).to_bytes(4) + data


def shown(data):
    """A frame in JSON form, secrets and bytes that may be some hidden."""
    (frame,) = kwire.read_frames(data)
    return frame.to_json()


@pytest.mark.parametrize("correlation_id", IDS)
@pytest.mark.parametrize(
    ("body", "api", "version"),
    [(PARTITIONS, "DescribeTopicPartitions", 0), (OFFSET_COMMIT, "OffsetCommit", 3), (PRODUCE, "Produce", 5)],
)
def test_an_exact_response_is_shown_whatever_its_correlation_id(body, api, version, correlation_id):
    document = shown(answered(body, correlation_id))
    assert (document["kind"], document["api"], document["guess"]) == ("response", api, True)
    assert document["header"]["correlationId"] == correlation_id
    assert "redacted" not in str(document)
    assert (api, version) in [(each["api"], each["apiVersion"]) for each in document["candidates"]]
    assert len(document["candidates"]) <= 8


@pytest.mark.parametrize("end", ["00", "8000"])
def test_an_anomaly_that_moves_no_byte_hides_nothing(end):
    """A varint with more bytes than it needs; the tags of a Heartbeat that are none."""
    document = shown(answered(bytes.fromhex("00 00000000 001b" + end), 439041101))
    assert (document["api"], document["body"]["errorCode"]) == ("Heartbeat", 27)
    assert [note["code"] for note in document["anomalies"]] == ["OVERLONG_VARINT"] * (len(end) > 2)


def test_a_tag_at_its_default_hides_nothing():
    value = {
        "responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [{"partitionIndex": 3, "records": None}]}]
    }
    body = kwire.encode(body_of("FetchResponse", 16, value), message="FetchResponse", version=16)
    assert body.endswith(bytes(3))
    # divergingEpoch is a struct with two fields at their defaults and no tags
    tagged = body[:-3] + bytes.fromhex("01 00 0d ffffffff ffffffffffffffff 00 0000")
    document = shown(answered(b"\0" + tagged, 439041101))
    assert [note["code"] for note in document["anomalies"]] == ["TAG_DEFAULT_VALUE"]
    assert document["api"] == "Fetch"
    assert document["body"]["responses"][0]["partitions"][0]["partitionIndex"] == 3


def test_values_of_an_unlikely_guess_are_hidden_but_not_what_it_is():
    document = shown(answered(b"k#", 439041101))
    assert (document["header"]["correlationId"], document["api"]) == (439041101, "Heartbeat")
    assert document["body"] == {"errorCode": "<redacted 2 bytes>"}
    done = command("decode", "-f", "jsonl", "-", stdin=answered(b"k#", 439041101).hex().encode())
    assert "--api Heartbeat --message-version 0 or --show-secrets shows them" in done.err
    for form in ("tree", "hex"):
        out = command("decode", "-f", form, "-", stdin=answered(b"k#", 439041101).hex().encode()).out
        assert "--api Heartbeat --message-version 0 or --show-secrets shows them" in out


def test_text_alone_is_hidden_where_bytes_may_have_moved():
    """An ApiVersions 3 response without its tags, and a byte after a Produce response."""
    done = command("decode", "-f", "jsonl", "-", stdin=answered(SHIFTED, 226236134).hex().encode())
    document = json.loads(done.out)
    assert (document["api"], document["header"]["correlationId"]) == ("ApiVersions", 226236134)
    assert [each["maxVersion"] for each in document["body"]["apiKeys"]] == [3, 4]
    assert [note["code"] for note in document["anomalies"]] == ["TRAILING_BYTES"]
    assert "values are hidden" not in done.err

    produce = shown(answered(PRODUCE + b"\0", 439041101))["body"]["responses"][0]
    assert produce["name"] == "<redacted 15 bytes>"
    assert produce["partitionResponses"][0]["baseOffset"] == 8


def test_a_correlation_id_that_names_an_api_with_secrets_hides_nothing():
    """RenewDelegationToken, in a version that does not exist."""
    assert "redacted" not in str(shown(answered(PARTITIONS, 39 << 16 | 33)))


def test_typed_bytes_are_shown():
    data = answered(b"k#", 439041101).hex()
    assert "redacted" not in command("decode", "-f", "jsonl", data).out
    assert "redacted" not in command("explain", data).out
    assert "redacted" in command("explain", "-", stdin=data.encode()).out


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        ("00000008 00000000 00000000 ffffffff ffff 00000000", {("response", "Metadata"), ("request", "Produce")}),
        ("00000003 00000000 00000000 00000000 0000 00000000", {("response", "InitProducerId"), ("request", "Produce")}),
    ],
)
def test_a_request_and_a_response_that_both_fit_are_both_named(data, kinds):
    document = shown(bytes.fromhex("00000016" + data))
    named = {(each.get("kind", document["kind"]), each["api"]) for each in document["candidates"]}
    assert kinds <= named
    assert len(document["candidates"]) == 8


def test_a_response_that_fits_wins_over_a_request_that_does_not():
    """Correlation id 1 of a Produce 4 response is Produce 1, with an acks that no broker takes."""
    value = {"responses": [{"name": "u" * n, "partitionResponses": [{"index": n, "baseOffset": 7}]} for n in (1, 0)]}
    body = kwire.encode(body_of("ProduceResponse", 4, value), message="ProduceResponse", version=4)
    assert shown(answered(body, 1))["kind"] == "response"


@pytest.mark.parametrize("head", ["00000008 0012 0000 00000000", "0000002b 0012 0000 6f7fc661"])
def test_a_request_that_ends_after_its_correlation_id_shows_what_is_there(head):
    document = shown(bytes.fromhex(head))
    if document["kind"] == "request":
        assert (document["api"], document["apiVersion"]) == ("ApiVersions", 0)
    assert isinstance(document["header"]["correlationId"], int)


def test_random_bytes_and_text_show_no_values():
    dice = random.Random(5)
    guessed = 0
    for alphabet in (range(256), range(32, 127)):
        for size in [*range(6, 20)] * 8:
            data = bytes(dice.choice(alphabet) for _ in range(size))
            document = shown(len(data).to_bytes(4) + data)
            guessed += "guess" in document
            values = document.get("body", {}).values()
            assert all(value is None or "redacted" in value for value in values)
    assert guessed
