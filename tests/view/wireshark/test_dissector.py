"""The dissector in tshark: it shows what kwire says, of every version of every request and response."""

import json
import random
import re
import shutil
import subprocess
from collections import Counter

import pytest
from kit import peers
from kit.captures import SAMPLES, capture_of_all
from kit.commands import kwire, slow
from kit.logs import b64, batch, message, record, wrapper
from kit.messages import SHARED, damaged, exchanges
from kit.traffic import Wire

import kwire_cli
from kwire_cli.message.encode import encode_document
from kwire_cli.message.roles import can_hold_secrets
from kwire_cli.records.compression import CODECS, compress
from kwire_cli.structs.records import v2

pytestmark = pytest.mark.skipif(peers.TSHARK is None, reason="no tshark")
TALKS = ("captures/ipv6.pcap", "captures/kafka-python-4.4.0.pcapng", "captures/sarama-0.8.2.0-3.9.2.pcapng")
INCIDENTS = tuple(
    f"incidents/{name}.pcap" for name in ("sasl", "rebalancing-share", "fetch-sessions", "metadata-snapshot", "mirror")
)
REAL = [
    path
    for path in sorted((SHARED / "real" / "own" / "captures").glob("*/capture.pcap*"))
    if path.parent.name in {"client-franz-go", "java44-txn"} or path.with_name("keylog.txt").exists()
]
"""Clients of other libraries, transactions, and TLS with its keys."""


@pytest.fixture(scope="module")
def lua(tmp_path_factory):
    return peers.written(tmp_path_factory.mktemp("lua"))


def lines_of(path, *options):
    return [json.loads(line) for line in kwire("decode", path, "--format", "jsonl", *options).out.splitlines()]


def as_kafka(lines):
    """The options with which tshark takes the ports of brokers for Kafka's."""
    ports = {int(line["dst"].rpartition(":")[2]) for line in lines if line["kind"] == "request"}
    return [word for port in sorted(ports) for word in ("-d", f"tcp.port=={port},kwire")]


def hold(lua, path):
    lines = lines_of(path)
    frames, fields, found = peers.compare(lua, path, *as_kafka(lines), lines=lines)
    assert found == []
    return frames, fields


@pytest.mark.parametrize("name", [TALKS[1], *(slow(name) for name in (TALKS[0], TALKS[2], *INCIDENTS))])
def test_values_are_those_of_kwire(lua, name):
    frames, fields = hold(lua, SAMPLES / name)
    assert fields > 5 * frames > 0


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "real").exists(), reason="no reference data")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
def test_values_of_real_captures_are_those_of_kwire(lua, path):
    keys = path.with_name("keylog.txt")
    if not keys.exists():
        hold(lua, path)
        return
    lines = lines_of(path, "--tls-keylog", keys)
    ports = {line["dst"].rpartition(":")[2] for line in lines if line["kind"] == "request"}
    options = [word for port in ports for word in ("-d", f"tcp.port=={port},tls", "-d", f"tls.port=={port},kwire")]
    frames, _, found = peers.compare(lua, path, *options, "-o", f"tls.keylog_file:{keys}", lines=lines)
    assert (frames > 100, found) == (True, [])


# Every version of every message


def write_pairs(path, frames):
    """Write a capture with a connection for each pair of a request and a response."""
    said = [[(0, frames[at]), (1, frames[at + 1])] for at in range(0, len(frames), 2)]
    path.write_bytes(capture_of_all(said, piece=65_000))


@pytest.mark.slow
def test_every_version_of_every_message_has_the_values_of_kwire(lua, tmp_path):
    path = tmp_path / "all.pcap"
    write_pairs(path, [encode_document(kwire_cli.catalog(), document) for document in exchanges(random.Random(1))])
    frames, fields = hold(lua, path)
    assert frames > 1400
    assert fields > 20_000


# Compressed records


def produced(path, batches, topic="orders"):
    """Write a capture with a Produce request for each of these batches."""
    said = []
    for number, data in enumerate(batches):
        topics = [{"name": topic, "partitionData": [{"index": 0, "records": b64(data)}]}]
        said.append((0, Wire.request("Produce", 3, number, "kwire", acks=0, timeoutMs=1, topicData=topics)))
    path.write_bytes(capture_of_all([said], piece=65_000))


