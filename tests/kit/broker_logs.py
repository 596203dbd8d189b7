"""Real captures, and what the brokers logged of the same requests: read in plain Python, without kwire."""

import gzip
import json
from functools import cache
from pathlib import Path

from kit.commands import json_of

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
