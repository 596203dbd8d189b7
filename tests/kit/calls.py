"""Requests and responses that a test makes up, and what folds and rules find in them."""

import copy
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path

import pytest

import kwire_cli
from kit.commands import ROOT, json_of
from kit.logs import batch, document, keyed, record
from kit.traffic import pcap_file
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.analysis.rows import columns_of
from kwire_cli.facts.batches import BATCHES
from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.columns import FRAMES, IN_MEMORY
from kwire_cli.facts.memory import Tables
from kwire_cli.facts.parts import errors_in
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.diagnose import findings as query_findings
from kwire_cli.questions.rule_files import SEVERITIES, rules
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.reading import Reading
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.spec.kafka import WAITING
from kwire_cli.view.answers import answer_document

# Values that break what reads bodies.

WRONG = (
    None, 0, 7, -1, 1 << 70, 1 << 300, 1.5, True, "", "x", "x" * 500, "\x1b[2J", [], {}, [None], [7], ["x"],
    [1, "a", None], [[]], [{}], [[{}]], {"x": None}, {"a": []},
)  # fmt: skip
"""Values that no definition has in their place."""


# Calls made by hand for the rules of the diagnosis, samples read by all rules, and bodies of wrong types.

SAMPLES = ROOT / "samples"
START = 1_790_000_000.0


class MadeCall:
    """A call with the attributes that are given, as rows of tables have them; times are seconds after START."""

    topics = ()
    anomalies = ()
    missing = 0
    """The anomalies of the response, and the bytes of it that are not captured."""
    software = None
    version = 12

    def __init__(
        self, api, request=None, response=None, *, at=0.0, took=0.001, errors=(), who="billing", host="10.0.0.1",
        broker="10.0.0.9:9092", connection=None, throttle=0.0, node=None,
    ):  # fmt: skip
        self.api, self.request, self.response = api, request or {}, response
        self.client_id, self.client, self.broker, self.node = who, f"{host}:50000", broker, node
        self.connection = connection or (None, f"{host}>{broker}")
        self.asked, self.answered = START + at, None if response is None else START + at + took
        self.errors, self.throttle, self.delayed = [*errors], throttle, api in WAITING


@lru_cache(maxsize=256)
def _findings(words, _changed):
    return tuple(json_of("diagnose", *words)["tables"]["findings"])


def all_findings(*words):
    """Return the findings that `kwire diagnose` prints, as JSON rows.

    Many tests look at the same samples, and a diagnosis takes half a second: each is made once in a process.
    """
    return _findings(words, tuple(Path(word).stat().st_mtime_ns for word in words if Path(word).exists()))


def sample_findings(name, *codes):
    """Return what rules with these codes find in a sample, as JSON rows."""
    return diagnosed(SAMPLES / name, of=codes)


# Findings of rules that are queries, in calls that a test makes up.

FEW = ("AUTHORIZATION_FAILED", "GROUP_REBALANCE_LOOP", "HANGING_TRANSACTION", "OLD_CLIENT", "REBALANCE")


@contextmanager
def few_rules():
    """Let a diagnosis ask a few rules. All of them take half a second, and tests/questions asks each of them."""
    few = [RULES[code] for code in FEW]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("analysis.diagnosis.diagnosis.all_rules", "cli.diagnose.rules"):
            patch.setattr(f"kwire_cli.{name}", lambda: few)
        yield


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
            "anomalies": call.anomalies, "missing_bytes": call.missing,
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
                for error in errors_in(tables.catalog, row["api_key"], body, str):
                    tables.put("errors", [key, frame["frame"], *error])
    for row in connections:
        tables.put("connections", row)
    for number, known in batches:
        row = {"connection": keys[calls[number].connection], "frame": 2 * number + 1, "crc_valid": True} | known
        tables.put("batches", [row.get(name) for name, _ in BATCHES])
    tables.finish()


