"""Where nothing is what was asked for, it is said on standard error, with what there is: silence looks like an
answer.
"""

import pytest
from kit.commands import kwire, refusal_of

CAPTURE, LOGS = "samples/captures/ipv6.pcap", "samples/logs"
FRAME = "samples/frames/metadata-v13-response.hex"
METADATA = ("compare", FRAME, "--api", "Metadata", "--message-version", "13", "--versions")


@pytest.mark.parametrize(
    ("command", "note"),
    [
        (("decode", "--frames", "99999", CAPTURE), f"kwire: {CAPTURE}: no frame matches (148 read)\n"),
        (
            ("decode", "--filter", "stream == 77", "--format", "table", CAPTURE),
            f"kwire: {CAPTURE}: no frame matches (148 read)\n",
        ),
        (("decode", "--filter", "size > 1GB", CAPTURE), f"kwire: {CAPTURE}: no frame matches (148 read)\n"),
        (("decode", "--frames", "1", CAPTURE), ""),
        (("decode", "--frames", "99999", "--top", "0", CAPTURE), ""),
        (
            ("dump", "--topic", "nosuch", LOGS),
            (
                "kwire: there is no partition of nosuch: the topics here are __cluster_metadata, compacted-txn, "
                "trimmed, txn-out\n"
            ),
        ),
        (("dump", "--topic", "nosuch", "--topic", "trimmed", LOGS), ""),
        (("dump", "--topic", "nosuch", "--top", "0", LOGS), ""),
        (("dump", "--filter", "key == zzz", LOGS), "kwire: no batch matches (34 read)\n"),
        (("dump", "--offsets", "0-", LOGS), ""),
        (
            ("dump", "--state", "--at", "99999", LOGS),
            "kwire: __cluster_metadata: the last offset is 378, before --at 99999: this is what it says at its end\n",
        ),
        (("dump", "--state", "--at", "378", LOGS), ""),
        ((*METADATA, "1-99"), "kwire: MetadataResponse has versions 0-13: --versions 1-99 is held to these\n"),
        ((*METADATA, "1-12"), ""),
        ((*METADATA, "9+"), ""),
        ((*METADATA, "all"), ""),
    ],
)
def test_nothing_chosen_is_said(command, note):
    done = kwire(*command)
    assert (done.code, done.err) == (0, note)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--frames", "9-3"), "kwire: --frames takes the lower number first, not '9-3'\n"),
        (("--packets", "0"), "kwire: --packets counts from 1\n"),
        (("--port", "99999"), "kwire: Invalid value for '--port': 99999 is not in the range 1<=x<=65535.\n"),
    ],
)
@pytest.mark.parametrize("command", ["decode", "overhead"])
def test_what_can_choose_nothing_is_refused(command, options, wrong):
    assert refusal_of(command, *options, CAPTURE).endswith(wrong)
