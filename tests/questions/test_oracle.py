"""What kwire says of captures, against what the brokers logged of the same requests.

A request log is Kafka's own decode of each request and response, with the times that the broker took. What follows from
it is worked out here in plain Python, without kwire.
"""

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from kit.commands import json_of

import kwire_cli
from kwire_cli.analysis.subjects import TRAFFIC, add_all
from kwire_cli.analysis.summary_tables import _QUERIED
from kwire_cli.answer import Answer, Table
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.traffic import Traffic, queries_in, rows_of
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.view.answers import answer_document

pytestmark = [pytest.mark.shared, pytest.mark.slow]


CAPTURES = sorted((Path(__file__).parents[3] / "shared/real/own/captures").glob("*/capture.pcap*"))
ONE_WAY = "edge-oneway"
PRODUCE, FETCH, JOIN, HEARTBEAT, LEAVE, SYNC, HANDSHAKE = 0, 1, 11, 12, 13, 14, 17
API_VERSIONS, END, MARKERS, AUTHENTICATE, ENVELOPE = 18, 26, 27, 36, 58
MODERN = {68, 76, 88}
"""The heartbeats of consumer, share and streams groups."""
REBALANCE_IN_PROGRESS = 27
WAITING = ("broker-2-fetcher-0", "raft-client-1", "raft-client-102", "raft-client-2")
APART = {
    # The broker closed the connection in place of an answer, and does not log such requests.
    "mismatch44-java-0.10.2.2": {("old-producer-none", PRODUCE, 2): 6},
    "not-kafka": {("test", PRODUCE, 2): 1, ("test", 3, 99): 1, ("test", API_VERSIONS, 3): 1, ("test", 999, 0): 1},
    "sweep44-broker": {("sweep-broker", 22, 6): 1},
    # Requests are logged with their responses: these waited when capture and log ended.
    "java44-kraft": {(client, FETCH, 18): 1 for client in WAITING},
    # The log began before the capture.
    "edge-midstream": {("edge-consumer", FETCH, 12): -2, ("edge-producer", PRODUCE, 9): -2},
}
"""How many more requests of a client, api and version are in the capture than in the log."""


def name(path):
    return path.parent.name


def key_logs(path):
    return [str(log) for log in path.parent.glob("keylog.txt")]


@cache
def tables(command, path):
    return json_of(command, path, *(word for log in key_logs(path) for word in ("--tls-keylog", log)))["tables"]


@cache
def log(path):
    """Return the lines of the brokers' logs, without the second line of what a broker forwarded."""
    texts = [gzip.decompress(file.read_bytes()) for file in sorted(path.parent.glob("*.jsonl.gz"))]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    return [line for line in lines if not line["isForwarded"]]


def kind(line):
    header = line["requestHeader"]
    return header["clientId"], header["requestApiKey"], header["requestApiVersion"]


def held(line):
    """Return the milliseconds until the broker began to send the response."""
    return line["totalTimeMs"] - line["sendTimeMs"]


def codes(body):
    """Return the error codes in a body that are not 0, each once."""
    if isinstance(body, list):
        return {code for value in body for code in codes(value)}
    if not isinstance(body, dict):
        return set()
    own = {value for field, value in body.items() if field.lower().endswith("errorcode") and value}
    return own.union(*map(codes, body.values()))


def is_logged(path, client, api_key):
    """Whether the log says anything of such requests.

    A broker logs an Envelope as the request in it, and nothing before a connection is authenticated. The logs of sweeps
    were cut to the clients called sweep-….
    """
    if api_key == ENVELOPE or (name(path).startswith("sasl") and api_key in {HANDSHAKE, API_VERSIONS, AUTHENTICATE}):
        return False
    return not name(path).startswith("sweep") or str(client).startswith("sweep-")


def logged(path):
    return [line for line in log(path) if is_logged(path, *kind(line)[:2])]


def versions(path):
    rows = [row for row in tables("clients", path)["versions"] if is_logged(path, row["clientId"], row["apiKey"])]
    return [((row["clientId"], row["apiKey"], row["apiVersion"]), row) for row in rows]