def found(code, calls, connections=(), batches=()):
    """Return the severity, subject, text and frames of what a rule finds in calls."""
    return found_by_each([code], calls, connections, batches)[code]


def found_by_each(codes, calls, connections=(), batches=()):
    """Return what each of some rules finds in calls, by the codes of the rules."""
    tables = Tables(Redaction(CATALOG), [RULES[code].query for code in codes])
    for replayed in REPLAYED:
        for name, row in replayed.rows.items():  # without rows
            tables.create(name, [(column.name, column.kind.type) for column in columns_of(row)])
    found = {}
    try:
        fill(tables, calls, connections, batches)
        for code in codes:
            rows = sorted(query_findings(tables, [RULES[code]]), key=lambda row: -row.weight)
            found[code] = [
                (row.severity, row.subject, row.text, [place["frame"] for place in row.places]) for row in rows
            ]
        return found
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


# Findings on connections, versions and captures, as `kwire diagnose` gives them, and captures that are real ones
# rewritten.

INCIDENTS = SAMPLES / "incidents"
BUSY = INCIDENTS / "throttled.pcap"
"""A capture without trouble on connections."""
REAL = ROOT.parent / "shared" / "real" / "own" / "captures"
"""Captures that are not part of the project."""
SECOND = 1_000_000_000
CODES = {
    "AUTHENTICATION_FAILED", "AUTHORIZATION_FAILED", "BROKER_RESTARTED", "BROKER_STOOD_STILL", "BROKER_STOPPED",
    "CERTIFICATE", "CLOCKS_DISAGREE", "CLOSED_IN_PLACE_OF_ANSWER", "CONNECTION_LIMIT", "CONNECTION_REFUSED",
    "CUT_SHORT", "LOST_PACKETS", "NOT_KAFKA", "NO_ANSWER", "NO_LOGIN", "ODD_CLIENT_BYTES",
    "OLD_CLIENT", "ONE_SIDE_ONLY", "PLAIN_TO_TLS_PORT", "RECONNECT_STORM",
    "RETRANSMISSIONS", "STALE_CONNECTION", "TLS_HANDSHAKE_FAILED",
    "TLS_TO_PLAIN_PORT", "UNDECRYPTED_TLS", "UNREACHABLE_LISTENER", "UNREADABLE_RESPONSE",
    "UNSUPPORTED_VERSION", "VERSION_NOT_OFFERED", "WRONG_LISTENER", "ZERO_WINDOW",
}  # fmt: skip
OF_VERSIONS = {
    "ODD_CLIENT_BYTES", "OLD_CLIENT", "UNREADABLE_RESPONSE", "UNSUPPORTED_VERSION",
    "VERSION_NOT_OFFERED",
}  # fmt: skip
OF_PACKETS = {"CUT_SHORT", "LOST_PACKETS", "ONE_SIDE_ONLY", "RETRANSMISSIONS", "ZERO_WINDOW"}


@lru_cache(maxsize=64)
def _asked_rules(words, of):
    return rows(subjects(*words, connections=True), of)


def diagnosed(*paths, severity="info", of=frozenset(CODES)):
    """The findings of rules about connections, versions and captures that are so severe in these inputs, as rows.

    Only these rules are asked: all of them take half a second. `of` are their codes.
    """
    shown = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return [row for row in _asked_rules(paths, frozenset(of)) if row["severity"] in shown]


def texts(*paths, **how):
    """The findings as triples of code, subject and text."""
    return [(row["code"], row["subject"], row["text"]) for row in diagnosed(*paths, **how)]


def codes(*paths, **how):
    return [row["code"] for row in diagnosed(*paths, **how)]


def frames(rows, code):
    """The frames that a finding names."""
    (row,) = [row for row in rows if row["code"] == code]
    return [place.get("frame") for place in row["evidence"]]


def traffic_of(*paths):
    """The lines and TCP connections of captures."""
    how = Reading(catalog=kwire_cli.catalog(), connections=True)
    return [subject for opened in open_inputs([str(path) for path in paths], how) for subject in opened.subjects()]


