"""Options of decode that mean nothing for the kind of an input are refused, with the kind and what they are for."""

import pytest
from kit.commands import kwire

INPUTS = {
    "a packet capture": "samples/captures/ipv6.pcap",
    "record batches": "samples/logs/txn-out-1/00000000000000000000.log",
    "a file of a log directory that holds no messages": "samples/logs/recovery-point-offset-checkpoint",
    "requests and responses": "samples/frames/metadata-v13-response.hex",
}
CAPTURE, BATCHES, LOG_FILE, FRAMES = INPUTS
UNFIT = {
    ("--frames", "1"): {BATCHES, LOG_FILE, FRAMES},
    ("--fields", "size"): {BATCHES, LOG_FILE, FRAMES},
    ("--pairs",): {BATCHES, LOG_FILE, FRAMES},
    ("--port", "9092"): {BATCHES, LOG_FILE, FRAMES},
    ("--merge-points",): {BATCHES, LOG_FILE, FRAMES},
    ("--capture-point", "{parent}"): {BATCHES, LOG_FILE, FRAMES},
    ("--filter", "size > 1"): {LOG_FILE, FRAMES},
    ("--top", "1"): {FRAMES},
    ("--format", "csv"): {FRAMES},
    ("--format", "table"): {FRAMES},
    ("--lossless",): {BATCHES, LOG_FILE},
    ("--api", "Metadata"): {CAPTURE},
    ("--message-version", "13"): {CAPTURE},
    ("--response",): {CAPTURE},
    ("--framed",): {CAPTURE},
    ("--unframed",): {CAPTURE},
    ("--header", "kip482"): {CAPTURE},
}
HOLDS = {"--api", "--message-version", "--response", "--framed", "--unframed", "--header"}
"""Options that say that an input holds frames."""


@pytest.mark.parametrize("what", INPUTS)
def test_an_option_that_means_nothing_is_refused(what):
    for option, unfit in UNFIT.items():
        if option[0] in HOLDS and what in {BATCHES, LOG_FILE}:
            continue
        done = kwire("decode", *option, INPUTS[what])
        if what in unfit:
            assert (done.code, done.raw) == (2, b""), option
            assert f"kwire: {option[0]}" in done.err
            assert " is for " in done.err
            assert f", and {INPUTS[what]} is {what}" in done.err
        else:
            assert " is for " not in done.err, option
