"""Two frames compared: headers, bodies and what lies in their fields."""

import base64

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.comparison.messages import FrameOperand, compare_frames
from kwire_cli.errors import InputError
from kwire_cli.message.encode import encode_document
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all
from kwire_cli.message.roles import RecordsAs

CATALOG = kwire.catalog()


def frame(data, hints=None):
    [found] = read_all(CATALOG, data, hints or Hints())
    return found


def request(api, version, body, client="c", correlation=1):
    header = {"correlationId": correlation, "clientId": client}
    return encode_document(
        CATALOG, {"kind": "request", "api": api, "apiVersion": version, "header": header, "body": body}
    )


def compared(a, b, hints=None, hidden=({}, {})):
    return compare_frames(
        *(
            FrameOperand(frame(data, hints), own, RecordsAs(CATALOG), lambda _: frozenset())
            for data, own in zip((a, b), hidden, strict=True)
        )
    )


def told(found):
    return [(each.kind, each.path) for each in found.differences]


HEARTBEAT = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}


def test_headers_and_bodies():
    found = compared(
        request("Heartbeat", 4, HEARTBEAT), request("Heartbeat", 4, HEARTBEAT | {"generationId": 2}, "other", 9)
    )
    assert told(found) == [
        ("changed", "header.correlationId"),
        ("changed", "header.clientId"),
        ("changed", "generationId"),
    ]
    assert found.differences[0].a.path == "header.correlationId"


def test_versions_with_other_headers():
    found = compared(request("Heartbeat", 3, HEARTBEAT), request("Heartbeat", 4, HEARTBEAT))
    assert told(found) == [("changed", "header.requestApiVersion")]
    assert found.other_layout


def test_bytes_outside_header_and_body():
    a = request("Heartbeat", 4, HEARTBEAT)
    b = request("Heartbeat", 4, HEARTBEAT | {"memberId": "mm"})
    assert told(compared(a, b)) == [("changed", "memberId")]
    lies = (len(a) + 6).to_bytes(4, "big") + a[4:]
    assert told(compared(a, lies, Hints(kind="request"))) == [("bytes", "")]
    plain = request("ApiVersions", 0, {})
    extra = (len(plain)).to_bytes(4, "big") + plain[4:] + bytes(4)
    assert told(compared(plain, extra)) == [("bytes", "")]


def subscription(version, topics, **keys):
    value = {"topics": topics, "userData": None} | keys
    data = version.to_bytes(2, "big") + kwire.encode(value, message="ConsumerProtocolSubscription", version=version)
    return base64.b64encode(data).decode()


def join(metadata):
    body = {
        "groupId": "g",
        "sessionTimeoutMs": 1,
        "rebalanceTimeoutMs": 1,
        "memberId": "",
        "groupInstanceId": None,
        "protocolType": "consumer",
    }
    return request("JoinGroup", 7, body | {"protocols": [{"name": "range", "metadata": metadata}]})


def test_what_lies_in_fields_is_compared():
    found = compared(join(subscription(0, ["a", "b"])), join(subscription(0, ["b", "c"])))
    at = 'protocols[name="range"].metadata'
    assert told(found) == [("removed", f"{at}.topics[0]"), ("added", f"{at}.topics[1]")]
    assert (found.differences[1].b.path, found.differences[1].b.value) == ("protocols[0].metadata.topics[1]", "c")


def test_payloads_of_two_versions():
    found = compared(join(subscription(0, ["a"])), join(subscription(1, ["a"], ownedPartitions=[])))
    at = 'protocols[name="range"].metadata'
    assert told(found) == [("changed", f"{at}.version"), ("added", f"{at}.ownedPartitions")]
    assert (found.differences[0].a.value, found.differences[0].b.value) == (0, 1)


def test_payloads_in_which_nothing_is_to_be_seen_stay_bytes():
    a, b = join(subscription(0, ["a"])), join("AAA=")
    assert told(compared(a, a)) == []
    span = next(n for n, span in enumerate(frame(a).body.spans) if span.path.endswith("metadata"))
    hidden = {"body": frozenset({span})}
    [found] = compared(a, join(subscription(0, ["b"])), hidden=(hidden, hidden)).differences
    assert (found.path, found.a.value) == ('protocols[name="range"].metadata', "<redacted 13 bytes>")
    assert told(compared(a, b))


def envelope(inner):
    body = {
        "requestData": base64.b64encode(inner[4:]).decode(),
        "requestPrincipal": None,
        "clientHostAddress": "fwAAAQ==",
    }
    return request("Envelope", 0, body)


def test_forwarded_requests_are_compared():
    one, two = (
        envelope(request("Heartbeat", 4, HEARTBEAT | {"memberId": member}, correlation=7)) for member in ("m", "n")
    )
    [found] = compared(one, two).differences
    assert (found.kind, found.path, found.a.value, found.b.value) == ("changed", "requestData.memberId", "m", "n")
    assert told(compared(one, envelope(request("Heartbeat", 4, HEARTBEAT, correlation=8)))) == [
        ("changed", "requestData.header.correlationId")
    ]
    assert told(compared(one, envelope(request("ApiVersions", 0, {})))) == [("changed", "requestData")]
    older = compared(one, envelope(request("Heartbeat", 3, HEARTBEAT, correlation=7)))
    assert told(older) == [("changed", "requestData.header.requestApiVersion")]
    assert older.other_layout


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (
            request("Heartbeat", 4, HEARTBEAT),
            request("ApiVersions", 0, {}),
            "a is Heartbeat request, b is ApiVersions request",
        ),
        (request("Heartbeat", 4, HEARTBEAT), b"\0\0\0\x05hello", "b has no body that can be compared"),
    ],
)
def test_what_can_not_be_compared(a, b, said):
    with pytest.raises(InputError, match=said):
        compared(a, b)
