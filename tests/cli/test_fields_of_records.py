"""Fields of records as columns of captures, in every format."""

import json

import pytest
from kit.commands import ROOT, kwire

from kwire_cli.filter.places import BATCH, RECORD

CAPTURE = ROOT / "samples/captures/kafka-python-4.4.0.pcapng"


@pytest.mark.parametrize("fmt", ["table", "csv", "json", "jsonl"])
def test_every_field_of_records_is_shown(fmt):
    names = ["frame", *(f"records.{name}" for name in (*BATCH, *RECORD))]
    done = kwire("decode", "--fields", ",".join(names), "-f", fmt, CAPTURE)
    assert done.code == 0, done.err
    assert "{'" not in done.out
    assert "b'" not in done.out
    if fmt == "jsonl":
        assert all(set(json.loads(line)) == {*names} for line in done.out.splitlines())
