"""kwire encode: headers that --api makes."""

from command_line import kwire

BODY = ("--fill-defaults", "{}")


def test_a_header_without_a_client_id_is_written():
    """ControlledShutdown 0 has header 0, to which the name that kwire gives itself does not belong."""
    words = ("encode", "--api", "ControlledShutdown", "--request", *BODY)
    done = kwire(*words, "--message-version", "0")
    assert (done.code, done.out) == (0, "0000000c000700000000000000000000\n")
    assert "000500" not in kwire(*words, "--message-version", "1", "--client-id", "").out
    asked = kwire(*words, "--message-version", "0", "--client-id", "x")
    assert (asked.code, asked.err) == (
        2,
        "kwire: input, document 1: header.clientId: version 0 has no place for this value\n",
    )
