"""Starts in mid-stream and losses: which side is the client, where frames begin, and that looking for them costs no
more than it must.
"""

import base64
import random
import sys

import pytest

from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.kafka.connection import MOST_WAITING_BYTES, Connection
from kwire_cli.source.kafka.recognition import MOST_UNSURE

LOST = 47
SIZE = 1400


def versions(wire, correlation=1):
    """Error 0 where a request has its correlation id, a compact array where its client id stands: "Produce version 1,
    no client id".
    """
    return wire.response("ApiVersions", 3, correlation, apiKeys=[{"apiKey": key, "maxVersion": 3} for key in range(60)])


def shown(seen):
    return [(each.kind, each.side) for each in seen]


def paired(seen):
    return [each.request.head.correlation_id if each.request else None for each in seen if each.kind == "response"]


# Which side is the client


def test_an_answer_that_reads_as_a_request_makes_nobody_a_client(wire):
    """The first request is lost: the side that opened the connection is the client all the same."""
    said = [(0, LOST), (1, versions(wire)), (0, wire.heartbeat(2)), (1, wire.beat(2))]
    seen = wire.talk(*said, opener=0)
    assert shown(seen) == [("gap", 0), ("response", 1), ("request", 0), ("response", 1)]
    assert paired(seen) == [None, 2]
    seen = wire.talk(*said, from_start=False)
    assert shown(seen) == [("gap", 0), ("response", 1), ("request", 0), ("response", 1)]


@pytest.mark.parametrize("client", ["", None])
def test_clients_without_a_name_are_told_by_both_sides_in_mid_stream(wire, client):
    said = [
        (1, wire.beat(7)),
        (0, wire.heartbeat(8, client)),
        (1, wire.beat(8)),
        (0, wire.heartbeat(9, client)),
        (1, wire.beat(9)),
    ]
    seen = wire.talk(*said, from_start=False)
    assert shown(seen) == [("response", 1), ("request", 0), ("response", 1), ("request", 0), ("response", 1)]
    assert paired(seen) == [None, 8, 9]


def test_an_answer_that_a_broker_writes_in_pieces_is_framed_without_its_question(wire):
    """As Fetch answers are sent: what reads as a request in the second piece is part of the frame that the first piece
    begins.
    """
    batch = bytes(8) + b"\0\0\0\x30" + bytes(48)
    partition = {"partitionIndex": 0, "records": base64.b64encode(batch).decode()}
    answer = wire.response("Fetch", 4, 0, responses=[{"topic": "t", "partitions": [partition]}])
    at = answer.index(batch) + 8
    for cut in (at, at - 4, at - 12, 8, 4):
        seen = wire.talk((1, answer[:cut]), (1, answer[cut:]), (1, versions(wire, 2)), from_start=False)
        assert shown(seen) == [("response", 1)] * 2, cut


def test_a_wrong_guess_is_corrected_by_the_first_sure_request(wire):
    """So many answers of an unknown kind that one side has to be taken for the client before the other says
    anything.
    """
    odd = (b"\0\0\0\x0a" + b"\0\0\0\1" + bytes(6)) * 64
    said = [(0, wire.heartbeat(8)), (1, wire.beat(8)), (0, wire.heartbeat(9)), (1, wire.beat(9))]
    connection = Connection(Layouts(wire.catalog), from_start=False)
    for number in range(2):
        list(connection.feed(1, odd, number, None))
    connection.client, connection._doubtful = 1, True
    seen = wire.talk(*said, connection=connection)
    assert shown(seen) == [("request", 0), ("response", 1)] * 2
    assert paired(seen) == [8, 9]


# Where frames begin


def test_a_later_answer_is_not_cut_up_by_the_id_of_an_earlier_one(wire):
    """Small numbers are everywhere in an answer: "size 2000, correlation id 1" is no frame where the data end
    elsewhere.
    """
    topics = [{"name": "a" + "\0\0\7\xd0\0\0\0\1" * 3 + "z" * 60}, {"name": "\0\0\0\x20\0\0\0\1" * 4}]
    answer = wire.response("Metadata", 1, 2, topics=topics)
    asked = [(0, wire.heartbeat(1)), (0, wire.request("Metadata", 1, 2, topics=[]))]
    for said in ([(1, answer)], [(1, answer[:100]), (1, answer[100:])], [(1, answer + wire.beat(3))]):
        seen = wire.talk(*asked, (0, wire.heartbeat(3)), (1, len(wire.beat(1))), *said)
        assert next(each.data for each in seen if each.kind == "response") == answer
        assert paired(seen)[0] == 2
        assert sum(each.kind == "gap" for each in seen) == 1


def test_an_answer_whose_request_is_lost_too_is_found_where_its_bytes_begin(wire):
    seen = wire.talk(
        (0, wire.heartbeat(1)),
        (0, LOST),
        (1, 30),
        (1, versions(wire, 5)),
        (0, wire.heartbeat(6)),
        (1, wire.beat(6)),
        opener=0,
    )
    assert [kind for kind, _ in shown(seen)] == ["request", "gap", "gap", "response", "request", "response"]
    assert paired(seen) == [None, 6]


def test_what_reads_as_a_request_in_the_rest_of_a_cut_frame_swallows_nothing(wire):
    """What names a client is not believed at once: the next whole frame shows that it was none."""
    false = b"\0\0\1\0\0\3\0\1\0\0\0\5\0\1a" + bytes(13)
    whole = wire.heartbeat(2, group="g" * 90)
    seen = wire.talk((0, wire.heartbeat(1)), (0, 60), (0, false), (0, whole), (0, wire.heartbeat(3)), opener=0)
    assert [each.data for each in seen if each.kind == "request"][1:] == [whole, wire.heartbeat(3)]