@pytest.fixture(scope="module", params=CAPTURES, ids=name)
def path(request):
    """A capture. All tests of one come together, so that a process keeps what commands say of it."""
    return request.param


@cache
def codes_by_name():
    return {row.name: row.code for row in kwire_cli.catalog().errors}


def errors_of(rows):
    found = Counter()
    for row in rows:
        found.update(row["errors"])
    return found


def totals(rows, column):
    found = Counter()
    for row in rows:
        found[row[column]] += row["requests"]
    return found


def test_requests_and_errors_of_each_client_by_api_and_version_are_those_that_the_broker_logged(path):
    requests, errors = Counter(), Counter()
    for key, row in versions(path):
        requests[key] += row["requests"]
        errors.update({(*key, codes_by_name()[error]): count for error, count in row["errors"].items()})
    requests.subtract(map(kind, logged(path)))
    assert {key: count for key, count in requests.items() if count} == APART.get(name(path), {})
    of_log = Counter((*kind(line), code) for line in logged(path) for code in codes(line["response"]))
    assert errors == ({} if name(path) == ONE_WAY else of_log)


def opened(path):
    how = Reading(catalog=kwire_cli.catalog(), key_logs=tuple(key_logs(path)), connections=True)
    return open_inputs([str(path)], how, takes=TRAFFIC)


def summed(path):
    """Return the tables of a summary that queries fill, without its findings, which most of its time goes to."""
    counted = Traffic(Redaction(kwire_cli.catalog()), queries_in("summary"))
    add_all(opened(path), counted, connections=True)
    with counted.filled():
        filled = [Table(name, columns, rows_of(columns, counted.rows(name))) for name, columns in _QUERIED.items()]
    return answer_document(Answer("summary", filled))["tables"]


def served(path):
    """Return how many milliseconds kwire says that a broker had each request."""
    query = """
        select regexp_extract(client_address, '[0-9]+$') as port, c.api_key, c.api_version, correlation_id, served_us
        from calls c join frames f using (connection, frame) where f.kind = 'request' and served_us is not null
    """
    filled = Tables(Redaction(kwire_cli.catalog()), [query])
    add_all(opened(path), filled)
    filled.finish()
    rows = [tuple(row.values()) for row in filled.rows(query)]
    filled.close()
    return {tuple(key): microseconds / 1000 for *key, microseconds in rows}


def test_latencies_are_those_that_the_broker_measured(path):
    shown, pairs, longest = served(path), [], defaultdict(float)
    for line in logged(path):
        _, api_key, version = kind(line)
        port = line["connection"].split("-")[1].rpartition(":")[2]
        key = (port, api_key, version, line["requestHeader"]["correlationId"])
        if key in shown:
            pairs.append((shown[key], line))
            longest[api_key, version] = max(longest[api_key, version], held(line))
    assert len(pairs) >= (0 if name(path) == ONE_WAY else 0.9 * len(logged(path)))
    # The log's time begins late if the network thread is busy, and ends when that thread sees that all was sent.
    assert [line for milliseconds, line in pairs if milliseconds < held(line)] == []
    apart = [abs(milliseconds - line["totalTimeMs"]) for milliseconds, line in pairs] or [0]
    assert median(apart) < 1
    assert sum(milliseconds > 5 for milliseconds in apart) <= 0.04 * len(apart)
    apis = {f"{row['api']} {version}": (api_key, version) for (_, api_key, version), row in versions(path)}
    for row in tables("stats", path)["api"]:
        most = 1000 * max(row["latencyMaxSeconds"] or 0, row["waitMaxSeconds"] or 0)
        assert most >= longest[apis.get(row["api"])], row["api"]


