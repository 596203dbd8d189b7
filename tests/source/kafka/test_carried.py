"""Connections that go on in the next capture by what they carry as JSON: the lines are those of the whole capture."""

import json
import random
import sys

import pytest
from kit.captures import by_ends, new_reader, run_of
from kit.commands import ROOT
from kit.secrets import NEWEST, body_of, capture, conversation, shows

from kwire_cli.source.kafka import bulk_frames, carried
from kwire_cli.source.kafka.carried import FIRST, Carrier, go_on
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

SAMPLES = [
    *sorted((ROOT / "samples" / "captures").glob("*.pcap*")),
    ROOT / "samples" / "incidents" / "loss.pcap",
    ROOT / "samples" / "tls" / "broker.pcapng",
]


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch):
    """Read segments singly, so that all frames are lines."""
    monkeypatch.setattr(bulk_frames, "FEWEST", sys.maxsize)


def shown(lines):
    """What lines say; places in files are the caller's."""
    return [(line.kind, line.number, line.connection.key, line.to_json(records="size")) for line in lines]


def cut_at(segments, place):
    """The segments until a place, and those behind it with the packet numbers of a capture that goes on."""
    last = segments[place - 1].packet
    behind = [segment._replace(packet=segment.packet - last + FIRST) for segment in segments[place:]]
    return segments[:place], behind, last


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_cut_gives_the_lines_of_the_whole(path):
    """Also if the state is carried over another file in which the connection is idle."""
    dice = random.Random(path.stem)
    kinds = set()
    for ends, own in by_ends([*Segments()(packets(path))]).items():
        whole = new_reader(ends)
        expected = shown([*whole.take(run_of(ends, own)), *whole.close(own[-1].packet)])
        for place in {*dice.sample(range(1, len(own)), min(6, len(own) - 1))}:
            before, behind, last = cut_at(own, place)
            reader = new_reader(ends)
            carrier = Carrier(reader, shows_secrets=True)
            found = [*reader.take(run_of(ends, before))]
            carrier.took(run_of(ends, before))
            for _ in range(dice.randint(1, 2)):
                state = json.loads(json.dumps(carrier.state(last)))
                if state is None:
                    break
                kinds.add("steady" if not state.get("segments") else "segments")
                reader = new_reader(ends, names=reader.lines.watch.names)
                carrier, more = go_on(reader, state, shows_secrets=True)
                found += more
                last = FIRST
            found += [*reader.take(run_of(ends, behind))]
            found += reader.close(behind[-1].packet)
            assert without_places(shown(found)) == without_places(expected)
    assert kinds == {"steady", "segments"} or path.stem in {"broker", "not-kafka"}


def without_places(rows):
    """Lines in a file that goes on have other packets and other numbers of streams."""
    return [
        (
            kind,
            number,
            key,
            {name: value for name, value in row.items() if name not in {"frame", "packet", "requestFrame", "stream"}},
        )
        for kind, number, key, row in rows
    ]


def test_a_connection_with_too_much_unread_is_lost(monkeypatch):
    monkeypatch.setattr(carried, "MOST_BYTES", 50)
    path = ROOT / "samples" / "tls" / "broker.pcapng"
    ends, own = max(by_ends([*Segments()(packets(path))]).items(), key=lambda pair: len(pair[1]))
    reader = new_reader(ends)
    carrier = Carrier(reader)
    half = own[: len(own) // 2]
    list(reader.take(run_of(ends, half)))
    carrier.took(run_of(ends, half))
    assert carrier.state(half[-1].packet) == {"lost": True}
    assert go_on(new_reader(ends), {"lost": True})[1] == []


def test_what_is_carried_is_bounded():
    """Of all connections of the samples: as many bytes as wait, and some for each segment."""
    for path in SAMPLES:
        for ends, own in by_ends([*Segments()(packets(path))]).items():
            reader = new_reader(ends)
            carrier = Carrier(reader)
            for at in range(0, len(own), 40):
                list(reader.take(run_of(ends, own[at : at + 40])))
                carrier.took(run_of(ends, own[at : at + 40]))
                state = carrier.state(own[at].packet)
                assert len(json.dumps(state)) < 2 * carried.MOST_BYTES + 400 * carried.MOST_SEGMENTS
                if state and "segments" not in state and not state.get("lost"):
                    assert len(json.dumps(state)) < 4000


@pytest.mark.parametrize(
    ("message", "field", "version"), [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
)
def test_secrets_are_not_carried(message, field, version, tmp_path):
    """Wherever a connection is cut on which a secret goes by."""
    before, (side, frame), after = conversation(message, version, body_of(message, field, version))
    path = tmp_path / "c.pcap"
    path.write_bytes(capture([*before, (side, frame), *after]))
    for ends, own in by_ends([*Segments()(packets(path))]).items():
        for place in range(1, len(own)):
            reader = new_reader(ends)
            carrier = Carrier(reader)
            list(carrier.lines(reader.take(run_of(ends, own[:place]))))
            carrier.took(run_of(ends, own[:place]))
            assert not shows(json.dumps(carrier.state(own[place - 1].packet)))
