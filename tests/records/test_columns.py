"""Columns of batches and records say what read_records says, over samples, made record sets, real segments and
damage.
"""

import base64
import json
import re

import pytest
from hypothesis import given, strategies as st
from kit.logs import b64, batch, committed, damaged_segments, message, record, segments, wrapper
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli.engine.codes import MEANING
from kwire_cli.message.redaction import RecordRedaction, Redaction
from kwire_cli.records import bulk_batches as l, columns
from kwire_cli.records.codecs import Limits
from kwire_cli.records.columns import BATCHES, RECORDS, Faults, batch_columns, fault_columns, record_columns
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import items, source_of


def snake(name):
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: "_" + match[1].lower(), name)


def unb64(text):
    return None if text is None else base64.b64decode(text)


def as_rows(items):
    """What `to_json` of the exact reader says, as rows: of batches, of records; and then the gaps."""
    batches, records, gaps = [], [], []
    for item in items:
        if isinstance(item, Gap):
            gaps.append(item)
            continue
        said = {snake(name): value for name, value in item.to_json(deep=False).items()}
        batches.append(said)
        shared = {name: said[name] for name in RECORDS.names if name in said and name != "position"}
        for row in item.to_json()["records"]:
            made = {snake(name): value for name, value in row.items() if snake(name) in RECORDS.names}
            made |= {"key": unb64(row["key"]), "value": unb64(row["value"])}
            made["headers"] = [
                {"key": str(header["key"]), "value": unb64(header["value"])} for header in row["headers"]
            ]
            payload = {name: row[name] for name in ("control", "decoded") if name in row}
            made["payload"] = json.dumps(payload, ensure_ascii=False, separators=(",", ":")) if payload else None
            records.append({"position": item.position, **made, **shared})
    return batches + gaps, records + gaps


def taken(found, schema):
    """The rows of record batches, in order, and then the gaps."""
    rows, gaps = [], []
    for item in found:
        if isinstance(item, Gap):
            gaps.append(item)
            continue
        assert item.schema == schema
        item.validate(full=True)
        assert item.num_rows
        rows += item.to_pylist()
    return rows + gaps


def check(data, **options):
    source = source_of(data, **options)
    batches, records = as_rows(items(source))
    assert taken(batch_columns(source), BATCHES) == batches
    assert taken(record_columns(source), RECORDS) == records
    for hide in (None, Redaction(source.catalog or kwire.catalog()).record):
        both = [*record_columns(source, hide=hide, faults=True)]
        alone = [*record_columns(source, hide=hide)]
        faults = [row for some in fault_columns(source, hide=hide) for row in some.to_pylist()]
        assert [item for item in both if not isinstance(item, Faults)] == alone
        assert [row for item in both if isinstance(item, Faults) for row in item.rows.to_pylist()] == faults
    return records


@pytest.mark.parametrize("name", segments())
def test_samples(name):
    assert check(segments()[name])
    assert check(segments()[name], topic=name.rpartition("-")[0])


@pytest.mark.slow
@pytest.mark.shared
def test_real_segments():
    paths = sorted([*(SHARED / "real").rglob("*.log"), *(SHARED / "real").rglob("*.checkpoint")])
    assert len(paths) > 100
    assert sum(len(check(path, topic=path.parent.name.rpartition("-")[0])) for path in paths) > 10000


