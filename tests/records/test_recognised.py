"""The metadata log is known by its records wherever it lies, and what is secret in it stays so."""

import json
import shutil

import pytest
from kit.commands import ROOT, kwire
from kit.logs import SEGMENTS, batch, record

import kwire_cli
from kwire_cli.records.reading import is_metadata_log, recognised_source, source_of

METADATA = sorted(
    path for path in (ROOT / "samples").glob("*/__cluster_metadata-*/*") if path.suffix in {".log", ".checkpoint"}
)
OTHERS = sorted(path for path in SEGMENTS.glob("*/*.log") if not path.parent.name.startswith("__cluster_metadata"))
OWN = (
    METADATA
    + sorted((ROOT / "samples").glob("*/__[!c]*/*.log"))
    + sorted((ROOT / "samples").glob("*/__consumer*/*.log"))
)
SCRAM = ROOT.parent / "shared/real/own/segments/k44-clean/__cluster_metadata-0"


def test_the_log_is_known_and_no_other_one_is():
    assert METADATA
    assert [is_metadata_log(source_of(path)) for path in METADATA] == [True] * len(METADATA)
    assert [path for path in OTHERS if is_metadata_log(source_of(path))] == []


def test_a_topic_of_kafkas_own_stays():
    assert recognised_source(METADATA[0], folder="__consumer_offsets").topic == "__consumer_offsets"
    assert recognised_source(METADATA[0], folder="orders").topic == "__cluster_metadata"
    assert recognised_source(METADATA[0], given="orders").topic == "orders"


@pytest.mark.parametrize("value", [None, b"", b"\x01", b"\x01\x0b\x00", b"\x01\x7f\x00\x00", b"plain"])
def test_records_of_others_are_none(value):
    assert not is_metadata_log(source_of(batch(0, [record(None, value)])))


@pytest.mark.shared
def test_what_is_secret_in_it_is_hidden(tmp_path):
    shown = "AQsABmFsaWNl"
    for path in sorted(SCRAM.glob("*.log")):
        file = tmp_path / path.name.replace("0", "x", 1)
        shutil.copy(path, file)
        for command in (["dump", "--deep"], ["explain"]):
            assert shown not in kwire(*command, file, "--format", "jsonl" if command[0] == "dump" else "json").out
        assert "storedKey" not in (out := kwire("dump", "--deep", file, "--format", "jsonl").out) or "<redacted" in out


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.name}")
def test_the_library_hides_what_dump_hides(path, tmp_path):
    elsewhere = tmp_path / "copy.bin"
    shutil.copy(path, elsewhere)
    data = path.read_bytes()
    for given, options in (
        (path, {}),
        (str(path), {}),
        (elsewhere, {}),
        (elsewhere, {"stdin": data}),
        (data, {"stdin": data}),
    ):
        argument = "-" if options else given
        for secrets in (False, True):
            shown = kwire(
                "dump", "--deep", "-f", "jsonl", argument, *["--show-secrets"] * secrets, **options
            ).out.splitlines()
            assert [item.to_json() for item in kwire_cli.read_records(given, show_secrets=secrets)] == list(
                map(json.loads, shown)
            )


def test_samples_have_secrets_that_are_hidden():
    hidden = [
        path
        for path in OWN
        if any("<redacted" in json.dumps(item.to_json()) for item in kwire_cli.read_records(path.read_bytes()))
    ]
    assert hidden


def test_records_with_keys_behind_what_kraft_writes_are_others():
    found = ((path, item) for path in METADATA for item in kwire_cli.read_records(path) if item.head.control)
    path, control = next(found)
    kraft = path.read_bytes()[control.position : control.end]
    assert is_metadata_log(source_of(kraft))
    assert is_metadata_log(source_of(kraft + batch(9, [record(None, b"\x01\x7f\x00\x00")])))
    assert not is_metadata_log(source_of(kraft + batch(9, [record(b"key", b"value")])))
