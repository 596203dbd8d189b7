"""Requests that wait for their responses: the order decides, and neither costs nor memory grow with their number."""

import pytest

from kwire_cli.source.kafka import pending
from kwire_cli.source.kafka.pending import LIMIT, UNANSWERED, Pending

LIMITS = "kwire_cli.source.kafka.pending."


def test_a_response_whose_request_was_given_up_has_its_api(wire, monkeypatch):
    monkeypatch.setattr(LIMITS + "MAX_PENDING", 3)
    asked = [(0, wire.heartbeat(number)) for number in range(6)]
    seen = wire.talk(*asked, *((1, wire.beat(number)) for number in (0, 2, 99, 3, 1, 5, 4, 4)))
    requests, responses = seen[:6], seen[6:]
    assert [request.given_up for request in requests] == [LIMIT, LIMIT, LIMIT, None, UNANSWERED, None]
    assert [response.given_up for response in responses] == [LIMIT, LIMIT, None, None, LIMIT, None, UNANSWERED, None]
    assert [response.head and response.head.correlation_id for response in responses] == [0, 2, None, 3, 1, 5, 4, None]
    assert {at: response.request for at, response in enumerate(responses) if response.request} == {
        3: requests[3],
        5: requests[5],
    }


@pytest.mark.parametrize("turned", [False, True], ids=["in order", "reversed"])
def test_no_response_is_guessed_however_many_requests_wait(turned, wire, monkeypatch):
    monkeypatch.setattr(LIMITS + "MAX_PENDING", 10)
    monkeypatch.setattr("kwire_cli.message.frames.response_candidates", lambda *_, **__: pytest.fail("guessed"))
    numbers = range(1, 101)
    said = [(0, wire.heartbeat(number)) for number in numbers]
    said += [(1, wire.beat(number)) for number in (reversed(numbers) if turned else numbers)]
    responses = wire.lines(*said)[100:]
    assert {(line.kind, line.api, line.guess) for line in responses} == {("response", "Heartbeat", False)}


class Steps(Pending):
    """Counts the requests that are taken from the queue."""

    __slots__ = ("count",)

    def _next(self):
        self.count = getattr(self, "count", 0) + 1
        return super()._next()


def test_each_request_is_looked_at_once(wire):
    waiting = Steps()
    requests = wire.talk(*((0, wire.heartbeat(number)) for number in range(100)))
    for request in requests:
        request.given_up = None
        waiting.add(request, heard=True)
    assert waiting.all_known
    assert [waiting.pop(number) for number in range(1000, 1100)] == [None] * 100
    assert [waiting.pop(number) for number in reversed(range(100))] == [requests[-1], *[None] * 99]
    assert waiting.count == 100
    assert len(waiting) == 0


def test_of_requests_that_were_given_up_a_bounded_number_is_remembered(wire, monkeypatch):
    monkeypatch.setattr(LIMITS + "MAX_PENDING", 3)
    monkeypatch.setattr(LIMITS + "MAX_REMEMBERED", 50)
    waiting = Pending()
    for request in wire.talk(*((0, wire.heartbeat(number)) for number in range(1000))):
        waiting.add(request, heard=True)
    late = [number for number in range(1000) if waiting.pop_given_up(number)]
    assert late == [*range(late[0], 997)]
    assert len(late) == pending.MAX_REMEMBERED
