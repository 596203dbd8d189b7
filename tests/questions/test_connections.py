"""Connections that do not come about, that are closed or not answered, and too many of them."""

import pytest
from kit.calls import (
    INCIDENTS,
    REAL,
    SAMPLES,
    SECOND,
    START,
    MadeCall,
    all_findings,
    codes,
    diagnosed,
    found,
    found_by_each,
    frames,
    rewritten,
    texts,
)  # fmt: skip
from kit.captures import ports

from kwire_cli.facts.connections import CONNECTIONS
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import turned
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import RST


def test_a_broker_that_is_away_for_a_while():
    assert texts(INCIDENTS / "out-of-order.pcap") == [
        (
            "BROKER_RESTARTED",
            "broker 127.0.0.1:29092",
            (
                "restart: it closed 2 connections at 15:27:50 and answered again at 15:28:03, 13.8 s later; "
                "16 connections refused in between"
            ),
        )
    ]


def test_one_syn_at_the_end_of_a_capture_is_no_silence(tmp_path):
    """Its answer came after the capture had ended."""
    cut = rewritten(INCIDENTS / "swallowed.pcap", tmp_path / "cut.pcap", _until_second_try)
    assert codes(cut) == []


def _until_second_try(there):
    segments = list(Segments()(there))
    first = next(segment.packet for segment in segments if ports(segment)[1] == 29101)
    return [packet for packet in there if packet.number <= first]


def test_a_broker_that_is_stopped():
    rows = diagnosed(INCIDENTS / "silent.pcap")
    assert [(row["code"], row["subject"], row["text"]) for row in rows] == [
        ("NO_ANSWER", "client monitor", "127.0.0.1:29092 did not answer 1 request (ApiVersions 3) for up to 14.1 s"),
        (
            "BROKER_STOOD_STILL",
            "broker 127.0.0.1:29092",
            (
                "stood still for 14.1 s: 2 requests of 1 client waited on 2 connections, "
                "and all were answered within 1 ms afterwards"
            ),
        ),
    ]
    assert frames(rows, "NO_ANSWER") == [9]


def test_a_capture_that_ends_is_no_silence_until_the_next_one(tmp_path):
    """The request came half a second before the end of its capture, and the other capture begins an hour later."""
    cut = rewritten(INCIDENTS / "silent.pcap", tmp_path / "cut.pcap", lambda there: _within(there, 3.5))
    assert codes(cut) == []
    end = max(packet.time for packet in packets(INCIDENTS / "silent.pcap"))

    def an_hour_later(there):
        delay = end - there[0].time + 3600 * SECOND
        return [packet._replace(time=packet.time + delay) for packet in there]

    (tmp_path / "other").mkdir()
    for folder in (tmp_path / "other", tmp_path):  # another capture point, and a later file of the same one
        later = rewritten(INCIDENTS / "rebalancing.pcap", folder / "later.pcap", an_hour_later)
        assert sorted(codes(cut, later)) == sorted(codes(later))


def _within(there, seconds):
    end = there[0].time + seconds * SECOND
    return [packet for packet in there if packet.time < end]


def test_a_broker_that_never_answers_before_the_capture_ends(tmp_path):
    """Without the packets of the broker from the moment on at which it was stopped."""

    def until_continued(there):
        end = there[0].time + 13 * SECOND
        return [packet for packet in there if packet.time < end]

    cut = rewritten(INCIDENTS / "silent.pcap", tmp_path / "cut.pcap", until_continued)
    assert texts(cut) == [
        (
            "NO_ANSWER",
            "client monitor",
            (
                "127.0.0.1:29092 did not answer 1 request (ApiVersions 3) for up to 10.0 s; "
                "the client gave up and connected again"
            ),
        )
    ]


def connection(number, second, **columns):
    """Return a connection to a broker as a row, closed a second later."""
    row = dict.fromkeys([name for name, _ in CONNECTIONS]) | {
        "connection": number, "ordinal": number, "client_address": "10.0.0.1:50000",
        "broker_address": "10.0.0.9:9092", "opened": True, "outcome": "accepted",
        "first_time": round((START + second) * 1e6), "closed_time": round((START + second + 1) * 1e6),
    }  # fmt: skip
    return [*(row | columns).values()]


