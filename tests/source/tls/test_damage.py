"""Streams of TLS with bytes lost, damaged, cut in other places and made up: nothing crashes, every byte is told, and
what can be read is read.
"""

import pytest
from hypothesis import given, settings, strategies as st
from kit.captures import (
    BROKER,
    CASES,
    CHACHA12,
    CHACHA13,
    EARLY,
    KEY_UPDATES,
    TLS12,
    TLS13,
    broker_secrets,
    decrypted,
    said,
    secrets,
    sizes,
    stream,
)
from kit.commands import examples

from kwire_cli.source.packets.model import Data, End, Foreign, Gap, Start
from kwire_cli.source.tls.session import MOST_FAILED, MOST_TRIED
from kwire_cli.structs import network


def lost(events, numbers):
    """The events with the bytes of some Data lost, as TCP tells that."""
    return [
        Gap(event.connection, event.direction, len(event.data), event.time, event.packet)
        if number in numbers and isinstance(event, Data)
        else event
        for number, event in enumerate(events)
    ]


def parts_of(found, whole):
    """Whether what was found are parts of what was said, in order."""
    at = 0
    for part in found:
        at = whole.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def by_side(events):
    """Pieces of data that gaps part, by direction."""
    out = {0: [b""], 1: [b""]}
    for event in events:
        if isinstance(event, Data):
            out[event.direction][-1] += event.data
        elif isinstance(event, Gap):
            out[event.direction].append(b"")
    return out


@pytest.mark.parametrize(
    ("path", "number"),
    [
        *((CASES, number) for number in (TLS13, CHACHA13, TLS12, CHACHA12, KEY_UPDATES)),
        *((BROKER, number) for number in range(10)),
    ],
)
def test_one_piece_lost(path, number):
    """Whatever one piece is lost, all data behind it are read, unless it was one of the hellos."""
    events, blocks = stream(number, path), secrets() if path == CASES else broker_secrets()
    whole = said(decrypted(events, blocks))
    for position, event in enumerate(events):
        if not isinstance(event, Data):
            continue
        found = decrypted(lost(events, {position}), blocks)
        assert sizes(found) == sizes(events)
        pieces = by_side(found)
        for side in (0, 1):
            assert parts_of(pieces[side], bytes(whole[number, side])), position
            # The data of the other side, and all other pieces of this one, are there.
            gone = whole[number, side] if side == event.direction else b""
            least = len(whole[number, side]) - min(len(event.data), len(gone))
            if not any("Hello" in reason for reason in reasons(found) if reason):
                assert sum(map(len, pieces[side])) >= least, position


def reasons(found):
    return {event.reason for event in found if isinstance(event, Foreign)}


def test_a_part_of_a_record_lost_costs_that_record():
    events = stream(TLS12)
    whole = said(decrypted(events))
    position = next(at for at, event in enumerate(events) if isinstance(event, Data) and len(event.data) > 800)
    event = events[position]
    assert isinstance(event, Data)
    middle = Gap(event.connection, 1, 100, event.time, event.packet)
    found = decrypted(
        [
            *events[:position],
            event._replace(data=event.data[:200]),
            middle,
            event._replace(data=event.data[300:]),
            *events[position + 1 :],
        ]
    )
    [gap] = [each for each in found if isinstance(each, Gap)]
    assert gap.size + len(said(found)[TLS12, 1]) == len(whole[TLS12, 1])


def test_keys_of_another_connection():
    wrong = []
    for block in secrets():
        rows = [row.split() for row in block.data.decode().splitlines()]
        wrong.append(
            block._replace(
                data="".join(f"{label} {random} {'ab' * (len(key) // 2)}\n" for label, random, key in rows).encode()
            )
        )
    found = decrypted(stream(TLS13), wrong)
    assert not said(found)
    reasons = [event.reason for event in found if isinstance(event, Foreign) and event.reason]
    assert reasons[0] == "bad record MAC at record 1 under this key"
    assert all(reason.startswith("bad record MAC") for reason in reasons)
    assert sizes(found) == sizes(stream(TLS13))


def test_handshake_secrets_alone_and_traffic_secrets_alone():
    for kept, says in (("TRAFFIC_SECRET_0", True), ("HANDSHAKE", False)):
        some = [
            each._replace(data=b"\n".join(row for row in each.data.splitlines() if kept.encode() in row) + b"\n")
            for each in secrets()
        ]
        found = decrypted(stream(TLS13), some)
        assert (said(found) == said(decrypted(stream(TLS13)))) is says
        assert sizes(found) == sizes(stream(TLS13))
        assert any("the key log has no" in reason for reason in reasons(found) if reason)