@pytest.mark.parametrize("chunk", [1, 200, 1 << 30])
def test_batches_of_all_kinds_follow_each_other(chunk, monkeypatch):
    monkeypatch.setattr(l, "CHUNK", chunk)
    some = [record(b"k", b"v", 0), record(None, None, 1, 5, [("h", None), ("i", b"x")]), record(b"", b"", 2, -9)]
    appended, control, horizon, unknown = 8, 0x30, 0x40, 0x100
    parts = [
        batch(0, some),
        *(batch(3 * codec, some, codec=codec) for codec in range(1, 5)),
        batch(15, some, attributes=appended, maxTimestamp=77),
        message("v1", 18),
        batch(19, [record(b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=control, producerId=4, producerEpoch=1),
        wrapper("v1", 21, message("v1", 0) + message("v1", 1)),
        batch(22, some, attributes=horizon, baseSequence=2**31 - 2, producerId=9, producerEpoch=0),
        batch(25, some, attributes=unknown),
        batch(28, some, recordsCount=7),
        batch(31, some, lastOffsetDelta=0),
        batch(34, some, lastOffsetDelta=-1),
        batch(37, some, codec=5, packed=b"what?"),
        batch(40, some, codec=4, packed=b"no zstd"),
        batch(43, [], lastOffsetDelta=4, recordsCount=0),
        batch(48, [record(b"k", b"v", 0, 2**40)], baseTimestamp=2**63 - 5),
        batch(2**63 - 2, some),
        batch(60, some, packed=b"\x10\0\0\0\1\1\0\0"),
        batch(61, some)[:-1] + b"X",
        batch(64, some),
        bytes(20) + b"x",
        batch(67, some),
        batch(70, some)[:50],
    ]
    found = check(b"".join(parts))
    assert len(found) > 50


def test_secrets_are_left_out_of_payloads_keys_and_values():
    scram = {"name": "u", "mechanism": 1, "salt": b64(b"salty"), "iterations": 4096}
    scram |= {"storedKey": b64(b"stored"), "serverKey": b64(b"server")}
    value = b"\1\x0b\0" + kwire.encode(scram, message="UserScramCredentialRecord", version=0)
    data = batch(0, [record(None, value), record(None, b"\1\x07\0" + b"?", 1)])
    source, hide = source_of(data, topic="__cluster_metadata"), RecordRedaction(kwire.catalog())
    (shown,) = record_columns(source)
    (hidden,) = record_columns(source, hide=hide)
    assert shown.column("value")[0].as_py() == value
    assert b64(b"stored") in shown.column("payload")[0].as_py()
    assert hidden.column("value")[0].as_py() == b"<redacted %d bytes>" % len(value)
    assert b64(b"stored") not in hidden.column("payload")[0].as_py()
    assert hidden.column("value_size")[0].as_py() == len(value)


@pytest.mark.parametrize("most", [1, 64])
def test_odd_batches_among_plain_ones(most, monkeypatch):
    monkeypatch.setattr(l, "_MAX_RUNS", most)
    odd = {"recordsCount": 2}
    bad = batch(0, [record(b"k", b"v")])[:-1] + b"X"
    check(b"".join(batch(k, [record(b"k", b"v")]) + (bad if k % 3 == 0 else b"") for k in range(40)))
    check(b"".join(batch(k, [record(b"k", b"v%d" % k)], codec=k % 3, **(odd if k % 4 == 1 else {})) for k in range(40)))


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_old_messages_are_made_into_columns_together(most, monkeypatch):
    monkeypatch.setattr(columns, "MOST", most)
    data = (
        b"".join(message("v1", k) for k in range(7))
        + bytes(30)
        + b"x"
        + b"".join(message("v0", k) for k in range(7, 10))
        + batch(10, [record()])
    )
    check(data)
    sizes = [item.num_rows for item in record_columns(source_of(data)) if not isinstance(item, Gap)]
    assert sizes == {1: [1] * 11, 3: [3, 3, 3, 1, 1], 1000: [10, 1]}[most]


def test_a_decompression_limit_holds_for_columns_too():
    data = batch(0, [record(b"k", b"v" * 100000)], codec=4) + batch(1, [record(b"k", b"w")])
    source = source_of(data, limits=Limits(output=1000))
    expected = [row.value for item in items(source) for row in item.records()]
    assert [row["value"] for row in taken(record_columns(source), RECORDS)] == expected == [b"w"]


@given(damaged_segments())
def test_damaged_segments(data):
    check(data)


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 4), st.integers(-1, 3)), max_size=6))
def test_any_bytes_where_records_should_be(parts):
    """With the right checksum, so that the compiled engine gets them."""
    from kwire_cli.records.compression import compress

    data = b"".join(
        batch(
            k, [], codec=codec, packed=compress(codec, body) if codec else body, recordsCount=count, lastOffsetDelta=5
        )
        for k, (body, codec, count) in enumerate(parts)
    )
    check(data)


@pytest.mark.parametrize("name", segments())
def test_faults_are_the_anomalies_and_the_gaps(name):
    data = segments()[name]
    expected = []
    for item in kwire.read_records(data, show_secrets=True):
        if not isinstance(item, Gap):
            expected += [(item.position, item.size, note.code, note.path, note.offset) for note in item.anomalies]
        elif item.code != "PADDING":
            expected.append((item.position, item.size, item.code, "", item.position))
    found = [row for some in fault_columns(source_of(data)) for row in some.to_pylist()]
    assert [(*row.values(),)[:-1] for row in found] == expected
    assert all(row["detail"] for row in found)


def test_faults_of_payloads_in_a_damaged_batch_have_no_text():
    data = bytearray(committed(0, b"xx"))
    data[-2] ^= 1
    hide = Redaction(kwire.catalog()).record
    source = source_of(bytes(data), topic="__consumer_offsets")
    _, hidden = [row for some in fault_columns(source, hide=hide) for row in some.to_pylist()]
    _, shown = [row for some in fault_columns(source) for row in some.to_pylist()]
    assert (hidden["code"], hidden["path"]) == (shown["code"], shown["path"]) == ("TRAILING_BYTES", "records[1].value")
    assert hidden["offset"] == data.rindex(b"\0\3") < shown["offset"]
    assert (hidden["detail"], shown["detail"][:7]) == (MEANING["TRAILING_BYTES"], "2 bytes")
