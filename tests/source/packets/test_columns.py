"""Packets and segments as columns, whatever the parts: what the readers give that take them one by one."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.traffic import (
    FOUR,
    LINKS,
    SECOND,
    block,
    enhanced,
    ethernet,
    fragment_header,
    interface,
    ipv4,
    ipv6,
    option,
    packet,
    pcap_file,
    section,
    tcp,
    udp,
)

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import NO_TIME, Segment, turned
from kwire_cli.source.packets.parts import PartReader, outline
from kwire_cli.source.packets.segment_columns import segment_columns
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs import network
from kwire_cli.structs.network import PCAP_MICRO, PCAP_NANO, PCAPNG

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir())
OWN = sorted((Path(__file__).resolve().parents[4] / "shared" / "real").glob("**/*.pcap*"))


def by_columns(path, size=1 << 20, most=50):
    """What `packets` and `Segments` give, from columns."""
    found = outline(path, size)
    exact, numbers, made, notices = Segments(), [], [], []
    for part in found.parts:
        reader = PartReader(part, most)
        for data, columns in reader.chunks():
            numbers += columns.number.tolist()
            segments = segment_columns(data, columns, exact)
            assert [row for _, rows in segments.by_group() for row in sorted(rows["packet"].tolist())] == [
                row for _, rows in segments.by_group() for row in rows["packet"].tolist()
            ]
            for row, group in zip(segments.rows, segments.group.tolist(), strict=True):
                number, time, position, sequence, acknowledgment, length, missing, flags, direction = row.tolist()
                ends = turned(segments.keys[group]) if direction else segments.keys[group]
                payload = data[position : position + length].tobytes()
                time = None if time == NO_TIME else time
                made.append(Segment(number, time, ends, sequence, acknowledgment, flags, payload, missing))
        notices += reader.notices
    assert found.packets in {None, len(numbers)}
    return numbers, made, notices


def one_by_one(path):
    source = packets(path)
    found = list(source)
    # No date is so late.
    found = [each if (each.time or 0) < 1 << 63 else each._replace(time=None) for each in found]
    return [packet.number for packet in found], list(Segments()(found)), source.notices


def check(path, *sizes):
    for size in sizes or (1 << 20, 900):
        assert by_columns(path, size) == one_by_one(path)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path):
    check(path)


def test_windows_of_0():
    check(SAMPLES[0].parents[1] / "incidents" / "window.pcap")


@pytest.mark.slow  # all real captures
@pytest.mark.shared
def test_real_captures():
    assert OWN
    for path in OWN:
        check(path, 1 << 20, 20_000)


def test_packed_files(tmp_path):
    for path in SAMPLES[:2]:
        made = tmp_path / "made.gz"
        made.write_bytes(gzip.compress(path.read_bytes()))
        check(made)
        made.write_bytes(made.read_bytes()[:-2000])
        check(made)


SIX = tcp(b"and to you", options=bytes(12))
FRAMES = [
    *((link, data) for data, link in LINKS.values()),
    (network.LINK_ETHERNET, ethernet(ipv4(SIX, total_length=4000))),
    (network.LINK_ETHERNET, ethernet(ipv4(SIX, total_length=30))),
    (network.LINK_ETHERNET, ethernet(ipv4(udp(b"no", 53), protocol=network.PROTOCOL_UDP))),
    (network.LINK_ETHERNET, ethernet(b"arp", 0x0806)),
    (network.LINK_ETHERNET, b""),
    (network.LINK_ETHERNET, ethernet(ipv4(SIX, flags_and_fragment_offset=network.IPV4_MORE_FRAGMENTS))),
    (network.LINK_ETHERNET, ethernet(ipv6(fragment_header(6, 8, more=False) + SIX, network.IPV6_FRAGMENT), 0x86DD)),
    (147, FOUR),
]
PACKETS = st.lists(
    st.tuples(st.sampled_from(FRAMES), st.integers(0, 1 << 31), st.none() | st.integers(0, 120)),
    max_size=30,
)


def packets_of(chosen, kind=None):
    made = []
    for number, ((each, data), time, cut) in enumerate((row for row in chosen if kind in {None, row[0][0]}), 1):
        made.append(
            packet(data if cut is None else data[:cut], number, link=each, time=time * SECOND + 1000, length=len(data))
        )
    return made


@given(
    chosen=PACKETS,
    order=st.sampled_from("<>"),
    nano=st.booleans(),
    kind=st.sampled_from([network.LINK_ETHERNET, network.LINK_SLL, network.LINK_RAW_IP]),
)
def test_pcap(tmp_path_factory, chosen, order, nano, kind):
    path = tmp_path_factory.mktemp("made") / "made.pcap"
    made = packets_of(chosen, kind)
    path.write_bytes(pcap_file(made, order, PCAP_NANO if nano else PCAP_MICRO, link=kind))
    check(path)


@given(
    chosen=PACKETS,
    order=st.sampled_from("<>"),
    options=st.sampled_from([b"", b"\6", b"\x09", b"\x8a", b"\x03", b"\x0c"]),
)
def test_pcapng(tmp_path_factory, chosen, order, options):
    path = tmp_path_factory.mktemp("made") / "made.pcapng"
    kinds = sorted({kind for kind, _ in FRAMES})
    code = option(order, network.OPTION_TSRESOL, options) if options else b""
    parts = [section(order), *(interface(order, kind, options=code) for kind in kinds)]
    for number, each in enumerate(packets_of(chosen)):
        parts.append(enhanced(order, each, kinds.index(each.link)))
        if number % 7 == 3:
            simple = PCAPNG[order].simple.build({"original_packet_length": len(each.data)}) + each.data
            parts += [
                block(order, network.SIMPLE_PACKET_BLOCK, simple),
                block(order, 0x0BAD, b"not read"),
                interface(order, 1),
            ]
        if number % 11 == 10:
            order = "<" if order == ">" else ">"
            parts += [section(order), *(interface(order, kind) for kind in kinds)]
    path.write_bytes(b"".join(parts))
    check(path)


@given(data=st.data(), cut=st.integers(0, 40_000), value=st.binary(max_size=40), which=st.sampled_from(SAMPLES))
def test_damage(tmp_path_factory, data, cut, value, which):
    whole = which.read_bytes()[:20_000]
    at = data.draw(st.integers(0, len(whole)))
    path = tmp_path_factory.mktemp("made") / "made"
    path.write_bytes((whole[:at] + value + whole[at + len(value) :])[:cut])
    try:
        expected = one_by_one(path)
    except InputError:
        with pytest.raises(InputError):
            by_columns(path)
        return
    if expected[2] and "file's header" in expected[2][0].text:
        return  # the columns' reader says so by an error
    assert by_columns(path) == expected
    numbers, made, notices = by_columns(path, 900)
    assert (numbers, made, [notice.text for notice in notices]) == (
        *expected[:2],
        [notice.text for notice in expected[2]],
    )
