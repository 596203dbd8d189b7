"""The tables `frames`, `bodies` and `costs` of captures say what `kwire decode` says, row for row."""

import base64
import random
import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from kit import traffic as make
from kit.captures import CHOSEN, packet_of, spoken_capture
from kit.commands import ROOT, slow
from kit.messages import ID, early_capture
from kit.traffic import Wire

import kwire_cli as kwire
from kwire_cli.engine.arrow import Columns
from kwire_cli.engine.compiled import jobs_of, octets, walk_many
from kwire_cli.engine.lower import entry_for
from kwire_cli.facts.columnar.arrays import once, side_by_side
from kwire_cli.facts.columnar.bodies import body_type, conform, table_of
from kwire_cli.facts.columnar.frames import FRAMES
from kwire_cli.facts.columns import BY_NAME
from kwire_cli.facts.frame_values import digest
from kwire_cli.lake.export import Cut, export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.query import Lake
from kwire_cli.lake.snapshot import snapshot
from kwire_cli.message.frames import holds
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka import bulk_frames
from kwire_cli.source.kafka.line_records import line_record_notes
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.spec.model import fields_by_path

SAMPLES = sorted((ROOT / "samples" / "captures").iterdir())
INCIDENTS = [path for path in CHOSEN if path.parent.name == "incidents" and path.suffix == ".pcap"]
REAL = ROOT.parent / "shared" / "real"
CATALOG = kwire.catalog()
REDACTION = Redaction(CATALOG)
OF_LINES = FRAMES.names[FRAMES.names.index("missing_bytes") :]
"""Columns that tests/facts compares with what is known of each line."""
WAITED = {"Fetch", "ShareFetch", "FetchSnapshot"}


@pytest.fixture(params=[1, slow(bulk_frames.FEWEST)])
def fewest(request, monkeypatch):
    """How many segments are read together: all that can be, or only long rows of them.
    tests/source/kafka/test_quick_frames.py says that any number gives the same frames.
    """
    monkeypatch.setattr(bulk_frames, "FEWEST", request.param)
    monkeypatch.setattr(bulk_frames, "_STEP", min(request.param, 32))


def tables_of(path, *names, size=1 << 20):
    """The rows of the tables of a capture by table."""
    keys = path.with_suffix(".keys")
    reading = Reading(key_logs=(str(keys),) if keys.exists() else ())
    with TemporaryDirectory() as folder:
        lake = Path(folder)
        export([str(path)], lake, Wanted(frozenset(names), reading), cut=Cut(part=size))
        there = sorted({*snapshot(lake).tables} - {"carried"})
        with Lake(lake, *(f"select * from {name}" for name in there)) as tables:
            return {
                name: tables.arrow(f"select * exclude (unit, run) from {name}").read_all().to_pylist() for name in there
            }


def lines_of(path):
    """The lines of a capture, each with the key of its connection."""
    keys = path.with_suffix(".keys")
    read = partial(Capture, path, key_logs=[str(keys)] if keys.exists() else [])
    capture = read()
    for line in traffic(CATALOG, capture, waiting_since=capture.streams.waiting_since, again=read):
        yield line.connection.key, line


def entities(line, kind):
    """The values of all fields in a body that name an entity, by type or by name, each once."""
    body = line.frame.body if line.frame and line.read else None
    fields = dict(fields_by_path(body.spec)) if body else {}
    found = []

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, path if isinstance(inner, str) else f"{path}[]")
        elif isinstance(value, str) and path in fields and kind in {fields[path].entity_type, fields[path].name}:
            found.append(value)

    walk(body.to_json(records="size") if body else None, "")
    return [*dict.fromkeys(text for text in found if text)]


def expected(connection, line):
    """A row of `frames` as it has to be."""
    request = line.request if line.seen.kind == "response" else line
    row = dict.fromkeys(FRAMES.names)
    row |= {
        "file": line.where.file,
        "src": line.src,
        "dst": line.dst,
        "connection": connection,
        "source": "capture",
        "guess": line.guess,
        "kind": line.kind,
        "size": line.seen.size,
        "api_key": line.api_key,
        "api": line.api,
        "api_version": line.api_version,
        "correlation_id": line.correlation_id,
        "client_id": line.client_id,
        "software": line.software if line.is_frame else None,
        "broker": line.broker,
        "topics": line.topics,
        "groups": entities(line, "groupId"),
        "transactional_id": next(iter(entities(line, "transactionalId")), None),
        "delayed": line.seen.delayed if line.request else None,
        "latency_us": None if line.latency is None else (line.seen.time - line.request.seen.time + 500) // 1000,
        "wait_ms": request.field("maxWaitMs") if request and request.api in WAITED else None,
        "throttle_ms": line.throttle,
        "error_codes": line.error_codes,
        "errors": [str(error) for error in line.errors],
        "protocol": line.seen.protocol,
        "anomalies": line.anomalies,
    }
    row |= {name: BY_NAME[name].of_line(line) for name in OF_LINES if name != "digest"}
    row["digest"] = digest(line)
    if line.kind != "gap":  # of what is missing, the packet depends on what else is in the capture
        row |= {"packet": line.seen.packet, "time": line.time}
        row["request_packet"] = line.request.seen.packet if line.request else None
    return row


