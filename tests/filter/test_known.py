"""Names that no field has are refused, and none that one has."""

import json
from pathlib import Path

import pytest
from kit.commands import kwire
from kit.logs import batch, record

from kwire_cli.filter.model import FilterError
from kwire_cli.filter.rows import ANOMALIES, filter_of
from kwire_cli.source.kafka.connection import _GAPS
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.field_names import FieldNames
from kwire_cli.spec.model import fields_by_path

CAPTURE = "samples/captures/ipv6.pcap"


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ('clinet == "x"', 1, "no column and no field is called clinet; did you mean client or line or clientId?"),
        (
            "api == Fetch and has errorcode",
            22,
            "no column and no field is called errorcode; did you mean errorCode or error_codes or error?",
        ),
        ("body.erorCode == 0", 1, "no field is called erorCode; did you mean errorCode or decoded or code?"),
        (
            "topics.partitons.errorCode != 0",
            1,
            "no field is called partitons; did you mean partitions or partition or partitionIds?",
        ),
        ("qqqqqqqq", 1, "no column and no field is called qqqqqqqq"),
    ],
)
def test_a_name_of_nothing_is_refused(text, column, reason):
    with pytest.raises(FilterError) as error:
        filter_of(catalog(), text)
    assert (error.value.column, error.value.reason) == (column, reason)


def test_every_field_of_every_definition_can_be_named():
    bundled = catalog()
    names = FieldNames(((entry.type, entry.name) for entry in bundled), bundled.message)
    for entry in catalog():
        for path, _ in fields_by_path(catalog().message(entry.name)):
            assert all(part.removesuffix("[]") in names for part in path.split("."))
    for text in (
        "has body",
        ".host == x",
        "header.clientId == x",
        "unknownTaggedFields.tag == 7",
        "has topics.partitions.unknownTaggedFields",
    ):
        filter_of(catalog(), text)


def test_no_definition_is_read_for_columns_and_few_for_what_is_found(monkeypatch):
    read = []
    own = catalog("3.9")
    monkeypatch.setattr(own, "message", lambda name, message=own.message: read.append(name) or message(name))
    filter_of(own, "client == x and latency > 1ms and kind == response")
    assert not read
    filter_of(own, "errorCode != 0")
    assert len(read) < 10


def test_fields_of_own_definitions_and_overlays_can_be_named(tmp_path):
    fields = [{"name": "Wombats", "type": "int32", "versions": "0+"}]
    definition = {
        "apiKey": 900,
        "type": "request",
        "name": "ZooRequest",
        "validVersions": "0",
        "flexibleVersions": "none",
        "fields": fields,
    }
    (tmp_path / "ZooRequest.json").write_text(json.dumps(definition))
    filter_of(catalog([str(tmp_path)]), "wombats == 3")
    with pytest.raises(FilterError):
        filter_of(catalog(), "wombats == 3")
    asked = ("decode", "--filter", "wombats == 3", CAPTURE)
    assert kwire(*asked).code == 2
    assert kwire(*asked, "--specs", tmp_path).code == 0


LOGS = sorted([*Path("samples/logs").rglob("*.log"), *Path("samples/segments").rglob("*.log")])
SEGMENT = "samples/logs/txn-out-1/00000000000000000000.log"


def paths(value, above=()):
    """Every path in a JSON document, without indexes."""
    if isinstance(value, list):
        return {path for item in value for path in paths(item, above)}
    if not isinstance(value, dict):
        return set()
    return {found for name, inner in value.items() for found in ((*above, name), *paths(inner, (*above, name)))}


@pytest.mark.parametrize("path", LOGS, ids=str)
def test_every_name_in_the_lines_of_dump_can_be_named(path):
    lines = [json.loads(line) for line in kwire("dump", "--deep", "--format", "jsonl", path).out.splitlines()]
    names = {
        ".".join(one[at:])
        for line in lines
        for one in paths(line)
        for at in range(len(one))
        if all(part.isidentifier() for part in one)
    }
    assert names
    for rows in ("batches", "either"):
        for name in names - {"header"}:
            filter_of(catalog(), f"has {name}", rows)


def test_a_dotted_name_of_dump_s_lines_selects_the_lines_that_have_it():
    lines = [json.loads(line) for line in kwire("dump", "--format", "jsonl", SEGMENT).out.splitlines()]
    for name, value in lines[1].items():
        if isinstance(value, (int, str, bool)):
            asked = f"{name} == {json.dumps(value)}"
            expected = [line["position"] for line in lines if line[name] == value]
            if name != "size":
                asked = f".{asked}"
            found = kwire("dump", "--format", "jsonl", "--filter", asked, SEGMENT).out.splitlines()
            assert [json.loads(line)["position"] for line in found] == expected, asked


