"""Versions that brokers refuse, that the next release refuses, and bytes that Kafka's clients would not write."""

import pytest
from kit.calls import (
    INCIDENTS,
    OF_VERSIONS,
    REAL,
    SAMPLES,
    MadeCall,
    all_findings,
    diagnosed,
    exchanges,
    found,
    rows,
    texts,
)
from kit.traffic import SECOND, body_of, ethernet, ipv4, packet, pcap_file, tcp

import kwire_cli as kwire
from kwire_cli.facts.connections import CONNECTIONS
from kwire_cli.structs.network import ACK, SYN


def of_versions(path):
    """Return what is found about versions, and about bytes that do not fit them."""
    return texts(path, of=OF_VERSIONS)


def test_an_old_client():
    (row,) = diagnosed(SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng")
    assert (row["code"], row["severity"]) == ("OLD_CLIENT", "warning")
    assert row["subject"] == "client sarama-lab (sarama v1.61.1)"
    assert row["text"] == "Kafka 4.4 refuses Produce 0 (it accepts 3-13)"
    assert [place["frame"] for place in row["evidence"]] == [11]


def test_old_clients_of_a_request_log():
    rows = diagnosed(SAMPLES / "request-logs" / "kafka-request.log", of=("OLD_CLIENT",))
    assert rows
    assert all("line" in place for row in rows for place in row["evidence"])


@pytest.mark.shared
def test_versions_that_clients_and_brokers_agree_on():
    """A Java client of 4.4 asks a broker of 3.9 for ApiVersions 5, and then for 4: that is no error."""
    assert of_versions(REAL / "old39-java-4.4.0" / "capture.pcapng") == [
        (
            "UNSUPPORTED_VERSION",
            "broker 127.0.0.1:19392",
            "127.0.0.1:19392 refused 31 requests ApiVersions 5; the broker offers 0 to 4",
        )
    ]
    (row,) = diagnosed(REAL / "sweep44-broker" / "capture.pcapng", of=("UNSUPPORTED_VERSION",))
    assert row["text"] == (
        "127.0.0.1:19092 refused 1 request StreamsGroupTopologyDescriptionUpdate 0: "
        "The broker has no streams group topology description plugin configured."
    )


def test_the_four_bytes_of_librdkafka(tmp_path):
    """ApiVersions 0 with four zero bytes before its body, as librdkafka falls back to it."""
    request = bytes.fromhex("0000001500120000000000010007") + b"rdkafka" + bytes(4)
    request = (len(request) - 4).to_bytes(4, "big") + request[4:]
    opening = [
        ethernet(ipv4(tcp(flags=SYN, sequence=999, acknowledgment=0))),
        ethernet(ipv4(tcp(request, sequence=1000, acknowledgment=0, flags=ACK))),
    ]
    made = tmp_path / "rdkafka.pcap"
    made.write_bytes(pcap_file([packet(data, n, time=n * SECOND) for n, data in enumerate(opening, 1)]))
    (finding,) = texts(made, of=("ODD_CLIENT_BYTES",))
    assert finding[1] == "software rdkafka"
    assert finding[2].startswith("1 request ApiVersions 0 with EXTRA_HEADER_BYTES")


def spoken(broker, version, api="Fetch", response=None, **more):
    """A call of a version, of one software."""
    call = MadeCall(api, {}, response or {}, broker=broker, **more)
    call.version, call.software = version, "franz-go 1.22"
    return call


def offer(broker, last, first=4):
    return spoken(broker, 4, "ApiVersions", {"apiKeys": [{"apiKey": 1, "minVersion": first, "maxVersion": last}]})


def test_bytes_behind_some_requests():
    """librdkafka leaves three bytes behind each Metadata 13 that asks for all topics."""
    (row,) = diagnosed(INCIDENTS / "metadata-storm.pcap", of=("ODD_CLIENT_BYTES",))
    assert row["text"] == (
        "41 requests Metadata 13 with TRAILING_BYTES: bytes after the end of the message; "
        "Kafka's request parsers ignore them"
    )


def test_a_version_that_a_broker_does_not_offer():
    assert of_versions(INCIDENTS / "version-not-offered.pcap") == [
        ("VERSION_NOT_OFFERED", "client c", "1 request Fetch 12 to 127.0.0.1:9092, which offers 4 to 11")
    ]
    (row,) = found("VERSION_NOT_OFFERED", [offer("a:9092", 11), spoken("a:9092", 12), spoken("a:9092", 11)])
    assert row[0] == "warning"
    assert row[2] == "1 request Fetch 12 to a:9092, which offers 4 to 11; 1 of them answered"
    refused = spoken("a:9092", 12, errors=["UNSUPPORTED_VERSION"])
    assert found("VERSION_NOT_OFFERED", [offer("a:9092", 11), refused]) == []
    assert [row[2] for row in found("UNSUPPORTED_VERSION", [offer("a:9092", 11), refused])] == [
        "a:9092 refused 1 request Fetch 12; the broker offers 4 to 11"
    ]


def test_a_response_in_the_form_of_another_version_feeds_no_other_rule():
    """Read as version 1, its first number would be a throttle time."""
    path = INCIDENTS / "fetch0-answers-fetch1.pcap"
    assert of_versions(path) == [
        (
            "UNREADABLE_RESPONSE",
            "broker 10.0.0.9:9092",
            "1 response to Fetch 1 with COUNT_MISMATCH, TRUNCATED: the frame fits exactly as version 0",
        ),
        ("OLD_CLIENT", "client app", "Kafka 4.4 refuses Fetch 1 (it accepts 4-18)"),
    ]
    assert {row["code"] for row in all_findings(path)} == {"UNREADABLE_RESPONSE", "OLD_CLIENT"}


def old(*calls, opened=True):
    """Return what is found about old clients in calls of one connection."""
    connection = dict.fromkeys([name for name, _ in CONNECTIONS]) | {"connection": 0, "ordinal": 0, "opened": opened}
    return [text for _, _, text, _ in found("OLD_CLIENT", calls, [[*connection.values()]])]


def test_what_shows_that_a_client_knows_no_higher_version():
    refused = ["Kafka 4.4 refuses Fetch 1 (it accepts 4-18)"]
    assert old(spoken("a:9092", 1)) == refused  # it never asks for versions
    assert old(spoken("a:9092", 1), opened=False) == []  # it may have asked before the capture began
    assert old(offer("a:9092", 11, 0), spoken("a:9092", 1)) == refused
    assert old(offer("a:9092", 1, 0), spoken("a:9092", 1)) == []  # the broker has no higher one
    assert old(offer("a:9092", 11, 0), spoken("a:9092", 1), spoken("a:9092", 4)) == []


def test_a_tag_that_the_version_does_not_have_is_refused(tmp_path):
    """Fetch 12 with the tag of the cluster's id at 0, which it has, and with tag 1, which began with version 15."""
    for tag, expected in ((0, []), (1, [("ODD_CLIENT_BYTES", "error")])):
        body = kwire.encode(body_of("FetchRequest", 12, {}), message="FetchRequest", version=12)
        assert body.endswith(b"\0")
        value = b"\2x" if tag == 0 else bytes(16)
        header = bytes.fromhex("0001 000c 00000001 0006 636c69656e74 00".replace(" ", ""))
        frame = header + body[:-1] + bytes([1, tag, len(value)]) + value
        frame = len(frame).to_bytes(4) + frame
        made = tmp_path / f"{tag}.pcap"
        segments = [
            ethernet(ipv4(tcp(flags=SYN, sequence=999, acknowledgment=0))),
            ethernet(ipv4(tcp(frame, sequence=1000, acknowledgment=0, flags=ACK))),
        ]
        made.write_bytes(pcap_file([packet(data, n, time=n * SECOND) for n, data in enumerate(segments, 1)]))
        rows = diagnosed(made, of=("ODD_CLIENT_BYTES",))
        assert [(row["code"], row["severity"]) for row in rows] == expected
    (row,) = diagnosed(INCIDENTS / "tag-not-valid.pcap", of=("ODD_CLIENT_BYTES",))
    assert row["severity"] == "error"


def test_a_protocol_of_groups_that_is_turned_off():
    """The broker offers the version, and refuses it."""
    for api, words in (("ConsumerGroupHeartbeat", "group.protocol=classic"), ("Metadata", "Upgrade the older")):
        refused = exchanges((api, 0, {"groupId": "g"}, {"errorCode": 35}, 1))
        (row,) = rows(refused, {"UNSUPPORTED_VERSION"})
        assert words in row["advice"]
