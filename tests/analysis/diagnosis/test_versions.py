"""Versions that brokers refuse, that the next release refuses, and bytes that Kafka's clients would not write."""

from types import MappingProxyType

import pytest
from kit.calls import INCIDENTS, REAL, SAMPLES, diagnosed, texts
from kit.traffic import SECOND, body_of, ethernet, ipv4, packet, pcap_file, tcp

import kwire_cli as kwire
from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.old_clients import OldClients
from kwire_cli.analysis.diagnosis.versions import Versions
from kwire_cli.structs.network import ACK, SYN


def of_versions(path):
    """Return what is found about versions, and about bytes that Kafka's clients would not write."""
    kinds = {kind.code for kind in (*Versions.KINDS, *OldClients.KINDS)}
    return [text for text in texts(path) if text[0] in kinds]


def test_an_old_client():
    (row,) = diagnosed(SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng")
    assert (row["code"], row["severity"]) == ("OLD_CLIENT", "warning")
    assert row["subject"] == "client sarama-lab (sarama v1.61.1)"
    assert row["text"] == "Kafka 4.4 refuses Produce 0 (it accepts 3-13)"
    assert [place["frame"] for place in row["evidence"]] == [11]


def test_old_clients_of_a_request_log():
    rows = diagnosed(SAMPLES / "request-logs" / "kafka-request.log", "--severity", "warning")
    assert {row["code"] for row in rows} >= {"OLD_CLIENT"}
    assert all("line" in place for row in rows if row["code"] == "OLD_CLIENT" for place in row["evidence"])


@pytest.mark.shared
@pytest.mark.parametrize("name", ["old39-java-2.4.1", "old39-java-3.7.2", "old39-kafkajs", "old39-sarama-0.11.0.0"])
def test_clients_that_are_new_enough(name):
    assert of_versions(REAL / name / "capture.pcapng") == []


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
    rows = diagnosed(REAL / "sweep44-broker" / "capture.pcapng", "--severity", "error")
    (row,) = [row for row in rows if row["code"] == "UNSUPPORTED_VERSION"]
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
    (finding,) = [row for row in texts(made) if row[0] == "ODD_CLIENT_BYTES"]
    assert finding[1] == "software rdkafka"
    assert finding[2].startswith("requests ApiVersions 0 with EXTRA_HEADER_BYTES")


class Spoken:
    """A call with what the rule on versions looks at."""

    errors: tuple[str, ...] = ()
    client, client_id, connection = "10.0.0.1:5", "billing", 0
    api_key, api, asked, answered, latency = 1, "Fetch", 1.0, 2.0, 1.0
    request = MappingProxyType({})
    software = "franz-go 1.22"
    has_response = True

    def __init__(self, broker, version, offered=None):
        self.broker, self.version, self.response = broker, version, {}
        if offered is not None:
            self.api_key, self.api = 18, "ApiVersions"
            self.response = {"apiKeys": [{"apiKey": 1, "minVersion": 4, "maxVersion": offered}]}

    def evidence(self, *, of_request=False):
        return Evidence("Fetch request" if of_request else "Fetch response", "2026-01-01T00:00:00Z", self.version)


def below(*calls):
    rule = Versions()
    for call in calls:
        rule.call(call)
    return [finding.text for finding in rule.findings()]


def test_bytes_behind_some_requests():
    """librdkafka leaves three bytes behind each Metadata 13 that asks for all topics."""
    (row,) = [row for row in diagnosed(INCIDENTS / "metadata-storm.pcap") if row["code"] == "ODD_CLIENT_BYTES"]
    assert row["text"] == (
        "requests Metadata 13 with TRAILING_BYTES: bytes after the end of the message; "
        "Kafka's request parsers ignore them"
    )


def test_a_setting_that_holds_a_client_back():
    """kafka-python has api_version=(2, 4): Metadata is 9 in place of 13 too, but too few to count."""
    (row,) = diagnosed(INCIDENTS / "held-back.pcap")
    assert (row["code"], row["severity"], row["subject"]) == ("VERSION_BELOW_COMMON", "info", "client old-lag-monitor")
    assert row["text"] == (
        "12 requests ListOffsets 5 to 127.0.0.1:29092, which offers 11; kafka-python 3.0.12 speaks 11 elsewhere"
    )
    assert [place["frame"] for place in row["evidence"]][:3] == [39, 41, 43]


def test_a_version_that_stays_below():
    offers = [Spoken("a:9092", 4, 18), Spoken("b:9092", 4, 18)]
    usual = [Spoken("a:9092", 17)] * 20
    assert below(*offers, *usual, *[Spoken("b:9092", 11)] * 5) == [
        "5 requests Fetch 11 to b:9092, which offers 18; franz-go 1.22 speaks 17 elsewhere"
    ]
    assert below(*offers, *usual, *[Spoken("b:9092", 15)] * 5) == []
    assert below(*offers, *usual, *[Spoken("b:9092", 11)] * 4) == []
    old = [Spoken("a:9092", 4, 18), Spoken("b:9092", 4, 11)]
    assert below(*old, *usual, *[Spoken("b:9092", 11)] * 5) == []


def test_a_tag_that_the_version_does_not_have_is_refused(tmp_path):
    """Fetch 12 with the tag of the cluster's id at 0, which it has, and with tag 1, which began with version 15."""
    for tag, expected in ((0, []), (1, [("UNREADABLE_REQUEST", "error")])):
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
        found = [(row["code"], row["severity"]) for row in diagnosed(made)]
        assert [row for row in found if row[0] in {"UNREADABLE_REQUEST", "ODD_CLIENT_BYTES"}] == expected
