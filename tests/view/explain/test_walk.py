"""Which elements are shown, what follows what, and where what is odd is said."""

from itertools import pairwise

import kwire_cli as kwire
from kwire_cli.message.decoded import decode
from kwire_cli.message.roles import RecordsAs
from kwire_cli.view.explain.messages import explain_body
from kwire_cli.view.explain.model import Look, Skipped, Step

CATALOG = kwire.catalog()


def explained(data, message, version, *, every=False, hidden=frozenset()):
    body = decode(CATALOG, data, message, version)
    return [*explain_body(body, Look(every, RecordsAs(CATALOG)), hidden=hidden)][1:]


def brokers(*racks, tags=None):
    rows = [{"nodeId": i, "host": "h", "port": 1, "rack": rack} for i, rack in enumerate(racks)]
    if tags is not None:
        rows[tags]["unknownTaggedFields"] = [{"tag": 9, "data": "AQ=="}]
    value = {"throttleTimeMs": 0, "brokers": rows, "clusterId": "c", "controllerId": 0, "topics": []}
    return kwire.encode(value, message="MetadataResponse", version=12)


def shown(events):
    return {
        event.path.split(".")[0] for event in events if isinstance(event, Step) and event.path.startswith("brokers[")
    }


def test_elements_like_the_first_are_counted():
    events = explained(brokers("a", "b", "c", "d"), "MetadataResponse", 12)
    [skipped] = [event for event in events if isinstance(event, Skipped)]
    assert (skipped.first, skipped.last, skipped.count) == ("brokers[1]", "brokers[3]", 3)
    assert shown(events) == {"brokers[0]"}
    assert shown(explained(brokers("a", "b", "c", "d"), "MetadataResponse", 12, every=True)) == {
        f"brokers[{i}]" for i in range(4)
    }


def test_an_element_with_a_first_null_is_shown():
    events = explained(brokers("a", "b", None, None, "c"), "MetadataResponse", 12)
    assert shown(events) == {"brokers[0]", "brokers[2]"}
    assert [event.count for event in events if isinstance(event, Skipped)] == [1, 2]


def test_an_element_with_a_first_unknown_tag_is_shown():
    events = explained(brokers("a", "b", "c", tags=1), "MetadataResponse", 12)
    assert shown(events) == {"brokers[0]", "brokers[1]"}
    [header] = [event for event in events if isinstance(event, Step) and event.type == "tag"]
    assert [piece.what for piece in header.pieces] == ["tag", "size"]
    assert header.then == "1 byte of a field that this version does not have"


def test_an_odd_element_is_shown_with_what_is_odd():
    data = bytearray(brokers("a", "bcd", "c"))
    at = data.index(b"bcd")
    data[at] = 0xFF
    events = explained(bytes(data), "MetadataResponse", 12)
    [odd] = [event for event in events if isinstance(event, Step) and event.anomalies]
    assert odd.path == "brokers[1].rack"
    assert [anomaly.code for anomaly in odd.anomalies] == ["INVALID_UTF8"]


def test_the_values_of_numbers_left_out_are_at_hand():
    value = {"groupId": "g", "topics": [{"name": "t", "partitionIndexes": list(range(100))}], "requireStable": False}
    events = explained(kwire.encode(value, message="OffsetFetchRequest", version=7), "OffsetFetchRequest", 7)
    [skipped] = [event for event in events if isinstance(event, Skipped)]
    assert (skipped.count, len(skipped.items)) == (99, 20)
    assert skipped.end - skipped.start == 4 * 99


def test_each_step_knows_the_next_and_the_last_one_what_ends():
    events = explained(brokers("a"), "MetadataResponse", 12)
    for one, other in pairwise(events):
        assert one.next == other.path
    assert events[-1].next == ""
    assert events[-1].then == "the message ends here"


def test_what_follows_a_count():
    events = {
        event.path: event for event in explained(brokers("a", None), "MetadataResponse", 12) if isinstance(event, Step)
    }
    assert events["brokers"].then.startswith("2 elements, each a struct: nodeId INT32, host COMPACT_STRING")
    assert events["topics"].then.startswith("no element")
    assert events["brokers[1].rack"].then.startswith("no bytes")


def test_the_missing_field_and_how_much_of_it():
    data = brokers("a")
    expected = {
        2: "4 bytes; 2 bytes here: 2 more",
        4: "a varint, at least 1 byte; no bytes here",
        9: "a varint, at least 1 byte; no bytes here",
    }
    for cut, text in expected.items():
        gap = explained(data[:cut], "MetadataResponse", 12)[-1]
        assert gap.type == "gap"
        assert gap.pieces[0].working[0].endswith(text)
    for cut in range(len(data)):
        gap = explained(data[:cut], "MetadataResponse", 12)[-1]
        assert (gap.pieces[0].rule, gap.end) == ("gap.cut", cut)


def test_of_a_secret_only_its_length_is_explained():
    data = kwire.encode({"authBytes": "c2VjcmV0"}, message="SaslAuthenticateRequest", version=2)
    [secret, _] = explained(data, "SaslAuthenticateRequest", 2, hidden=frozenset({0}))
    length, value = secret.pieces
    assert length.working
    assert not length.secret
    assert value.secret
    assert not value.working


def test_a_cut_secret_does_not_say_its_length():
    data = kwire.encode({"authBytes": "c2VjcmV0"}, message="SaslAuthenticateRequest", version=2)[:4]
    gap = explained(data, "SaslAuthenticateRequest", 2, hidden=frozenset({0}))[-1]
    assert gap.pieces[0].secret
