"""Advice: what was seen, what is chosen from that, and what writing the messages saves."""

import io
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples

import kwire_cli as kwire
from kwire_cli.analysis.costs.advice import Plans
from kwire_cli.analysis.costs.advice_folds import Pricing
from kwire_cli.analysis.costs.advice_plan import (
    Choice,
    best,
    bytes_now,
    bytes_under,
    choose,
    default_share,
    overlay_document,
    overlay_text,
    tag_saving,
)
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.advice_values import (
    BLOCKS,
    MOST_TEXTS,
    Cell,
    Field,
    Message,
    Texts,
    in_body,
    in_lines,
)
from kwire_cli.analysis.costs.forms import widths
from kwire_cli.analysis.costs.overlaid import Overlaid
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.decoded import build, decode, decode_spec
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.spec.overlay import load_text, read_overlay

CATALOG = kwire.catalog()
SAMPLES = Path(__file__).parents[3] / "samples" / "captures"


def messages_of(path):
    return list(in_lines(traffic(CATALOG, Capture(str(path)))))


def seen(messages, catalog=CATALOG):
    observed = Observed(catalog)
    for message in messages:
        observed.add(message)
    return observed.seen()


def saved(plan, messages):
    """The bytes that the messages lose under a plan."""
    pricing = Pricing(CATALOG, None, Plans(plan, {}, len(messages)))
    for message in messages:
        pricing.add(message)
    return pricing.prices.saved


def under(overlay, catalog=CATALOG):
    """Messages as they are under an overlay."""
    return Overlaid(catalog, SimpleNamespace(message=cache(lambda name: overlay.laid(catalog.message(name)))))


def written(plan, messages, catalog=CATALOG):
    """Bytes that the messages lose when they are written under the plan's overlay."""
    overlaid = under(read_overlay(overlay_text(overlay_document(catalog, plan, "test"))), catalog)
    spans = [overlaid.spans(each.name, each.version, each.entry, each.spans) for each in messages]
    return sum(each.size - (found.stop - found.start) for each, found in zip(messages, spans, strict=True))


def test_what_is_seen_of_integers_is_counted_from_their_bytes():
    values = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": []}
    values["responses"] = [
        {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition(n) for n in (0, 63, 64, 127, 128, 8191, 8192)]}
    ]
    message = in_body(
        kwire.decode(kwire.encode(values, message="FetchResponse", version=16), message="FetchResponse", version=16)
    )
    cells = seen([message]).fields()["FetchResponse", "responses[].partitions[].partitionIndex"].cells
    assert sorted((cell.packed, cell.upacked, times) for cell, times in cells.items()) == [
        (1, 1, 1),
        (1, 1, 1),
        (2, 1, 2),
        (2, 2, 2),
        (3, 2, 1),
    ]
    offset = seen([message]).fields()["FetchResponse", "responses[].partitions[].logStartOffset"]
    assert offset.cells == {Cell(taggable=True, now=8, packed=1, upacked=10, negative=True, default=True): 7}
    assert [bytes_under(offset, name) for name in ("fixed", "packed", "upacked")] == [56, 7, 70]
    assert (default_share(offset), bytes_under(offset, "packed", tagged=True)) == (1.0, 0)


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


def test_the_advice_for_the_first_half_is_drawn_from_the_first_half():
    def heartbeat(epoch):
        value = {"groupId": "g", "generationId": epoch, "memberId": "m", "groupInstanceId": None}
        return in_body(
            kwire.decode(
                kwire.encode(value, message="HeartbeatRequest", version=4), message="HeartbeatRequest", version=4
            )
        )

    early, late = [heartbeat(1)] * 700, [heartbeat(-2)] * 700
    observed = seen(placed([*early, *late]))
    count, fields, rest, place = observed.halves()
    assert abs(count - 700) <= 1400 / BLOCKS
    assert place == count
    cells = fields["HeartbeatRequest", "generationId"].cells
    assert sum(times for cell, times in cells.items() if not cell.negative) == min(count, 700)
    assert observed.fields()["HeartbeatRequest", "generationId"].count == 1400
    assert rest["HeartbeatRequest", "generationId"].count == 1400 - count
    assert saved(choose(CATALOG, fields), late) == written(choose(CATALOG, fields), late)


def placed(messages):
    return [message._replace(at=at) for at, message in enumerate(messages)]