def test_a_frame_that_the_next_loss_cuts_is_shown_by_its_beginning(wire):
    long = wire.heartbeat(2, group="g" * 5000)
    seen = wire.talk(
        (0, wire.heartbeat(1)), (0, 60), (0, long[:1000]), (0, len(long) - 1000), (0, wire.heartbeat(3)), opener=0
    )
    assert [(each.kind, each.missing) for each in seen] == [
        ("request", 0),
        ("gap", 60),
        ("request", len(long) - 1000),
        ("gap", len(long) - 1000),
        ("request", 0),
    ]
    assert seen[2].head.correlation_id == 2


@pytest.mark.parametrize("size", [MOST_UNSURE // 2, 5 * MOST_UNSURE])
def test_long_frames_are_found_by_their_beginning(wire, size):
    asked = wire.request("Produce", 3, 2, acks=1, topicData=[{"name": "t", "partitionData": [{"records": None}]}])
    asked = (len(asked) - 4 + size).to_bytes(4, "big") + asked[4:] + b"\xff" * size
    answer = (size + 4).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"\xff" * size
    said = [(0, asked[at : at + SIZE]) for at in range(0, len(asked), SIZE)] + [(1, 30)]
    said += [(1, answer[at : at + SIZE]) for at in range(0, len(answer), SIZE)]
    seen = wire.talk((0, b"\xff" * 50), *said, (0, wire.heartbeat(3)), (1, wire.beat(3)), from_start=False)
    assert [kind for kind, _ in shown(seen) if kind != "gap"] == ["request", "response"] * 2
    assert paired(seen) == [2, 3]


# What it costs


def kinds_of_nonsense():
    dice = random.Random(3)
    few = (0, 0, 0, 1, 3, 8, 18, 32, 97)
    return {
        "zeros": lambda _: bytes(SIZE),
        "random": lambda _: dice.randbytes(SIZE),
        "sizes and ids": lambda _: b"\0\0\0\5" * (SIZE // 4),
        "sizes and ids, shifted": lambda n: (b"\0\0\0\5" * 400)[n % 4 :][:SIZE],
        "headers": lambda _: b"\0\0\0\x14" * (SIZE // 4),
        "requests that say to be long": lambda _: (b"\0\1\0\x14\0\3\0\1\0\0\0\5\0\1a" * 100)[:SIZE],
        "requests and sizes that are none": lambda _: (b"\0\0\0\x0b\0\3\0\1\0\0\0\5\0\1a" * 2 + b"\xff" * 4) * 41,
        "few bytes": lambda _: bytes(dice.choice(few) for _ in range(SIZE)),
        "a size of 60 MB": lambda _: b"\3\x80\0\0" + b"\xff" * (SIZE - 4),
    }


def listen(wire, make, count, side, known, heard=int):
    """Return the most bytes that waited when a connection heard `count` pieces of nonsense in mid-stream; `heard` is
    for the end of each piece.
    """
    connection = Connection(Layouts(wire.catalog), from_start=False, client=0 if known else None)
    if known:
        list(connection.feed(0, wire.heartbeat(1) + wire.heartbeat(5), 1, None))
        connection._framers[0]._lose_framing(0)
    pieces = [make(n) for n in range(count)]
    most = out = 0
    for number, piece in enumerate(pieces, 2):
        out += sum(each.size for each in connection.feed(side, piece, number, None))
        waiting = sum(len(cut.data) for _, cut in connection._waiting or ())
        most = max(most, len(connection._framers[side].buffer) + waiting)
        heard()
    out += sum(each.size for each in connection.end())
    assert out == sum(map(len, pieces))
    return most


def calls_after(first, *listened):
    """Return the number of calls of functions that it takes to listen to the first pieces, and to all."""
    calls, after = 0, []

    def count_call(_frame, _event, _what):
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        listen(*listened, heard=lambda: after.append(calls))
    finally:
        sys.setprofile(before)
    return after[first - 1], calls


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["sides known", "sides unknown"])
@pytest.mark.parametrize("side", [0, 1], ids=["client", "broker"])
@pytest.mark.parametrize("name", kinds_of_nonsense())
def test_nonsense_takes_work_that_grows_with_it_alone(wire, name, side, known):
    once, thrice = calls_after(20, wire, kinds_of_nonsense()[name], 60, side, known)
    assert thrice < 5 * once + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1], ids=["client", "broker"])
@pytest.mark.parametrize("known", [True, False], ids=["sides known", "sides unknown"])
@pytest.mark.parametrize("name", ["zeros", "random", "a size of 60 MB"])
def test_nonsense_is_let_go_of(wire, name, known, side):
    most = listen(wire, kinds_of_nonsense()[name], 3000, side, known)
    assert most < MOST_WAITING_BYTES + (2 << 20)


def test_a_size_that_no_frame_vouches_for_is_not_waited_for(wire):
    """Behind a frame that was found by what it looks like, a size of 90 MB is a frame only if it looks like one."""
    said = [(0, wire.heartbeat(1) + wire.heartbeat(2)), (0, b"\5\x80\0\0" + b"\xff" * 40)]
    connection = Connection(Layouts(wire.catalog), from_start=False)
    for number, (side, data) in enumerate(said):
        list(connection.feed(side, data, number, None))
    for number in range(2000):
        list(connection.feed(0, b"\xff" * SIZE, number, None))
    assert len(connection._framers[0].buffer) < 2 << 20
    seen = list(connection.feed(0, wire.heartbeat(3), 1, None))
    assert shown(seen)[-1] == ("request", 0)
