"""Captures that grow by some bytes at a time: packets come once, with the numbers and the order that they have in the
whole.
"""

import gzip
import random
from pathlib import Path

import pytest

pytest.importorskip("numba")

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.parts import Part, PartReader, grown, unpacked

pytestmark = pytest.mark.numba

SAMPLES = sorted(
    path
    for path in (Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir()
    if path.suffix in {".pcap", ".pcapng"}
)


def read(part):
    reader = PartReader(part)
    return [number for _, found in reader.chunks() for number in found.number.tolist()], reader.notices


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_packets_come_once(path, tmp_path):
    data, dice, file = path.read_bytes(), random.Random(1), tmp_path / path.name
    onward, numbers, size = Part(str(file)), [], 0
    while size < len(data):
        size += dice.choice([1, 30, 900, 9000])
        file.write_bytes(data[:size])
        try:
            found = grown(onward, size)
        except InputError:
            assert size < 24
            continue
        own, notices = read(found.part)
        assert not notices
        assert len(own) == found.packets
        numbers += own
        onward = found.onward
    assert numbers == [packet.number for packet in packets(path)]
    first = next(iter(packets(path))).time
    assert grown(Part(str(file)), 1).first == (first if first is not None else -(1 << 63))


def test_some_bytes_at_a_time():
    path = SAMPLES[0]
    onward, numbers = Part(str(path)), []
    while (found := grown(onward, onward.start + 300)).packets:
        numbers += read(found.part)[0]
        onward = found.onward
    assert numbers == [packet.number for packet in packets(path)]
    again = grown(Part(str(path)), onward.start // 2, least=0)
    assert again.onward.start <= onward.start // 2
    assert grown(again.onward, onward.start).onward.packets == len(numbers)


def test_packed_files(tmp_path):
    path, file = SAMPLES[0], tmp_path / "packed.pcap.gz"
    packed = gzip.compress(path.read_bytes())
    assert unpacked(str(path)) is None
    file.write_bytes(packed)
    count = sum(1 for _ in packets(path))
    assert (unpacked(str(file)).packets, unpacked(str(file)).whole) == (count, True)
    file.write_bytes(packed[:-10])
    assert not unpacked(str(file)).whole