def check(path, size=1 << 20):
    """Compare the tables of a capture with its lines; return the number of rows."""
    found = tables_of(path, "frames", "costs", size=size).get("frames", [])
    by_number = {(row["connection"], frozenset((row["src"], row["dst"])), row["frame"]): row for row in found}
    assert len(by_number) == len(found)
    rows = []
    for row in found:
        request = by_number.get((row["connection"], frozenset((row["src"], row["dst"])), row["request_frame"]))
        shown = {**row, "time": row["time"] and row["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        del shown["frame"], shown["request_frame"], shown["capture_point"], shown["day"]
        shown["request_packet"] = request and request["packet"]
        if row["kind"] == "gap":
            for name in ("packet", "time", "request_packet"):
                shown.pop(name)
        rows.append(shown)
    wanted = []
    for connection, line in lines_of(path):
        row = expected(connection, line)
        row["file"] = str(path)
        del row["frame"], row["request_frame"]
        if row["kind"] == "gap":
            del row["packet"], row["time"]
        wanted.append(row)

    def key(row):
        return repr(sorted(row.items(), key=lambda item: item[0]))

    assert sorted(map(key, rows)) == sorted(map(key, wanted))
    return len(rows)


@pytest.mark.usefixtures("fewest")
def test_frames_of_samples():
    assert sum(check(path) for path in SAMPLES) > 400


@pytest.mark.slow
@pytest.mark.parametrize("path", INCIDENTS, ids=lambda path: path.stem)
def test_frames_of_incidents(path):
    assert check(path) > 0


def heartbeats(numbers):
    """Requests and responses with these correlation ids."""
    for number in numbers:
        yield 0, Wire.request("Heartbeat", 3, number, groupId="g", memberId="m")
        yield 1, Wire.response("Heartbeat", 3, number)


def test_software_is_known_from_the_request_that_says_it(tmp_path):
    """Frames that are read together have the software that they have if they are read one by one."""
    names_itself = Wire.request("ApiVersions", 3, 100, clientSoftwareName="app", clientSoftwareVersion="1")
    said = *heartbeats(range(100)), (0, names_itself), (1, Wire.response("ApiVersions", 3, 100))
    path = tmp_path / "made.pcap"
    path.write_bytes(spoken_capture(*said, *heartbeats(range(101, 200))))
    rows = sorted(tables_of(path, "frames")["frames"], key=lambda row: row["packet"])
    assert [row["software"] for row in rows] == [None] * 200 + ["app 1"] * 200


@pytest.mark.slow
@pytest.mark.usefixtures("fewest")
def test_frames_of_parts():
    """Connections go on from part to part."""
    assert sum(check(path, size=3000) for path in SAMPLES) > 400


@pytest.mark.slow
@pytest.mark.shared
def test_frames_of_every_fourth_real_capture():
    assert sum(check(path) for path in sorted(REAL.glob("**/*.pcap*"))[::4]) > 1000


@pytest.mark.slow
@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("seed", range(3))
def test_frames_of_damaged_captures(tmp_path, seed):
    """Lost, repeated, swapped and flipped: whatever is irregular is read one by one."""
    dice = random.Random(seed)
    out = []
    for segment in Segments()(packets(SAMPLES[seed % 3])):
        chance = dice.random() * 8
        payload = bytearray(segment.payload)
        if payload and dice.random() < 0.03:
            payload[dice.randrange(len(payload))] ^= 1 << dice.randrange(8)
        out += [segment._replace(payload=bytes(payload))] * (0 if chance < 0.04 else 2 if chance < 0.1 else 1)
        if 0.9 < chance < 1 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
    path = tmp_path / "made.pcap"
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(out, 1)]))
    assert check(path) > 0


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("name", ["kafka-python-4.4.0", "sarama-0.8.2.0-3.9.2"])
def test_frames_with_texts_that_are_not_utf8(tmp_path, name):
    """The kernel finds nothing wrong with them."""
    segments = []
    for segment in Segments()(packets(ROOT / "samples" / "captures" / f"{name}.pcapng")):
        payload = bytearray(segment.payload)
        if len(segments) % 7 == 3 and (texts := [*re.finditer(rb"[a-z]{6,}", payload)]):
            payload[texts[-1].start() + 2] |= 0x80
        segments.append(segment._replace(payload=bytes(payload)))
    path = tmp_path / "made.pcap"
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))
    assert check(path) > 0
    codes = {anomaly for row in tables_of(path, "frames")["frames"] for anomaly in row["anomalies"]}
    assert any("INVALID_UTF8" in code for code in codes)


