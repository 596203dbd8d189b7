"""Capture files of every kind, whole and cut."""

import gzip
import io
import random
import subprocess
import sys
import zlib

import pytest
import zstandard
from hypothesis import given, strategies as st
from kit.traffic import (
    SECOND,
    block,
    enhanced,
    ethernet,
    interface,
    ipv4,
    option,
    packet,
    pcap_file,
    pcapng_file,
    section,
    tcp,
)

from kwire_cli.errors import InputError
from kwire_cli.source.files import PIECE
from kwire_cli.source.packets.files import captures_in, is_capture, packets
from kwire_cli.source.packets.pcap import PcapngReader, PcapReader
from kwire_cli.stores.opening import tree
from kwire_cli.structs import network
from kwire_cli.structs.network import PCAP_MICRO, PCAP_NANO, PCAPNG

FEW = [packet(ethernet(ipv4(tcp(bytes([n]) * n))), n, time=1_700_000_000 * SECOND + n * 1000) for n in range(1, 6)]


def read(data):
    source = packets(io.BytesIO(data))
    return list(source), source.notices


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic", [PCAP_MICRO, PCAP_NANO])
def test_pcap(order, magic):
    made = [each._replace(time=each.time + (7 if magic == PCAP_NANO else 0)) for each in FEW]
    assert read(pcap_file(made, order, magic)) == (made, [])


@pytest.mark.parametrize("order", "<>")
def test_pcapng(order):
    assert read(pcapng_file(FEW, order)) == (FEW, [])


def test_frame_check_sequence_bits_are_no_link_type():
    assert read(pcap_file(FEW, link=0xF0000001))[0] == FEW


