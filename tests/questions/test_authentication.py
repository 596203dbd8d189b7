"""Logins that brokers refuse, and logins out of place."""

import pytest
from kit.calls import REAL, MadeCall, diagnosed, found_by_each

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
    assert [kind for kind, rows in found_by_each(kinds, calls).items() if rows] == [code]
