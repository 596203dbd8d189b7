"""Logins that brokers refuse, and logins out of place."""

from dataclasses import replace

import pytest
from kit.calls import REAL, RULES, MadeCall, diagnosed, found, sample_findings

PLAIN = {"mechanism": "PLAIN"}
BAD = {"errorMessage": "Authentication failed: Invalid username or password"}


def handshake(at=0.0, *errors):
    return MadeCall("SaslHandshake", PLAIN, {"mechanisms": ["PLAIN"]}, at=at, errors=errors)


@pytest.mark.shared
def test_a_raw_token_without_a_handshake():
    rows = {row["subject"]: row for row in diagnosed(REAL / "sasl-plain-v0-v1" / "capture.pcapng")}
    assert rows["client 127.0.0.1"]["text"].endswith("a raw token without a SaslHandshake")
    assert "secret-of-alice" not in str(rows)


@pytest.mark.parametrize(
    ("case", "calls"),
    [
        (
            None,
            [handshake(), MadeCall("SaslAuthenticate", {}, BAD, errors=["SASL_AUTHENTICATION_FAILED"])],
        ),
        (
            "again",
            [
                handshake(),
                MadeCall("SaslAuthenticate", {}, {}, at=1),
                handshake(2),
                MadeCall("SaslAuthenticate", {}, BAD, at=3, errors=["SASL_AUTHENTICATION_FAILED"]),
            ],
        ),
        ("again", [handshake(), handshake(1, "ILLEGAL_SASL_STATE")]),
        ("not_expected", [handshake(0, "ILLEGAL_SASL_STATE")]),
        ("mechanism", [handshake(0, "UNSUPPORTED_SASL_MECHANISM")]),
    ],
)
def test_each_refused_login_is_of_one_kind(case, calls):
    rule = RULES["AUTHENTICATION_FAILED"]
    asked_once = replace(rule, text="{in_case}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RULES, rule.code, asked_once)
        assert [row[2] for row in found(rule.code, calls)] == [case or "?"]


@pytest.mark.parametrize(
    ("name", "advice"), [("sasl-to-plain.pcap", "port of a listener with SASL"), ("raw-logins.pcap", "to log in again")]
)
def test_the_advice_is_that_of_the_case(name, advice):
    rows = sample_findings(f"incidents/{name}", "AUTHENTICATION_FAILED")
    assert advice in rows[0]["advice"]


def login(mechanism, *errors, at=0.0, **call):
    """Return a SaslHandshake, and a SaslAuthenticate after it."""
    body = {"mechanism": mechanism}
    asked = MadeCall("SaslHandshake", body, {"mechanisms": [mechanism]}, at=at, errors=errors, **call)
    return [asked, MadeCall("SaslAuthenticate", {}, {}, at=at + 1, **call)]


def test_a_password_in_clear_is_one_finding_a_host():
    calls = [*login("PLAIN"), *login("PLAIN", broker="10.0.0.8:9092"), *login("PLAIN", who="b", host="10.0.0.2")]
    assert [row[:3] for row in found("PASSWORD_IN_CLEAR", calls)] == [
        ("warning", "client billing", "SASL PLAIN without TLS on 2 connections to 10.0.0.8:9092, 10.0.0.9:9092"),
        ("warning", "client b", "SASL PLAIN without TLS on 1 connection to 10.0.0.9:9092"),
    ]
    (row,) = sample_findings("incidents/short-ids.pcap", "PASSWORD_IN_CLEAR")
    assert row["subject"] == "client short-0 and 7 more client ids of 127.0.0.1"


def test_passwords_of_brokers_are_one_finding():
    calls = [
        *login("PLAIN", who="broker-1-fetcher-0"),
        *login("PLAIN", who="broker-2-fetcher-0", host="10.0.0.8"),
    ]
    ((_, subject, text, _),) = found("PASSWORD_IN_CLEAR", calls)
    assert (subject, text[:39]) == ("brokers and controllers", "SASL PLAIN without TLS on 2 connections")


@pytest.mark.parametrize(
    "calls",
    [
        login("SCRAM-SHA-512"),
        login("PLAIN", "UNSUPPORTED_SASL_MECHANISM"),  # the client sends no token then
        login("PLAIN")[:1],
    ],
)
def test_no_password_was_sent(calls):
    assert found("PASSWORD_IN_CLEAR", calls) == []


@pytest.mark.shared
def test_no_finding_shows_a_password():
    rows = diagnosed(REAL / "sasl-plain-v0-v1" / "capture.pcapng", of={"PASSWORD_IN_CLEAR"})
    assert [row["subject"] for row in rows] == ["client java-plain and 3 more client ids of 127.0.0.1"]
    assert "secret-of-alice" not in str(rows)