def granted(path):
    """Return the members, those that left, and the generations of each group, as the broker's answers have them."""
    members, left, generations = defaultdict(set), defaultdict(set), defaultdict(set)
    for line in log(path):
        (_, api_key, _), request, response = kind(line), line["request"], line["response"]
        if api_key not in {JOIN, HEARTBEAT, LEAVE, SYNC} | MODERN:
            continue
        if response["errorCode"] not in {0, REBALANCE_IN_PROGRESS}:
            continue
        group = request["groupId"]
        rows = response.get("members") or [request | response] if api_key == LEAVE else []
        left[group] |= {row["memberId"] for row in rows if not row["errorCode"]}
        if api_key in MODERN and request["memberEpoch"] < 0:
            left[group].add(request["memberId"])
        members[group] |= left[group]
        if api_key != LEAVE:
            members[group].add((response if api_key in {JOIN} | MODERN else request)["memberId"])
            number = response.get("memberEpoch", response.get("generationId", request.get("generationId")))
            generations[group] |= {number} - {0, -1}
    return members, left, generations


def test_groups_have_the_members_generations_and_durations_that_the_broker_granted(path):
    members, left, generations = granted(path)
    answer = tables("groups", path)
    assert {row["member"] for row in answer["members"]} == set().union(*members.values())
    for row in answer["groups"] if name(path) != ONE_WAY else ():
        own = members[row["group"]]
        assert (row["members"], row["membersNow"]) == (len(own), len(own - left[row["group"]]))
        numbers = generations[row["group"]] or {None}
        assert {row["generationFirst"], row["generationLast"]} == {*sorted(numbers)[:1], *sorted(numbers)[-1:]}
    spent = defaultdict(lambda: {JOIN: [], SYNC: []})
    for line in log(path):
        if kind(line)[1] in {JOIN, SYNC} and not line["response"]["errorCode"]:
            generation = line["response"].get("generationId", line["request"].get("generationId"))
            spent[line["request"]["groupId"], generation][kind(line)[1]].append(held(line))
    rebalances = [row for row in answer["events"] if row["event"] == "rebalance"]
    if name(path) != ONE_WAY:
        assert spent.keys() <= {(row["group"], row["generation"]) for row in rebalances}
    for row in rebalances:
        took = spent[row["group"], row["generation"]]
        if took[JOIN]:
            assert 0 <= 1000 * row["seconds"] - max(took[JOIN]) <= sum(took[SYNC]) + 100  # and what clients took


def test_transactions_end_as_the_broker_ended_them(path):
    ends, marked = Counter(), Counter()
    for line in log(path):
        request = line["request"]
        if kind(line)[1] == END and not line["response"]["errorCode"]:
            ends[request["producerId"], request["producerEpoch"], request["committed"]] += 1
        for row in request["markers"] if kind(line)[1] == MARKERS else ():
            marked[row["producerId"], row["producerEpoch"], row["transactionResult"]] += 1
    # A sweep writes markers of a producer whose EndTxn was refused.
    ended = {producer for producer, *_ in ends}
    ends.update({key: count for key, count in marked.items() if key[0] not in ended})
    rows = tables("transactions", path)["transactions"]
    assert Counter((row["producerId"], row["epoch"], row["result"] == "committed") for row in rows) == ends


def test_commands_that_print_one_number_print_the_same(path):
    stats, clients, summary = tables("stats", path), tables("clients", path), summed(path)
    assert totals(summary["clients"], "clientId") == totals(clients["clients"], "clientId")
    named = [row for row in clients["clients"] if row["clientId"]]
    assert totals([row for row in stats["client"] if row["client"]], "client") == totals(named, "clientId")
    by_version = Counter()
    for row in clients["versions"]:
        by_version[f"{row['api'] or row['apiKey']} {row['apiVersion']}"] += row["requests"]
    assert totals(stats["api"], "api") == by_version
    assert totals(stats["broker"], "broker") == totals(summary["brokers"], "broker")
    errors = errors_of(stats["api"])
    for rows in (stats["client"], stats["broker"], summary["clients"], summary["brokers"], clients["clients"]):
        assert errors_of(rows) == errors
    shown = Counter()
    for row in summary["errors"]:
        shown[row["error"]] += row["count"]
    del errors["MEMBER_ID_REQUIRED"]  # no error to a person
    assert shown == errors