def test_the_only_connection_ends_and_the_next_ones_are_refused():
    calls = [MadeCall("Heartbeat", {}, {"errorCode": 0}, at=0.5), MadeCall("JoinGroup", at=0.8)]
    killed = connection(0, 0, closed_by="broker")
    rules = ("BROKER_STOPPED", "CLOSED_IN_PLACE_OF_ANSWER")
    assert [*map(len, found_by_each(rules, calls, [killed]).values())] == [0, 1]
    refused = connection(1, 1.5, outcome="refused")
    assert [*map(len, found_by_each(rules, calls, [killed, refused]).values())] == [1, 0]
    much_later = connection(1, 60, outcome="refused")
    assert [*map(len, found_by_each(rules, calls, [killed, much_later]).values())] == [0, 1]


@pytest.mark.parametrize(("error", "count"), [("UNKNOWN_MEMBER_ID", 1), ("COORDINATOR_NOT_AVAILABLE", 0)])
def test_answers_after_a_timeout_of_the_broker_are_no_standstill(error, count):
    """The broker waits for other brokers, and then answers all requests that waited with it."""
    calls = [MadeCall("Heartbeat", {}, {}, connection=name) for name in ("one", "two")]
    calls += [
        MadeCall("OffsetCommit", {}, {}, at=1, took=5, errors=[error], connection=name) for name in ("one", "two")
    ]
    assert len(found("BROKER_STOOD_STILL", calls)) == count


def test_a_limit_of_the_rate_closes_connections_late():
    calls = [MadeCall("ApiVersions", {}, {}, connection="works"), MadeCall("Metadata", {}, {}, connection="works")]
    calls += [MadeCall("ApiVersions", at=second, connection=second) for second in (2, 3)]
    rows = [connection(0, 0, closed_time=None)]
    rows += [
        connection(number, second, closed_by="broker", closed_time=round((START + second + 3) * 1e6))
        for number, second in ((1, 2), (2, 3))
    ]
    assert [*map(len, found_by_each(("CONNECTION_LIMIT", "CLOSED_IN_PLACE_OF_ANSWER"), calls, rows).values())] == [1, 0]


def unread(number, took=0.001):
    """Return a Fetch whose response ends after 10 of 5,000 bytes, and its connection."""
    call = MadeCall("Fetch", {}, {}, at=2 * number, took=took, connection=number)
    call.anomalies, call.missing = ["TRUNCATED"], 4990
    end = round((START + 2 * number + took) * 1e6)
    return call, connection(number, 2 * number, closed_by="client", closed_time=end)


def test_a_client_that_reads_no_response_of_this_size():
    calls, rows = zip(*(unread(number) for number in range(3)), strict=True)
    ((severity, subject, text, _),) = found("RESPONSE_NOT_READ", calls, rows)
    assert (severity, subject) == ("error", "client billing")
    assert text == (
        "closed 3 connections to 10.0.0.9:9092 while Fetch responses arrived, up to 1 ms after the request; the "
        "largest has 4996 bytes"
    )
    assert found("RESPONSE_NOT_READ", calls[:1], rows) == []


def test_a_client_that_ends_leaves_a_response_unread():
    """It has read a larger one before."""
    calls, rows = zip(*(unread(number) for number in range(2)), strict=True)
    read = MadeCall("Fetch", {}, {}, at=9, connection="reads")
    assert len(found("RESPONSE_NOT_READ", [*calls, read], rows)) == 1
    for call in calls:
        call.missing = 1
    assert found("RESPONSE_NOT_READ", [*calls, read], rows) == []


def test_a_request_waits_since_the_answer_before():
    """A broker reads the next request of a connection when it has answered the one before."""
    beat = MadeCall("Heartbeat", at=1)
    later = MadeCall("Heartbeat", at=9.5, connection="other")
    for took, count in ((8.5, 0), (0.1, 1)):
        calls = [MadeCall("SyncGroup", {}, {}, took=took), beat, later]
        assert len(found("NO_ANSWER", calls, [connection(0, 8, closed_by="client", broker_heard=True)])) == count


def test_connections_closed_at_the_very_first_request():
    """ApiVersions needs no login: what the proxy made of it cannot be read."""
    rows = all_findings(INCIDENTS / "mangling-proxy.pcap")
    assert [row["code"] for row in rows] == ["MANGLED_FRAMES", *["CLOSED_IN_PLACE_OF_ANSWER"] * 2]
    assert rows[2]["text"] == "127.0.0.1:29099 closed 7 connections at ApiVersions 4, without an answer"


