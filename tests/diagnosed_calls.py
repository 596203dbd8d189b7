"""Calls made by hand for the rules of the diagnosis, samples read by all rules, and bodies of wrong types."""

import json
import pickle
from pathlib import Path

from command_line import kwire
from fake_calls import FakeCall

from kwire_cli.analysis.call import Evidence, instant, named_topic

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
START = 1_790_000_000.0


class MadeCall(FakeCall):
    """A call with the attributes that are given; times are seconds after START."""

    def __init__(
        self, api, request=None, response=None, *, at=0.0, took=0.001, errors=(), who="billing", host="10.0.0.1",
        broker="10.0.0.9:9092", connection=None, throttle=0.0, node=None, frame=1,
    ):  # fmt: skip
        super().__init__(
            api, request=request or {}, response=response, api_key=0, client_id=who, client=f"{host}:50000",
            broker=broker, node=node, connection=connection or (None, f"{host}>{broker}"), asked=START + at,
            answered=None if response is None else START + at + took, errors=list(errors), throttle=throttle,
            sizes=(10, 20), frame=frame,
        )  # fmt: skip

    def topic(self, of):
        return named_topic(of) or str(of.get("topicId", ""))

    def evidence(self, *, of_request=False):
        time = self.asked if of_request or self.answered is None else self.answered
        what = f"{self.api} {'request' if of_request else 'response'}"
        return Evidence(what, instant(time), self.values["frame"])


def findings(rule_class, calls):
    """Return the findings of a rule in calls, by code; the same whether it is told of them at once or in parts that
    are merged in any order.
    """
    whole = rule_class()
    for call in calls:
        whole.call(call)
    once = told(whole)
    middle = len(calls) // 2
    for order in ((0, 1), (1, 0)):
        parts = [rule_class(), rule_class()]
        for number, call in enumerate(calls):
            parts[number >= middle].call(call)
        first, second = (pickle.loads(pickle.dumps(parts[part])) for part in order)
        first.merge(second)
        merged = told(first)
        if order == (0, 1):
            in_order = merged
        assert merged == in_order
    return once


def told(rule):
    """Return what a rule found: pairs of code and text."""
    return sorted((finding.kind.code, finding.level, finding.subject, finding.text) for finding in rule.findings())


def diagnosed(name):
    """Return the findings in a sample, as JSON rows."""
    done = kwire("diagnose", SAMPLES / name, "--format", "json")
    assert done.code == 0
    return json.loads(done.out)["tables"]["findings"]


def first(name):
    """Return the code, severity, subject and text of the first finding in a sample, and the frames of its evidence."""
    row = diagnosed(name)[0]
    frames = [place.get("frame", place.get("line")) for place in row["evidence"]]
    return row["code"], row["severity"], row["subject"], row["text"], frames


WRONG = (None, 7, -1, 10**400, 1.5, "text", "", [], [None], [7], {}, [{}], True, [[{}]], {"a": []})
"""Values of types that no definition has in some place or other."""
NAMES = (
    "errorCode", "throttleTimeMs", "topics", "responses", "partitions", "partitionResponses", "brokers",
    "host", "port", "nodeId", "name", "topic", "topicId", "partition", "partitionIndex", "index",
    "fetchOffset", "highWatermark", "lastStableOffset", "logStartOffset", "recordsSizeInBytes", "sessionId",
    "sessionEpoch", "replicaId", "replicaState", "maxWaitMs", "minBytes", "maxBytes", "isolationLevel",
    "groupId", "groups", "committedOffset", "timestamp", "offset", "oldStyleOffsets", "isrNodes", "isr",
    "replicaNodes", "leaderId", "leaderEpoch", "currentLeader", "replicaEpoch", "preVote", "key",
    "coordinatorKeys", "transactionalId", "preferredReadReplica",
)  # fmt: skip


def hostile_calls(apis, errors=()):
    """Yield calls of these apis whose bodies hold values of wrong types at every name that a rule reads."""
    for api in sorted(apis):
        yield MadeCall(api, {}, None)
        for wrong in WRONG:
            inner = dict.fromkeys(NAMES, wrong)
            lists = dict.fromkeys(("topics", "responses", "brokers", "groups", "partitions", "partitionResponses"))
            for depth in range(3):
                body = inner | {name: [inner, wrong] for name in lists} if depth else inner
                for at in (0.0, 5.0):
                    yield MadeCall(api, body, body, at=at, errors=errors)
                    yield MadeCall(api, {}, body, at=at, errors=errors)
                    yield MadeCall(api, body, None, at=at)
                inner = body
            for name in NAMES:
                part = {
                    "topic": "orders", "name": "orders", "partition": 0, "partitionIndex": 0, "index": 0,
                    "fetchOffset": 5, "highWatermark": 9, "errorCode": 0, "committedOffset": 3, "leaderId": 1,
                    "leaderEpoch": 1, "isrNodes": [1], "isr": [1], "replicaNodes": [1, 2], "replicaId": -1,
                    "minBytes": 9, "maxWaitMs": 500, "sessionEpoch": 0, "sessionId": 0, "timestamp": -1, "offset": 4,
                    "groupId": "g", name: wrong,
                }  # fmt: skip
                topic = part | {"partitions": [part], "partitionResponses": [part]}
                body = part | {"topics": [topic], "responses": [topic], "brokers": [part, part], name: wrong}
                yield MadeCall(api, body, body, errors=errors)


def survives(rule_class, errors=()):
    """Tell a rule of hostile calls: it neither raises nor says anything about values that are no offsets or counts."""
    rule, other = rule_class(), rule_class()
    for number, call in enumerate(hostile_calls(rule_class.apis or {"Produce", "CreateTopics"}, errors)):
        (rule, other)[number % 2].call(call)
    rule.merge(pickle.loads(pickle.dumps(other)))
    for finding in rule.findings():
        assert len(finding.text) < 1000
    return rule
