"""Passwords and queries of URLs give access to a store: no row, note or error shows them."""

import fsspec
import pytest
from kit.captures import SAMPLES
from kit.commands import kwire

from kwire_cli.errors import InputError, without_credentials
from kwire_cli.stores.paths import location

SECRET = "token=hidden"
COMMANDS = [
    ("decode", "captures/midstream.pcap", "captures/ipv6.pcap"),
    ("stats", "--format", "html", "captures/midstream.pcap"),
    ("report", "captures/midstream.pcap"),
    ("decode", "--fields", "frame,file", "captures/midstream.pcap"),
    ("diff", "captures/midstream.pcap", "captures/ipv6.pcap", "-f", "table"),
    ("decode", "nothing.pcap"),
    ("decode", "cut.pcap"),
    ("dump", "--verify", "segments/bitflip-0/00000000000000000000.log"),
    ("overhead", "segments/orders-zstd-0/00000000000000000000.log", "captures/midstream.pcap"),
]
"""A table of several files, pages, rows, a comparison, an error, a note, a report of logs, an answer."""


@pytest.fixture(scope="module")
def stored():
    """The samples on a store, whose URLs end with a secret."""
    store = fsspec.filesystem("memory")
    for name in {each for command in COMMANDS for each in command if "/" in each}:
        store.pipe(f"/shown/{name}?{SECRET}", (SAMPLES / name).read_bytes())
    store.pipe(f"/shown/cut.pcap?{SECRET}", (SAMPLES / "captures" / "ipv6.pcap").read_bytes()[:-7])
    yield
    store.rm("/shown", recursive=True)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_the_query_of_a_url(command):
    words = [f"memory://shown/{each}?{SECRET}" if "/" in each or "pcap" in each else each for each in command]
    done = kwire(*words)
    assert done.out or done.err
    assert SECRET not in done.out + done.err


@pytest.mark.usefixtures("stored")
def test_packets_are_copied_from_a_url_with_a_query():
    names = "captures/midstream.pcap", "captures/ipv6.pcap"
    for chosen in (names[:1], names):
        here = kwire("decode", *[SAMPLES / name for name in chosen], "-f", "pcap")
        there = kwire("decode", *[f"memory://shown/{name}?{SECRET}" for name in chosen], "-f", "pcap")
        assert (there.code, there.raw) == (here.code, here.raw)
        assert SECRET not in there.err
        assert here.raw


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://b/a.pcap?token=secret", "s3://b/a.pcap"),
        ("https://host/a.pcap?X-Amz-Signature=abc&b=c", "https://host/a.pcap"),
        ("cannot open 's3://b/a?x=1': no (s3://b/c?y=2)", "cannot open 's3://b/a': no (s3://b/c)"),
        ("https://host/a?%73ig=x", "https://host/a"),
        ("https://host/a?&sig=x", "https://host/a"),
        ("https://host/a#access_token=x", "https://host/a"),
        ("s3://KEY:se/cr+et@bucket/a.pcap", "s3://bucket/a.pcap"),
        ("S3://KEY:secret@bucket/a.pcap", "S3://bucket/a.pcap"),
        ("https://user:se@cret@host:9000/a", "https://host:9000/a"),
        ("https://token@host/a", "https://host/a"),
        ("s3:/KEY:secret@bucket/a.pcap", "s3:/bucket/a.pcap"),
        ("s3://b/a?.pcap", "s3://b/a?.pcap"),
        ("https://host:9000/a@b.pcap", "https://host:9000/a@b.pcap"),
        ("http://[::1]:9000/a@b.pcap", "http://[::1]:9000/a@b.pcap"),
        ("abfs://container@account/a", "abfs://container@account/a"),
        ("sftp://user@host/a", "sftp://user@host/a"),
        ("/a?b=c", "/a?b=c"),
    ],
)
def test_a_text_shows_no_credentials(text, shown):
    assert without_credentials(text) == shown
    assert str(InputError(text, file=text)) == f"{shown}: {shown}"
    if " " not in text:
        assert location(text) == shown


@pytest.mark.parametrize(
    "words",
    [
        ("decode", "{}"),
        ("dump", "{}"),
        ("export", "{}", "-o", "lake"),
        ("export", "samples/captures/ipv6.pcap", "-o", "{}"),
        ("query", "{}", "select 1"),
        ("sanitize", "{}", "out.pcap"),
        ("decode", "samples/captures/ipv6.pcap", "-o", "{}"),
        ("decode", "--tls-keylog", "{}", "samples/captures/ipv6.pcap"),
        ("decode", "--specs", "{}", "samples/captures/ipv6.pcap"),
        ("dump", "--schemas", "{}", "samples/segments/orders-zstd-0"),
        ("lint", "{}"),
    ],
    ids=" ".join,
)
def test_no_error_shows_credentials(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    for url in ("s3://KEY:hid/den@bucket/a.pcap", "https://KEY:hidden@localhost:1/a", "http://localhost:1/a?t=hidden"):
        done = kwire(*(word.format(url) for word in words))
        assert done.code == 2
        assert "hid" not in done.out + done.err
