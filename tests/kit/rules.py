"""Findings of rules that are queries, in calls that a test makes up."""

from functools import cache

import kwire_cli
from kit.calls import MadeCall
from kwire_cli.facts.batches import BATCHES
from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.columns import FRAMES, IN_MEMORY
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.diagnose import findings as query_findings
from kwire_cli.questions.rule_files import rules

CATALOG = kwire_cli.catalog()
RULES = {rule.code: rule for rule in rules()}
COLUMNS = [column.name for column in (*IN_MEMORY, *FRAMES)]
LISTS = ("topics", "groups", "error_codes", "errors", "anomalies", "content")


@cache
def error_codes():
    return {row.name: row.code for row in CATALOG.errors}


def fill(tables, calls, connections=(), batches=()):
    """Put calls (kit.calls.MadeCall, in the order of frames), rows of connections, and batches into tables.

    A batch is the number of its call and the columns that matter.
    """
    keys = {}
    for number, call in enumerate(calls):
        key = keys.setdefault(call.connection, len(keys))
        codes = [error_codes().get(error, error) for error in call.errors]
        request = {
            "src": call.client, "dst": call.broker, "time": call.asked, "kind": "request", "expects_answer": True,
            "frame": 2 * number + 1, "transactional_id": call.request.get("transactionalId"),
            "groups": [group] if (group := call.request.get("groupId")) else [],
        }  # fmt: skip
        response = {
            "src": call.broker, "dst": call.client, "time": call.answered, "kind": "response",
            "frame": 2 * number + 2, "request_frame": 2 * number + 1, "errors": [*map(str, call.errors)],
            "error_codes": codes, "throttle_ms": round(call.throttle * 1000) or None, "delayed": call.delayed,
            "latency_us": None if call.asked is None or call.answered is None else
            round((call.answered - call.asked) * 1e6),
        }  # fmt: skip
        for frame, body in ((request, call.request), (response, call.response)):
            if body is None:
                continue
            row = dict.fromkeys(COLUMNS) | dict.fromkeys(LISTS, ()) | {
                "api": call.api, "api_key": CATALOG.api(call.api).key, "api_version": call.version, "guess": False,
                "client_id": call.client_id, "software": call.software, "broker": call.node, "source": "capture",
                "topics": call.topics, "stream": key, "size": 10, "wait_ms": call.request.get("maxWaitMs"),
            } | frame  # fmt: skip
            if row["time"] is not None:
                row["time"] = round(row["time"] * 1e6)
            values = [row[column.name] for column in tables.columns]
            tables.put("frames", [key, 2 * number + (frame is response), *values])
            if tables.takes(table := table_of(call.api, frame["kind"])):
                tables.put(table, [key, frame["frame"], call.version, body])
            if tables.takes("errors") and frame is response:
                for error in tables.errors_in(row["api_key"], body, str):
                    tables.put("errors", [key, frame["frame"], *error])
    for row in connections:
        tables.put("connections", row)
    for number, known in batches:
        row = {"connection": keys[calls[number].connection], "frame": 2 * number + 1, "crc_valid": True} | known
        tables.put("batches", [row.get(name) for name, _ in BATCHES])
    tables.finish()


def found(code, calls, connections=(), batches=()):
    """Return the severity, subject, text and frames of what a rule finds in calls."""
    rule = RULES[code]
    tables = Tables(Redaction(CATALOG), [rule.query])
    try:
        fill(tables, calls, connections, batches)
        rows = sorted(query_findings(tables, [rule]), key=lambda row: -row.weight)
        return [(row.severity, row.subject, row.text, [place["frame"] for place in row.places]) for row in rows]
    finally:
        tables.close()


def fetch(at, offset, end, *, size=100, error=0, start=0, stable=None, took=0.001, key="orders", **more):
    """Return a Fetch of partition 0, answered with `size` bytes of records and a high watermark."""
    names = {"who", "host", "broker", "throttle", "connection"}
    call = {name: more.pop(name) for name in [*more] if name in names}
    request = {
        "replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "isolationLevel": 0,
        "topics": [{"topic": key, "partitions": [{"partition": 0, "fetchOffset": offset}]}],
    } | more  # fmt: skip
    part = {
        "partitionIndex": 0, "errorCode": error, "highWatermark": end, "logStartOffset": start,
        "recordsSizeInBytes": size, "lastStableOffset": end if stable is None else stable,
    }  # fmt: skip
    response = {"errorCode": 0, "sessionId": 0, "responses": [{"topic": key, "partitions": [part]}]}
    errors = ["OFFSET_OUT_OF_RANGE"] if error == 1 else []
    return MadeCall("Fetch", request, response, at=at, took=took, errors=errors, **call)


def commit(at, offset, group="billing", **call):
    """Return a commit of an offset of partition 0 of orders."""
    partition = {"partitionIndex": 0, "committedOffset": offset}
    body = {"groupId": group, "topics": [{"name": "orders", "partitions": [partition]}]}
    return MadeCall("OffsetCommit", body, {"topics": []}, at=at, **call)


def find_offset(at, offset, group="billing", **call):
    """Return an OffsetFetch that is answered with an offset of partition 0 of orders."""
    topics = [{"name": "orders", "partitions": [{"partitionIndex": 0, "committedOffset": offset, "errorCode": 0}]}]
    response = {"groups": [{"groupId": group, "topics": topics}]}
    return MadeCall("OffsetFetch", {"groups": [{"groupId": group}]}, response, at=at, **call)


def list_offset(at, time, offset, **call):
    """Return a ListOffsets of partition 0 of orders: the offset of a time, -2 for the start and -1 for the end."""
    asked = [{"name": "orders", "partitions": [{"partitionIndex": 0, "timestamp": time}]}]
    listed = [{"name": "orders", "partitions": [{"partitionIndex": 0, "offset": offset}]}]
    return MadeCall("ListOffsets", {"replicaId": -1, "topics": asked}, {"topics": listed}, at=at, **call)
