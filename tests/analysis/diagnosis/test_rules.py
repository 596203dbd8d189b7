"""All rules: logs in parts, whatever is in bodies, and no alarm on traffic that is well."""

import pickle
from types import SimpleNamespace

import pytest
from kit.calls import INCIDENTS, REAL, RULES, codes, survives

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.coordinators import Coordinators
from kwire_cli.analysis.diagnosis.metadata import UnknownTopics
from kwire_cli.analysis.diagnosis.replicas import Replicas
from kwire_cli.analysis.diagnosis.speed import Speed
from kwire_cli.source.kafka.traffic import TcpConnection

WELL = (
    "client-franz-go", "client-kafka-python", "client-kafkajs", "client-librdkafka", "ipv6", "java44-admin",
    "java44-produce-consume", "java44-txn", "old39-java-2.4.1", "old39-java-3.7.2", "old39-kafkajs",
    "old39-sarama-0.11.0.0", "old39-java-4.4.0", "tls-keylog", "zk28-ibp-0.10.0", "zk28-ibp-2.4", "edge-midstream",
)  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", WELL)
def test_no_alarm_where_all_is_well(name):
    (path,) = (REAL / name).glob("capture.pcap*")
    assert codes(path, severity="warning") == []


@pytest.mark.parametrize(
    "name",
    [
        "any.pcap",
        "lag.pcap",
        "mirror.pcap",
        "over-the-limit.pcap",
        "slow-fetch.pcap",
        "throttled.pcap",
        "java-tls.pcap",
    ],
)
def test_no_alarm_on_connections_in_other_incidents(name):
    assert codes(INCIDENTS / name, severity="warning") == []


STRANGE = [
    None, {}, {"errorCode": None}, {"mechanisms": 5, "errorMessage": ["x"], "brokers": {"host": 1}},
    {"brokers": [None, 3, {"host": None, "port": "x", "nodeId": "y"}, {"host": "a", "port": 1, "nodeId": "y"}]},
    {"apiKeys": [None, {"apiKey": "x", "minVersion": None, "maxVersion": 1.5}], "topics": 7, "acks": "0"},
    {"topics": [{"errorCode": 29, "name": None, "topicId": 7, "partitions": [{"errorCode": 29, "topic": {}}]}],
     "groups": {"errorCode": 30}, "errorCode": 53, "timeoutMs": True, "maxWaitMs": "soon"},
]  # fmt: skip
APIS = ["Metadata", "ApiVersions", "Produce", "Fetch", "api 999"]


class Hostile:
    """A call whose bodies are of wrong types."""

    software, client_id, client, broker, node, version = "x 1", None, "10.0.0.1", "", None, -1
    throttle, sizes, topics = 0.0, (0, 0), ()

    def __init__(self, api, request, response, times):
        self.api, self.request, self.response = api, request or {}, response
        self.api_key = {"ApiVersions": 18}.get(api, -1)
        self.asked, self.answered = times
        self.connection = (None, 1)
        self.errors = [77, "UNSUPPORTED_VERSION"]

    @property
    def latency(self):
        return None if None in {self.asked, self.answered} else self.answered - self.asked

    @property
    def has_response(self):
        return self.response is not None

    @property
    def who(self):
        return self.client

    def field(self, name):
        return self.request.get(name)

    def topic(self, of):
        return str(of.get("topicId"))

    def evidence(self, *, of_request=False):
        return Evidence("request" if of_request else "response")


@pytest.mark.parametrize(
    ("rule_type", "errors"),
    [
        (Coordinators, ["NOT_COORDINATOR", 7]),
        (Replicas, []),
        (Speed, ["REQUEST_TIMED_OUT"]),
        (UnknownTopics, ["UNKNOWN_TOPIC_OR_PARTITION"]),
    ],
)
def test_bodies_of_wrong_types(rule_type, errors):
    survives(rule_type)
    survives(rule_type, errors)


def nothing(**known):
    """A connection of which next to nothing is known."""
    empty = {"stream": 1, "client": "10.0.0.1:5", "broker": "b", "opened": False, "syns": 0}
    empty |= {"heard": (False, False), "sizes": (None, None), "repeated": (0, 0), "first": None, "closed": None}
    empty |= {"closed_by": None, "reset": False, "reason": "end", "node": None, "capture": None, "file": None}
    return TcpConnection(**(empty | {"packet": None} | known))


@pytest.mark.parametrize("rule_type", RULES)
def test_strange_bodies(rule_type):
    rule = rule_type()
    for api in APIS:
        for request in STRANGE:
            for response in STRANGE:
                for times in ((None, None), (5.0, None), (5.0, 1.0), (1e300, 2e300)):
                    if not rule.apis or api in rule.apis:
                        rule.call(Hostile(api, request, response, times))
    piece = SimpleNamespace(
        kind="not-kafka", protocol=None, side=1, size=0, reason=None, content=("alert 7",), code=None
    )
    for protocol in (None, "tls", "http"):
        piece.protocol = protocol
        line = SimpleNamespace(
            seen=piece, connection=SimpleNamespace(client=None), origin=SimpleNamespace(capture=None, several=False),
            stream=1, where=(None, None), time=None, number=1,
        )  # fmt: skip
        rule.line(line)
    for known in ({}, {"opened": True, "sizes": (1, 0)}, {"closed_by": "broker", "reset": True, "opened": True}):
        rule.connection(nothing(**known))
    other = pickle.loads(pickle.dumps(rule))
    rule.merge(other)
    for finding in rule.findings():
        assert finding.text
        assert finding.kind in rule.KINDS