WRONG = [
    ("nosuch == 1", 1, "no batch or record has a field called nosuch"),
    ("prodcerId == 1", 1, "no batch or record has a field called prodcerId; did you mean producerId or "),
    ("size > 1 and records.nosuch == 1", 14, "no batch or record has a field called nosuch"),
    ("decoded.value.data.grupId == x", 1, "no batch or record has a field called grupId; did you mean groupId"),
    ("anomalies.cod == x", 1, "no batch or record has a field called cod; did you mean code"),
    ("header.clientId == x", 1, "no batch or record has a field called header; did you mean headers"),
]
OF_FRAMES = [
    ("latency > 1ms", 1, "latency is a column of frames, and batches and records have no such field"),
    ("size > 1 and api == Fetch", 14, "api is a column of frames, and batches and records have no such field"),
    ("maxWaitMs == 1", 1, "no batch or record has a field called maxWaitMs"),
]


@pytest.mark.parametrize("rows", ["batches", "either"])
@pytest.mark.parametrize(("text", "column", "reason"), WRONG)
def test_a_name_that_no_batch_has_is_refused(rows, text, column, reason):
    if rows == "either" and text.startswith("header."):
        return
    with pytest.raises(FilterError) as error:
        filter_of(catalog(), text, rows)
    assert error.value.column == column
    assert error.value.reason.startswith(reason)


@pytest.mark.parametrize(("text", "column", "reason"), OF_FRAMES)
def test_a_name_of_frames_is_for_commands_that_show_frames(text, column, reason):
    with pytest.raises(FilterError) as error:
        filter_of(catalog(), text, "batches")
    assert error.value.column == column
    assert error.value.reason.startswith(reason)
    filter_of(catalog(), text, "either")
    filter_of(catalog(), text)


@pytest.mark.parametrize(
    "text",
    [
        "kind == control",
        "time > 2020-01-01T00:00:00Z",
    ],
)
def test_decode_chooses_batches_as_dump_does(text):
    chosen = kwire("dump", "--deep", "--format", "jsonl", "--filter", text, SEGMENT)
    assert chosen.out
    assert kwire("decode", "--format", "jsonl", "--filter", text, SEGMENT).out == chosen.out


def test_a_column_of_frames_is_a_field_where_records_have_it():
    key = b"\0\1\0\1g\0\1t\0\0\0\3"  # OffsetCommitKey, version 1
    data = batch(0, [record(key, None, 0)])
    asked = ("dump", "--as-topic", "__consumer_offsets", "--format", "jsonl", "-")
    for text, lines in (
        ("topic == t", 1),
        ("topic == u", 0),
        ("partition == 3", 1),
        ("decoded.key.data.group == g", 1),
    ):
        assert len(kwire(*asked, "--filter", text, stdin=data).out.splitlines()) == lines


def test_a_column_with_a_dot_is_the_field_of_any_struct():
    done = kwire(
        "decode", "--fields", "frame,.clientId,header.clientId", "--format", "csv", "--filter", "frame == 1", CAPTURE
    )
    number, dotted, whole = done.out.splitlines()[1].split(",")
    assert number == "1"
    assert dotted == whole != ""


CODECS = "none, gzip, snappy, lz4, zstd, unknown-5, unknown-6, unknown-7"


@pytest.mark.parametrize(
    ("rows", "text", "column", "reason"),
    [
        ("batches", "compression == zsdt", 16, "compression has no value 'zsdt'; did you mean zstd?"),
        ("batches", "compression in (lz4, 9)", 22, f"compression has no value '9'; values are {CODECS}"),
        ("frames", "records.compression == zsdt", 24, "records.compression has no value 'zsdt'; did you mean zstd?"),
        ("batches", "gap == LOST", 8, "gap has no value 'LOST'; values are TRUNCATED, CORRUPT, PADDING"),
        ("frames", "kind not in (requst)", 14, "kind has no value 'requst'; did you mean request?"),
        ("either", "anomaly == LEADER_EPOCH", 12, "anomaly has no value 'LEADER_EPOCH'; values are OVERLONG_VARINT, "),
        ("frames", "anomaly == TRAILING_BYTE", 12, "anomaly has no value 'TRAILING_BYTE'; did you mean TRAILING_BYTES"),
        ("batches", "records > 1", 1, "records is a list; the number of records in a batch is count"),
    ],
)
def test_a_value_that_a_name_never_has_is_refused(rows, text, column, reason):
    with pytest.raises(FilterError) as error:
        filter_of(catalog(), text, rows)
    assert error.value.column == column
    assert error.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ("batches", ("compression in (zstd, unknown-5)", "compression ~ zs", "gap == null", "kind == CONTROL")),
        ("batches", ("timestampType != NoTimestampType", "anomaly in (crc_mismatch, PADDING)", "has records")),
        ("frames", ("kind == Gap", "kind == batch", "anomaly == not_recognised", "records.gap == CORRUPT")),
        ("frames", ("protocol == smtp", "records == null", 'records ~ "x"')),
        ("either", ("kind in (request, control)", "anomaly == LOST")),
    ],
)
def test_a_value_that_a_name_can_have_is_none_of_these(rows, texts):
    for text in texts:
        filter_of(catalog(), text, rows)


def test_gaps_of_connections_are_values_of_the_column_anomaly():
    assert {*_GAPS.values()} <= {*ANOMALIES}
