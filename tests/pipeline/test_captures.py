"""Captures in an embedded Spark: what `kwire decode` says of them, whatever the parts, the tasks and their order."""

import gzip
import json
import random
from functools import partial
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of

import kwire_cli as kwire
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import Start
from kwire_cli.source.packets.segments import Segments

pytestmark = pytest.mark.spark

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"
TLS = SAMPLES.parent / "tls"
PYTHON = SAMPLES / "kafka-python-4.4.0.pcapng"
CATALOG = kwire.catalog()


def lines(path, key_logs=()):
    """The lines of a capture, by the packets that their connections began with."""
    starts = {event.connection: event.packet for event in Capture(path) if type(event) is Start}
    capture = Capture(path, key_logs=key_logs)
    for line in traffic(
        CATALOG, capture, waiting_since=capture.waiting_since, again=partial(Capture, path, key_logs=key_logs)
    ):
        yield starts[line.stream], line


def document_of():
    """A function that goes to tasks: what is said of a line, without numbers that are counted over all connections."""

    def document(line):
        import json

        said = line.to_json(records="decoded")
        for name in ("frame", "stream", "requestFrame"):
            said.pop(name, None)
        own = (line.software if line.is_frame else None, line.topics, line.anomalies, line.error_codes)
        request = line.request.seen.packet if line.request else None
        return json.dumps([said, own, line.stream, request], sort_keys=True)

    return document


def documents(path, key_logs=()):
    """The lines of a capture as they have to be."""
    document, out = document_of(), []
    for stream, line in lines(path, key_logs):
        line.stream = stream
        out.append(document(line))
    return sorted(out)


def shown(captures):
    """The same of captures that tasks read."""
    document = document_of()
    return sorted(text for some in captures.folded(lambda found: [*map(document, found)], list.extend) for text in some)


@pytest.fixture
def captures(spark):
    from kwire_cli.pipeline.captures import Captures

    return lambda *paths, **options: Captures(spark, [*map(str, paths)], **options)


@pytest.mark.parametrize("path", [PYTHON, SAMPLES / "midstream.pcap"], ids=lambda path: path.name)
def test_samples_are_what_one_machine_decodes(captures, path):
    assert shown(captures(path, part_size=9000, partitions=3)) == documents(path)


@pytest.mark.parametrize(
    ("name", "key_logs"), [("broker.pcapng", ["broker.keys"]), ("broker.pcapng", []), ("cases.pcapng", [])]
)
def test_tls_is_what_one_machine_decrypts(captures, name, key_logs):
    path, keys = TLS / name, [str(TLS / each) for each in key_logs]
    expected = documents(path, keys)
    assert any('"kind": "request"' in row for row in expected) == (name == "cases.pcapng" or bool(keys))
    assert shown(captures(path, part_size=9000, partitions=3, key_logs=keys)) == expected


def test_keys_in_a_packed_capture(captures, tmp_path):
    packed = tmp_path / "cases.pcapng.gz"
    packed.write_bytes(gzip.compress((TLS / "cases.pcapng").read_bytes()))
    assert shown(captures(packed)) == documents(TLS / "cases.pcapng")


def rotated(folder, seed):
    """A capture with packets repeated, swapped and lost, in one file and in many."""
    dice = random.Random(seed)
    out = []
    for segment in Segments()(packets(PYTHON)):
        chance = dice.random()
        out += [segment] * (0 if chance < 0.04 else 2 if chance < 0.15 else 1)
        if chance > 0.9 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
    made = [
        packet_of(segment._replace(time=(1 << 60) + number * 1_000_000), number)
        for number, segment in enumerate(out, 1)
    ]
    one, many = folder / "one.pcap", folder / "many"
    one.write_bytes(make.pcap_file(made))
    many.mkdir()
    names = [f"{number:03}" for number in range(len(made) // 20 + 1)]
    dice.shuffle(names)  # the order is that of the times
    for number, name in enumerate(names):
        content = make.pcap_file(made[number * 20 : number * 20 + 20])
        packed = number % 3 == 2
        (many / f"{name}.pcap{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    return one, many


def test_rotated_files_are_one_capture_whatever_the_tasks(captures, tmp_path):
    one, many = rotated(tmp_path, 3)
    expected = documents(one)
    assert shown(captures(one)) == expected

    def placeless(rows):
        """Packets of packed files are not counted beforehand."""
        found = []
        for text in rows:
            said, own, *_ = json.loads(text)
            found.append(repr(({name: said[name] for name in said if name not in {"packet", "file", "capture"}}, own)))
        return found

    for options in ({"partitions": 1}, {"partitions": 5, "part_size": 600}):
        assert sorted(placeless(shown(captures(many, **options)))) == sorted(placeless(expected))


def test_files_that_cannot_be_read_to_their_end(captures, tmp_path):
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(PYTHON.read_bytes()[:15_000])
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "none.pcap").write_bytes(b"not a capture")
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "midstream.pcap").read_bytes())[:-3000])
    found = captures(tmp_path)
    faults = {Path(fault.file).name: fault.text for fault in found.unread()}
    assert faults["cut.pcapng"] == "the file ends in the middle of a block"
    assert faults["empty.pcap"] == "the input is empty"
    assert {*faults} == {"cut.pcapng", "empty.pcap", "none.pcap", "packed.pcap.gz"}
    assert len(shown(found)) == sum(1 for path in (cut, packed) for _ in lines(path))
