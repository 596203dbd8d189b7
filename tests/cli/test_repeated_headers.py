"""Headers of a record are a list in every format: repeated keys stay, in their order."""

import csv
import io
import json
import re

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples, kwire
from kit.logs import batch, record

VALUE = st.none() | st.sampled_from([b"", b"a", b"b", b"=1", "ß".encode()])
HEADERS = st.lists(st.tuples(st.sampled_from(["h", "multi", "größe"]), VALUE), max_size=5)


def shown(fmt, headers):
    done = kwire("dump", "--deep", "--format", fmt, "-", stdin=batch(0, [record(b"k", b"v", 0, 0, headers)]))
    assert done.code == 0, done.err
    return done.out


def text(data):
    return None if data is None else data.decode()


@examples(20)
@given(HEADERS)
def test_repeated_keys_stay(headers):
    heading, row = csv.reader(io.StringIO(shown("csv", headers), newline=""))
    cell = row[heading.index("headers")]
    assert [(each["key"], each["value"]) for each in json.loads(cell or "[]")] == [
        (name, text(data)) for name, data in headers
    ]
    heading, row = shown("table", headers).splitlines()
    cell = row[heading.index("headers") :]
    assert heading.split()[-2:] == ["headers", "anomaly"]
    assert cell == ", ".join(f"{name}={'null' if data is None else text(data)}" for name, data in headers).rstrip()
    assert re.findall(r"header \"(\S+)\":", shown("tree", headers)) == [name for name, _ in headers]
    [line] = json.loads(shown("jsonl", headers))["records"]
    assert [each["key"] for each in line["headers"]] == [name for name, _ in headers]


def test_columns_have_a_list_of_structs():
    pa = pytest.importorskip("pyarrow")
    from kwire_cli.records.columns import RECORDS

    assert RECORDS.field("headers").type.value_type == pa.struct([("key", pa.string()), ("value", pa.binary())])
