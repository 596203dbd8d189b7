"""Whole captures: what is said in TLS is what was said, in every case of it; and what can't be decrypted says why."""

import gzip
import json
from collections import Counter

import pytest
from kit.captures import BROKER, BROKER_KEYS, CASES, EARLY, KEY_UPDATES, decrypted, lines, raw_events, said
from kit.commands import ROOT

import kwire_cli
from kwire_cli.source.packets.model import Foreign

SHARED = ROOT.parent / "shared" / "real" / "own" / "captures" / "tls-keylog"
PLAIN = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
NO_KEY, CBC, OLD = 14, 11, 12
WITHOUT_DATA = 15


@pytest.fixture(scope="module")
def plain():
    """The frames that were sent: the first of the connection of the sample that has most."""
    by_stream = {}
    for line in lines(PLAIN):
        if line.kind == "response":
            by_stream.setdefault(line.stream, []).append((line.request.seen.data, line.seen.data))
    return max(by_stream.values(), key=len)[:4]


def test_what_is_said_is_what_was_sent(plain):
    found = said(decrypted(raw_events()))
    both = {}
    for stream in {*range(WITHOUT_DATA)} - {CBC, OLD, NO_KEY}:
        both[stream, 0] = b"".join(request for request, _ in plain)
        both[stream, 1] = b"".join(response for _, response in plain)
    assert {key: data for key, data in found.items() if key[0] != EARLY} == both
    # What a client sends with its first message is under a key of its own, which is not read.
    assert found[EARLY, 1] == b"".join(response for _, response in plain[:2])


def test_cases_are_what_they_say():
    """Suites, another hello, sessions that go on."""
    hellos = {}
    for event in decrypted(raw_events()):
        if isinstance(event, Foreign):
            hellos.setdefault(event.connection, []).extend(
                name for name in event.content if "Hello" in name and name != "ServerHelloDone"
            )
    answers = {stream: names[-1].removeprefix("ServerHello ") for stream, names in hellos.items()}
    assert answers == {
        0: "TLS 1.3 TLS_AES_128_GCM_SHA256",
        1: "TLS 1.3 TLS_CHACHA20_POLY1305_SHA256",
        2: "TLS 1.3 TLS_AES_256_GCM_SHA384",
        3: "TLS 1.3 TLS_AES_256_GCM_SHA384",
        4: "TLS 1.3 TLS_AES_256_GCM_SHA384 resumed",
        5: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        6: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        7: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        8: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 resumed",
        9: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        10: "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 resumed",
        CBC: "TLS 1.2 suite 0xc023",
        OLD: "TLS 1.1 suite 0xc00a",
        KEY_UPDATES: "TLS 1.3 TLS_AES_256_GCM_SHA384",
        NO_KEY: "TLS 1.3 TLS_AES_256_GCM_SHA384",
        WITHOUT_DATA: "TLS 1.3 TLS_AES_256_GCM_SHA384",
        EARLY: "TLS 1.3 TLS_AES_256_GCM_SHA384 resumed",
    }
    assert hellos[2] == [
        "ClientHello",
        "HelloRetryRequest",
        "ClientHello",
        "ServerHello TLS 1.3 TLS_AES_256_GCM_SHA384",
    ]


def test_keys_are_updated():
    found = [
        event for event in decrypted(raw_events()) if isinstance(event, Foreign) and event.connection == KEY_UPDATES
    ]
    assert Counter(event.direction for event in found if "KeyUpdate" in event.content) == {0: 3, 1: 2}


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (NO_KEY, "the key log has no SERVER_HANDSHAKE_TRAFFIC_SECRET or SERVER_TRAFFIC_SECRET_0 for client random "),
        (CBC, "suite 0xc023 is not supported: suites with AES-GCM and ChaCha20-Poly1305 are"),
        (OLD, "TLS 1.1 is not supported: TLS 1.2 and 1.3 are"),
    ],
)
def test_what_is_not_decrypted_says_why(stream, reason):
    found = [line for line in lines(CASES) if line.stream == stream]
    assert {line.kind for line in found} == {"not-kafka"}
    assert next(line.seen.reason for line in found if line.seen.reason).startswith(reason)
    assert found[1].to_json()["reason"].startswith(reason)
    assert not any(line.is_frame for line in found)


def test_frames_stand_at_the_packet_of_their_records_last_byte():
    times = {event.packet: event.time for event in raw_events(BROKER) if hasattr(event, "time")}
    found = lines(BROKER, BROKER_KEYS)
    assert Counter(line.kind for line in found) == {"request": 55, "response": 55, "not-kafka": 60}
    assert all(line.seen.time == times[line.seen.packet] for line in found)
    assert all(line.latency > 0 for line in found if line.kind == "response")
    places = [line.place for line in found if line.is_frame]
    assert places == sorted(places)


def test_frames_of_the_library():
    frames = list(kwire_cli.read_frames(str(BROKER), tls_keylog=[str(BROKER_KEYS)]))
    assert Counter(frame.kind for frame in frames) == {"request": 55, "response": 55}
    assert not list(kwire_cli.read_frames(str(BROKER)))


@pytest.mark.shared
def test_frames_are_those_that_the_broker_logged():
    logged = Counter()
    with gzip.open(SHARED / "broker-request-log.jsonl.gz", "rt") as log:
        for entry in map(json.loads, log):
            header = entry["requestHeader"]
            logged[
                entry["connection"].split("-")[1].rpartition(":")[2], header["requestApiKey"], header["correlationId"]
            ] += 1
    found = Counter()
    for line in lines(SHARED / "capture.pcapng", SHARED / "keylog.txt"):
        if line.kind == "request":
            found[line.src.rpartition(":")[2], line.api_key, line.correlation_id] += 1
    assert found == logged
