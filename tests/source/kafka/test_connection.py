import base64

import pytest

import kwire_cli
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.first_bytes import PROXY_V2
from kwire_cli.source.kafka.connection import Connection, State

V2 = PROXY_V2 + bytes([0x21, 0x11, 0, 12]) + bytes(12)
LINE = b"PROXY TCP4 10.0.0.1 10.0.0.2 5000 9092\r\n"


def kinds(seen):
    return [each.kind for each in seen]


def pairs(seen):
    """(position of the request or None) for each response."""
    return [seen.index(each.request) if each.request else None for each in seen if each.kind == "response"]


# Pairs


@pytest.mark.parametrize(
    ("asked", "answered", "requests"),
    [
        *(
            (ids, ids, [0, 1, 2])
            for ids in ([1, 2, 3], [0, 0, 0], [-1, -2, -3], [2147483647, -2147483648, 0], [5, 5, 6])
        ),
        pytest.param([1, 2, 3, 4], [3, 4], [2, 3], id="answers that the capture lacks are passed over"),
        pytest.param([1], [9, 1], [None, 0], id="a response without request takes nobody else's"),
    ],
)
def test_pipelined_requests_are_answered_in_order(wire, asked, answered, requests):
    seen = wire.talk((0, b"".join(wire.heartbeat(n) for n in asked)), (1, b"".join(wire.beat(n) for n in answered)))
    assert kinds(seen) == ["request"] * len(asked) + ["response"] * len(answered)
    assert pairs(seen) == requests
    assert [each.head is None for each in seen[len(asked) :]] == [request is None for request in requests]


def test_produce_with_acks_0_has_no_answer(wire):
    quiet = wire.request("Produce", 3, 1, acks=0, timeoutMs=1, topicData=[])
    loud = wire.request("Produce", 3, 1, acks=1, timeoutMs=1, topicData=[])
    seen = wire.talk((0, quiet + loud), (1, wire.response("Produce", 3, 1)))
    assert pairs(seen) == [1]


# ApiVersions


def test_api_versions_fall_back(wire):
    """A broker that does not know the version answers as version 0 does, with UNSUPPORTED_VERSION."""
    request = wire.request("ApiVersions", 4, 1, clientSoftwareName="x", clientSoftwareVersion="1")
    answer = wire.response(
        "ApiVersions", 4, 1, body_version=0, errorCode=35, apiKeys=[{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]
    )
    line = wire.lines((0, request), (1, answer))[1]
    assert line.errors == ["UNSUPPORTED_VERSION"]
    assert [anomaly.code for anomaly in line.frame.anomalies] == ["VERSION_FALLBACK"]
    assert line.frame.body.value["apiKeys"] == [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]


def test_an_answer_in_the_form_of_another_version_names_it(wire):
    partition = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 9}
    topic = {"topic": "t", "partitions": [partition]}
    answers = [wire.response("Fetch", 1, number, body_version=number - 1, responses=[topic]) for number in (1, 2)]
    requests = [wire.request("Fetch", 1, number) for number in (1, 2)]
    lines = wire.lines((0, requests[0]), (1, answers[0]), (0, requests[1]), (1, answers[1]))
    assert set(lines[1].anomalies) == {"FITS_OTHERWISE", "COUNT_MISMATCH", "TRUNCATED"}
    assert (lines[1].frame.api_version, lines[1].frame.fits[0].detail) == (1, "fits exactly as version 0")
    assert not lines[3].anomalies


# SASL


def handshake(wire, version=0, error=0, mechanism="PLAIN"):
    request = wire.request("SaslHandshake", version, 3, mechanism=mechanism)
    return [(0, request), (1, wire.response("SaslHandshake", version, 3, errorCode=error, mechanisms=["PLAIN"]))]


@pytest.mark.parametrize("from_start", [True, False])
def test_tokens_of_a_client_whose_broker_was_not_captured(wire, from_start):
    said = [handshake(wire)[0], (0, wire.raw(b"\0alice\0secret")), (0, wire.heartbeat(3))]
    assert kinds(wire.talk(*said, from_start=from_start)) == ["request", "sasl-token", "request"]