def with_damaged_batches(path, out):
    """Write the capture with a bit turned in every third segment with a batch: in its header, or in its records."""
    segments, seen = [], 0
    for segment in Segments()(packets(path)):
        payload = bytearray(segment.payload)
        if found := re.search(rb"\x00{8}\x00\x00..[\x00\xff]{4}\x02", payload, re.DOTALL):
            seen += 1
            if seen % 3 == 0:
                payload[min(found.end() + 3 + 17 * (seen % 5), len(payload) - 1)] ^= 0x40
        segments.append(segment._replace(payload=bytes(payload)))
    out.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))
    return out


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("name", ["slow-broker", "small-batches", "cut-short"])
def test_faults_of_batches_in_frames(tmp_path, name):
    """Frames that are read together have the faults that they have if they are read one by one."""
    damaged = with_damaged_batches(ROOT / "samples" / "incidents" / f"{name}.pcap", tmp_path / "made.pcap")
    found = tables_of(damaged, "faults").get("faults", [])
    columns = ("packet", "connection", "src", "dst", "size", "code", "path", "offset", "detail")
    shown = [tuple(row[column] for column in columns) for row in found if row["path"] is not None]
    wanted = []
    for connection, line in lines_of(damaged):
        notes = [*(line.frame.anomalies if line.frame else ()), *line_record_notes(line, deep=False)]
        ends = connection, line.src, line.dst, line.seen.size
        wanted += [(line.where.packet, *ends, note.code, note.path, note.offset, note.detail) for note in notes]
    assert sorted(shown) == sorted(wanted)
    assert name == "cut-short" or any(code == "CRC_MISMATCH" for *_, code, _, _, _ in shown)


# Bodies.


def same(value, column, kind):
    """Return whether a value in JSON form is what a column has; fields that the version lacks are null there."""
    if isinstance(value, str) and value.startswith("<redacted "):
        return column is None
    if value is None or column is None:
        return value is None and column is None
    if pa.types.is_struct(kind):
        names = {field.name for field in kind}
        return all(same(inner, column[name], kind.field(name).type) for name, inner in value.items() if name in names)
    if pa.types.is_list(kind):
        return len(value) == len(column) and all(
            same(*pair, kind.value_type) for pair in zip(value, column, strict=True)
        )
    if pa.types.is_binary(kind):
        return base64.b64decode(value) == column
    return value == column


def check_bodies(path):
    tables = tables_of(path, "bodies")
    found = {(name, row["connection"], row["frame"]): row for name, rows in tables.items() for row in rows}
    count = 0
    numbers = {}
    for connection, line in lines_of(path):
        ends = frozenset((line.src, line.dst))
        numbers[ends] = numbers.get(ends, 0) + 1
        body = line.frame.body if line.frame else None
        if body is None or not line.read or not line.plain:
            continue
        kind = body_type(CATALOG.message(body.message))
        row = found[table_of(line.api, line.kind), connection, numbers[ends]]
        assert row["api_version"] == body.version
        if kind.num_fields:
            value = body.to_json(records="size", hidden=REDACTION.line(line).get("body", frozenset()))
            assert same(value, row["body"], kind), (line.api, line.kind, body.version)
        count += 1
    return count


@pytest.mark.usefixtures("fewest")
def test_bodies_in_an_early_layout_have_the_fields_of_the_newest(tmp_path):
    path = tmp_path / "early.pcap"
    path.write_bytes(early_capture())
    found = tables_of(path, "frames", "bodies", "faults")
    assert [row["anomalies"] for row in found["frames"] if row["anomalies"]] == [["EARLY_LAYOUT"]]
    assert [row["code"] for row in found["faults"]] == ["EARLY_LAYOUT"]
    [groups] = filter(None, (row["body"]["groups"] for row in found["bodies_consumer_group_describe_response"]))
    [line] = [line for _, line in lines_of(path) if line.anomalies]
    kind = body_type(CATALOG.message("ConsumerGroupDescribeResponse"))
    assert same(line.frame.body.value, {"throttleTimeMs": 0, "groups": groups}, kind)
    assert groups[0]["members"][0]["assignment"] == {
        "topicPartitions": [{"topicId": ID, "topicName": "t", "partitions": [0, 1]}]
    }


