"""All rules at once over bodies that hold anything: no rule fails, and no sentence grows with the input."""

from itertools import chain, islice

from kit.calls import CATALOG, RULES, WRONG, MadeCall, fill

from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.analysis.rows import columns_of
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.diagnose import findings

APIS = {
    "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
    "SyncGroup", "ApiVersions", "CreateTopics", "InitProducerId", "ConsumerGroupHeartbeat", "TxnOffsetCommit",
}  # fmt: skip
STEP = 19
"""One of so many hostile calls is taken: there are many of each kind."""


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


ERRORS = ("NOT_LEADER_OR_FOLLOWER", "OFFSET_OUT_OF_RANGE", 7)


def test_bodies_of_wrong_types_break_no_rule():
    tables = Tables(Redaction(CATALOG), [rule.query for rule in RULES.values()])
    try:
        for replayed in REPLAYED:
            for name, row in replayed.rows.items():
                tables.create(name, [(column.name, column.kind.type) for column in columns_of(row)])
        calls = chain(hostile_calls(APIS), hostile_calls(APIS, ERRORS))
        fill(tables, [*islice(calls, 0, None, STEP)])
        for row in findings(tables, [*RULES.values()]):
            assert len(row.subject + row.text) < 1000
    finally:
        tables.close()
