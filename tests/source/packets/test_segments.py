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
    mpls,
    packet,
    tcp,
    udp,
    vxlan,
)

from kwire_cli.source.packets.model import endpoints
from kwire_cli.source.packets.segments import LIMIT, MAX_NESTING, Segments
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
        (ethernet(mpls(bytes(40), 2), 0x8847), "mpls"),
        (ethernet(mpls(b"", 2)[:6], 0x8847), "headers cut off"),
        (ethernet(bytes(28), 0x1234), "ethertype 0x1234"),
        (ethernet(bytes(28), 100), "llc"),
        (ethernet(ipv4(udp(b"x", 53), 17)), "udp"),
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


def test_nesting_is_bounded():
    data = FOUR
    for _ in range(MAX_NESTING - 1):
        data = ipv4(data, 4)
    assert one(ethernet(data))[0].payload == HELLO
    assert one(ethernet(ipv4(data, 4))) == (None, {"nested too deep": 1})


def test_captured_beyond_the_wire_length():
    assert one(ethernet(FOUR), length=20)[0].payload == HELLO


def fragments4(payload, size=16, identification=7):
    whole = tcp(payload)
    for at in range(0, len(whole), size):
        more = network.IPV4_MORE_FRAGMENTS if at + size < len(whole) else 0
        yield ethernet(
            ipv4(whole[at : at + size], identification=identification, flags_and_fragment_offset=at // 8 | more)
        )


def fragments6(payload, size=16, identification=7):
    whole = tcp(payload)
    for at in range(0, len(whole), size):
        head = fragment_header(6, at, more=at + size < len(whole), identification=identification)
        yield ethernet(ipv6(head + whole[at : at + size], 44), network.ETHER_IPV6)


@given(st.randoms(use_true_random=False), st.sampled_from([fragments4, fragments6]), st.booleans())
def test_fragments_in_any_order(random, cut, repeat):
    payload = bytes(range(100))
    frames = list(cut(payload)) * (2 if repeat else 1)
    random.shuffle(frames)
    read = Segments()
    got = list(read(packet(frame, n) for n, frame in enumerate(frames, 1)))
    assert got
    assert {segment.payload for segment in got} == {payload}
    assert read.other["ip fragment"] == len(frames) - len(got)
    assert repeat or (read.fragments.incomplete, read.other.total()) == (0, read.fragments.joined)
    assert read.fragments.differing == 0


def test_fragments_that_overlap_and_differ():
    payload = bytes(100)
    frames = list(fragments4(payload))
    other = ethernet(ipv4(b"\xff" * 16, identification=7, flags_and_fragment_offset=4 | network.IPV4_MORE_FRAGMENTS))
    read = Segments()
    got = list(read(packet(frame) for frame in [*frames[:3], other, *frames[3:]]))
    assert [segment.payload for segment in got] == [payload]
    assert read.fragments.differing == 1


@pytest.mark.slow
def test_missing_fragments_are_counted_and_memory_is_bounded():
    read = Segments()
    for n in range(60_000):
        frame = next(iter(fragments4(bytes(1400), 1400, identification=n & 0xFFFF)))
        assert list(read([packet(frame)])) == []
    assert read.fragments._held <= LIMIT
    assert len(read.fragments._parts) < 4000
    read.fragments.close()
    assert read.fragments.incomplete == 60_000


def test_fragmented_tunnel():
    whole = vxlan(ethernet(FOUR))
    frames = [
        ethernet(
            ipv4(
                whole[at : at + 24],
                17,
                flags_and_fragment_offset=at // 8 | (network.IPV4_MORE_FRAGMENTS if at + 24 < len(whole) else 0),
            )
        )
        for at in range(0, len(whole), 24)
    ]
    assert [segment.payload for segment in Segments()(map(packet, frames))] == [HELLO]