@pytest.mark.usefixtures("fewest")
def test_bodies_of_samples():
    assert sum(check_bodies(path) for path in SAMPLES if path.suffix == ".pcapng") > 40


def test_the_api_version_of_a_body_is_that_of_its_frame_if_a_broker_falls_back(tmp_path):
    path = tmp_path / "fallback.pcap"
    refused = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}
    asked = Wire.request("ApiVersions", 4, 1, clientSoftwareName="app", clientSoftwareVersion="1")
    path.write_bytes(spoken_capture((0, asked), (1, Wire.response("ApiVersions", 4, 1, 0, **refused))))
    [_, frame] = tables_of(path, "frames")["frames"]
    [body] = tables_of(path, "bodies")["bodies_api_versions_response"]
    assert body["api_version"] == frame["api_version"] == 4
    assert body["body"]["errorCode"] == 35
    assert body["body"]["throttleTimeMs"] is None


@pytest.mark.slow
@pytest.mark.shared
def test_bodies_of_every_fourth_real_capture():
    assert sum(check_bodies(path) for path in sorted(REAL.glob("own/captures/**/*.pcap*"))[::4]) > 500


def test_every_message_has_one_type():
    """The versions of a message share a type that Parquet can hold: no struct in it is empty."""

    def structs(kind):
        if pa.types.is_list(kind):
            yield from structs(kind.value_type)
        elif pa.types.is_struct(kind):
            yield kind
            for field in kind:
                yield from structs(field.type)

    count = 0
    for name in {name for api in CATALOG.apis for name in (api.request, api.response) if name}:
        spec = CATALOG.message(name)
        if spec.valid_versions and not holds(name):
            kind = body_type(spec)
            assert all(each.num_fields for each in structs(kind) if each is not kind), spec.name
            count += 1
    assert count > 150


def test_bodies_hold_no_secrets():
    """Tokens have no columns, and sensitive configs are null."""
    assert "authBytes" not in {field.name for field in body_type(CATALOG.message("SaslAuthenticateRequest"))}
    upsertions = body_type(CATALOG.message("AlterUserScramCredentialsRequest")).field("upsertions").type.value_type
    assert {"salt", "saltedPassword"}.isdisjoint(field.name for field in upsertions)


def config(name, *, sensitive, more):
    return {
        "name": name,
        "value": "hunter2",
        "readOnly": False,
        "configSource": 4,
        "isSensitive": sensitive,
        "synonyms": [{"name": more, "value": "hunter2", "source": 4}],
        "configType": 9,
        "documentation": None,
    }


def test_values_of_sensitive_configs_are_null():
    """By the name of the config, or because the broker says that it is sensitive; its synonyms too."""
    configs = [
        config("ssl.keystore.password", sensitive=False, more="ssl.keystore.password"),
        config("my.own", sensitive=True, more="retention.ms"),
        config("retention.ms", sensitive=False, more="retention.ms"),
    ]
    result = {"errorCode": 0, "errorMessage": None, "resourceType": 4, "resourceName": "1", "configs": configs}
    body = {"throttleTimeMs": 0, "results": [result]}
    data = kwire.encode(body, message="DescribeConfigsResponse", version=4)
    spec = CATALOG.message("DescribeConfigsResponse")
    entry = entry_for(spec, 4)
    walk = walk_many(entry.program, octets(data), jobs_of(entry, [0], [len(data)]))
    (shown,) = conform(Columns(entry, walk).root(), body_type(spec), spec, "", pa.array([False])).to_pylist()
    values = [(each["value"], each["synonyms"][0]["value"]) for each in shown["results"][0]["configs"]]
    assert values == [(None, None), (None, None), ("hunter2", "hunter2")]


# Lists.


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ([["a"], []], [["b"], ["c", "a"]], [["a", "b"], ["c", "a"]]),
        ([[], []], [[], []], [[], []]),
        ([["a", "a"]], [["a"]], [["a"]]),
    ],
)
def test_lists_side_by_side(one, other, both):
    kind = pa.list_(pa.string())
    assert once(side_by_side(pa.array(one, kind), pa.array(other, kind))).to_pylist() == both


def test_lists_of_a_slice():
    lists = pa.array([["x"], ["a", "b", "a"], []], pa.list_(pa.string()))
    assert once(lists.slice(1)).to_pylist() == [["a", "b"], []]
