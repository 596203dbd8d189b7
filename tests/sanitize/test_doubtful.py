"""What is not what it seems: it becomes blank, or is replaced."""

import pytest
from kit import traffic as make
from kit.commands import kwire

from kwire_cli.source.captures import Capture
from kwire_cli.source.first_bytes import PROXY_V2
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.network import SYN

CATALOG = catalog()
PORTS = ({}, {"source_port": 9092, "destination_port": 50000})
ENDS = ({}, {"source": make.SERVER, "destination": make.CLIENT})


@pytest.fixture
def sanitized(tmp_path):
    """What is said on a connection, as (side, bytes), to what stands in its place; the side may be missing at the
    start.
    """

    def done(*said):
        path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
        at, made = [1000, 5000], []
        for side, data, flags in [(0, b"", SYN), *((side, data, 16) for side, data in said)]:
            segment = make.tcp(data, at[side], at[1 - side], flags, **PORTS[side])
            made.append(make.packet(make.ethernet(make.ipv4(segment, **ENDS[side]), padded=False), len(made) + 1))
            at[side] += len(data) or 1
        path.write_bytes(make.pcap_file(made))
        assert kwire("sanitize", path, out, "--secret", "k", "--force").code == 0
        return [bytes(each.data[-len(data) :]) for each, (_, data) in zip(list(packets(out))[1:], said, strict=True)]

    done.files = tmp_path / "in.pcap", tmp_path / "out.pcap"
    return done


def lines(path):
    return [
        (line.seen.kind, line.api, line.seen.size, line.seen.packet, line.time)
        for line in traffic(CATALOG, Capture(path))
    ]


def pairs(path):
    return [line.request and line.request.number for line in traffic(CATALOG, Capture(path))]


def software(wire, name, version="1.0"):
    return wire.request("ApiVersions", 3, client="me", clientSoftwareName=name, clientSoftwareVersion=version)


@pytest.mark.parametrize("name", ["kafka-python", "apache-kafka-java", "librdkafka", "x", "a" * 64])
def test_names_of_software_stay(name, sanitized, wire):
    (shown,) = sanitized((0, software(wire, name, "v2.13.0-PRE1")))
    assert name.encode() in shown
    assert b"v2.13.0-PRE1" in shown


@pytest.mark.parametrize(
    "name",
    ["user=alice password=hunter2", "10.20.30.40/prod", "-hunter2", "hunter2.", "hunter2\n", "hünter2", "a" * 65],
)
def test_what_is_no_name_of_software_is_replaced(name, sanitized, wire):
    for frame in (software(wire, name), software(wire, "x", name)):
        (shown,) = sanitized((0, frame))
        assert len(shown) == len(frame)
        assert name.encode() not in shown
        assert b"hunter2" not in shown


def test_the_name_of_software_in_a_request_in_which_something_is_odd_is_replaced(sanitized, wire):
    frame = software(wire, "kafka-python")
    odd = wire.raw(frame[4:] + b"more")
    assert b"kafka-python" not in sanitized((0, odd))[0]


def test_features_stay_if_they_are_those_of_kafka(sanitized, wire):
    features = [
        {"name": name, "minVersion": 0, "maxVersion": 1} for name in ("metadata.version", "acme.secret.feature")
    ]
    answer = wire.response("ApiVersions", 3, supportedFeatures=features)
    _, shown = sanitized((0, software(wire, "x")), (1, answer))
    assert b"metadata.version" in shown
    assert b"acme" not in shown


PLAIN = b"\0al\0hunter2"


def good(wire, correlation=1):
    return wire.request("Metadata", 1, correlation, "myclient", topics=None)


def test_a_token_in_the_middle_of_a_connection_is_blank(sanitized, wire):
    _, shown, after = sanitized((0, good(wire)), (0, wire.raw(PLAIN)), (0, good(wire, 2)))
    assert shown == wire.raw(b"\xff" * len(PLAIN))
    assert after[4:12] == good(wire, 2)[4:12]


def test_a_token_after_a_handshake_whose_answer_is_missing_is_blank(sanitized, wire):
    handshake = wire.request("SaslHandshake", 0, 1, "myclient", mechanism="PLAIN")
    shown = sanitized((0, handshake), (0, wire.raw(PLAIN)), (1, wire.raw(b"")), (0, good(wire, 2)))
    assert shown[1] in {wire.raw(blank * len(PLAIN)) for blank in (b"\xff", b"x")}


@pytest.mark.parametrize(
    "text", [b"hunter2-is-my-password-and-more", b"hunter2", b"\0\x03\x7fXhunter2\0\x05hello", b"\0\x03\0\x01hunter2"]
)
def test_of_frames_that_are_not_known_only_the_size_stays(text, sanitized, wire):
    shown = sanitized((0, good(wire)), (0, wire.raw(text)))[1]
    assert shown in {wire.raw(blank * len(text)) for blank in (b"\xff", b"x")}
    answer = wire.response("Metadata", 1, 1)
    assert sanitized((0, good(wire)), (1, answer), (1, wire.raw(text)))[2] == wire.raw(b"\xff" * len(text))


def test_of_a_frame_with_a_wrong_size_nothing_is_left(sanitized, wire):
    wrong = wire.request("Metadata", 1, 2, "myclient", topics=[{"name": "acme-secret-topic"}])
    for size in (8, 12, 14, 20, 200):
        everything = b"".join(sanitized((0, good(wire)), (0, size.to_bytes(4) + wrong[4:]), (0, good(wire, 3))))
        assert b"client" not in everything
        assert b"acme" not in everything
        assert b"topic" not in everything