@pytest.mark.shared
def test_versions_that_a_broker_has_forgotten():
    rows = diagnosed(REAL / "mismatch44-java-0.10.2.2" / "capture.pcapng")
    assert [(row["code"], row["severity"]) for row in rows] == [
        ("CLOSED_IN_PLACE_OF_ANSWER", "error"),
        ("OLD_CLIENT", "warning"),
    ]
    assert rows[0]["text"].endswith(
        "closed 6 connections at Produce 2, without an answer; Kafka 4.4 accepts Produce 3-13"
    )
    assert rows[1]["command"] == "clients --to 4.4"


def test_requests_that_no_broker_reads():
    (text,) = [text for code, _, text in texts(SAMPLES / "captures" / "not-kafka.pcapng") if code.startswith("CLOSED")]
    assert "at Metadata 99, Produce 2, api 999 0" in text


def test_a_reset_after_a_long_pause(tmp_path):
    """What a NAT gateway does, which forgets an idle connection: the last request is moved by minutes, and answered
    with a RST.
    """

    def forgotten(there):
        segments = {segment.packet: segment for segment in Segments()(there)}
        last = max(number for number, segment in segments.items() if segment.payload and ports(segment)[1] == 29092)
        stream = {segments[last].ends}
        kept = [packet for packet in there if packet.number < last]
        late = there[last - 1]._replace(time=there[last - 1].time + 400 * SECOND)
        answer = next(
            packet
            for packet in reversed(kept)
            if packet.number in segments and segments[packet.number].ends == turned(segments[last].ends)
        )
        data = bytearray(answer.data[: 14 + 20 + 20])
        data[14 + 2 : 14 + 4] = (40).to_bytes(2, "big")
        data[14 + 20 + 4 : 14 + 20 + 8] = segments[last].acknowledgment.to_bytes(4, "big")
        data[14 + 20 + 12 : 14 + 20 + 14] = bytes([5 << 4, RST])
        assert stream
        reset = answer._replace(data=bytes(data), wire_length=len(data), time=late.time + SECOND // 100)
        return [*kept, late, reset]

    made = rewritten(INCIDENTS / "throttled.pcap", tmp_path / "forgotten.pcap", forgotten)
    (row,) = diagnosed(made, of=("STALE_CONNECTION",))
    assert row["severity"] == "warning"
    assert "reset 1 connection at" in row["text"]
    assert row["text"].endswith("s after the call before")


def test_connections_that_are_closed_when_idle_are_no_storm(tmp_path):
    """The same connections, of which each ends after a minute without a call."""

    def idle(there):
        segments = {segment.packet: segment for segment in Segments()(there)}
        ended = set()
        out = []
        for packet in there:
            segment = segments[packet.number]
            if segment.flags & 1:
                ended |= {segment.ends}
            late = packet.time + 60 * SECOND if segment.ends in ended or _turned(segment) in ended else packet.time
            out.append(packet._replace(time=late))
        return sorted(out, key=lambda packet: packet.time)

    made = rewritten(INCIDENTS / "storm.pcap", tmp_path / "idle.pcap", idle)
    assert codes(made, severity="warning") == []


def _turned(segment):
    return turned(segment.ends)


@pytest.mark.parametrize("name", ["sasl.pcap", "tls-to-plain.pcap", "mangling-proxy.pcap"])
def test_a_storm_is_the_symptom_of_other_findings(tmp_path, name):
    """Clients that are refused connect again and again: three times as often here."""

    def often(there):
        out = []
        for turn in range(4):
            for packet in there:
                data = bytearray(packet.data)
                for at in (34, 36):  # the client's port is another in each turn
                    port = int.from_bytes(data[at : at + 2], "big")
                    if port > 30000:
                        data[at : at + 2] = (port - 700 * turn).to_bytes(2, "big")
                out.append(packet._replace(data=bytes(data), time=packet.time + turn * 3 * SECOND))
        return sorted(out, key=lambda packet: packet.time)

    made = rewritten(INCIDENTS / name, tmp_path / "often.pcap", often)
    found = codes(made)
    assert found
    assert "RECONNECT_STORM" not in found


def test_a_controller_that_is_gone_comes_before_the_broker_that_nobody_fences():
    first, second, *_ = all_findings(INCIDENTS / "controller-gone.pcap")
    assert (first["code"], first["text"]) == ("CONNECTION_REFUSED", "14 connections to 127.0.0.1:29293 refused")
    assert "majority of controllers" in first["meaning"]
    assert second["code"] == "UNREACHABLE_LISTENER"