MECHANISMS = {
    "PLAIN": [b"\0user\0password", b""],
    "SCRAM-SHA-512": [
        b"n,,n=user,r=abc",
        b"r=abcdef,s=c2FsdA==,i=4096",
        b"c=biws,r=abcdef,p=cHJvb2Y=",
        b"v=dmVyaWZpZXI=",
    ],
    "OAUTHBEARER": [b"n,,\x01auth=Bearer eyJhbGciOi\x01\x01", b""],
    "GSSAPI": [b"\x60\x82\2\3token", b"\x60\x10answer", b"", b"\5\4\5\xff\0\x0c\0\0", b"\5\4\4\xff\0\x0c\0\1"],
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_tokens_of_every_mechanism(wire, mechanism):
    """Their bytes are in no line, whatever is asked for."""
    rounds = [(number % 2, wire.raw(token)) for number, token in enumerate(MECHANISMS[mechanism])]
    said = [*handshake(wire, mechanism=mechanism), *rounds, (0, wire.heartbeat(4)), (1, wire.beat(4))]
    lines = wire.lines(*said)
    assert kinds(lines) == ["request", "response", *["sasl-token"] * len(rounds), "request", "response"]
    assert all(line.frame is None and line.message is None for line in lines[2:-2])
    assert lines[-1].request is lines[-2]


def test_authenticating_again_with_another_mechanism(wire):
    """KIP-368: on the same connection, between other requests; some of which wait for their answers."""

    def authenticate(number):
        token = wire.request("SaslAuthenticate", 1, number, authBytes="AHUAcA==")
        return [
            (0, token),
            (1, wire.response("SaslAuthenticate", 1, number, errorMessage=None, sessionLifetimeMs=60000)),
        ]

    first = [*handshake(wire, 1), *authenticate(4), (0, wire.heartbeat(5))]
    again = [*handshake(wire, 1, mechanism="SCRAM-SHA-256"), *authenticate(7), *authenticate(8)]
    seen = wire.talk(*first, (1, wire.beat(5)), *again, (0, wire.heartbeat(9)), (1, wire.beat(9)))
    assert kinds(seen) == ["request", "response"] * 7
    assert pairs(seen) == [0, 2, 4, 6, 8, 10, 12]


def test_a_start_amid_tokens(wire):
    tokens = [(0, wire.raw(b"c=biws,r=abcdef,p=cHJvb2Y=")), (1, wire.raw(b"v=dmVyaWZpZXI="))]
    lines = wire.lines(
        *tokens, (0, wire.heartbeat(4)), (1, wire.beat(4)), (0, wire.heartbeat(5)), (1, wire.beat(5)), opened=False
    )
    assert [line.api for line in lines if line.is_frame and not line.guess] == ["Heartbeat"] * 4
    assert sum(line.seen.size for line in lines) == sum(len(data) for _, data in tokens) + sum(
        line.seen.size for line in lines if line.is_frame
    )


def test_four_bytes_too_many_after_the_header_of_api_versions(wire):
    """As librdkafka sends them; what comes behind is not shifted by them."""
    request = wire.request("ApiVersions", 0, 1, client="rdkafka")
    longer = (len(request)).to_bytes(4, "big") + request[4:] + bytes(4)
    lines = wire.lines((0, longer + wire.heartbeat(2)), (1, wire.response("ApiVersions", 0, 1) + wire.beat(2)))
    assert [(line.kind, line.api) for line in lines] == [
        ("request", "ApiVersions"),
        ("request", "Heartbeat"),
        ("response", "ApiVersions"),
        ("response", "Heartbeat"),
    ]
    assert [line.anomalies for line in lines] == [["EXTRA_HEADER_BYTES"], [], [], []]


def test_after_a_refused_handshake_frames_go_on(wire):
    seen = wire.talk(*handshake(wire, error=33), *handshake(wire), (0, wire.raw(b"\0u\0p")))
    assert kinds(seen) == ["request", "response", "request", "response", "sasl-token"]


def exchange(wire, *tokens, version=1, key=None, first=4):
    """SaslAuthenticate requests and responses with these tokens, in turn; `key` is the api key of the requests."""
    said = []
    for number, token in enumerate(tokens):
        side, text = number % 2, base64.b64encode(token).decode()
        make = wire.response if side else wire.request
        frame = make("SaslAuthenticate", version, first + number // 2, authBytes=text)
        said.append((side, frame if side or key is None else frame[:4] + key.to_bytes(2, "big") + frame[6:]))
    return said


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("key", [0, 18, 37, 100, 292])
def test_a_wrong_api_key_during_authentication_makes_a_token(wire, key, version):
    """SCRAM ends with the last token of the broker, even if no request was readable."""
    tokens = exchange(wire, *MECHANISMS["SCRAM-SHA-512"], version=version, key=key)
    seen = wire.talk(*handshake(wire, 1), *tokens, (0, wire.heartbeat(9)), (1, wire.beat(9)))
    assert kinds(seen) == ["request", "response", *["sasl-token"] * 4, "request", "response"]


def test_a_frame_without_an_answer_may_still_be_a_token(wire):
    """The capture lacks the answer to the handshake, and no handshake precedes a SaslAuthenticate in mid-stream."""
    first, last = exchange(wire, b"n,,n=u,r=a"), exchange(wire, b"c=biws,r=a,p=cA==", b"v=dg==", key=37, first=5)
    assert kinds(wire.talk(handshake(wire, 1)[0], *last)) == ["request", "sasl-token", "sasl-token"]
    assert kinds(wire.talk(*first, *last, from_start=False)) == ["request", "sasl-token", "sasl-token"]


@pytest.mark.parametrize("end", [b"", b"v=dg=="])
def test_authentication_ends_with_the_last_token_of_the_broker(wire, end):
    """A request that does not fit is a request again after it."""
    frame = wire.raw(wire.heartbeat(9)[4:-1])
    ended = wire.talk(*handshake(wire, 1), *exchange(wire, b"token", end), (0, frame))
    assert kinds(ended)[4:] == ["request"]
    assert kinds(wire.talk(*handshake(wire, 1), *exchange(wire, b"token", b"more"), (0, frame)))[4:] == ["sasl-token"]


def test_authentication_ends_with_an_error(wire):
    refused = (1, wire.response("SaslAuthenticate", 1, 4, errorCode=58, authBytes="bW9yZQ=="))
    said = [*handshake(wire, 1), *exchange(wire, b"token"), refused]
    assert kinds(wire.talk(*said, (0, wire.raw(wire.heartbeat(9)[4:-1]))))[4:] == ["request"]


def test_authentication_of_an_unknown_mechanism_ends_with_a_request_that_fits(wire):
    tokens = exchange(wire, b'{"sig":"x"}', b'{"request-id":"y"}')
    seen = wire.talk(*handshake(wire, 1), *tokens, (0, wire.heartbeat(9)), (1, wire.beat(9)), (0, wire.heartbeat(10)))
    assert kinds(seen) == ["request", "response", "request", "response", "request", "response", "request"]


@pytest.mark.parametrize("api", ["DescribeDelegationToken", "ListGroups", "Metadata"])
def test_a_request_that_fits_as_an_empty_token_ends_authentication(wire, api):
    newest = wire.catalog.entry(f"{api}Request").valid_versions.high
    frame = wire.request(api, newest, 9)
    assert kinds(wire.talk(*handshake(wire, 1), *exchange(wire, b"x", b"y"), (0, frame)))[4:] == ["request"]


def test_answers_to_earlier_requests_arrive_during_authentication(wire):
    """KIP-368."""
    seen = wire.talk((0, wire.heartbeat(1)), *handshake(wire, 1)[:1], (1, wire.beat(1)))
    assert (kinds(seen), pairs(seen)) == (["request", "request", "response"], [0])


def test_a_token_without_handshake(wire):
    """As clients of 0.9 begin GSSAPI: the first frame is a token (0x60 is how RFC 2743's initial token begins)."""
    seen = wire.talk(
        (0, wire.raw(b"\x60\x82\2\3token")), (1, wire.raw(b"\x60\x10answer")), (0, wire.heartbeat()), (1, wire.beat())
    )
    assert kinds(seen) == ["sasl-token", "sasl-token", "request", "response"]


# What is not Kafka


@pytest.mark.parametrize(
    ("hello", "protocol"),
    [
        (b"\x16\x03\x01\0\x05hello", "tls"),
        (b"GET / HTTP/1.1\r\n\r\n", "http"),
        (b"SSH-2.0-x\r\n", "ssh"),
        (b"ruok", "zookeeper"),
    ],
)
def test_another_protocol_to_the_end(wire, hello, protocol):
    connection = Connection(Layouts(wire.catalog))
    seen = wire.talk((0, hello), (0, b"more"), (1, b"answer"), (0, wire.heartbeat()), connection=connection)
    assert connection.state is State.FOREIGN
    assert [(each.kind, each.protocol, each.side) for each in seen] == [
        ("not-kafka", protocol, side) for side in (0, 1, 0)
    ]
    assert [each.size for each in seen] == [len(hello) + 4, 6, len(wire.heartbeat())]


@pytest.mark.parametrize(
    ("answer", "protocol"), [(b"\x15\x03\x03\0\x02\x02\x28", "tls"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "http")]
)
@pytest.mark.parametrize("size", [1, 1000])
def test_requests_that_are_answered_in_another_protocol(wire, answer, protocol, size):
    request = wire.heartbeat()
    seen = wire.talk((0, request), *((1, answer[at : at + size]) for at in range(0, len(answer), size)))
    first = [(each.kind, each.protocol, each.side) for each in seen[:2]]
    assert first == [("request", None, 0), ("not-kafka", protocol, 1)]
    assert sum(each.size for each in seen) == len(request) + len(answer)


def test_losses_in_another_protocol(wire):
    seen = wire.talk((0, b"SSH-2.0-x\r\n"), (0, 100), (0, b"rest"))
    assert [(each.kind, each.size) for each in seen] == [("not-kafka", 11), ("gap", 100), ("not-kafka", 4)]


@pytest.mark.parametrize("header", [LINE, V2])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_kafka_behind_a_proxy_header(wire, header, size):
    data = header + wire.heartbeat()
    seen = wire.talk(*((0, data[at : at + size]) for at in range(0, len(data), size)), (1, wire.beat()))
    assert [(each.kind, each.protocol, each.size) for each in seen[:2]] == [
        ("not-kafka", "proxy", len(header)),
        ("request", None, len(wire.heartbeat())),
    ]
    assert pairs(seen) == [1]


# Starts and losses


def test_a_start_in_the_middle_of_a_response(wire):
    answer = wire.response("Metadata", 1, 1, topics=[{"name": "t" * 100}])
    seen = wire.talk(
        (1, answer[50:]),
        (0, wire.heartbeat(2)),
        (1, wire.beat(2)),
        (0, wire.heartbeat(3)),
        (1, wire.beat(3)),
        from_start=False,
    )
    assert [each.kind for each in seen if each.kind != "gap"] == ["request", "response"] * 2
    assert sum(len(each.data) for each in seen if each.kind == "gap") == len(answer) - 50
    assert all(each.request for each in seen if each.kind == "response")


@pytest.mark.parametrize("correlation_id", [2, 439041101, -5])
def test_a_response_without_its_request_is_a_guess(wire, correlation_id):
    known = (0, wire.heartbeat(1))
    lost = wire.response(
        "FindCoordinator", 1, correlation_id, errorMessage=None, nodeId=1, host="broker.example", port=9092
    )
    lines = wire.lines(known, (1, wire.beat(1)), (1, lost))
    assert lines[2].request is None
    assert lines[2].frame.guess
    assert lines[2].latency is None
    assert lines[2].to_json()["guess"]


def test_the_port_says_who_the_broker_is(wire):
    """With answers alone, only the port tells that they are none of a client."""
    (line,) = wire.lines((1, wire.beat()), port=9092, opened=False)
    assert line.kind == "response"
    (line,) = wire.lines((1, wire.beat()), port=50000)
    assert line.kind in {"request", "sasl-token"}


def test_a_start_anywhere_in_the_smallest_requests(wire):
    """Short client ids and small numbers look like frames at many places; a false one of many megabytes would swallow
    all that follows.
    """
    first = wire.heartbeat(1)
    for cut in range(1, len(first)):
        seen = wire.talk(
            (0, first[cut:]),
            (0, wire.heartbeat(2)),
            (1, wire.beat(2)),
            (0, wire.heartbeat(3)),
            (1, wire.beat(3)),
            from_start=False,
        )
        assert kinds(seen) == ["gap", "request", "response", "request", "response"], cut
        assert pairs(seen) == [1, 3]


@pytest.mark.parametrize("known", range(4, 12))
def test_a_request_without_its_head_is_no_token(wire, known):
    request = wire.heartbeat(2)
    seen = wire.talk(
        (0, wire.heartbeat(1) + request[:known]),
        (0, len(request) - known),
        (0, wire.heartbeat(3)),
        (1, wire.beat(1) + wire.beat(3)),
    )
    assert kinds(seen) == ["request", "request", "gap", "request", "response", "response"]
    assert pairs(seen) == [0, 3]


@pytest.mark.parametrize("ending", ["end", "loss"])
def test_what_waits_to_be_known_keeps_its_packet_and_time(ending):
    """Bytes that could still begin another protocol are Kafka's when nothing follows, at the packet that brought
    them.
    """
    connection = Connection(Layouts(kwire_cli.catalog()))
    assert [*connection.feed(0, b"\x16", 4, 1000)] == []
    assert [*connection.feed(0, b"\x03", 5, 2000)] == []
    seen = [*connection.end()] if ending == "end" else [*connection.lose(0, 3, 6, 3000), *connection.end()]
    assert seen[0].size == 2
    assert [(each.packet, each.time) for each in seen] == ([(5, 2000)] if ending == "end" else [(6, 3000)] * len(seen))


@pytest.mark.parametrize("name", ["kind", "api_key", "api", "api_version", "correlation_id", "client_id", "guess"])
def test_every_property_of_a_line_names_the_same_frame(wire, name):
    """A request without a client's name whose body does not fit is a gap, whichever property is asked first."""
    damaged = bytearray(wire.heartbeat(1, None))
    damaged[damaged.index(b"\0\1g") + 1] = 3
    said = [(0, wire.heartbeat(0)), (1, wire.beat(0)), (0, bytes(damaged)), (0, wire.heartbeat(2))]
    line = wire.lines(*said)[2]
    assert getattr(line, name) == {"kind": "gap", "guess": False}.get(name)
    assert line.to_json()["kind"] == "gap"
