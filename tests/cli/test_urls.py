"""Commands take URLs where they take paths, and say of the files there what they say of the same files here."""

import fsspec
import pytest
from kit.captures import SAMPLES
from kit.commands import kwire

COMMANDS = [
    ("decode", "captures/midstream.pcap"),
    ("overhead", "segments/orders-zstd-0"),
    ("clients", "request-logs/kafka-request.log"),
    ("dump", "segments/bitflip-0"),
    ("dump", "--state", "segments/__cluster_metadata-0"),
    ("dump", "--all", "logs/txn-out-1"),
    ("dump", "--verify", "segments"),
]


@pytest.fixture(scope="module")
def stored():
    """The samples in memory."""
    memory = fsspec.filesystem("memory")
    for path in SAMPLES.rglob("*"):
        if path.is_file():
            memory.pipe(f"/kwire-samples/{path.relative_to(SAMPLES)}", path.read_bytes())
    yield "memory://kwire-samples"
    memory.rm("/kwire-samples", recursive=True)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_same_is_said(stored, command):
    *words, path = command
    here, there = (kwire(*words, f"{root}/{path}", "--format", "jsonl") for root in (SAMPLES, stored))
    assert (there.code, there.out.replace(stored, str(SAMPLES)), there.err.replace(stored, str(SAMPLES))) == (
        here.code,
        here.out,
        here.err,
    )
    assert here.out


def test_what_is_not_there_is_said(stored):
    for command in ("decode", "dump", "overhead", "clients"):
        done = kwire(command, f"{stored}/nothing")
        assert (done.code, done.err) == (2, f"kwire: {stored}/nothing: there is no such file\n")
