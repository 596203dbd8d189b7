"""The packets that carry the lines of a capture."""

import random
from itertools import pairwise

import pytest
from kit.captures import BROKER, BROKER_KEYS, CHOSEN
from kit.traffic import Wire, ethernet, ipv4, packet, pcap_file, tcp

from kwire_cli.source.carriers import CarriedCapture
from kwire_cli.source.kafka.traffic import traffic


def carried(path):
    capture = CarriedCapture(str(path), key_logs=[str(BROKER_KEYS)])
    lines = traffic(Wire.catalog, capture, waiting_since=capture.streams.waiting_since)
    return list(capture.with_packets(lines))


@pytest.mark.parametrize("path", [*CHOSEN, BROKER], ids=lambda path: path.name)
def test_each_line_with_bytes_is_in_the_packet_that_ends_it(path):
    lines = [line for line in carried(path) if line.kind != "gap"]
    assert lines
    assert [line.number for line in lines if line.where not in line.packets] == []


@pytest.mark.parametrize("seed", range(20))
def test_packets_are_those_that_carry_bytes_of_the_frame(seed, tmp_path):
    dice = random.Random(seed)
    frames = [Wire.request("Heartbeat", 0, number, "app", groupId="g" * dice.randrange(99)) for number in range(20)]
    data = b"".join(frames)
    cuts = [0, *sorted(dice.sample(range(1, len(data)), 30)), len(data)]
    numbers = list(range(1, len(cuts)))
    made = [packet(ethernet(ipv4(tcp(data[start:stop], 1000 + start)))) for start, stop in pairwise(cuts)]
    late = dice.randrange(1, len(made) - 1)  # arrives after the packet behind it
    made[late], made[late + 1] = made[late + 1], made[late]
    numbers[late], numbers[late + 1] = numbers[late + 1], numbers[late]
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap_file([each._replace(time=number * 1000) for number, each in enumerate(made)]))
    start = 0
    lines = carried(path)
    assert len(lines) == len(frames)
    for line, frame in zip(lines, frames, strict=True):
        stop = start + len(frame)
        own = {numbers[at] for at, (begin, end) in enumerate(pairwise(cuts)) if begin < stop and end > start}
        assert {place.packet for place in line.packets} == own
        start = stop
