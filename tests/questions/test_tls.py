"""TLS on one side alone, handshakes that fail, certificates that are refused, and TLS without keys."""

import pytest
from kit.calls import INCIDENTS, SAMPLES, all_findings, codes, diagnosed, rewritten
from kit.captures import ports
from kit.commands import json_of, slow

from kwire_cli.source.packets.segments import Segments


def test_tls_on_one_side():
    assert codes(INCIDENTS / "tls-to-plain.pcap") == ["TLS_TO_PLAIN_PORT"]
    assert codes(INCIDENTS / "plain-to-tls.pcap") == ["PLAIN_TO_TLS_PORT"]
    both = codes(SAMPLES / "captures" / "not-kafka.pcapng", severity="error")
    assert both[:2] == ["PLAIN_TO_TLS_PORT", "TLS_TO_PLAIN_PORT"]


@pytest.mark.slow
def test_tls_on_both_sides_is_only_dark():
    """Decrypted or not: the broker's handshake is no answer to a client without TLS."""
    row, early = all_findings(SAMPLES / "tls" / "cases.pcapng")
    assert (row["code"], row["severity"]) == ("UNDECRYPTED_TLS", "info")
    assert "TLS 1.1 is not supported" in row["text"]
    assert "client random" not in row["text"]
    assert (early["code"], early["subject"]) == ("UNDECRYPTED_TLS", "broker 127.0.0.1:9094")  # early data
    (row,) = all_findings(SAMPLES / "tls" / "broker.pcapng")
    assert row["text"] == "10 connections with 49.4 kB: there is no key log for it"
    assert all_findings(SAMPLES / "tls" / "broker.pcapng", "--tls-keylog", SAMPLES / "tls" / "broker.keys") == ()


def test_tls_of_a_broker_alone_is_no_alert(tmp_path):
    """One direction of a capture of TLS says nothing about the other."""

    def from_broker(there):
        return [packet for packet, segment in zip(there, Segments()(there), strict=True) if ports(segment)[0] == 19195]

    made = rewritten(SAMPLES / "tls" / "broker.pcapng", tmp_path / "half.pcap", from_broker)
    assert codes(made, severity="warning") == ["ONE_SIDE_ONLY"]


def test_a_certificate_that_the_client_does_not_trust():
    path = INCIDENTS / "untrusted.pcap"
    (row,) = all_findings(path, "--tls-keylog", INCIDENTS / "untrusted.keys")
    assert (row["code"], row["severity"], row["subject"]) == ("CERTIFICATE", "error", "broker 127.0.0.1:29092")
    assert row["text"] == (
        "3 connections of 127.0.0.1 to 127.0.0.1:29092 ended in the handshake: 3 with unknown_ca from the client"
    )
    (unkeyed,) = diagnosed(path)
    assert unkeyed["text"] == row["text"]


def test_an_alert_about_a_certificate_that_cannot_be_read(monkeypatch):
    """Without the package cryptography the alert alone decides."""
    monkeypatch.setattr("kwire_cli.source.tls.records.find_spec", lambda _: None)
    (row,) = json_of("diagnose", INCIDENTS / "expired-certificate.pcapng")["tables"]["findings"]
    assert row["code"] == "CERTIFICATE"
    assert row["text"].startswith("1 connection of 127.0.0.1 to 127.0.0.1:25391")


@pytest.mark.parametrize("name", ["java-tls", slow("librdkafka-tls")])
def test_tls_that_works(name):
    keys = ("--tls-keylog", INCIDENTS / f"{name}.keys")
    for more in (), keys:
        found = all_findings(INCIDENTS / f"{name}.pcap", *more)
        assert {(row["code"], row["severity"]) for row in found} <= {("UNDECRYPTED_TLS", "info")}