def rewritten(path, made, change):
    """Write a capture whose packets are what `change` gives for the packets of another; return its path."""
    there = list(packets(str(path)))
    link = there[0].link
    made.write_bytes(pcap_file(change(there), link=link))
    return made


def with_payload(there):
    """The segments with payload of packets, by the number of the packet."""
    return {segment.packet: segment for segment in Segments()(there) if segment.payload}


def is_connection(subject):
    return isinstance(subject, TcpConnection)


# Subjects for folds that ask about traffic and logs: of files, and of requests that a test makes up.


def subjects(*paths, connections=False):
    """Return the subjects of captures, request logs and log directories."""
    how = Reading(catalog=CATALOG, connections=connections)
    return [subject for opened in open_inputs([str(path) for path in paths], how) for subject in opened.subjects()]


def asked(fold, given):
    """Give subjects to a fold, and return it."""
    for subject in given:
        fold.add(subject)
    return fold


def rows(given, of=None):
    """Return the findings in subjects as JSON rows: those of all rules, or of rules with these codes."""
    queries = [rule for code, rule in RULES.items() if of is None or code in of]
    found = answer_document(asked(Diagnosis(Redaction(CATALOG), queries), given).answer())["tables"]["findings"]
    return [row for row in found if of is None or row["code"] in of]


def exchanges(*bodies, client="c"):
    """Return exchanges of a request log: each of an api, a version, a request, a response and a second."""
    reader = Reader(CATALOG)
    return [
        reader.exchange(
            document(CATALOG.api(api).key, version, request=request, response=response, client=client),
            number,
            f"2026-11-21T10:{second // 60:02}:{second % 60:02}.000000",
            1000 * number,
        )
        for number, (api, version, request, response, second) in enumerate(bodies, 1)
    ]


def log_items(name, *batches, folder="data"):
    """Return the items of a partition's log, written with these batches."""
    topic, _, partition = name.rpartition("-")
    source = source_of(kwire_cli.write_records([*batches]), topic=topic)
    file = f"{folder}/{name}/00000000000000000000.log"
    return [LogItem(topic, int(partition), file, item) for item in read_items(source)]


def log_batch(offset, *values, time=1_000_000, **fields):
    """Return a batch as `write_records` takes it."""
    records = [{"timestamp": time, "value": {"text": value}} for value in values]
    return {"baseOffset": offset, "records": records, **fields}


def deformed(body):
    """Yield a body with each part of it replaced by each of the wrong values."""
    for path in [*_paths(body)]:
        for value in WRONG:
            other = copy.deepcopy(body)
            place = other
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            yield other


def deformed_exchanges(body):
    """Yield the exchange of a body with each of its parts replaced by wrong values, as far as a log can hold it."""
    api, version, request, response, second = body
    for wrong in deformed({"request": request, "response": response}):
        if isinstance(wrong["request"], dict) and isinstance(wrong["response"], dict | None):
            yield from exchanges((api, version, wrong["request"], wrong["response"], second))


def diagnose_deformed(body, before=(), after=()):
    """Diagnose the deformed exchanges of a body between others."""
    asked(Diagnosis(Redaction(CATALOG)), [*before, *deformed_exchanges(body), *after]).answer()


def _paths(body, before=()):
    steps = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for step, value in steps:
        yield (*before, step)
        yield from _paths(value, (*before, step))


# Calls about groups, made by hand: exchanges of a request log, and records of coordinators.

