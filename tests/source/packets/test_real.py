"""Real captures: what kwire puts together is what an independent, naive reading of the same file has."""

import struct
from collections import defaultdict

import pytest
from kit.commands import ROOT

from kwire_cli.source.captures import Capture
from kwire_cli.source.packets.model import Data, End, Gap, Start

SAMPLES = sorted((ROOT / "samples" / "captures").glob("*.pcap*"))
SHARED = ROOT.parent / "shared" / "real"
OWN = sorted(SHARED.glob("own/captures/*/capture.pcap*"))
OTHERS = sorted(SHARED.glob("captures/**/*.pcap*"))
ALL = [
    *(pytest.param(path, id=path.name) for path in SAMPLES),
    *(pytest.param(path, id=path.parent.name, marks=pytest.mark.shared) for path in OWN),
    *(pytest.param(path, id=f"{path.parent.name}/{path.name}", marks=pytest.mark.shared) for path in OTHERS),
]


def naive_packets(data):
    """Link type and bytes of each packet; offsets by hand, so that nothing is shared with what is tested. Little-endian
    files only.
    """
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        link, at = struct.unpack_from("<I", data, 20)[0], 24
        while at < len(data):
            size = struct.unpack_from("<I", data, at + 8)[0]
            yield link, data[at + 16 : at + 16 + size]
            at += 16 + size
        return
    links, at = [], 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 1:
            links.append(struct.unpack_from("<H", data, at + 8)[0])
        elif kind == 6:
            interface, _, _, captured = struct.unpack_from("<IIII", data, at + 8)
            yield links[interface], data[at + 28 : at + 28 + captured]
        at += size


def naive_segments(data):
    """(source, destination, sequence, flags, payload) of each TCP segment."""
    for link, frame in naive_packets(data):
        at = {1: 14, 113: 16, 276: 20}[link]
        if link == 1 and frame[12:14] == b"\x81\x00":
            at += 4
        if frame[at] >> 4 == 4:
            end, addresses, tcp = (
                at + int.from_bytes(frame[at + 2 : at + 4]),
                frame[at + 12 : at + 20],
                at + (frame[at] & 15) * 4,
            )
        else:
            end, addresses, tcp = at + 40 + int.from_bytes(frame[at + 4 : at + 6]), frame[at + 8 : at + 40], at + 40
        half = len(addresses) // 2
        source, destination = addresses[:half] + frame[tcp : tcp + 2], addresses[half:] + frame[tcp + 2 : tcp + 4]
        start = tcp + (frame[tcp + 12] >> 4) * 4
        yield source, destination, int.from_bytes(frame[tcp + 4 : tcp + 8]), frame[tcp + 13], frame[start:end]


def naive_streams(data):
    """Every direction's bytes, by its ends and how many SYNs with new numbers came before: each byte at its number, the
    first one stands.
    """
    bytes_at, turns, seen = defaultdict(dict), defaultdict(int), {}
    for source, destination, sequence, flags, payload in naive_segments(data):
        pair = frozenset((source, destination))
        if flags & 0x12 == 2 and seen.get(pair) != sequence:
            turns[pair] += 1
            seen[pair] = sequence
        stream = bytes_at[source, destination, turns[pair]]
        for n, byte in enumerate(payload):
            stream.setdefault(sequence + n + (flags >> 1 & 1), byte)
    return sorted(bytes(byte for _, byte in sorted(stream.items())) for stream in bytes_at.values() if stream)


@pytest.mark.parametrize("path", ALL)
def test_streams(path):
    data = path.read_bytes()
    capture = Capture(path)
    found = list(capture)
    delivered = defaultdict(bytes)
    for event in found:
        if isinstance(event, Data):
            delivered[event.connection, event.direction] += event.data
    assert sorted(delivered.values()) == naive_streams(data)
    assert not [event for event in found if isinstance(event, Gap)]
    assert capture.notices == []
    assert set(capture.summary) <= {"duplicate bytes"}
    payload = sum(len(segment[4]) for segment in naive_segments(data))
    assert payload == sum(map(len, delivered.values())) + sum(capture.streams.counts.values())
    assert sum(isinstance(event, Start) for event in found) == sum(isinstance(event, End) for event in found)
