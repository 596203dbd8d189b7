"""Packets made of frames: their checksums are right, and reading them gives the frames."""

import io

import pytest

from kwire_cli.source.packets.conversations import Conversations
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.headers import internet_checksum
from kwire_cli.source.packets.model import Data
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Streams
from kwire_cli.source.packets.writing import Growing, PcapngWriter, PcapWriter
from kwire_cli.structs.network import LINK_ETHERNET

ENDS = [("10.0.0.1:5000", "10.0.0.2:9092"), ("[::1]:5000", "[::1]:9092"), ("client:5000", "broker:9092")]


def made(ends, frames, time=None):
    talk = Conversations()
    return [packet for to_broker, data in frames for packet in talk.packets(*ends, data, time, to_broker=to_broker)]


@pytest.mark.parametrize("ends", ENDS)
def test_streams_carry_the_frames_in_both_directions(ends):
    frames = [(True, b"a" * 10), (False, b"b" * 200_000), (True, b"c")]
    segments, streams = Segments(), Streams()
    events = [event for packet in made(ends, frames) for event in streams.feed(segments.segment(packet))]
    sides = {}
    for event in [*events, *streams.close()]:
        if isinstance(event, Data):
            sides[event.direction] = sides.get(event.direction, b"") + bytes(event.data)
    assert sorted(sides.values()) == [b"a" * 10 + b"c", b"b" * 200_000]


@pytest.mark.parametrize("ends", ENDS)
def test_checksums_are_right(ends):
    for packet in made(ends, [(True, b"odd"), (False, b"even")]):
        ip = packet.data[14:]
        if ip[0] >> 4 == 4:
            assert internet_checksum(ip[:20]) == 0
            pseudo, segment = ip[12:20] + bytes([0, 6]) + (len(ip) - 20).to_bytes(2), ip[20:]
        else:
            pseudo, segment = ip[8:40] + (len(ip) - 40).to_bytes(4) + bytes([0, 0, 0, 6]), ip[40:]
        assert internet_checksum(pseudo + segment) == 0


@pytest.mark.parametrize("writer", [lambda out: PcapWriter(out, LINK_ETHERNET), PcapngWriter])
def test_files_give_back_the_packets(writer):
    parts = []
    file = writer(Growing(parts.append))
    wanted = made(ENDS[0], [(True, b"frame")], time=1_700_000_000_123_456_789)
    for packet in wanted:
        file.add(packet, ("größe", "x" * 70_000))
    assert [*packets(io.BytesIO(b"".join(parts)))] == wanted
