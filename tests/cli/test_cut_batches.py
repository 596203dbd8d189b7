"""Cut segments in every format of dump: the header and the records that are there are shown, and no secret is."""

import base64
import json

import pytest
from command_line import ROOT, kwire

SEGMENTS = ROOT / "samples" / "segments"
FORMATS = ("tree", "hex", "json", "jsonl", "table", "csv", "html")


def cut_file(tmp_path, folder, size):
    (file,) = (SEGMENTS / folder).glob("*.log")
    path = tmp_path / folder
    path.mkdir()
    (path / file.name).write_bytes(file.read_bytes()[:size])
    return path / file.name


@pytest.mark.parametrize("fmt", FORMATS)
def test_records_of_a_cut_batch_are_in_every_format(tmp_path, fmt):
    path = cut_file(tmp_path, "compacted-txn-0", 155)
    first, *_ = json.loads(kwire("dump", "--deep", "-f", "json", path).out)["batch"]["records"]
    done = kwire("dump", "--deep", "--full", "-f", fmt, path)
    assert done.code == 0
    assert "TRUNCATED" in done.out
    text = base64.b64decode(first["value"]).decode()
    assert (text if fmt not in {"json", "jsonl"} else first["value"]) in done.out or fmt == "hex"
    assert kwire("dump", "--strict", "-f", fmt, path).code == 1


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("size", [17, 30, 61, 62])
def test_a_cut_header_is_in_every_format(tmp_path, fmt, size):
    path = cut_file(tmp_path, "orders-zstd-0", size)
    for deep in ((), ("--deep",)):
        done = kwire("dump", *deep, "-f", fmt, path)
        assert (done.code, "Traceback" in done.err) == (0, False)
        assert "TRUNCATED" in done.out
        if fmt in {"tree", "json", "jsonl"}:
            assert "magic" in done.out or size >= 61


@pytest.mark.parametrize("fmt", FORMATS)
def test_no_secret_of_a_cut_batch_is_shown(tmp_path, fmt):
    (file,) = (SEGMENTS / "__cluster_metadata-0").iterdir()
    data = file.read_bytes()
    whole = [
        json.loads(line) for line in kwire("dump", "--deep", "--show-secrets", "-f", "jsonl", file).out.splitlines()
    ]
    secrets = set()
    ends = []
    for batch in whole:
        for record in batch.get("records", ()):
            value = record.get("decoded", {}).get("value", {})
            if value.get("type") == "USER_SCRAM_CREDENTIAL_RECORD":
                secrets |= {value["data"]["salt"], value["data"]["storedKey"], value["data"]["serverKey"]}
                ends.append(batch["position"] + batch["size"])
    assert secrets
    for end in ends:
        for cut in (1, 5, 40):
            path = tmp_path / f"{end}-{cut}" / "__cluster_metadata-0"
            path.mkdir(parents=True)
            (path / file.name).write_bytes(data[: end - cut])
            out = kwire("dump", "--deep", "--full", "-f", fmt, path / file.name).out
            assert not any(secret in out for secret in secrets)
            if fmt in {"hex", "html"}:
                flat = "".join(char for char in out.lower() if char in "0123456789abcdef")
                assert not any(base64.b64decode(secret).hex() in flat for secret in secrets)