def test_compressed_records_are_bytes(lua, tmp_path):
    path, records = tmp_path / "codecs.pcap", [record(value=b"%040x" % number, offset=number) for number in range(900)]
    area = v2.RECORDS.build({"records": records})
    packed = [(0, area), *((codec, compress(codec, area)) for codec in (1, 2, 3, 4)), (4, b"nothing of a codec")]
    produced(path, [batch(records=records, codec=codec, packed=data) for codec, data in packed])
    hold(lua, path)
    rows = fields_of(lua, path, "kwire.record.compressed", "kwire.batch.compression", "kwire.record.compressed")
    assert rows == [[CODECS[codec], data.hex()] for codec, data in packed[1:]]


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_a_compressed_message_is_its_bytes(lua, tmp_path, name):
    path = tmp_path / "old.pcap"
    inner = b"".join(message(name, number, value=value) for number, value in enumerate((b"one", b"two")))
    produced(path, [wrapper(name, 1, inner, codec) for codec in (1, 2)])
    hold(lua, path)
    rows = fields_of(lua, path, "kwire", "kwire.record.value")
    assert [bytes.fromhex(row) for [row] in rows] == [compress(codec, inner) for codec in (1, 2)]


def test_compressed_records_of_topics_with_secrets_are_redacted(lua, tmp_path):
    path, secret = tmp_path / "secret.pcap", record(value=b"secret")
    data = [batch(records=[secret], codec=codec) for codec in (1, 3)]
    produced(path, data, topic="__secrets")
    rows = fields_of(lua, path, "kwire", "kwire.redacted", "kwire.record.value", "kwire.record.compressed")
    assert rows == [[f"<redacted {len(each) - v2.HEADER.sizeof()} bytes>", "", ""] for each in data]
    rows = fields_of(lua, path, "kwire", "kwire.record.compressed", options=["-o", "kwire.secrets:TRUE"])
    assert [bytes.fromhex(row) for [row] in rows] == [each[v2.HEADER.sizeof() :] for each in data]


# Damage

STOPS = {"TRUNCATED", "VARINT_TOO_LONG", "INVALID_LENGTH"}
"""Anomalies after which nothing more can be decoded."""
INSIDE = {"EnvelopeRequest", "EnvelopeResponse", "PushTelemetryRequest"}
"""Messages whose anomalies are those of what is in a field too."""


def all_damaged(path, dice):
    """Write a capture with a damaged request or response of every version, and return its lines."""
    frames = []
    for number, document in enumerate(exchanges(dice)):
        data = encode_document(kwire_cli.catalog(), document)
        if number % 4 > 1:
            data = damaged(dice, data, 23 if document["kind"] == "request" else 9)
        frames.append(data)
    write_pairs(path, frames)
    return [line for line in lines_of(path) if line["kind"] in {"request", "response"}]


def message_of(line):
    api = kwire_cli.catalog().api(line["apiKey"])
    return api.request if line["kind"] == "request" else api.response


def is_expected(difference, codes):
    """Of an array that is cut, tshark shows the count that is said, JSON as many elements as there are. Texts of tshark
    end at a zero byte, or have a symbol for it.
    """
    _, mine, theirs = difference
    by_count = codes & STOPS and all(text.lstrip("-").isdigit() for text in (*mine, *theirs))
    return bool(by_count) or any("\0" in text for text in mine)


