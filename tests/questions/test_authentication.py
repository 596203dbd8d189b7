"""Logins that brokers refuse, and logins out of place."""

import pytest
from kit.calls import INCIDENTS, REAL, MadeCall, diagnosed, texts
from kit.rules import found

PLAIN = {"mechanism": "PLAIN"}
BAD = {"errorMessage": "Authentication failed: Invalid username or password"}


def handshake(at=0.0, *errors):
    return MadeCall("SaslHandshake", PLAIN, {"mechanisms": ["PLAIN"]}, at=at, errors=errors)


def test_a_wrong_password_and_a_mechanism_that_is_not_enabled():
    rows = {row["subject"]: row for row in diagnosed(INCIDENTS / "sasl.pcap")}
    assert (rows["client checkout"]["code"], rows["client checkout"]["text"]) == (
        "AUTHENTICATION_FAILED",
        "1 login at 127.0.0.1:29092 failed: Invalid username or password",
    )
    assert (rows["client billing"]["code"], rows["client billing"]["text"]) == (
        "SASL_MECHANISM_REFUSED",
        "1 login at 127.0.0.1:29092 failed: it asked for SCRAM-SHA-512; the listener has PLAIN",
    )


def test_a_raw_token_and_a_login_again():
    rows = diagnosed(INCIDENTS / "raw-logins.pcap")
    assert [(row["code"], row["text"], row["evidence"][0]["frame"]) for row in rows] == [
        (
            "AUTHENTICATION_FAILED",
            "1 login at 127.0.0.1:19194 failed: it closed the connection at the raw token of PLAIN",
            3,
        ),
        (
            "REAUTHENTICATION_FAILED",
            "1 login at 127.0.0.1:19194 failed: SaslAuthenticate request received after successful authentication",
            9,
        ),
    ]


@pytest.mark.shared
def test_a_raw_token_without_a_handshake():
    rows = {row["subject"]: row for row in diagnosed(REAL / "sasl-plain-v0-v1" / "capture.pcapng")}
    assert rows["client 127.0.0.1"]["text"].endswith("a raw token without a SaslHandshake")
    assert "secret-of-alice" not in str(rows)


def test_a_login_on_a_listener_without_sasl():
    assert texts(INCIDENTS / "sasl-to-plain.pcap") == [
        (
            "SASL_NOT_EXPECTED",
            "client checkout",
            "1 login at 127.0.0.1:29092 failed: SaslHandshake is answered with ILLEGAL_SASL_STATE",
        )
    ]


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        (
            "AUTHENTICATION_FAILED",
            [handshake(), MadeCall("SaslAuthenticate", {}, BAD, errors=["SASL_AUTHENTICATION_FAILED"])],
        ),
        (
            "REAUTHENTICATION_FAILED",
            [
                handshake(),
                MadeCall("SaslAuthenticate", {}, {}, at=1),
                handshake(2),
                MadeCall("SaslAuthenticate", {}, BAD, at=3, errors=["SASL_AUTHENTICATION_FAILED"]),
            ],
        ),
        ("REAUTHENTICATION_FAILED", [handshake(), handshake(1, "ILLEGAL_SASL_STATE")]),
        ("SASL_NOT_EXPECTED", [handshake(0, "ILLEGAL_SASL_STATE")]),
        ("SASL_MECHANISM_REFUSED", [handshake(0, "UNSUPPORTED_SASL_MECHANISM")]),
    ],
)
def test_each_refused_login_is_of_one_kind(code, calls):
    kinds = ["AUTHENTICATION_FAILED", "REAUTHENTICATION_FAILED", "SASL_MECHANISM_REFUSED", "SASL_NOT_EXPECTED"]
    assert [kind for kind in kinds if found(kind, calls)] == [code]