KEYS = {
    "Heartbeat": (12, 4),
    "JoinGroup": (11, 9),
    "LeaveGroup": (13, 5),
    "SyncGroup": (14, 5),
    "OffsetCommit": (8, 9),
    "ConsumerGroupHeartbeat": (68, 1),
    "ShareGroupHeartbeat": (76, 1),
    "ShareFetch": (78, 2),
    "ShareAcknowledge": (79, 2),
    "StreamsGroupHeartbeat": (88, 1),
}
"""Keys and versions of apis."""
NOTHING, ORDERS_0, ORDERS_1 = "", "AAAAAAABAAZvcmRlcnMAAAABAAAAAAAAAAA=", "AAAAAAABAAZvcmRlcnMAAAABAAAAAQAAAAA="
"""Assignments of the consumer protocol: nothing, orders-0, orders-1."""


@cache
def reader():
    return Reader(kwire_cli.catalog())


def call(api, second, request, response=None, *, client="c", port=50012):
    """An exchange about the group `g`, answered so many seconds after ten o'clock."""
    key, version = KEYS[api]
    time = f"2026-11-21T10:{int(second) // 60:02}:{second % 60:09.6f}Z"
    body = {"groupId": "g"} | request if isinstance(request, dict) else request
    exchange = document(key, version, client=client, request=body, response=response, port=port, totalTimeMs=1)
    return reader().exchange(exchange, round(second * 10) + 1, time)


def join(second, member, generation, *, leader=None, members=(), **more):
    options = {name: more.pop(name) for name in ("client", "port") if name in more}
    request = {"memberId": member, "protocolType": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    request |= {"sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 300_000} | more
    listed = [{"memberId": name} for name in members]
    response = {"errorCode": 0, "generationId": generation, "protocolName": more.get("assignor", "range")}
    response |= {"leader": leader or member, "memberId": member, "members": listed}
    return call("JoinGroup", second, request, response, **{"client": member, **options})


def sync(second, member, generation, assignment=NOTHING, **options):
    request = {"memberId": member, "generationId": generation, "protocolType": "consumer", "assignments": []}
    response = {"errorCode": 0, "protocolType": "consumer", "assignment": assignment}
    return call("SyncGroup", second, request, response, **{"client": member, **options})


def generation(second, number, wait=0.1, more=(), **members):
    """A generation: who is in it, with which assignment, and more about the joins; the first member leads."""
    leader, everybody = next(iter(members)), [*members]
    for name in members:
        listed = everybody if name == leader else ()
        yield join(second, name, number, leader=leader, members=listed, **dict(more))
    for name, assignment in members.items():
        yield sync(second + wait, name, number, assignment)


def beat(second, member, generation, error=0, **options):
    request = {"memberId": member, "generationId": generation}
    return call("Heartbeat", second, request, {"errorCode": error}, **{"client": member, **options})


def leave(second, member, reason=None, **options):
    request = {"members": [{"memberId": member, "groupInstanceId": None, "reason": reason}]}
    return call("LeaveGroup", second, request, {"errorCode": 0, "members": []}, **{"client": member, **options})


def modern(second, member, epoch, answer, *, error=0, request=None, given=None, **options):
    """A heartbeat in a member epoch, answered with another; `given` is an assignment of topic ids."""
    asked = {"memberId": member, "memberEpoch": epoch} | (request or {})
    assignment = None if given is None else {"topicPartitions": [{"topicId": "A" * 21 + "Q", "partitions": given}]}
    response = {"errorCode": error, "memberId": member, "memberEpoch": answer, "heartbeatIntervalMs": 1000}
    response["assignment"] = assignment
    return call("ConsumerGroupHeartbeat", second, asked, response, **{"client": member, **options})


def logged(topic, offset, second, number, name, key, value, **versions):
    """A batch with a record of a coordinator."""
    return logged_pair(topic, offset, second, keyed(number, name, key, value, **versions))


def logged_pair(topic, offset, second, pair):
    """Return a batch with a record that has these bytes as its key and its value."""
    time = 1_760_000_000_000 + 1000 * second
    data = batch(offset, [record(*pair)], baseTimestamp=time, maxTimestamp=time)
    (item,) = kwire_cli.read_records(data)
    return LogItem(topic, 0, "00000000000000000000.log", item)