def test_which_strings_are_told_apart_does_not_depend_on_their_order():
    numbers = [number % 5000 for number in range(9000)]
    forwards, backwards = Texts(), Texts()
    for number in numbers:
        forwards.add(str(number).encode())
    for number in reversed(numbers):
        backwards.add(str(number).encode())
    assert forwards.known == backwards.known
    assert len(forwards.known) == MOST_TEXTS
    assert all(times == numbers.count(int(text)) for text, (times, _) in [*forwards.known.items()][:50])


def test_memory_does_not_grow_with_what_is_seen():
    observed = Observed(CATALOG)
    for number in range(9_000):
        observed.add(_offset(number * 1000 - 5_000_000, f"metadata-{number}")._replace(at=number))
    assert all(len(probe.values) <= 4097 for _, _, probes in observed._probes.values() for probe in probes.values())
    made = observed.seen()
    assert len(made.blocks) <= BLOCKS
    assert all(len(texts.known) <= 4096 for texts in made.texts.values())
    found = made.fields()["OffsetCommitValue", "offset"]
    assert found.count == 9_000
    assert sum(times for cell, times in found.cells.items() if cell.negative) == 5000


def _offset(offset, metadata):
    value = {"offset": offset, "leaderEpoch": -1, "metadata": metadata, "commitTimestamp": 1}
    return in_body(
        kwire.decode(
            kwire.encode(value, message="OffsetCommitValue", version=3), message="OffsetCommitValue", version=3
        )
    )


@given(
    st.dictionaries(
        st.tuples(st.booleans(), st.integers(-(1 << 31), (1 << 31) - 1)), st.integers(1, 50), min_size=1, max_size=20
    )
)
def test_the_best_way_is_the_one_of_the_fewest_bytes(values):
    field = Field("int32")
    sizes = {name: {low: size for low, _, size in widths("int32", f"{name}32")} for name in ("packed", "upacked")}
    for (taggable, number), times in values.items():
        one = [
            next(size for low, high, size in widths("int32", f"{name}32") if low <= number <= high) for name in sizes
        ]
        field.cells[Cell(taggable, 4, *one, number < 0, taggable and number == 0)] += times
    option = best(field)
    others = [bytes_under(field, name) for name in ("now", "fixed", "packed", "upacked")]
    assert option.size <= min(others)
    assert option.size == bytes_under(field, option.encoding or "now", tagged=option.tagged)
    assert not option.tagged or default_share(field) >= 0.9
    assert bytes_now(field) == 4 * sum(values.values())
    assert tag_saving(field) == bytes_now(field) - bytes_under(field, "now", tagged=True)


