"""Connections put together from descriptors of any parts of any files: the lines of a capture that is read as a
whole.
"""

import gzip
import random
import re
from functools import partial
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of, ports, replays

import kwire_cli as kwire
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.captures import Capture
from kwire_cli.source.files import Naming
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import Watch, traffic
from kwire_cli.source.packets.files import captures_in, packets
from kwire_cli.source.packets.model import Start
from kwire_cli.source.packets.points import points_of
from kwire_cli.source.packets.segments import Segments
from kwire_cli.stores.opening import tree

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir())
OWN = Path(__file__).resolve().parents[4] / "shared" / "real" / "own" / "captures"
CATALOG = kwire.catalog()


def shown(line, stream):
    document = line.to_json(records="decoded") | {"packet": line.seen.packet}  # over all files
    # A gap that nothing follows has the packet at which it was decided, of whichever connection that was.
    of_gap = ("time", "packet") if line.kind == "gap" else ()
    for name in ("frame", "requestFrame", "stream", "capture", "file", *of_gap):
        document.pop(name, None)
    return repr((stream, document))


def whole(path):
    """The lines of a capture that is read from its start, by the first packets of their connections."""
    starts = {event.connection: event.packet for event in Capture(path) if type(event) is Start}
    capture = Capture(path)
    lines = traffic(CATALOG, capture, waiting_since=capture.streams.waiting_since, again=partial(Capture, path))
    return sorted(shown(line, starts[line.stream]) for line in lines)


def together(paths, size=1500):
    """The lines of the same, put together by connection."""
    names = Names()
    found = []
    for replay in replays(paths, size):
        watch = Watch(Layouts(CATALOG), None, Names())
        watch.take([*replay()])
        watch.close()
        known = watch.names
        for kind in ("topics", "brokers", "sessions"):
            getattr(names, kind).update(getattr(known, kind))
        found.append(replay())
    lines = []
    for replay in found:
        own = Names(dict(names.topics), dict(names.brokers), dict(names.sessions))
        lines += [
            shown(line, replay.starts[line.stream])
            for line in traffic(CATALOG, replay, waiting_since=replay.streams.waiting_since, names=own)
        ]
    return sorted(lines)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path):
    expected = whole(path)
    assert together([path]) == expected
    assert together([path], 1 << 20) == expected


@pytest.mark.slow  # all real captures of our own
@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["client-franz-go", "client-librdkafka", "java44-produce-consume", "sweep39-controller", "not-kafka"]
)
def test_own_captures(name):
    path = OWN / name / "capture.pcapng"
    assert together([path], 20_000) == whole(path)


def hurt(segments, seed):
    """Segments repeated, swapped and lost."""
    dice = random.Random(seed)
    out = []
    for segment in segments:
        chance = dice.random()
        if chance < 0.05:
            continue
        out.append(segment)
        if chance < 0.15:
            out.append(segment)
        if chance > 0.9 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
    return [
        segment._replace(packet=number, time=(1 << 60) + number * 1_000_000) for number, segment in enumerate(out, 1)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_rotated_files_with_damage_are_one_capture(tmp_path, seed):
    segments = hurt(Segments()(packets(SAMPLES[1])), seed)
    made = [packet_of(segment, number) for number, segment in enumerate(segments, 1)]
    one = tmp_path / "one.pcap"
    one.write_bytes(make.pcap_file(made))
    rotated = []
    for number, start in enumerate(range(0, len(made), 17)):
        rotated.append(tmp_path / f"{number:03}.pcap")
        rotated[-1].write_bytes(make.pcap_file(made[start : start + 17]))
    random.Random(seed).shuffle(rotated)
    expected = whole(one)
    assert together([one], 700) == expected
    assert together(rotated) == expected


def test_captures_of_two_machines_are_merged_by_time(tmp_path):
    segments = list(Segments()(packets(SAMPLES[1])))
    made = [
        packet_of(segment._replace(time=(1 << 60) + number * 1_000_000), number)
        for number, segment in enumerate(segments, 1)
    ]
    one = tmp_path / "one.pcap"
    one.write_bytes(make.pcap_file(made))
    both = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for side, path in enumerate(both):
        ways = (ports(segment)[0] > ports(segment)[1] for segment in segments)
        path.write_bytes(make.pcap_file([each for each, way in zip(made, ways, strict=True) if way == side]))
    assert [len(point.chains) for point in points_of([str(path) for path in both], Naming())] == [2]

    def without_packets(lines):
        return sorted(re.sub(r"^\(\d+|'packet': \d+", "", line) for line in lines)

    assert without_packets(together(both)) == without_packets(whole(one))
    packed = [path.with_suffix(".pcap.gz") for path in both]
    for path, plain in zip(packed, both, strict=True):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    assert [len(point.chains) for point in points_of([str(path) for path in packed], Naming())] == [2]
    assert without_packets(together(packed)) == without_packets(whole(one))


def test_files_that_are_no_captures(tmp_path):
    (tmp_path / "note.txt").write_text("nothing")
    assert captures_in(tree(tmp_path)) == []
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "within").mkdir()
    (tmp_path / "within" / "unnamed").write_bytes(SAMPLES[0].read_bytes())
    found = captures_in(tree(tmp_path))
    assert found == [str(tmp_path / "empty.pcap"), str(tmp_path / "within" / "unnamed")]
