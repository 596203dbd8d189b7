import pytest

from kwire_cli.source.first_bytes import BEGINNINGS, LONGEST, PROXY_V2, beginning, spoken, undecided

V2 = PROXY_V2 + bytes([0x21, 0x11, 0, 12]) + bytes(12)
V1 = b"PROXY TCP4 10.0.0.1 10.0.0.2 5000 9092\r\n"


@pytest.mark.parametrize(
    ("data", "protocol"),
    [
        (b"\x16\x03\x01\x02\0\x01", "tls"),
        (b"\x15\x03\x03\0\x02", "tls"),
        (b"GET / HTTP/1.1\r\n", "http"),
        (b"HTTP/1.1 400 Bad Request\r\n", "http"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "ssh"),
        (b"*1\r\n$4\r\nPING\r\n", "redis"),
        (b"ruok", "zookeeper"),
        (b"EHLO example\r\n", "smtp"),
    ],
)
def test_protocols_are_told_by_their_first_bytes(data, protocol):
    assert beginning(data) == (protocol, 0)
    assert beginning(bytearray(data)) == (protocol, 0)


@pytest.mark.parametrize("header", [V1, V2, b"PROXY UNKNOWN\r\n"])
def test_what_a_load_balancer_puts_in_front(header):
    assert beginning(header) == ("proxy", len(header))
    assert beginning(header + b"\0\0\0\x10more") == ("proxy", len(header))
    assert beginning(header[:-1]) == ("proxy", 0)
    assert undecided(header[:-1])
    assert not undecided(header)


def test_a_proxy_line_that_does_not_end_is_not_waited_for():
    assert not undecided(b"PROXY TCP4 " + b"1" * 300)


def test_kafka_frames_begin_like_no_other_protocol(wire):
    for frame in (wire.request("Metadata", 1, topics=[]), wire.response("ApiVersions", 0), bytes(4)):
        assert beginning(frame) is None
        assert not undecided(frame)


def test_all_beginnings_are_sizes_that_no_broker_takes():
    """104,857,600 is what socket.request.max.bytes is unless changed."""
    for _, starts in BEGINNINGS:
        for start in starts:
            assert int.from_bytes(start[:4].ljust(4, b"\0"), "big") > 104_857_600


def test_more_bytes_are_awaited_only_where_they_can_tell():
    assert undecided(b"")
    assert undecided(b"G")
    assert undecided(b"\x16\x03")
    assert not undecided(b"\0")
    assert not undecided(b"x" * LONGEST)


def test_a_size_that_is_the_beginning_of_a_protocol():
    for protocol, starts in BEGINNINGS:
        for start in starts:
            assert spoken(int.from_bytes(start[:4].ljust(4, b"\0"), "big")) == protocol
    for size in (0, 100, 104_857_600, 2_000_000_000):
        assert spoken(size) is None
