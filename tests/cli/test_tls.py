"""--tls-keylog: what each command makes of it."""

import json
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from kit.captures import BROKER, BROKER_KEYS, CASES
from kit.commands import ROOT, json_of, kwire, lines_of, refusal_of

from kwire_cli.source.tls import decryption

PLAIN = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
WITH_KEYS = ("--tls-keylog", BROKER_KEYS, BROKER)


@pytest.fixture
def without_cryptography(monkeypatch):
    """The extra is not installed."""
    monkeypatch.setattr(decryption, "find_spec", lambda _: None)


def test_decode():
    done = kwire("decode", "--format", "jsonl", *WITH_KEYS)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0, done.err
    assert sum(line["kind"] == "response" and "requestFrame" in line for line in found) == 55
    first = next(line for line in found if line["kind"] == "not-kafka")
    assert first["content"] == ["ClientHello"]
    assert "reason" not in first


def test_follow_and_standard_input():
    whole = kwire("decode", "--format", "jsonl", *WITH_KEYS).out
    followed = kwire(
        "decode", "--format", "jsonl", "--follow", "--tls-keylog", BROKER_KEYS, "-", stdin=BROKER.read_bytes()
    ).out
    piped = kwire("decode", "--format", "jsonl", "--tls-keylog", BROKER_KEYS, "-", stdin=BROKER.read_bytes()).out
    kinds = [json.loads(line)["kind"] for line in whole.splitlines()]
    for other in (followed, piped):
        assert sorted(kinds) == sorted(json.loads(line)["kind"] for line in other.splitlines())


def test_overhead_has_every_byte_of_the_streams():
    plain = json_of("overhead", BROKER)
    found = json_of("overhead", "--by", "kind", *WITH_KEYS)
    assert found["facts"]["bytes"] == plain["facts"]["bytes"]
    by_kind = {row["kind"]: row for row in found["tables"]["byKind"]}
    assert by_kind["tls"]["bytes"] > by_kind["value"]["bytes"] > 10_000
    assert "not kafka" not in by_kind


def test_several_key_logs(tmp_path):
    lines = BROKER_KEYS.read_text().splitlines(keepends=True)
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("".join(lines[::2]))
    other.write_text("".join(lines[1::2]))
    assert json_of("stats", "--tls-keylog", one, "--tls-keylog", other, BROKER) == json_of("stats", *WITH_KEYS)


def test_a_capture_without_tls_is_as_it_was():
    assert (
        kwire("decode", "--format", "jsonl", "--tls-keylog", BROKER_KEYS, PLAIN).out
        == kwire("decode", "--format", "jsonl", PLAIN).out
    )


def test_errors(tmp_path):
    assert "does not exist" in refusal_of("decode", "--tls-keylog", tmp_path / "none", BROKER)
    done = kwire("decode", "--tls-keylog", CASES, BROKER)
    assert (done.code, "is not a TLS key log" in done.err) == (2, True)
    for command in (("decode",), ("overhead",)):
        assert "--tls-keylog is for packet captures" in refusal_of(
            *command, "--tls-keylog", BROKER_KEYS, "0000002b0012"
        )
    log = ROOT / "samples" / "request-logs" / "kafka-request.log"
    assert "--tls-keylog is for packet captures" in refusal_of("stats", "--tls-keylog", BROKER_KEYS, log)


@pytest.mark.usefixtures("without_cryptography")
def test_without_the_package_a_key_log_is_an_error():
    assert "decrypting TLS needs the package cryptography: pip install 'kwire[tls]'" in refusal_of("decode", *WITH_KEYS)


@pytest.mark.usefixtures("without_cryptography")
def test_without_the_package_keys_in_the_capture_are_a_reason():
    found = lines_of("decode", CASES)
    assert {(line["kind"], line.get("reason")) for line in found} == {
        ("not-kafka", "decrypting it needs the package cryptography: pip install 'kwire[tls]'")
    }
    assert sum(line["size"] for line in found) == json_of("overhead", CASES)["facts"]["bytes"]


@pytest.mark.parametrize(
    ("keys", "loaded"), [((), set()), (WITH_KEYS[:2], {"keylog", "records", "stream", "scheduler"})]
)
def test_plain_captures_do_not_load_it(keys, loaded):
    """The package, and the modules that need it, are imported for a stream of TLS; without a key log none but the one
    that looks for it.
    """
    code = "import sys; from kwire_cli.cli.main import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, "decode", "--top", "3", *map(str, keys), str(PLAIN)]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()
    assert "cryptography" not in names
    assert {
        name.removeprefix("kwire_cli.source.tls.") for name in names if name.startswith("kwire_cli.source.tls.")
    } == loaded | {"decryption"}


@pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark")
def test_frames_are_those_that_tshark_decrypts():
    ports = [word for port in (9093, 9094) for word in ("-d", f"tcp.port=={port},tls", "-d", f"tls.port=={port},kafka")]
    command = ["tshark", "-r", str(CASES), *ports, "-Y", "kafka", "-T", "fields", "-e", "tcp.stream", "-e", "kafka.len"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = Counter()
    for row in run.stdout.splitlines():
        stream, _, sizes = row.partition("\t")
        theirs.update((int(stream), int(size) + 4) for size in sizes.split(",") if size)
    ours = Counter()
    for line in lines_of("decode", "--filter", "kind in (request, response)", CASES):
        ours[line["stream"], line["size"]] += 1
    assert ours
    for key in [key for key in theirs if key[0] in {11, 12} or key == (16, 47)]:
        del theirs[key]  # tshark decrypts CBC, TLS 1.1 and early data
    assert theirs == ours
