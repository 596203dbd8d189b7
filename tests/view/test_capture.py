"""Every view of a capture calls a line by the kind and code that its JSON has."""

import json

import pytest
from kit.captures import spoken_capture
from kit.commands import kwire
from kit.traffic import Wire

NO_FRAME = (20).to_bytes(4) + b"\x00\x12\x00\x00\x00\x00\x00\x07" + b"\xff\xfe" * 6
"""A size and a known api, and a client id that ends beyond the bytes."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    asked = Wire.request("FindCoordinator", 3, 3, "c", key="k1")
    path = tmp_path_factory.mktemp("capture") / "no-frame.pcap"
    path.write_bytes(spoken_capture((0, asked), (0, NO_FRAME)))
    return path


def test_a_frame_that_no_layout_fits_is_a_gap_in_every_view(capture):
    [_, gap] = [json.loads(line) for line in kwire("decode", "--format", "jsonl", capture).out.splitlines()]
    assert (gap["kind"], gap["code"]) == ("gap", "NOT_RECOGNISED")
    for fmt in ("tree", "hex", "table", "csv"):
        done = kwire("decode", "--format", fmt, capture)
        assert "unknown" not in done.out, fmt
        assert ("gap" if fmt == "csv" else "NOT_RECOGNISED") in done.out, fmt
    for fmt in ("tree", "hex"):
        assert "frame 2: gap: NOT_RECOGNISED, 24 bytes\n" in kwire("decode", "--format", fmt, capture).out


def test_a_row_of_faults_names_it(capture):
    from kwire_cli.lake.capture_faults import line_faults
    from kwire_cli.source.captures import Capture
    from kwire_cli.source.kafka.traffic import traffic
    from kwire_cli.spec.catalog import catalog

    lines = traffic(catalog(), Capture(capture))
    [faults] = line_faults(lines)
    assert faults.column("code").to_pylist() == ["NOT_RECOGNISED"]
