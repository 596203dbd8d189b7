"""Frames read many at once cost what they cost one by one, whatever is odd between them."""

import random
from collections import Counter
from pathlib import Path

import packets as make
import pytest
from damage import packet_of

pytest.importorskip("numba")
pytest.importorskip("pyarrow")

import kwire_cli as kwire
from kwire_cli.cost.ledger import ledger
from kwire_cli.engine.field_rows import field_sums
from kwire_cli.message.plain import Layouts
from kwire_cli.source.capture.descriptors import described, runs
from kwire_cli.source.capture.files import packets
from kwire_cli.source.capture.replay import Replay
from kwire_cli.source.capture.schedule import outlined, schedule
from kwire_cli.source.capture.segments import Segments
from kwire_cli.source.kafka import quick_frames
from kwire_cli.source.kafka.names import Names
from kwire_cli.source.kafka.quick_frames import Frames, frames_between
from kwire_cli.source.kafka.traffic import traffic

pytestmark = pytest.mark.numba

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir())
REAL = Path(__file__).resolve().parents[4] / "shared" / "real"
CATALOG = kwire.catalog()
LAYOUTS = Layouts(CATALOG)


def replays(path, size):
    plan = schedule([outlined(str(path), size)])
    rows = {}
    for part in plan.parts:
        for each in described(part):
            rows.setdefault(each.ends, []).append(each)
    for ends, found in rows.items():
        yield lambda ends=ends, found=found: Replay(ends, runs(found, plan.files, 1), plan.last)


def bodies(line, out):
    """The ledger of a line's body, and its bytes in all."""
    out[line.kind, line.api, line.api_version, "bytes"] += line.seen.size
    if line.frame and line.frame.body and not line.frame.guess:
        for row in ledger(line.frame.body):
            out[line.kind, line.api, line.api_version, row.path] += row.prefix_bytes + row.value_bytes


def one_by_one(path, size):
    out = Counter()
    for replay in replays(path, size):
        again = replay()
        for line in traffic(CATALOG, again, waiting_since=again.waiting_since, names=Names(), layouts=LAYOUTS):
            bodies(line, out)
    return +out


def at_once(path, size):
    out, many = Counter(), 0
    for replay in replays(path, size):
        for found in frames_between(replay(), LAYOUTS):
            for each in found:
                if not isinstance(each, Frames):
                    bodies(each, out)
                    continue
                many += len(each.walk.jobs)
                key = each.layout.kind, each.layout.api, each.layout.version
                out[*key, "bytes"] += len(each.front) * len(each.walk.jobs) + int((each.walk.jobs[:, 2] - each.walk.jobs[:, 1]).sum())
                for row in field_sums(each.walk).to_pylist():
                    out[*key, row["path"]] += row["prefix_bytes"] + row["value_bytes"]
    return +out, many


@pytest.fixture(params=[1, 8, 48])
def fewest(request, monkeypatch):
    monkeypatch.setattr(quick_frames, "FEWEST", request.param)
    monkeypatch.setattr(quick_frames, "_STEP", min(request.param, 32))


def check(path, *sizes):
    total = 0
    for size in sizes:
        found, many = at_once(path, size)
        assert found == one_by_one(path, size)
        total += many
    return total


@pytest.mark.usefixtures("fewest")
def test_samples():
    assert sum(check(path, 3000, 1 << 20) for path in SAMPLES) > 30


@pytest.mark.shared
@pytest.mark.usefixtures("fewest")
def test_real_captures():
    assert sum(check(path, 1 << 20) for path in sorted(REAL.glob("**/*.pcap*"))) > 300


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("seed", range(6))
def test_segments_lost_repeated_and_swapped(tmp_path, seed):
    """Long in order, now and then not: from one way to the other and back."""
    dice = random.Random(seed)
    out = []
    for segment in Segments()(packets(SAMPLES[seed % 3])):
        chance = dice.random() * 8
        out += [segment] * (0 if chance < 0.04 else 2 if chance < 0.15 else 1)
        if 0.9 < chance < 1 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
        if chance > 7.9 and len(segment.payload) > 9:
            out[-1:] = [segment._replace(payload=segment.payload[:5]), segment._replace(payload=segment.payload[5:], sequence=segment.sequence + 5)]
    path = tmp_path / "made.pcap"
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(out, 1)]))
    check(path, 4000, 1 << 20)


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("seed", range(4))
def test_wrong_bytes(tmp_path, seed):
    """Sizes, keys and correlation ids that are none."""
    dice = random.Random(seed)
    segments = list(Segments()(packets(SAMPLES[seed % 3])))
    for _ in range(6):
        at = dice.randrange(len(segments))
        if payload := bytearray(segments[at].payload):
            payload[dice.randrange(min(len(payload), 24))] ^= 1 << dice.randrange(8)
            segments[at] = segments[at]._replace(payload=bytes(payload))
    path = tmp_path / "made.pcap"
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))
    check(path, 1 << 20)