def test_one_side_alone():
    """Of TLS 1.3 a side alone has its own keys; of TLS 1.2 both randoms are needed."""
    own = [event for event in stream(TLS13) if not (isinstance(event, Data | Gap) and event.direction)]
    assert said(decrypted(own)) == {(TLS13, 0): said(decrypted(stream(TLS13)))[TLS13, 0]}
    found = decrypted([event for event in stream(TLS12) if not (isinstance(event, Data | Gap) and event.direction)])
    assert not said(found)
    assert "the ServerHello is not in the capture" in str(reasons(found))
    found = decrypted([event for event in stream(TLS13) if not (isinstance(event, Data | Gap) and not event.direction)])
    assert not said(found)
    assert reasons(found) == {"the ClientHello is not in the capture"}


def test_a_capture_that_begins_in_the_middle():
    events = stream(TLS13)
    start = events[0]
    assert isinstance(start, Start)
    data = [event for event in events if isinstance(event, Data)]
    found = decrypted([start._replace(opened=False), *data[8:], *(event for event in events if isinstance(event, End))])
    assert reasons(found) == {"the capture begins in the middle of the connection"}
    assert sizes(found) == sizes(data[8:])


@settings(max_examples=150)  # as many in `make test`: fewer do not reach all lines
@given(st.sampled_from([TLS13, TLS12, CHACHA12, KEY_UPDATES, EARLY]), st.data())
def test_anything_lost_and_damaged(number, data):
    events = stream(number)
    mutable = [position for position, event in enumerate(events) if isinstance(event, Data)]
    chosen = data.draw(st.lists(st.sampled_from(mutable), max_size=4, unique=True))
    out = list(events)
    for position in chosen:
        event = out[position]
        how = data.draw(st.sampled_from(["lost", "flipped", "made up", "cut"]))
        size = len(event.data)
        if how == "lost":
            out[position] = Gap(event.connection, event.direction, size, event.time, event.packet)
        elif how == "flipped":
            at = data.draw(st.integers(0, size - 1))
            out[position] = event._replace(
                data=event.data[:at] + bytes([event.data[at] ^ data.draw(st.integers(1, 255))]) + event.data[at + 1 :]
            )
        elif how == "made up":
            out[position] = event._replace(data=data.draw(st.binary(min_size=1, max_size=200)))
        else:
            out[position] = event._replace(data=event.data[: data.draw(st.integers(1, size))])
    found = decrypted(out)
    assert sizes(found) == sizes(out)
    assert isinstance(found[-1], End)


@examples(90)
@given(st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=60)), max_size=12), st.booleans())
def test_what_only_begins_as_tls(pieces, opened):
    start = stream(TLS13)[0]._replace(opened=opened)
    hello = next(event for event in stream(TLS13) if isinstance(event, Data))
    events = [
        start,
        hello._replace(data=hello.data[:11]),
        *(hello._replace(direction=side, data=data) for side, data in pieces if data),
        End(0, "end", 0, 99),
    ]
    found = decrypted(events)
    assert sizes(found) == sizes(events)


def test_memory_is_bounded_by_a_record():
    """A record that never ends, and handshake messages of 16 MiB, are not kept."""
    import tracemalloc

    start, hello = stream(TLS13)[0], next(event for event in stream(TLS13) if isinstance(event, Data))
    piece = (
        network.RECORD.build({"type": network.HANDSHAKE, "version": network.TLS_1_2, "length": 16384})
        + b"\x0b\xff\xff\xff" * 4096
    )
    tracemalloc.start()
    try:
        taken = decrypted([start, *(hello._replace(data=piece) for _ in range(300))])
        del taken
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 << 20


def test_a_loss_of_more_records_than_are_tried_gives_up():
    events = stream(TLS12)
    data = [position for position, event in enumerate(events) if isinstance(event, Data)]
    hole = Gap(TLS12, 0, 60 * (MOST_TRIED + 10), None, 0)
    out = [*events[: data[6]], hole, *events[data[6] :]]
    assert sizes(decrypted(out)) == sizes(out)


def test_a_side_is_given_up_where_nothing_opens_any_more():
    events = stream(TLS13)
    data = [position for position, event in enumerate(events) if isinstance(event, Data) and event.direction == 1]
    bad = network.RECORD.build({"type": network.APPLICATION_DATA, "version": network.TLS_1_2, "length": 40}) + bytes(40)
    out = [*events[: data[-1]], events[data[-1]]._replace(data=bad * 1000), *events[data[-1] :]]
    found = decrypted(out)
    assert sizes(found) == sizes(out)
    assert sum(isinstance(event, Gap) for event in found) == MOST_FAILED + 1
    assert said(found)[TLS13, 0] == said(decrypted(events))[TLS13, 0]
