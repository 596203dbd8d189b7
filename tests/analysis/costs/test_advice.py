"""Advice: what writing messages in other forms tells of fields, what is chosen from that, and what the choice saves."""

import io
import json
from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from kit.captures import SAMPLES
from kit.commands import examples

import kwire_cli as kwire
from kwire_cli.analysis.costs.advice import Advising, choose
from kwire_cli.analysis.costs.forms import GIVEN, Form
from kwire_cli.analysis.costs.prices import price
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import build, decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.spec.overlay import load_text, read_overlay

CATALOG = kwire.catalog()


def message(name, version, **values):
    return kwire.decode(kwire.encode(values, message=name, version=version), message=name, version=version)


def advice_on(messages, catalog=CATALOG):
    with closing(Advising(catalog)) as advising:
        for each in messages:
            advising.add(each)
        return advising.advice()


def fields(messages, catalog=CATALOG):
    return advice_on(messages, catalog).fields


def keys(advice):
    return {path: keys for layer in advice.layers.values() for path, keys in layer["fields"].items()}


def rewritten(advice, messages):
    """Bytes that the messages lose when they are encoded under the overlay of advice."""
    overlay, lost = read_overlay(advice.overlay), 0
    for each in messages:
        if each.exact and not each.is_early and not each.anomalies:
            spec = overlay.laid(CATALOG.message(each.message))
            lost += each.size - len(encode_spec(spec, each.value, each.version))
    return lost


def partition(index):
    ends = {
        "highWatermark": 5,
        "lastStableOffset": -1,
        "logStartOffset": -1,
        "abortedTransactions": None,
        "preferredReadReplica": -1,
        "records": None,
    }
    return {"partitionIndex": index, "errorCode": 0} | ends


def test_integers_are_counted_by_the_bytes_that_they_are_written_in():
    partitions = [partition(number) for number in (0, 63, 64, 127, 128, 8191, 8192)]
    responses = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": partitions}]
    fetch = message("FetchResponse", 16, throttleTimeMs=0, errorCode=0, sessionId=0, responses=responses)
    advice = advice_on([fetch])
    offset = "FetchResponse", "responses[].partitions[].logStartOffset"
    field = advice.fields[offset]
    assert {name: field.values[name] for name in (GIVEN, "fixed", "packed", "upacked")} == {
        GIVEN: 56, "fixed": 56, "packed": 7, "upacked": 70,
    }  # fmt: skip
    assert (field.default_share, field.bytes["packed and tagged"], field.best) == (1, 0, "tagged")


def test_the_best_form_of_each_field_is_the_smallest_price_of_the_field_alone():
    """The messages are priced again for one field and encoding at a time."""
    value = {"brokers": [], "clusterId": None, "controllerId": -2, "clusterAuthorizedOperations": 0}
    messages = [message("MetadataResponse", 9, topics=[], throttleTimeMs=n, **value) for n in (0, 0, 100, 200, 70000)]
    spec = CATALOG.message("MetadataResponse")
    found = fields(messages)
    for path in ("throttleTimeMs", "controllerId"):
        field = found["MetadataResponse", path]
        for name in ("fixed", "packed", "upacked"):
            keys = {path: {"encoding": f"{name}32"}}
            overlay = read_overlay(json.dumps({"messages": {"MetadataResponse": {"fields": keys}}}))
            form = Form(name, overlay.laid(spec), 9)
            sizes = [price(form, decoded.value).size for decoded in messages]
            assert sum(each.size for each in messages) - sum(sizes) == field.saving(name)
    assert found["MetadataResponse", "throttleTimeMs"].best == "upacked"
    assert found["MetadataResponse", "controllerId"].best == "packed"


def test_equal_messages_are_read_once():
    messages = [message("OffsetCommitKey", 0, group=f"g{n // 3}", topic="t", partition=n // 5) for n in range(40)]
    with closing(Advising(CATALOG)) as advising:
        for each in messages:
            advising.add(each)
        rows = {bytes(decoded.data): times for decoded, times in advising._read()}
    assert rows == Counter(bytes(each.data) for each in messages)


@pytest.mark.parametrize(("value", "best_encoding"), [(-1, "packed32"), (1 << 30, "fixed32"), (5, None)])
def test_a_field_that_is_encoded_already_can_get_another_encoding(value, best_encoding):
    field = {"name": "Number", "type": "int32", "versions": "0+", "encoding": "upacked32"}
    text = {"name": "OneData", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    spec = load_text(json.dumps(text))
    catalog = SimpleNamespace(message=lambda _: spec)
    messages = [decode_spec(spec, build(spec, {"number": value}, 0), 0)] * 3
    layers = choose(catalog, fields(messages, catalog))
    expected = {"OneData": {"fields": {"number": {"encoding": best_encoding}}}} if best_encoding else {}
    assert layers == expected


def test_tags_are_proposed_only_where_they_pay_and_follow_those_that_there_are():
    def response(throttle, code):
        return message("ApiVersionsResponse", 4, throttleTimeMs=throttle, errorCode=code, apiKeys=[])

    messages = [response(0, 0)] * 19 + [response(1 << 30, 1)]
    advice = advice_on(messages)
    # 19 of 20 are at their defaults; the tags 0 to 3 are taken. An array of one byte that is always empty pays too.
    assert {path: found["tag"] for path, found in keys(advice).items()} == {
        "errorCode": 4,
        "apiKeys": 5,
        "throttleTimeMs": 6,
    }
    assert "encoding" not in keys(advice)["throttleTimeMs"]
    assert keys(advice)["errorCode"]["encoding"] == "packed16"
    assert advice.saved == rewritten(advice, messages) > 0
    rarely = advice_on([response(0, 0)] * 3 + [response(7, 7)])
    assert keys(rarely)["errorCode"] == {"encoding": "packed16"}


def test_a_message_that_is_not_regular_stays_as_it_is():
    decoded = kwire.decode(b"\0\0\0", message="HeartbeatRequest", version=4)
    advice = advice_on([decoded])
    assert (advice.messages, advice.irregular, advice.layers, advice.saved) == (1, 1, {}, 0)


@pytest.mark.slow
@given(st.sampled_from(["ipv6.pcap", "kafka-python-4.4.0.pcapng", "sarama-0.8.2.0-3.9.2.pcapng"]), st.data())
@examples(4)
def test_damaged_captures_are_advised_on_and_confirmed(name, data):
    raw = bytearray((SAMPLES / "captures" / name).read_bytes())
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(24, len(raw) - 1), st.integers(0, 255)), min_size=1, max_size=200)
    ):
        raw[at] = byte
    try:
        frames = [line.frame for line in traffic(CATALOG, Capture(io.BytesIO(raw)))]
    except InputError:
        return
    messages = [frame.body for frame in frames if frame and frame.body and not frame.guess]
    advice = advice_on(messages)
    assert advice.saved == rewritten(advice, messages)
