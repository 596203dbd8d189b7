"""Frames read many at once cost what they cost one by one, whatever is odd between them."""

import random
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from kit.captures import file_of, replays

import kwire_cli as kwire
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.lake.line_walks import Spent
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.kafka import bulk_frames
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.tls.decryption import blocks_of

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir())
REAL = Path(__file__).resolve().parents[4] / "shared" / "real"
CATALOG = kwire.catalog()
LAYOUTS = Layouts(CATALOG)
FEWEST = (1, 8, 48)
"""Frames in a row from which on they are read together."""


def replays_of(path, size):
    keys = path.with_suffix(".keys")
    return replays([path], size, blocks_of([str(keys)]) if keys.exists() else ())


def one_by_one(path, size):
    """What `kwire overhead` counts of the lines, for each api, kind and version."""
    found = defaultdict(lambda: Costs(CATALOG, ()))
    for replay in replays_of(path, size):
        again = replay()
        for line in traffic(CATALOG, again, waiting_since=again.streams.waiting_since, names=Names()):
            found[line.api, line.kind, line.api_version].add(line)
    out = Counter()
    for key, costs in found.items():
        for row in costs.ledger.rows():
            out.update(_sums((*key, row.path), row.prefix_bytes, row.value_bytes, row.count))
    return +out


def at_once(path, size):
    """The same as the table `costs` has it, and how many frames were read together."""
    many, spent = 0, Spent(CATALOG)
    for replay in replays_of(path, size):
        own = replay()
        reader = EndsReader(own.ends, LAYOUTS, None, Names(), own.origin, own.tls)
        for found in (*chain.from_iterable(map(reader.take, own.runs)), *reader.close(own.last)):
            for frames in found.frames if isinstance(found, Stretch) else ():
                many += len(frames.which)
                spent.frames(frames, np.zeros(len(frames.which), np.int64), np.zeros(1, np.int64))
            if not isinstance(found, Stretch):
                spent.line(0, found)
    out = Counter()
    for *key, prefix, value, count in zip(*spent.close()[1].to_pydict().values(), strict=True):
        out.update(_sums(tuple(key), prefix, value, count))
    return +out, many


def _sums(key, prefix, value, count):
    """Rows without bytes are of no interest: they say that something empty was there."""
    return {(*key, "prefix"): prefix, (*key, "value"): value, (*key, "count"): count} if prefix or value else {}


def reading(path, size, fewest):
    """What is counted at once if so few frames in a row are read together, and how many of them were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_frames, "FEWEST", fewest)
        patch.setattr(bulk_frames, "_STEP", min(fewest, 32))
        return at_once(path, size)


def check(path, *sizes):
    """How many frames were read together, by the fewest for which that is done."""
    total = Counter()
    for size in sizes:
        expected = one_by_one(path, size)
        for fewest in FEWEST:
            found, many = reading(path, size, fewest)
            assert found == expected, (path, size, fewest)
            total[fewest] += many
    return total


@pytest.mark.slow
def test_samples():
    together = sum((check(path, 3000, 1 << 20) for path in SAMPLES), Counter())
    assert {*together} == {*FEWEST}
    assert all(many > 30 for many in together.values())


@pytest.mark.slow
def test_tls():
    for path in (SAMPLES[0].parent.parent / "tls").glob("*.pcapng"):
        check(path, 3000, 1 << 20)
        requested = {key[0] for key in at_once(path, 1 << 20)[0] if key[1] == "request"}
        assert requested & {"ApiVersions", "SaslHandshake"}


@pytest.mark.slow
@pytest.mark.shared
def test_real_captures():
    together = sum((check(path, 1 << 20) for path in sorted(REAL.glob("**/*.pcap*"))[::3]), Counter())
    assert {*together} == {*FEWEST}
    assert all(many > 100 for many in together.values())


@pytest.fixture
def written(tmp_path):
    """Write a capture of segments, and return its path."""

    def write(segments):
        (tmp_path / "made.pcap").write_bytes(file_of(segments))
        return tmp_path / "made.pcap"

    return write


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_segments_lost_repeated_and_swapped(written, seed):
    """Long in order, now and then not: from one way to the other and back."""
    dice = random.Random(seed)
    out = []
    for segment in Segments()(packets(SAMPLES[seed % 3])):
        chance = dice.random() * 8
        out += [segment] * (0 if chance < 0.04 else 2 if chance < 0.15 else 1)
        if 0.9 < chance < 1 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
        if chance > 7.9 and len(segment.payload) > 9:
            out[-1:] = [
                segment._replace(payload=segment.payload[:5]),
                segment._replace(payload=segment.payload[5:], sequence=segment.sequence + 5),
            ]
    check(written(out), 4000, 1 << 20)


@pytest.mark.parametrize("seed", range(4))
def test_wrong_bytes(written, seed):
    """Sizes, keys and correlation ids that are none."""
    dice = random.Random(seed)
    segments = list(Segments()(packets(SAMPLES[seed % 3])))
    for _ in range(6):
        at = dice.randrange(len(segments))
        if payload := bytearray(segments[at].payload):
            payload[dice.randrange(min(len(payload), 24))] ^= 1 << dice.randrange(8)
            segments[at] = segments[at]._replace(payload=bytes(payload))
    check(written(segments), 1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_frames_that_no_layout_fits(written, seed):
    """Single packets of a connection, damaged and with ends of their own: nothing around them tells what they are."""
    dice = random.Random(seed)
    out, kinds = [], set()
    for number, segment in enumerate(Segments()(packets(SAMPLES[seed % 3])), 1):
        payload = bytearray(segment.payload)
        if len(payload) > 16 and not number % 3:
            payload[dice.randrange(4, 16)] ^= dice.randrange(1, 256)
            ports = (20_000 + number).to_bytes(2) + (30_000 + number).to_bytes(2)
            out.append(segment._replace(payload=bytes(payload), ends=segment.ends[:-4] + ports))
        else:
            out.append(segment)
    path = written(out)
    check(path, 1 << 20)
    for replay in replays_of(path, 1 << 20):
        kinds |= {line.kind for line in traffic(CATALOG, replay(), names=Names())}
    assert {key[1] for key in at_once(path, 1 << 20)[0]} == kinds
