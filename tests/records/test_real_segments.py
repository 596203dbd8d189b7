"""Every segment and snapshot of the reference data, to its last byte; docs/evidence/conformance.md has the table."""

import re
from pathlib import Path

import pytest
from kit.messages import SHARED

import kwire_cli as kwire

REAL = SHARED / "real"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "conformance.md"


def listed():
    section = PAGE.read_text("utf-8").split("\n## Segments")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (\d+) \| (\d+) \|", section, re.MULTILINE)
    return {(file, code, int(position), int(size)) for file, code, position, size in rows}


@pytest.mark.shared
def test_every_byte_of_every_segment_is_in_a_batch_or_in_an_explained_gap():
    found, files, batches = set(), 0, 0
    for path in sorted([*REAL.rglob("*.log"), *REAL.rglob("*.checkpoint")]):
        name, at = path.relative_to(REAL).as_posix(), 0
        files += 1
        for item in kwire.read_records(path):
            assert item.position == at
            at = item.end
            if item.to_json(deep=False).get("gap"):
                found.add((name, item.code, item.position, item.size))
                continue
            batches += 1
            found |= {(name, anomaly.code, item.position, item.size) for anomaly in item.anomalies}
        assert at == path.stat().st_size
    assert found == listed()
    assert (files, batches) == tuple(
        map(
            int,
            re.search(r"(\d+)\s+files\s+with\s+([\d,]+)\s+batches", PAGE.read_text("utf-8").replace(",", "")).groups(),
        )
    )
