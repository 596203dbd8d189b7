"""Connections that are put away and taken up again between any two segments give the lines that they give in one go."""

import pickle
import random
from collections import defaultdict
from pathlib import Path

import pytest
from damage import cut, lost, repeated, shuffled

import kwire_cli as kwire
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.captures import Replay
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import Ongoing, taken_up, traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import turned
from kwire_cli.source.packets.segments import Segments

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "samples" / "captures").iterdir())
CATALOG = kwire.catalog()
LAYOUTS = Layouts(CATALOG)


class Given:
    """Segments in memory, as a run of them."""

    def __init__(self, segments):
        self._segments = segments

    def segments(self, _ends):
        return iter(self._segments)


def shown(line, start):
    document = {name: value for name, value in line.to_json(records="decoded").items() if name != "stream"}
    return start, document, line.seen.in_flight, line.software, line.anomalies


def at_once(ends, segments, last):
    replay = Replay(ends, [Given(segments)], last)
    lines = traffic(CATALOG, replay, waiting_since=replay.waiting_since, names=Names(), layouts=LAYOUTS)
    return [shown(line, replay.starts[line.stream]) for line in lines]


def in_pieces(segments, last, dice):
    ongoing, found, at = Ongoing(LAYOUTS, None), [], 0
    while at < len(segments):
        count = dice.choice([1, 2, 5, 30])
        found += [shown(*each) for each in ongoing.take(segments[at : at + count])]
        at += count
        ongoing = taken_up(ongoing.put_away(LAYOUTS), LAYOUTS)
    found += [shown(*each) for each in ongoing.pass_by(last)]
    return found + [shown(*each) for each in ongoing.close()]


def by_ends(segments):
    found = defaultdict(list)
    for segment in segments:
        found[min(segment.ends, turned(segment.ends))].append(segment)
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_lines_are_those_of_one_go(path):
    segments = list(Segments()(packets(path)))
    for number, (ends, own) in enumerate(by_ends(segments).items()):
        expected = at_once(ends, own, segments[-1].packet)
        assert in_pieces(own, segments[-1].packet, random.Random(number)) == expected


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
        found = in_pieces(own, segments[-1].packet, dice)
        assert sorted(map(_unnumbered, found)) == sorted(map(_unnumbered, expected))


def _unnumbered(row):
    return repr(
        ({name: value for name, value in row[1].items() if name not in {"frame", "requestFrame"}}, row[0], *row[2:])
    )


def test_what_can_be_read_again_is_not_put_away():
    segments = list(Segments()(packets(SAMPLES[0])))
    own = max(by_ends(segments).values(), key=len)
    ongoing = Ongoing(LAYOUTS, None)
    for line, _ in ongoing.take(own):
        line.to_json(records="decoded")
    assert len(ongoing.put_away(LAYOUTS)) < 20_000


def test_nothing_else_is_taken_up():
    with pytest.raises(pickle.UnpicklingError, match="not of a connection"):
        taken_up(pickle.dumps(print), LAYOUTS)