@pytest.mark.slow
def test_damage_is_told_as_kwire_tells_it(lua, tmp_path):
    path = tmp_path / "damaged.pcap"
    lines = all_damaged(path, random.Random(7))
    by_packet = {layer.packet: layer for layer in peers.shown(lua, path)}
    with_anomalies = 0
    for line in lines:
        layer, message = by_packet[line["packet"]], message_of(line)
        assert "kwire.failed" not in layer.values
        codes = {anomaly["code"] for anomaly in line["anomalies"]} - {"TAG_DEFAULT_VALUE", "FITS_OTHERWISE"}
        if message in INSIDE:
            continue
        assert set(layer.values["kwire.anomaly"]) == codes, (line["frame"], message)
        with_anomalies += bool(codes)
        if not can_hold_secrets(message) and "TAG_DEFAULT_VALUE" not in str(line["anomalies"]):
            found = [each for each in peers.differences(line, layer) if not is_expected(each, codes)]
            hides_more = any(name == "kwire.redacted" for name, *_ in found)  # as kwire doubts that it is this message
            assert found == [] or hides_more, (line["frame"], message)
    assert with_anomalies > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_no_damage_is_an_error_of_lua(lua, tmp_path, name):
    whole = (SAMPLES / name).read_bytes()
    for seed in range(2):
        dice, data = random.Random(seed), bytearray(whole)
        for _ in range(500):
            data[dice.randrange(len(data) // 20, len(data))] = dice.randrange(256)
        path = tmp_path / f"{seed}.pcap"
        path.write_bytes(data)
        text = peers.run(lua, path, "-d", "tcp.port==1-65535,kwire", "-V", codes={0, 2})
        assert "dissector failed" not in text
        assert "Lua Error" not in text


@pytest.mark.slow
def test_more_fields_than_wireshark_takes_end_in_a_remark(lua, tmp_path):
    path, topic = tmp_path / "large.pcap", {"errorCode": 3, "name": "t", "isInternal": False, "partitions": []}
    write_pairs(path, [Wire.request("Metadata", 1), Wire.response("Metadata", 1, topics=[topic] * 70_000)])
    text = peers.run(lua, path, "-O", "kwire", "-Y", "kwire.MetadataResponse")
    assert "(only 250000 of its fields are shown)" in text
    assert "dissector failed" not in text


# How Wireshark calls it


@pytest.mark.slow
def test_a_second_pass_shows_what_the_first_one_did(lua):
    path = SAMPLES / "captures" / "ipv6.pcap"
    options = as_kafka(lines_of(path))
    once, twice = (peers.shown(lua, path, *options, two_passes=passes) for passes in (False, True))
    later = {"kwire.response_frame", "kwire.topic"}  # what only a later packet tells
    assert [without(layer, later) for layer in once] == [without(layer, later) for layer in twice]
    assert sum("kwire.response_frame" in layer.values for layer in twice) > 50


def without(layer, names):
    return {key: values for key, values in layer.values.items() if key not in names}


def fields_of(lua, path, where, *names, options=()):
    text = peers.run(lua, path, *options, "-Y", where, "-T", "fields", *[w for name in names for w in ("-e", name)])
    return [line.split("\t") for line in text.splitlines()]


def test_any_port_is_recognised(lua):
    path = SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"
    lines = lines_of(path)
    wanted = Counter(line["kind"] for line in lines)
    assert Counter(kind for row in fields_of(lua, path, "kwire", "kwire.kind") for kind in row[0].split(",")) == wanted


def test_other_protocols_are_left_alone(lua):
    lines = lines_of(SAMPLES / "captures" / "not-kafka.pcapng")
    other = {line["stream"] for line in lines} - {line["stream"] for line in lines if line["kind"] == "request"}
    rows = fields_of(lua, SAMPLES / "captures" / "not-kafka.pcapng", "kwire", "tcp.stream")
    assert other
    assert not {int(row[0]) for row in rows} & other


@pytest.mark.slow
def test_filters_by_topic_error_and_path(lua):
    path = SAMPLES / "incidents" / "not-leader.pcap"
    lines = lines_of(path)
    options = as_kafka(lines)
    failed = [str(line["packet"]) for line in lines if "NOT_LEADER" in json.dumps(kwire_errors(path, line))]
    rows = fields_of(lua, path, "kwire.error_code == 6", "frame.number", options=options)
    assert [row[0] for row in rows] == [*dict.fromkeys(failed)] != []
    rows = fields_of(
        lua, path, "kwire.ProduceResponse.responses.partitionResponses.errorCode == 6", "frame.number", options=options
    )
    assert rows


def kwire_errors(path, line):
    found = kwire("decode", path, "--frames", line["frame"], "--fields", "error", "--format", "jsonl").out
    return json.loads(found or "{}")


def test_topic_ids_have_names_that_the_capture_tells(lua):
    path = SAMPLES / "captures" / "ipv6.pcap"
    rows = fields_of(lua, path, "kwire.ProduceRequest", "kwire.topic", options=as_kafka(lines_of(path)))
    named = [line for line in lines_of(path) if line["kind"] == "request" and line["api"] == "Produce"]
    assert len(rows) == len(named) > 0
    assert all(name and not name.startswith("<") for row in rows for name in row)


# Secrets


@pytest.mark.slow
def test_secrets_are_sizes_unless_they_are_asked_for(lua):
    path = SAMPLES / "incidents" / "sasl.pcap"
    options = as_kafka(lines_of(path))
    tokens = [
        row[0] for row in fields_of(lua, path, "kwire.SaslAuthenticateRequest", "kwire.redacted", options=options)
    ]
    assert tokens
    assert all(re.fullmatch(r"<redacted \d+ bytes>", token) for token in tokens)
    field = "kwire.SaslAuthenticateRequest.authBytes"
    assert fields_of(lua, path, field, field, options=options) == []
    shown = fields_of(lua, path, field, field, options=[*options, "-o", "kwire.secrets:TRUE"])
    assert [f"<redacted {len(row[0]) // 2} bytes>" for row in shown] == tokens


# The file


def test_the_file_is_small_and_has_every_message(lua):
    text = lua.read_text("utf-8")
    assert len(text) < 1 << 20
    assert all(
        f'\n["{entry.name}"] = {{' in text
        for entry in kwire_cli.catalog()
        if entry.type in {"request", "response"} and entry.valid_versions
    )


@pytest.mark.parametrize("lua_version", ["5.2", "5.4"])
def test_the_file_is_lua_of_the_versions_that_wireshark_has(lua, lua_version):
    compiler = shutil.which(f"luac{lua_version}")
    if compiler is None:
        pytest.skip(f"no luac{lua_version}")
    subprocess.run([compiler, "-p", lua], check=True)
