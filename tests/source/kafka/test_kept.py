"""Readers that are put away and taken up again between any two segments find what is found in one go."""

import pickle
import random
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from kit.captures import Replay, by_ends, cut, lost, new_reader, repeated, run_of, shuffled

import kwire_cli as kwire
from kwire_cli.facts.columnar.frames import resolved
from kwire_cli.lake.captures import PointTables
from kwire_cli.message.known_layout import Layouts
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kafka import bulk_frames
from kwire_cli.source.kafka.bulk_frames import Stretch
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.kept import put_away, taken_up
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import ALONE
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.tls.decryption import Decryption, blocks_of

FOLDER = Path(__file__).resolve().parents[3] / "samples"
SAMPLES = sorted((FOLDER / "captures").iterdir())
CATALOG = kwire.catalog()
LAYOUTS = Layouts(CATALOG)


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch):
    """Read segments singly, so that all frames are lines."""
    monkeypatch.setattr(bulk_frames, "FEWEST", sys.maxsize)


def pieces(segments, dice, counts):
    at = 0
    while at < len(segments):
        count = dice.choice(counts)
        yield segments[at : at + count]
        at += count


def read(reader, runs, last, secrets=(), *, anew):
    """What a reader finds, with the first packet of its connection; `anew`: put away and taken up between runs."""
    names = reader.lines.watch.names
    for run in runs:
        yield from ((found, reader) for found in reader.take(run))
        if anew:
            tls = Decryption((), lambda: secrets)
            reader = taken_up(put_away(reader), LAYOUTS, names, reader.origin, tls)
    yield from ((found, reader) for found in reader.close(last))


def shown(line, start):
    document = {name: value for name, value in line.to_json(records="decoded").items() if name != "stream"}
    return start, document, line.seen.in_flight, line.software, line.anomalies


class Given:
    """Segments in memory, as a run of them."""

    def __init__(self, segments):
        self._segments = segments

    def segments(self, _ends):
        return iter(self._segments)


def at_once(ends, segments, last, secrets=()):
    replay = Replay(ends, [Given(segments)], last, secrets=secrets)
    lines = traffic(CATALOG, replay, waiting_since=replay.streams.waiting_since, names=Names())
    return [shown(line, replay.starts[line.stream]) for line in lines]


def in_pieces(ends, segments, last, dice, secrets=()):
    runs = (run_of(ends, some) for some in pieces(segments, dice, [1, 2, 5, 30]))
    found = read(new_reader(ends, secrets=secrets), runs, last, secrets, anew=True)
    return [shown(line, reader.starts[line.stream]) for line, reader in found]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_lines_are_those_of_one_go(path):
    segments = list(Segments()(packets(path)))
    for number, (ends, own) in enumerate(by_ends(segments).items()):
        expected = at_once(ends, own, segments[-1].packet)
        assert in_pieces(ends, own, segments[-1].packet, random.Random(number)) == expected


@pytest.mark.parametrize("name", ["broker", "cases"])
def test_keys_of_tls_go_on(name):
    pytest.importorskip("cryptography")
    path = FOLDER / "tls" / f"{name}.pcapng"
    keys = path.with_suffix(".keys")
    read_packets = packets(path)
    segments = list(Segments()(read_packets))
    secrets = blocks_of([str(keys)]) if keys.exists() else tuple(read_packets.secrets)
    kafka = 0
    for number, (ends, own) in enumerate(by_ends(segments).items()):
        expected = at_once(ends, own, segments[-1].packet, secrets)
        found = in_pieces(ends, own, segments[-1].packet, random.Random(number), secrets)
        assert found == expected
        kafka += sum("apiKey" in document for _, document, *_ in expected)
    assert kafka


@pytest.mark.parametrize("seed", range(6))
def test_damaged_captures_too(seed):
    dice = random.Random(seed)
    segments = list(Segments()(packets(SAMPLES[seed % len(SAMPLES)])))
    for damage, much in ((lost, 0.05), (cut, 0.05), (repeated, 0.1), (shuffled, 3)):
        segments = damage(segments, dice, much)
    segments = [segment._replace(packet=number) for number, segment in enumerate(segments, 1)]
    for ends, own in by_ends(segments).items():
        expected = at_once(ends, own, segments[-1].packet)
        # In what order lines stand that waited for others depends on what is taken together; which ones there are does
        # not.
        found = in_pieces(ends, own, segments[-1].packet, dice)
        assert sorted(map(_unnumbered, found)) == sorted(map(_unnumbered, expected))


def _unnumbered(row):
    return repr(
        ({name: value for name, value in row[1].items() if name not in {"frame", "requestFrame"}}, row[0], *row[2:])
    )


def tables_of(ends, runs, last, *, anew):
    """The rows of frames and costs, and how many frames came in stretches."""
    written = defaultdict(list)
    tables = PointTables(Redaction(CATALOG), ("frames", "costs"), lambda table, rows: written[table].append(rows))
    many = 0
    for item, reader in read(new_reader(ends, names=tables.names), runs, last, anew=anew):
        many += sum(len(each.which) for each in item.frames) if isinstance(item, Stretch) else 0
        tables.add(item, reader.origin)
    tables.flush()
    rows = [row for each in written["frames"] for row in resolved(each, tables.names).to_pylist()]
    costs = [row for each in written["costs"] for row in each.to_pylist()]
    return sorted(rows, key=lambda row: row["frame"]), sorted(costs, key=repr), many


@pytest.mark.slow
def test_stretches_go_on(monkeypatch):
    monkeypatch.setattr(bulk_frames, "FEWEST", 4)
    monkeypatch.setattr(bulk_frames, "_STEP", 2)
    total = 0
    for path in SAMPLES:
        segments = list(Segments()(packets(path)))
        for number, (ends, own) in enumerate(by_ends(segments).items()):
            some = pieces(own, random.Random(number), [3, 10, 40])
            *found, many = tables_of(ends, (run_of(ends, each) for each in some), segments[-1].packet, anew=True)
            *expected, _ = tables_of(ends, [run_of(ends, own)], segments[-1].packet, anew=False)
            assert found == expected
            total += many
    assert total > 30


def test_what_can_be_read_again_is_not_put_away():
    segments = list(Segments()(packets(SAMPLES[0])))
    ends, own = max(by_ends(segments).items(), key=lambda pair: len(pair[1]))
    reader = new_reader(ends)
    for line in reader.take(run_of(ends, own)):
        line.to_json(records="decoded")
    assert len(put_away(reader)) < 20_000


def test_nothing_else_is_taken_up():
    with pytest.raises(pickle.UnpicklingError, match="not of a connection"):
        taken_up(pickle.dumps(print), LAYOUTS, Names(), ALONE, Decryption())
