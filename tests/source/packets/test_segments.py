"""From packets to TCP segments: every link layer, IP in all its forms, tunnels; the quick way and the general one."""

import pytest
from hypothesis import given, strategies as st
from kit.traffic import (
    CLIENT,
    CLIENT6,
    FOUR,
    HELLO,
    LINKS,
    SERVER,
    SERVER6,
    ethernet,
    fragment_header,
    gre,
    ipv4,
    ipv6,
    packet,
    tcp,
    udp,
)

from kwire_cli.source.packets.model import Notice, endpoints
from kwire_cli.source.packets.segments import MAX_NESTING, Segments
from kwire_cli.structs import network


def one(data, link_type=network.LINK_ETHERNET, length=None):
    """The segment of one packet, read both ways, and what was counted."""
    made = packet(data, link=link_type, length=length)
    general, quick = Segments(), Segments()
    segment = general.segment(made)
    assert list(quick([made])) == ([segment] if segment else [])
    assert quick.other == general.other
    return segment, dict(general.other)


@pytest.mark.parametrize("name", LINKS)
def test_carried_by(name):
    segment, other = one(*LINKS[name])
    assert not other
    assert (segment.payload, segment.missing, segment.sequence, segment.acknowledgment, segment.flags) == (
        HELLO,
        0,
        1000,
        2000,
        network.ACK,
    )
    source, destination = endpoints(segment.ends)
    assert source in {(CLIENT, 50000), (CLIENT6, 50000)}
    assert destination == (SERVER if len(source.address) == 4 else SERVER6, 9092)
    assert (segment.packet, segment.time) == (1, 1_000_000_000)


@pytest.mark.parametrize("name", LINKS)
def test_cut_at_every_byte(name):
    """What is cut off is missing, or no segment is found; never anything else."""
    data, kind = LINKS[name]
    for cut in range(len(data)):
        segment, other = one(data[:cut], kind, len(data))
        if segment is None:
            assert sum(other.values()) == 1
        else:
            assert HELLO.startswith(segment.payload)
            assert len(segment.payload) + segment.missing == len(HELLO)


@given(st.sampled_from(sorted(LINKS)), st.integers(0, 200), st.binary(min_size=1, max_size=4))
def test_damaged_headers(name, at, noise):
    data, kind = LINKS[name]
    segment, other = one(data[:at] + noise + data[at + len(noise) :], kind)
    assert (segment is None) == (sum(other.values()) == 1)
    if segment is not None:
        assert segment.missing == 0


@given(st.binary(max_size=120), st.sampled_from([0, 1, 9, 12, 50, 101, 108, 113, 276, 999]))
def test_any_bytes(data, kind):
    one(data, kind)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (ethernet(bytes(28), 0x0806), "arp"),
        (ethernet(bytes(40), 0x8847), "mpls"),
        (ethernet(ipv4(tcp(HELLO), flags_and_fragment_offset=network.IPV4_MORE_FRAGMENTS)), "ip fragment"),
        (ethernet(ipv4(tcp(HELLO), flags_and_fragment_offset=3)), "ip fragment"),
        (ethernet(ipv6(fragment_header(6, 0, more=True) + tcp(HELLO), 44), network.ETHER_IPV6), "ip fragment"),
        (ethernet(ipv6(fragment_header(6, 8, more=False) + tcp(HELLO), 44), network.ETHER_IPV6), "ip fragment"),
        (ethernet(bytes(28), 0x1234), "ethertype 0x1234"),
        (ethernet(bytes(28), 100), "llc"),
        (ethernet(ipv4(udp(b"x", 53), 17)), "udp"),
        (ethernet(ipv4(udp(b"x", 53), 17, flags_and_fragment_offset=3)), "udp"),
        (ethernet(ipv4(udp(bytes(40), 4789), 17)), "udp"),
        (ethernet(ipv4(b"x", 1)), "icmp"),
        (ethernet(ipv4(b"x", 200)), "ip protocol 200"),
        (ethernet(ipv4(b"", 6), padded=False), "headers cut off"),
        (ethernet(ipv4(tcp(HELLO), version_and_header_length=0x43)), "malformed ip"),
        (ethernet(ipv4(tcp(HELLO), version_and_header_length=0x65)), "malformed ip"),
        (ethernet(ipv4(tcp(HELLO), total_length=19)), "malformed ip"),
        (ethernet(ipv4(gre(FOUR, 0x0800, 0x4000), 47)), "gre with routing"),
        (b"", "headers cut off"),
    ],
)
def test_everything_else_is_counted(data, kind):
    assert one(data) == (None, {kind: 1})


def test_packets_that_may_carry_tcp_are_named():
    segments = Segments()
    for data in (ethernet(bytes(40), 0x8847), ethernet(bytes(28), 0x0806), ethernet(bytes(40), 0x8847)):
        segments.segment(packet(data))
    assert segments.notices(3, 100) == [Notice("packets that kwire does not read: 2 mpls", 100, 3)]
    assert not Segments().notices(0, 0)


def test_nesting_is_bounded():
    data = FOUR
    for _ in range(MAX_NESTING - 1):
        data = ipv4(data, 4)
    assert one(ethernet(data))[0].payload == HELLO
    assert one(ethernet(ipv4(data, 4))) == (None, {"nested too deep": 1})


def test_captured_beyond_the_wire_length():
    assert one(ethernet(FOUR), length=20)[0].payload == HELLO