@pytest.mark.parametrize("length", [1 << 18 | 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_absurd_length_ends_reading_at_once(length):
    data = pcap_file(FEW[:2])
    record = network.PCAP["<"].record.build(
        {"seconds": 1, "fraction": 0, "captured_length": length, "original_length": length}
    )
    got, notices = read(data + record + bytes(3 * PIECE))
    assert got == FEW[:2]
    assert notices == [(f"packet 3 says that it is {length} bytes long; reading stops before it", len(data), 2)]


@pytest.mark.parametrize("make", [pcap_file, pcapng_file])
def test_cut_at_every_byte(make):
    data = make(FEW)
    ends = [len(make(FEW[:n])) for n in range(len(FEW) + 1)]
    for cut in range(1, len(data)):
        if cut < 4:
            with pytest.raises(InputError):
                read(data[:cut])
            continue
        got, notices = read(data[:cut])
        whole = sum(end <= cut for end in ends[1:])
        assert got == FEW[:whole]
        at_boundary = cut in ends or (make is pcapng_file and cut == len(section("<")))
        assert len(notices) == (not at_boundary)
        assert all(notice.packet == whole and "ends in the middle" in notice.text for notice in notices)


@given(st.lists(st.integers(1, 40), max_size=40), st.sampled_from([pcap_file, pcapng_file]))
def test_fed_in_pieces_of_any_size(sizes, make):
    data, at, got = make(FEW), 0, []
    reader = PcapReader() if make is pcap_file else PcapngReader()
    for size in sizes:
        got += reader.feed(data[at : at + size])
        at += size
    assert got == FEW[: len(got)]
    assert not reader.notices
    got += reader.feed(data[at:])
    reader.close()
    assert got == FEW
    assert not reader.notices


def test_sections_interfaces_and_resolutions():
    ticks = 3 << 32 | 5
    second = SECOND
    offset = option("<", network.OPTION_TSOFFSET, (77).to_bytes(8, "little"))
    resolutions = [
        (b"", ticks * 1000),
        (option("<", network.OPTION_TSRESOL, b"\x09"), ticks),
        (option("<", network.OPTION_TSRESOL, b"\x03") + offset, ticks * 1_000_000 + 77 * second),
        (option("<", network.OPTION_TSRESOL, b"\x94"), ticks * second >> 20),
        (option("<", network.OPTION_TSRESOL, b"\x0c"), ticks // 1000),
        (option("<", network.OPTION_TSRESOL, b"\x7f") + option("<", network.OPTION_END, b""), 0),
    ]
    data = section("<") + b"".join(
        interface("<", link=100 + n, options=options) for n, (options, _) in enumerate(resolutions)
    )
    data += b"".join(enhanced("<", FEW[0], n, ticks) for n in range(len(resolutions)))
    data += block("<", 0xBAD, bytes(40)) + block("<", 5, bytes(12))
    data += section(">") + interface(">", link=7) + enhanced(">", FEW[1])
    got, notices = read(data)
    assert [(each.link, each.time) for each in got[:-1]] == [(100 + n, time) for n, (_, time) in enumerate(resolutions)]
    assert got[-1] == FEW[1]._replace(number=len(got), link=7)
    assert notices == []


@pytest.mark.parametrize("order", "<>")
def test_simple_and_obsolete_packets(order):
    data = FEW[4].data
    simple = PCAPNG[order].simple.build({"original_packet_length": 2000}) + data[:32]
    header = {
        "interface_id": 0,
        "drops_count": 0,
        "timestamp_upper": 0,
        "timestamp_lower": 5,
        "captured_packet_length": len(data),
    }
    obsolete = PCAPNG[order].obsolete.build(header | {"original_packet_length": 70}) + data
    file = section(order) + interface(order, snap_length=30) + block(order, network.SIMPLE_PACKET_BLOCK, simple)
    got, notices = read(file + block(order, network.OBSOLETE_PACKET_BLOCK, obsolete))
    assert got == [(1, None, 1, data[:30], 2000), (2, 5000, 1, data, 70)]
    assert notices == []


def test_blocks_with_nonsense_in_them_are_passed_over():
    unknown = enhanced("<", FEW[1], interface_id=3)
    body = enhanced("<", FEW[1])[8:28]
    too_long = block("<", network.ENHANCED_PACKET_BLOCK, body)
    file = (
        section("<")
        + interface("<")
        + unknown
        + too_long
        + block("<", network.INTERFACE_BLOCK, b"")
        + enhanced("<", FEW[0])
    )
    got, notices = read(file)
    assert got == [FEW[0]._replace(number=3)]
    assert len(notices) == 1


def test_lost_framing_ends_reading():
    good = section("<") + interface("<") + enhanced("<", FEW[0])
    broken = bytearray(enhanced("<", FEW[1]))
    broken[-1] ^= 1
    for bad, why in [
        (bytes(broken), "two lengths differ"),
        (PCAPNG["<"].block.build({"type": 6, "total_length": 30}), "30 bytes"),
        (PCAPNG["<"].block.build({"type": 77, "total_length": 8}), "8 bytes"),
        (PCAPNG["<"].block.build({"type": 6, "total_length": 0x7FFFFFFC}), "2147483644 bytes"),
        (section("<")[:8] + bytes(20), "byte order mark"),
    ]:
        got, notices = read(good + bad + good)
        assert got == FEW[:1]
        assert why in notices[0].text
        assert notices[0].position == len(good)
        assert len(notices) == 1


def test_a_huge_unknown_block_is_skipped_without_keeping_it():
    size = 1 << 30
    reader = PcapngReader()
    assert (
        reader.feed(section("<") + interface("<") + PCAPNG["<"].block.build({"type": 77, "total_length": size})) == []
    )
    left = size - 8
    piece = bytes(1 << 24)
    while left:
        assert reader.feed(piece[:left]) == []
        left -= len(piece[:left])
    assert reader.feed(enhanced("<", FEW[0])) == FEW[:1]
    assert reader.notices == []


PACKINGS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "members": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]) + bytes(9),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "frames": lambda data: (
        zstandard.compress(data[:50]) + zstandard.ZstdCompressor(write_checksum=True).compress(data[50:])
    ),
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("make", [pcap_file, pcapng_file])
def test_packed(packing, make, tmp_path):
    data = PACKINGS[packing](make(FEW))
    assert read(data) == (FEW, [])
    path = tmp_path / "capture"
    path.write_bytes(data)
    assert list(packets(path)) == list(packets(str(path))) == FEW
    with path.open("rb") as file:
        assert list(packets(file)) == FEW
        assert not file.closed
    assert is_capture(data)


@pytest.mark.parametrize("packing", PACKINGS)
def test_cut_packing(packing):
    many = [packet(random.Random(n).randbytes(300), n) for n in range(1, 3000)]
    data = PACKINGS[packing](pcap_file(many))
    for cut in [len(data) // 2, len(data) - 20]:
        got, notices = read(data[:cut])
        assert got == many[: len(got)]
        assert len(many) // 3 < len(got) < len(many) or cut > len(data) // 2
        assert notices


@pytest.mark.parametrize("packing", ["gzip", "members", "zstd", "frames"])
def test_damaged_packing(packing):
    many = [packet(bytes([n % 7]) * 200 + random.Random(n).randbytes(100), n) for n in range(1, 3000)]
    data = bytearray(PACKINGS[packing](pcap_file(many)))
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
    got, notices = read(bytes(data))
    assert notices
    assert got[:1000] == many[:1000]


def test_a_bomb_is_unpacked_in_pieces():
    start = pcap_file(FEW)
    record = network.PCAP["<"].record.build({"seconds": 0, "fraction": 0, "captured_length": 0, "original_length": 0})
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(start + record * 60_000) + packer.flush()
    assert len(bomb) < 10_000
    source = packets(io.BytesIO(bomb))
    assert max(len(batch) for batch in source.batches()) <= PIECE // 16 + 5


def test_a_pipe_gives_packets_before_it_ends():
    program = (
        "import sys,time; out=sys.stdout.buffer; out.write(bytes.fromhex(sys.argv[1])); out.flush(); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, pcap_file(FEW).hex()], stdout=subprocess.PIPE) as process:
        got = packets(process.stdout).batches()
        assert next(got) == FEW
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty"),
        (b"\xd4\xc3", "4 bytes"),
        (b"hello world", "neither pcap nor pcapng: it begins with 68 65 6c 6c"),
        (gzip.compress(b"hello world", mtime=0), "neither"),
        (zstandard.compress(b"hello world"), "neither"),
        (gzip.compress(b"", mtime=0), "empty"),
    ],
)
def test_no_capture(data, what):
    with pytest.raises(InputError, match=what):
        read(data)
    assert not is_capture(data)


def test_errors_name_the_file(tmp_path):
    with pytest.raises(InputError, match="nosuch"):
        list(packets(tmp_path / "nosuch"))
    with pytest.raises(InputError, match="cannot be read"):
        list(packets(tmp_path))
    (tmp_path / "text").write_text("some text")
    with pytest.raises(InputError, match="text: neither"):
        list(packets(tmp_path / "text"))


def test_files_that_are_no_captures(tmp_path):
    (tmp_path / "note.txt").write_text("nothing")
    assert captures_in(tree(tmp_path)) == []
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "within").mkdir()
    (tmp_path / "within" / "unnamed").write_bytes(pcap_file(FEW))
    found = captures_in(tree(tmp_path))
    assert found == [str(tmp_path / "empty.pcap"), str(tmp_path / "within" / "unnamed")]
