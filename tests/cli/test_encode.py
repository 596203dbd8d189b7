"""kwire encode: headers that --api makes, and options that do not go together."""

import pytest
from kit.commands import kwire, refusal_of

BODY = ("--fill-defaults", "{}")
HEARTBEAT = ("--message-version", "4", *BODY)


def test_a_header_without_a_client_id_is_written():
    """ControlledShutdown 0 has header 0, to which the name that kwire gives itself does not belong."""
    words = ("encode", "--api", "ControlledShutdown", "--request", *BODY)
    done = kwire(*words, "--message-version", "0")
    assert (done.code, done.out) == (0, "0000000c000700000000000000000000\n")
    assert b"kwire".hex() in kwire(*words, "--message-version", "1").out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-m", "HeartbeatRequest", "--api", "Fetch", *HEARTBEAT), "--api does not go with --message, a body alone"),
        (("-m", "HeartbeatRequest", "--request", *HEARTBEAT), "--request does not go with --message, a body alone"),
        (("--response", *BODY), "--response needs --api"),
        (("--message-version", "3", *BODY), "--message-version needs --message or --api: "),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(words, reason):
    assert f"kwire: {reason}" in refusal_of("encode", *words)
