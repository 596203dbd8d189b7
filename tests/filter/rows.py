"""Rows to filter, and what names stand for."""

from kwire_cli.facts.columns import COLUMNS
from kwire_cli.filter.compile import compile_filter
from kwire_cli.filter.model import FilterError

APIS = {"Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3, "ApiVersions": 18}
ERRORS = {
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "NOT_LEADER_FOR_PARTITION": 6,
    "REQUEST_TIMED_OUT": 7,
}
NUMBERS = APIS | ERRORS


class Row:
    def __init__(self, columns, header=None, body=None):
        self.columns, self.json, self.asked = columns, {"header": header or {}, "body": body or {}}, []

    def column(self, name):
        self.asked.append(name)
        return self.columns[name]

    def fields(self):
        self.asked.append("fields")
        return self.json

    def batches(self, *, deep):  # noqa: ARG002 - rows without records
        return []

    def payloads(self):
        return []


class AnyField:
    """Names of fields of which each is a field of a frame."""

    any_in_records = False

    def in_frames(self, name):  # noqa: ARG002 - any name
        return True

    __contains__ = in_frames

    def in_payloads(self, name):  # noqa: ARG002 - any name
        return False


def compiled(text):
    return compile_filter(text, error_codes=NUMBERS, api_keys=NUMBERS, fields=AnyField())


def outcome(text):
    try:
        return compiled(text)
    except FilterError as error:
        return error


NOTHING = {column.name: [] if column.is_list else None for column in COLUMNS}
FETCH = Row(
    NOTHING
    | {
        "frame": 12,
        "time": 1_795_255_200_123_456,  # 2026-11-21T10:00:00.123456Z
        "src": "[fd00::1]:9092",
        "dst": "10.0.0.5:50012",
        "host": ["fd00::1", "10.0.0.5"],
        "port": [9092, 50012],
        "stream": 0,
        "packet": 77,
        "capture_point": "captures/broker-1",
        "file": "captures/broker-1/x.pcap",
        "kind": "response",
        "size": 1500,
        "api_key": 1,
        "api": "Fetch",
        "api_version": 13,
        "correlation_id": 9,
        "client_id": "billing-1",
        "software": "apache-kafka-java 4.4.0",
        "broker": 2,
        "topics": ["orders.v1", "orders.v2", "Audit"],
        "groups": ["billing", "audit"],
        "request_groups": ["billing", "audit"],
        "latency_us": 250_000,
        "delayed": True,
        "wait_ms": 500,
        "throttle_ms": 1500,
        "error_codes": [6, 999],
        "errors": ["NOT_LEADER_OR_FOLLOWER", "999"],
        "request_frame": 11,
        "all_anomalies": ["TAG_ORDER"],
        "source": "capture",
        "guess": False,
    },
    {"headerVersion": 1, "correlationId": 9, "unknownTaggedFields": []},
    {
        "throttleTimeMs": 1500,
        "errorCode": 0,
        "host": "inner",
        "timestamp": 1_795_255_200_000,
        "complete": True,
        "empty": [],
        "text": "1000",
        "nothing": None,
        "nan": "NaN",
        "rate": 0.5,
        "responses": [
            {
                "topic": "orders.v1",
                "partitions": [{"errorCode": 0, "replicas": [1, 2]}, {"errorCode": 6, "replicas": None}],
            },
            {"topic": "Audit", "partitions": []},
        ],
        "apiKeys": [{"apiKey": 0}, {"apiKey": 3}],
        "config": {"value": "true", "note": 'say "hi"'},
    },
)
"""A response with a value in every place that a filter can look at."""

UNKNOWN = Row(NOTHING | {"api_key": 99, "kind": "request"})
"""A request of which next to nothing is known."""
