"""Ladders: the order of arrows, their participants, and what of many calls is kept."""

import random

from kit.calls import fake_call
from kit.traffic import Wire

from kwire_cli.analysis.ladder import MOST_ARROWS, Ladder, LadderCalls
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.view.answers import answer_document

START = 1_700_000_000.0


def ladder(calls, limit=MOST_ARROWS):
    """Return the ladder of calls: the first arrows by time, at most `limit`."""
    rungs = Ladder(limit)
    for call in calls:
        rungs.add(call)
    return rungs.chart()


def calls(count=10):
    """Return calls of three clients, of which each begins before the one before it has ended."""
    return [
        fake_call(
            "Fetch",
            frame=2 * number + 1,
            client_id=f"client-{number % 3}",
            asked=START + number,
            answered=START + number + 1.5,
            response={},
        )
        for number in range(count)
    ]


def test_arrows_come_in_the_order_of_time_whatever_the_order_of_calls():
    shuffled = calls()
    random.Random(1).shuffle(shuffled)
    chart = ladder(shuffled)
    times = [arrow.time for arrow in chart.arrows]
    assert times == sorted(times)
    assert sum(arrow.reply for arrow in chart.arrows) == 10
    assert {(arrow.source, arrow.target) for arrow in chart.arrows if arrow.reply} == {
        ("10.0.0.2:9092", f"client-{number}") for number in range(3)
    }


def test_the_first_arrows_are_kept_and_the_others_counted():
    every = ladder(calls(500), None)
    assert every.note == ""
    shuffled = calls(500)
    random.Random(2).shuffle(shuffled)
    first = Ladder(20)
    for call in shuffled:
        first.add(call)
        assert len(first._events) <= 41
    assert first.chart().arrows == every.arrows[:20]
    assert first.chart().note == "… and 980 more; --top 1000 shows all"


def test_no_arrows_are_kept_with_a_limit_of_none_at_all():
    chart = ladder(calls(), 0)
    assert (chart.arrows, chart.participants) == ([], [])
    assert "20 more" in chart.note


def test_clients_stand_before_brokers_which_have_their_node_ids_once_these_are_known():
    known = fake_call(frame=3, node=1, asked=START + 5, answered=START + 6, response={})
    first = fake_call(frame=1, asked=START, answered=START + 1, response={})
    assert [tuple(person) for person in ladder([first, known]).participants] == [
        ("app", "10.0.0.1"),
        ("node 1", "10.0.0.2:9092"),
    ]


def test_a_broker_that_is_named_behind_the_last_arrow_has_its_node_id_too():
    calls = [fake_call(frame=at, asked=START + at, answered=START + at + 0.5, response={}) for at in range(1, 9)]
    named = fake_call(frame=9, node=1, asked=START + 9, answered=START + 9.5, response={})
    assert [person.name for person in ladder([*calls, named], limit=2).participants] == ["app", "node 1"]


def test_names_alike_are_told_apart():
    hosts = [fake_call(frame=number, client=f"10.0.0.{number}:1") for number in (1, 2)]
    assert [person.name for person in ladder(hosts).participants][:2] == ["app 10.0.0.1", "app 10.0.0.2"]
    captures = [fake_call(frame=number, capture=f"point-{number}") for number in (1, 2)]
    assert [person.name for person in ladder(captures).participants] == [
        "app (point-1)",
        "app (point-2)",
        "10.0.0.2:9092 (point-1)",
        "10.0.0.2:9092 (point-2)",
    ]
    same = fake_call(client_id="10.0.0.2:9092", client="10.0.0.2:1")
    names = [person.name for person in ladder([same]).participants]
    assert len({*names}) == 2


def test_a_request_without_an_answer_is_marked_if_nothing_can_come_any_more():
    rungs = Ladder()
    rungs.add(fake_call(), unanswered=True)
    rungs.add(fake_call(frame=9))
    assert [(arrow.label, arrow.level) for arrow in rungs.chart().arrows] == [
        ("Metadata v12 (no answer)", "warning"),
        ("Metadata v12", ""),
    ]


def test_calls_without_times_keep_the_order_of_their_frames():
    rungs = [fake_call(frame=frame, asked=None, answered=None) for frame in (5, 1, 3)]
    chart = ladder(rungs)
    assert [arrow.number for arrow in chart.arrows] == [1, 3, 5]
    assert (chart.title, {arrow.time for arrow in chart.arrows}) == ("", {None})


def test_programs_get_the_arrows_as_a_table():
    rungs = Ladder()
    rungs.add(fake_call(response={}, errors=["NOT_LEADER_OR_FOLLOWER"]))
    document = answer_document(rungs.answer())
    request, response = document["tables"]["arrows"]
    assert document["facts"] == {"arrows": 2, "allArrows": 2}
    assert (request["kind"], request["from"], request["toAddress"]) == ("request", "app", "10.0.0.2:9092")
    assert (response["errors"], response["latencySeconds"]) == (["NOT_LEADER_OR_FOLLOWER"], 0.5)


def test_nothing_chosen_is_said():
    answer = Ladder().answer()
    assert answer.ladder is None
    assert answer_document(answer)["notes"] == ["there is no request or response that was chosen"]


def test_a_chosen_request_that_becomes_no_call_chooses_no_later_one(monkeypatch):
    """Lines go as they come, and later ones may stand at their places in memory."""
    monkeypatch.setattr(Captured, "guess", property(lambda line: line.api_key == API_VERSIONS))
    ladder = LadderCalls(takes=lambda line: line.api_key == API_VERSIONS)
    unknown = Wire.request("ApiVersions", 3)[4:].replace(b"\0\x12\0\3", b"\0\x12\0\x63", 1)
    for number in range(100):
        for line in Wire.lines((0, Wire.request("Heartbeat", 0, number)), (0, Wire.raw(unknown))):
            ladder.add(line)
        del line
    assert ladder.answer().ladder is None
