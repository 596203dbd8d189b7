"""TCP streams, by the rules of docs/captures.md."""

import random
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings, strategies as st
from kit.commands import examples
from kit.traffic import BACK, CLIENT, ENDS, SERVER, Talk

from kwire_cli.source.packets.model import Counts, Data, End, Gap, Life, Start
from kwire_cli.source.packets.tcp import Limits, Streams
from kwire_cli.structs.network import ACK, RST, SYN

GRACE = Limits().grace


def run(segments, limits=None):
    streams = Streams(limits)
    events = [event for segment in segments for event in streams.feed(segment)]
    return events + streams.close(), streams


def text(events, direction, connection=0):
    """What a direction delivered, gaps as `-`."""
    out = b""
    for event in events:
        if isinstance(event, Data | Gap) and (event.connection, event.direction) == (connection, direction):
            out += event.data if isinstance(event, Data) else b"-" * event.size
    return out


def kinds(events):
    return [type(event).__name__ for event in events]


def gaps(events):
    return [(event.direction, event.size) for event in events if isinstance(event, Gap)]


def talk(*said, **numbers):
    """A whole connection in which the sides say things in turn."""
    talk = Talk(**numbers)
    segments = talk.handshake()
    for side, payload in said:
        segments.append(talk.segment(side, payload))
    return [*segments, *talk.goodbye()]


def numbered(segments):
    return [segment._replace(packet=n, time=n * 10) for n, segment in enumerate(segments, 1)]


SAID = [(0, b"question one"), (1, b"answer one"), (0, b"a longer "), (0, b"question"), (1, b"and "), (1, b"its answer")]


def test_a_whole_connection():
    events, streams = run(talk(*SAID))
    assert kinds(events) == ["Start", *["Data"] * 6, "End"]
    assert events[0]._replace(key=0) == Start(0, (CLIENT, 50000), (SERVER, 9092), True, 1_000_000_000, 1)
    assert events[1] == Data(0, 0, b"question one", 4_000_000_000, 4)
    assert events[2] == Data(0, 1, b"answer one", 5_000_000_000, 5)
    sides = Counts(heard=True, size=29), Counts(heard=True, size=24)
    life = Life(1, 1_000_000_000, 1, 0, 10_000_000_000, False, sides)
    assert events[-1] == End(0, "fin", 11_000_000_000, 11, life)
    assert not streams.counts


def test_the_beginning_in_any_order_decides_nothing_early():
    """A handshake and what follows it, in every order: every question before its answer, no gap."""
    segments = talk(*SAID)
    for order in permutations(range(6)):
        events, streams = run(numbered([segments[at] for at in (*order, *range(6, len(segments)))]))
        assert kinds(events) == ["Start", *["Data"] * 6, "End"], order
        assert events[0][1:4] == ((CLIENT, 50000), (SERVER, 9092), True)
        assert [event.data for event in events if isinstance(event, Data)] == [payload for _, payload in SAID], order
        assert not streams.counts


