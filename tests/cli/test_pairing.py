"""Pairs of requests and responses, as the lines of captures come."""

from kit.traffic import BROKER_END, CATALOG, CLIENT_END, Wire

from kwire_cli.cli.pairing import Pairs
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, End, Start


def test_a_request_for_which_its_connection_waits_is_not_given_up(monkeypatch):
    monkeypatch.setattr("kwire_cli.cli.pairing.MOST_PENDING", 4)
    requests = [(0, Wire.request("Heartbeat", 0, number)) for number in range(40)]
    responses = [(1, Wire.response("Heartbeat", 0, number)) for number in range(40)]
    pairs = Pairs()
    complete = [pair for line in Wire.lines(*requests, *responses) for pair in pairs.add(line)]
    assert [(request.number, response.number) for request, response in complete] == [
        (at, 40 + at) for at in range(1, 41)
    ]
    assert [*pairs.end()] == []


def test_requests_of_connections_that_ended_are_given_up(monkeypatch):
    monkeypatch.setattr("kwire_cli.cli.pairing.MOST_PENDING", 4)
    frame, events = Wire.request("Heartbeat"), []
    for number in range(100):
        events += [Start(number, CLIENT_END, BROKER_END, True, 0, 1), Data(number, 0, frame, 0, 3 * number)]
        events += [End(number, "reset", 0, 3 * number + 1)]
    pairs, complete = Pairs(), []
    for line in traffic(CATALOG, events):
        complete += pairs.add(line)
        assert pairs._count <= 5
    complete += pairs.end()
    assert sorted(request.number for request, _ in complete) == [*range(1, 101)]


def test_a_request_without_a_response_is_a_pair_at_once():
    (line,) = Wire.lines((0, Wire.request("Produce", 9, acks=0)))
    assert [*Pairs().add(line)] == [(line, None)]