def test_a_wrong_size_that_swallows_all_that_follows_does_not_make_it_numbers(sanitized, wire):
    fetch = wire.request("Fetch", 12, 1, "myclient", topics=[{"topic": "acme", "partitions": [{"partition": 0}]}])
    swallowed = b"".join(wire.request("Fetch", 12, number, "other-client-id") for number in range(2, 20))
    huge = (1 << 20).to_bytes(4) + fetch[4:-1] + b"\x01\x07\x05"
    everything = b"".join(sanitized((0, good(wire)), (0, huge), (0, swallowed)))
    for secret in (b"client-id", b"acme"):
        assert secret not in everything


def test_requests_and_responses_of_an_api_that_is_not_known_stay_pairs(sanitized, wire):
    unknown = [wire.raw(b"\x03\xe7\0\x01\0\0\0\x02\0\x08myclient\0"), wire.raw(b"\0\0\0\x02hunter2")]
    sanitized(
        (0, good(wire)), (1, wire.response("Metadata", 1, 1)), (0, unknown[0]), (1, unknown[1]), (0, good(wire, 3))
    )
    before, after = sanitized.files
    assert pairs(before) == pairs(after)
    assert [line[:1] + line[2:] for line in lines(before)] == [line[:1] + line[2:] for line in lines(after)]


def test_requests_and_responses_of_a_version_that_is_not_known_stay_pairs(sanitized, wire):
    newer = wire.raw(b"\0\x12\0\x63\0\0\0\x02\0\x08myclient\0")
    shown = sanitized(
        (0, newer), (1, wire.response("ApiVersions", 99, 2, body_version=0, errorCode=35)), (0, good(wire, 3))
    )
    assert shown[0] == wire.raw(b"\xff" * (len(newer) - 4))
    assert [*map(pairs, sanitized.files)] == [[None, 1, None]] * 2


def version2(family, addresses, more=b""):
    body = addresses + more
    return PROXY_V2 + bytes((0x21, family)) + len(body).to_bytes(2) + body


PORTS_OF_PROXY = b"\xc3\x50\x23\x84"
IPV6 = bytes.fromhex("20010db8000000000000000000000001")
PROXIED = {
    "v1": b"PROXY TCP4 192.168.5.7 203.0.113.200 50000 9092\r\n",
    "v1, short": b"PROXY TCP4 1.2.3.4 192.168.100.200 50000 9092\r\n",
    "v1, IPv6": b"PROXY TCP6 2001:db8::77 2001:db8:1:2:3:4:5:6 50000 9092\r\n",
    "v1, mapped": b"PROXY TCP6 ::ffff:192.168.5.7 ::1 50000 9092\r\n",
    "v1, unknown": b"PROXY UNKNOWN\r\n",
    "v1, unknown with words": b"PROXY UNKNOWN secret hunter2 and more of it\r\n",
    "v1, odd": b"PROXY TCPsecret 192.168.5.7 hunter2\r\n",
    "v1, no addresses": b"PROXY TCP4 secret hunter2 passw 99999999 \xff\r\n",
    "v1, another word": b"PROXY TCP TCP4\r\n",
    "v2": version2(0x11, make.CLIENT + make.SERVER + PORTS_OF_PROXY),
    "v2, IPv6 and TLVs": version2(0x21, IPV6 + IPV6[::-1] + PORTS_OF_PROXY, b"\x02\0\x07hunter2"),
    "v2, socket": version2(0x31, b"/var/run/secret".ljust(216, b"\0")),
    "v2, cut": version2(0x11, b"secret"),
    "v2, local": version2(0x00, b""),
}


ADDRESSES = (b"192.168.", b"203.0.113", b"1.2.3.4", b"2001:db8", make.CLIENT + make.SERVER, IPV6)


@pytest.mark.parametrize("header", PROXIED.values(), ids=PROXIED)
@pytest.mark.parametrize("pieces", ["alone", "with a request", "in two packets"])
def test_what_follows_a_proxy_header_keeps_its_packet_and_time(header, pieces, sanitized, wire):
    said = {
        "alone": [(0, header), (0, good(wire))],
        "with a request": [(0, header + good(wire))],
        "in two packets": [(0, header[:13]), (0, header[13:] + good(wire))],
    }[pieces]
    shown = b"".join(sanitized(*said, (1, wire.response("Metadata", 1, 1))))
    before, after = map(lines, sanitized.files)
    assert after == before
    assert ("not-kafka", None, len(header)) in [line[:3] for line in before]
    assert len(shown) == sum(len(data) for _, data in said) + len(wire.response("Metadata", 1, 1))
    for secret in (*ADDRESSES, b"secret", b"hunter2", b"passw", b"myclient"):
        assert secret not in shown


def test_a_proxy_header_keeps_its_protocol_only(sanitized, wire):
    (shown,) = sanitized((0, PROXIED["v1, short"] + good(wire)))
    assert shown.partition(b"\r\n")[0] == b"PROXY TCP4" + b"x" * 35
    (shown,) = sanitized((0, PROXIED["v2"] + good(wire)))
    assert shown[:28] == PROXIED["v2"][:16] + bytes(12)
