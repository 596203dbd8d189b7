"""Logins that are refused, logins out of place, and missing permissions."""

import pytest
from kit.calls import INCIDENTS, REAL, diagnosed, frames, texts


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


@pytest.mark.shared
def test_raw_tokens_and_logins_again():
    rows = diagnosed(REAL / "sasl-plain-v0-v1" / "capture.pcapng")
    by_code = {}
    for row in rows:
        by_code.setdefault(row["code"], {})[row["subject"]] = row
    assert set(by_code) == {"AUTHENTICATION_FAILED", "SASL_MECHANISM_REFUSED", "REAUTHENTICATION_FAILED"}
    failed = by_code["AUTHENTICATION_FAILED"]
    assert set(failed) == {"client 127.0.0.1", "client handmade-v0", "client java-plain-bad", "client java-scram-bad"}
    assert failed["client 127.0.0.1"]["text"].endswith("a raw token without a SaslHandshake")
    assert failed["client handmade-v0"]["text"].endswith("it closed the connection at the raw token of PLAIN")
    assert [place["frame"] for place in failed["client handmade-v0"]["evidence"]] == [179]
    assert frames(rows, "REAUTHENTICATION_FAILED") == [194]


@pytest.mark.shared
def test_a_login_on_a_listener_without_sasl():
    rows = diagnosed(REAL / "sweep44-broker" / "capture.pcapng", "--severity", "error")
    assert frames(rows, "SASL_NOT_EXPECTED") == [248, 250, 403, 405, 407]


@pytest.mark.shared
def test_secrets_are_in_no_finding():
    done = str(diagnosed(REAL / "sasl-plain-v0-v1" / "capture.pcapng"))
    assert "secret-of-alice" not in done


def test_missing_permissions():
    assert texts(INCIDENTS / "permissions.pcap") == [
        (
            "AUTHORIZATION_FAILED",
            "client checkout",
            "3 responses with TOPIC_AUTHORIZATION_FAILED for topic orders: Metadata",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client reports",
            "2 responses with GROUP_AUTHORIZATION_FAILED for group billing: FindCoordinator",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client deploy",
            "1 response with TOPIC_AUTHORIZATION_FAILED for topic invoices: CreateTopics",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client payments",
            "1 response with TRANSACTIONAL_ID_AUTHORIZATION_FAILED for transactional id payments: FindCoordinator",
        ),
    ]