def test_wraps_at_two_to_the_32():
    for back in range(80):
        events, _ = run(talk(*SAID, client=-back, server=-back // 2))
        assert text(events, 0) == b"question onea longer question"
        assert text(events, 1) == b"answer oneand its answer"
        assert not gaps(events)


def test_waiting_since():
    t = Talk()
    streams = Streams()
    segments = numbered([*t.handshake(), t.segment(0, b"x", at=10), t.segment(0, b"y", at=20)])
    for segment in segments:
        streams.feed(segment)
    assert streams.waiting_since() == 4


def test_first_bytes_win():
    t = Talk()
    events, streams = run(
        [*t.handshake(), t.segment(0, b"CDEF", at=2), t.segment(0, b"efg", at=4), t.segment(0, b"abc", at=0)]
    )
    assert text(events, 0) == b"abCDEFg"
    assert streams.counts == {"duplicate": 3}


def test_a_loss_is_a_gap_once_acknowledged():
    t = Talk()
    segments = [*t.handshake(), t.segment(0, b"before")]
    t.segment(0, b"lost!")
    t.number += 1
    segments += [t.segment(0, b"after")._replace(packet=6, time=6_000_000_000), t.segment(1, b"answer")]
    segments += [t.segment(0) for _ in range(GRACE)]
    streams = Streams()
    events = [event for segment in segments[:-1] for event in streams.feed(segment)]
    assert text(events, 0) == b"before"
    assert text(events, 1) == b""  # it answers what is still missing
    events = list(streams.feed(segments[-1]))
    assert events[0] == Gap(0, 0, 5, 6_000_000_000, 6)
    assert [type(event) for event in events] == [Gap, Data, Data]
    assert text(events, 1) == b"answer"


def test_a_loss_at_the_tail_shows_in_what_its_sender_says_next():
    t = Talk()
    segments = [*t.handshake(), t.segment(0, b"before")]
    t.segment(0, b"lost!")
    segments += [t.segment(1, b"answer"), t.segment(0)]
    segments += [t.segment(1) for _ in range(GRACE * 2)]
    streams = Streams()
    events = [event for segment in segments for event in streams.feed(segment)]
    assert gaps(events) == [(0, 5)]
    assert text(events, 1) == b"answer"
    assert kinds(events) == ["Start", "Data", "Gap", "Data"]


def test_flush_decides_at_once():
    t = Talk()
    segments = [*t.handshake()]
    t.segment(0, b"lost!")
    segments += [t.segment(0, b"after"), t.segment(1, b"answer")]
    streams = Streams()
    events = [event for segment in segments for event in streams.feed(segment)]
    assert kinds(events) == ["Start"]
    assert kinds(streams.flush()) == ["Gap", "Data", "Data"]
    assert streams.flush() == []


@pytest.mark.parametrize("have", [0, 4])
def test_snap_length(have):
    t = Talk()
    segments = [*t.handshake(), t.segment(0, b"whole"), t.segment(0, b"full"[:have], missing=6), t.segment(0, b"rest")]
    events, streams = run([*segments, t.segment(1, b"answer")])
    assert gaps(events) == [(0, 6)]
    assert text(events, 0) == b"whole" + b"full"[:have] + b"------rest"
    assert text(events, 1) == b"answer"
    assert streams.waiting_since() is None


def test_one_way_costs_one_wait():
    t = Talk()
    whole = t.handshake()[1:2] + [t.segment(side, b"text") for _ in range(GRACE) for side in (0, 1)]
    streams = Streams()
    events = [event for segment in whole if segment.ends == BACK for event in streams.feed(segment)]
    assert text(events, 1) == b"text" * GRACE
    assert streams.waiting_since() is None


def test_reset():
    t = Talk()
    segments = [
        *t.handshake(),
        t.segment(0, b"question"),
        t.segment(1, b"text", flags=RST | ACK),
        t.segment(0, b"on its way"),
    ]
    events, streams = run(segments)
    assert kinds(events) == ["Start", "Data", "Data", "End"]
    assert events[-1].reason == "rst"
    assert streams.counts == {"reset": 4}
    other = Talk(ends=((b"other" * 2 + b"xy"), (b"rehto" * 2 + b"xy")), first=7)
    segments += [other.segment(0) for _ in range(GRACE)] + [t.segment(0, b"late")._replace(packet=GRACE + 7)]
    events, streams = run(segments)
    assert [event.reason for event in events if isinstance(event, End)] == ["rst", "end"]
    assert streams.counts == {"reset": 4, "late": 4}


def test_a_reset_that_was_none():
    t = Talk()
    segments = [*t.handshake(), t.segment(0, b"one "), t.segment(0, flags=RST), t.segment(0, b"two ")]
    segments += [t.segment(0, b"x") for _ in range(GRACE * 2)]
    events, _ = run(segments)
    assert text(events, 0) == b"one two " + b"x" * GRACE * 2
    assert events[-1].reason == "end"


def test_reused_ports():
    first, second, third = (
        talk(*SAID),
        talk(*SAID[:2], client=99_000, server=123),
        talk((0, b"third"), client=100_000_000),
    )
    events, _ = run(numbered([*first, *second, *third]))
    assert [event.connection for event in events if isinstance(event, Start)] == [0, 1, 2]
    assert [event.reason for event in events if isinstance(event, End)] == ["fin"] * 3
    assert text(events, 0, 2) == b"third"
    events, _ = run(numbered([*first[:5], *second]))
    assert [event.reason for event in events if isinstance(event, End)] == ["reused", "fin"]
    events, _ = run(numbered([*first[:5], *second[1:]]))  # its SYN was not captured
    assert [event.reason for event in events if isinstance(event, End)] == ["reused", "fin"]
    events, _ = run(numbered([*first, *Talk(3_000_000_000).handshake()[2:], Talk(3_000_000_000).segment(0, b"new")]))
    assert [event.opened for event in events if isinstance(event, Start)] == [True, False]
    assert text(events, 0, 1) == b"new"


def test_far_off_numbers():
    whole = talk((0, b"one"), (0, b"two"), (0, b"three"))
    whole[4] = whole[4]._replace(sequence=whole[4].sequence ^ 1 << 30, payload=b"")
    events, _ = run(whole)
    assert text(events, 0) == b"one---three"
    other = Talk(2_000_000_000, 7)
    events, streams = run(numbered([*whole[:4], other.segment(0, b"four"), other.segment(0, b"five")]))
    assert [event.reason for event in events if isinstance(event, End)] == ["reused", "end"]
    assert text(events, 0, 1) == b"fourfive"
    assert not streams.counts


@pytest.mark.parametrize("bit", [25, 26, 27])
def test_a_damaged_sequence_number_makes_no_large_gap(bit):
    segments = talk(*SAID)
    for at in (3, 4, len(segments) - 1):
        damaged = [*segments]
        damaged[at] = segments[at]._replace(sequence=segments[at].sequence ^ 1 << bit)
        events, streams = run(damaged)
        assert sum(size for _, size in gaps(events)) < 100
        assert not streams.has_holes


def test_late_packets_of_a_closed_connection_start_nothing():
    whole = talk(*SAID)
    events, streams = run(numbered([*whole, *whole[2:-3], whole[-1], whole[-2], whole[0]]))
    assert sum(isinstance(event, Start) for event in events) == 1
    assert streams.counts == {"late": sum(len(payload) for _, payload in SAID)}


def test_memory_of_a_direction_is_bounded():
    limits = Limits(direction=100_000)
    t = Talk()
    streams = Streams(limits)
    events = [event for segment in t.handshake() for event in streams.feed(segment)]
    t.segment(0, b"lost")
    for _ in range(5000):
        events += streams.feed(t.segment(0, b"x" * 1000))
        assert streams._delivery.held <= limits.direction
    assert gaps(events) == [(0, 4)]
    assert text(events + streams.close(), 0) == b"----" + b"x" * 5_000_000


def test_memory_of_all_is_bounded():
    limits = Limits(total=50_000)
    streams = Streams(limits)
    events = []
    for n in range(500):
        port = n.to_bytes(2)
        t = Talk(ends=(CLIENT + SERVER + port + b"\0\1", SERVER + CLIENT + b"\0\1" + port), first=n * 10 + 1)
        for segment in [*t.handshake(), t.segment(0, b"y" * 200, at=5)]:
            events += streams.feed(segment)
        assert streams._delivery.held <= limits.total
    assert sum(len(event.data) for event in events + streams.close() if isinstance(event, Data)) == 500 * 200


def test_the_number_of_connections_is_bounded():
    limits = Limits(connections=100, closed=10)
    streams = Streams(limits)
    events = []
    for n in range(3000):
        port = n.to_bytes(2)
        t = Talk(ends=(CLIENT + SERVER + port + b"\0\1", SERVER + CLIENT + b"\0\1" + port), first=n * 20 + 1)
        for segment in [*t.handshake(), t.segment(0, b"hello"), *(t.goodbye() if n % 3 else [])]:
            events += streams.feed(segment)
        assert len(streams._halves) <= 2 * (limits.connections + limits.closed)
        assert len(streams._table._closed) <= limits.closed
    events += streams.close()
    assert Counter(event.reason for event in events if isinstance(event, End))["evicted"] > 800
    assert sum(isinstance(event, Data) for event in events) == sum(isinstance(event, End) for event in events) == 3000


def check(segments, events, streams):
    """Every byte of payload is in an event or counted; each connection starts, goes on and ends in that order."""
    total = sum(len(segment.payload) for segment in segments)
    assert total == sum(len(event.data) for event in events if isinstance(event, Data)) + sum(streams.counts.values())
    assert all(event.size > 0 for event in events if isinstance(event, Gap))
    open_ones, seen = set(), 0
    for event in events:
        if isinstance(event, Start):
            assert event.connection == seen
            seen += 1
            open_ones.add(event.connection)
        assert event.connection in open_ones
        if isinstance(event, End):
            open_ones.remove(event.connection)
    assert not open_ones
    assert streams._delivery.held == 0


CONVERSATION = st.lists(st.tuples(st.integers(0, 1), st.binary(min_size=1, max_size=30)), min_size=1, max_size=25)


@given(CONVERSATION, st.randoms(use_true_random=False), st.integers(0, 2**32), st.integers(1, 20), st.booleans())
def test_shuffled_and_repeated(said, dice, start, distance, opened):
    """Packets in another order, up to a distance, some twice, some cut and joined anew: the same bytes, answers behind
    questions.
    """
    whole = talk(*said, client=start, server=start // 3)
    if not opened:
        whole = whole[3:]
    changed = []
    for segment in whole:
        changed.append(segment)
        if dice.random() < 0.3:
            changed.append(segment)
        if len(segment.payload) > 2 and dice.random() < 0.3:
            cut = dice.randrange(1, len(segment.payload))
            part = segment._replace(sequence=(segment.sequence + cut) & 0xFFFFFFFF, payload=segment.payload[cut:])
            changed.append(part)
    order = sorted(range(len(changed)), key=lambda n: n + dice.uniform(0, distance))
    segments = numbered([changed[n] for n in order])
    events, streams = run(segments)
    check(segments, events, streams)
    if sum(isinstance(event, Start) for event in events) == 1:
        side = 0 if events[0].source == (CLIENT, 50000) else 1
        for direction in (0, 1):
            assert text(events, direction ^ side) == b"".join(payload for each, payload in said if each == direction)
        order = [event.direction ^ side for event in events if isinstance(event, Data)]
        if opened and {segment.ends for segment in segments[:2] if segment.flags & SYN} != {ENDS, BACK}:
            return  # before a side is seen at all, nothing tells that it has a question
        turns = [n for n, each in enumerate(order) if not n or order[n - 1] != each]
        assert [order[n] for n in turns] == [
            each for n, (each, _) in enumerate(said) if not n or said[n - 1][0] != each
        ]
    else:
        raise AssertionError(kinds(events))


@examples(180)
@given(CONVERSATION, st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_dropped(said, dice, start):
    """Packets missing: what is delivered is in its place, gaps have the right size."""
    whole = talk(*said, client=start, server=start // 7)
    kept = numbered([segment for n, segment in enumerate(whole) if n < 3 or dice.random() < 0.8])
    events, streams = run(kept)
    check(kept, events, streams)
    for direction in (0, 1):
        sent = b"".join(payload for each, payload in said if each == direction) + b"F"  # a FIN takes a number too
        got = text(events, direction)
        assert len(got) <= len(sent)
        assert all(one in (other, ord("-")) for one, other in zip(got, sent, strict=False))


@settings(max_examples=400)  # as many in `make test`: fewer do not reach all lines
@given(CONVERSATION, st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_damaged(said, dice, start):
    """Any field of any segment wrong, anything missing, in any order: nothing is lost without a count, nothing
    raises.
    """
    segments = []
    for sent in talk(*said, *said, client=start, server=start // 3):
        segment, kind = sent, dice.randrange(12)
        if kind == 0:
            segment = segment._replace(sequence=segment.sequence ^ 1 << dice.randrange(32))
        elif kind == 1:
            segment = segment._replace(acknowledgment=segment.acknowledgment ^ 1 << dice.randrange(32))
        elif kind == 2:
            segment = segment._replace(flags=segment.flags ^ 1 << dice.randrange(8))
        elif kind == 3:
            segment = segment._replace(payload=segment.payload[:-1], missing=dice.randrange(3))
        elif kind == 4:
            continue
        segments.append(segment)
    if dice.random() < 0.5:
        dice.shuffle(segments)
    segments = numbered(segments)
    limits = Limits(
        direction=dice.choice([500, 1 << 20]),
        total=dice.choice([800, 1 << 20]),
        connections=dice.choice([1, 5]),
        closed=2,
        grace=dice.choice([1, 5, 64]),
    )
    check(segments, *run(segments, limits))


def test_the_quick_way_gives_what_the_full_one_gives():
    dice = random.Random(5)
    said = [(dice.randrange(2), dice.randbytes(dice.randrange(1, 50))) for _ in range(300)]
    segments = talk(*said)
    quick, streams = run(segments)
    slow = Streams()
    events = []
    for segment in segments:
        for half in slow._halves.values():
            half.calm = False
        events += slow.feed(segment)
    assert quick == events + slow.close()
    assert not streams.counts
