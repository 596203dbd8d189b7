"""Request logs, whose lines name topics by their ids."""

import json

from kit.commands import kwire

TOPIC = "Wg6nBlB7TIOaMoA5IIT1cA"


def line(key, name, version, request, response):
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 1, "clientId": "billing"}
    return json.dumps(
        {
            "isForwarded": False, "requestHeader": header | {"requestApiKeyName": name}, "request": request,
            "response": response, "connection": "127.0.0.1:9092-127.0.0.1:50000-0-1", "totalTimeMs": 1.0,
            "requestQueueTimeMs": 0.1, "localTimeMs": 0.5, "remoteTimeMs": 0.2, "throttleTimeMs": 0,
            "responseQueueTimeMs": 0.1, "sendTimeMs": 0.1, "securityProtocol": "PLAINTEXT",
            "principal": "User:ANONYMOUS", "listener": "PLAINTEXT",
        }
    )  # fmt: skip


def test_names_that_an_earlier_line_told(tmp_path):
    partition = {
        "errorCode": 0, "partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1], "isrNodes": [1],
        "offlineReplicas": [],
    }  # fmt: skip
    topic = {"errorCode": 0, "name": "orders", "topicId": TOPIC, "isInternal": False, "partitions": [partition]}
    metadata = {"throttleTimeMs": 0, "brokers": [], "clusterId": None, "controllerId": 1, "topics": [topic]}
    asked = {"partition": 0, "fetchOffset": 500, "partitionMaxBytes": 1000}
    answered = {
        "partitionIndex": 0, "errorCode": 1, "highWatermark": -1, "lastStableOffset": -1, "logStartOffset": -1,
        "abortedTransactions": None, "recordsSizeInBytes": 0,
    }  # fmt: skip
    fetch = {"maxWaitMs": 500, "minBytes": 1, "maxBytes": 1000, "isolationLevel": 0, "sessionId": 0, "sessionEpoch": 0}
    listing = {"partitionIndex": 0, "timestamp": -2}
    listed = {"partitionIndex": 0, "errorCode": 0, "timestamp": -1, "offset": 7}
    lines = [
        line(3, "METADATA", 13, {"topics": None}, metadata),
        line(
            1, "FETCH", 17, fetch | {"topics": [{"topicId": TOPIC, "partitions": [asked]}]},
            {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0,
             "responses": [{"topicId": TOPIC, "partitions": [answered]}]},
        ),
        line(
            2, "LIST_OFFSETS", 10, {"replicaId": -1, "topics": [{"name": "orders", "partitions": [listing]}]},
            {"throttleTimeMs": 0, "topics": [{"name": "orders", "partitions": [listed]}]},
        ),
    ]  # fmt: skip
    (tmp_path / "kafka-request.log").write_text("\n".join(lines) + "\n")
    done = kwire("diagnose", tmp_path / "kafka-request.log", "--format", "json")
    assert done.code == 0
    (row,) = json.loads(done.out)["tables"]["findings"]
    assert row["code"] == "OFFSET_OUT_OF_RANGE"
    assert row["text"] == (
        "it asked for offset 500 of orders-0; the log begins at 7; "
        "auto.offset.reset took it to earliest, the start, offset 7"
    )
    assert [place["line"] for place in row["evidence"]] == [2, 3]
