"""The first word of a command line: a command, a file or bytes in its place, or `help`."""

import shutil

import pytest
from command_line import ROOT, kwire

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
FRAME = "0000000d00120000000000070003617070"


@pytest.mark.parametrize(
    "words",
    [
        (CAPTURE, "--limit", "2"),
        (CAPTURE, CAPTURE, "--limit", "2"),
        (FRAME,),
        (FRAME.upper(), "--format", "json"),
        ("00", "00", "00", "0d", "00", "12", "0000000000070003617070"),
        ("AAAADQASAAAAAAAHAANhcHA=",),
        ("b'\\x00\\x00\\x00\\r\\x00\\x12\\x00\\x00\\x00\\x00\\x00\\x07\\x00\\x03app'",),
    ],
)
def test_an_input_in_place_of_a_command_is_decoded(words):
    done, decoded = kwire(*words), kwire("decode", *words)
    assert (done.code, done.raw, done.err) == (0, decoded.raw, "")
    assert '"ApiVersions"' in done.out


def test_standard_input_is_decoded():
    assert '"ApiVersions"' in kwire("-", stdin=bytes.fromhex(FRAME)).out


def test_a_command_comes_before_a_file_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CAPTURE, "errors")
    shutil.copy(CAPTURE, "decoed")
    assert kwire("errors", "22").out.startswith("code  name")
    assert '"ApiVersions"' in kwire("./errors", "--limit", "1").out
    assert '"ApiVersions"' in kwire("decoed", "--limit", "1").out


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("decoed", "No such command 'decoed'; did you mean decode"),
        ("facade", "No such command 'facade'"),
        ("deadbeef", "No such command 'deadbeef'"),
        ("missing.pcap", "there is no command and no file 'missing.pcap'"),
        ("--nosuch", "No such option '--nosuch'"),
    ],
)
def test_what_is_neither_is_an_error(word, said):
    done = kwire(word)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("words", [(), ("decode",), ("spec",), ("spec", "list"), ("explain",), ("dec",)])
def test_help_is_that_of_the_option(words):
    assert kwire("help", *words).out.rstrip("\n") == kwire(*words, "--help").out.rstrip("\n")


@pytest.mark.parametrize(
    ("words", "said"), [(("decoed",), "did you mean decode"), (("errors", "x"), "errors has no command 'x'")]
)
def test_help_of_what_is_no_command_is_an_error(words, said):
    done = kwire("help", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