@pytest.mark.parametrize(("value", "best_encoding"), [(-1, "packed32"), (1 << 30, "fixed32"), (5, None)])
def test_a_field_that_is_encoded_already_can_get_another_encoding(value, best_encoding):
    field = {"name": "Number", "type": "int32", "versions": "0+", "encoding": "upacked32"}
    text = {"name": "OneData", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    spec = load_text(json.dumps(text))
    catalog = SimpleNamespace(message=lambda _: spec)
    messages = [in_body(decode_spec(spec, build(spec, {"number": value}, 0), 0))] * 3
    plan = choose(catalog, seen(messages, catalog).fields())
    assert plan == ({("OneData", "number"): Choice(best_encoding, None)} if best_encoding else {})


def test_tags_are_proposed_only_where_they_pay_and_follow_those_that_there_are():
    def response(throttle, code):
        value = {"throttleTimeMs": throttle, "errorCode": code, "apiKeys": []}
        data = kwire.encode(value, message="ApiVersionsResponse", version=4)
        return in_body(kwire.decode(data, message="ApiVersionsResponse", version=4))

    messages = [response(0, 0)] * 19 + [response(1 << 30, 1)]
    plan = choose(CATALOG, seen(messages).fields())
    # 19 of 20 are at their defaults; the tags 0 to 3 are taken. An array of one byte that is always empty pays too.
    assert {path: choice.tag for (_, path), choice in plan.items()} == {
        "errorCode": 4,
        "apiKeys": 5,
        "throttleTimeMs": 6,
    }
    assert plan["ApiVersionsResponse", "throttleTimeMs"].encoding is None
    assert plan["ApiVersionsResponse", "errorCode"].encoding == "packed16"
    assert saved(plan, messages) == written(plan, messages) > 0
    rarely = seen([response(0, 0)] * 3 + [response(7, 7)]).fields()
    assert choose(CATALOG, rarely)["ApiVersionsResponse", "errorCode"] == Choice("packed16", None)


def test_a_guess_and_an_anomaly_stay_as_they_are():
    overlaid = Overlaid(CATALOG, kwire.catalog(overlays="all-packed"))
    body = kwire.encode({"clientSoftwareName": "a", "clientSoftwareVersion": "b", "clusterId": None, "nodeId": 7},
                        message="ApiVersionsRequest", version=5)  # fmt: skip
    newer = decode(CATALOG, body, "ApiVersionsRequest", 99)
    cut = decode(CATALOG, body[:-3], "ApiVersionsRequest", 5)
    assert overlaid.spans("ApiVersionsRequest", 99, newer.entry, newer.raw, guess=True) is newer.raw
    assert overlaid.spans("ApiVersionsRequest", 5, cut.entry, cut.raw) is cut.raw
    assert overlaid.as_written == {"of a version that is not known": 1, "with anomalies": 1}
    whole = decode(CATALOG, body, "ApiVersionsRequest", 5)
    assert overlaid.spans("ApiVersionsRequest", 5, whole.entry, whole.raw).stop == len(body) - 3
    assert overlaid.rewritten == 1


def test_what_the_overlay_has_no_room_for_is_an_error_with_its_path():
    overlay = read_overlay('{"messages": {"MetadataResponse": {"fields": {"controllerId": {"encoding": "packed16"}}}}}')
    overlaid = under(overlay)
    value = {"brokers": [], "controllerId": 40000, "topics": []}
    decoded = kwire.decode(
        kwire.encode(value, message="MetadataResponse", version=1), message="MetadataResponse", version=1
    )
    with pytest.raises(
        EncodeError, match="MetadataResponse 1: controllerId: 40000 does not fit int32 written as packed16"
    ):
        overlaid.spans("MetadataResponse", 1, decoded.entry, decoded.raw)


def test_what_the_overlay_takes_away_or_asks_for():
    """A field that goes is an error where it says something; one that is no tagged field any more is written at its
    default.
    """
    decoded = kwire.decode(kwire.encode({"brokers": [], "controllerId": 7, "topics": []}, message="MetadataResponse",
    version=1),
                           message="MetadataResponse", version=1)  # fmt: skip
    gone = under(read_overlay('{"messages": {"MetadataResponse": {"fields": {"controllerId": {"versions": "2+"}}}}}'))
    with pytest.raises(EncodeError, match="MetadataResponse 1: controllerId: the overlay has no place"):
        gone.spans("MetadataResponse", 1, decoded.entry, decoded.raw)
    value = {"errorCode": 0, "apiKeys": [], "throttleTimeMs": 0}
    decoded = kwire.decode(
        kwire.encode(value, message="ApiVersionsResponse", version=3), message="ApiVersionsResponse", version=3
    )
    text = (
        '{"messages": {"ApiVersionsResponse": {"fields": {"zkMigrationReady": {"tag": null, "taggedVersions": null}}}}}'
    )
    mandatory = under(read_overlay(text)).spans("ApiVersionsResponse", 3, decoded.entry, decoded.raw)
    assert mandatory.stop - mandatory.start == decoded.size + 1
    # -1 says nothing as shipped, and is a value where another default is laid over it: a tag, a size and eight bytes.
    text = '{"messages": {"ApiVersionsResponse": {"fields": {"finalizedFeaturesEpoch": {"default": "0"}}}}}'
    other = under(read_overlay(text)).spans("ApiVersionsResponse", 3, decoded.entry, decoded.raw)
    assert other.stop - other.start == decoded.size + 10


def test_a_message_that_is_not_regular_says_so():
    decoded = kwire.decode(b"\0\0\0", message="HeartbeatRequest", version=4)
    message = in_body(decoded)
    assert isinstance(message, Message)
    assert not message.regular
    assert (seen([message]).irregular, seen([message]).fields()) == (1, {})


@given(st.sampled_from(["ipv6.pcap", "kafka-python-4.4.0.pcapng", "sarama-0.8.2.0-3.9.2.pcapng"]), st.data())
@examples(20)
def test_damaged_captures_are_advised_on_and_confirmed(name, data):
    raw = bytearray((SAMPLES / name).read_bytes())
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(24, len(raw) - 1), st.integers(0, 255)), min_size=1, max_size=200)
    ):
        raw[at] = byte
    try:
        messages = list(in_lines(traffic(CATALOG, Capture(io.BytesIO(raw)))))
    except InputError:
        return
    plan = choose(CATALOG, seen(messages).fields())
    assert saved(plan, messages) == written(plan, messages)
