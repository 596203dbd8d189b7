"""Configs of connectors: no view of a log or a capture shows a password in them."""

import base64
import json

import pytest
from kit import logs
from kit.commands import kwire
from kit.secrets import capture, sized
from kit.traffic import Wire

from kwire_cli.records.connect import read_connect_record
from kwire_cli.records.schemas.redact import FieldRedaction

PASSWORD = "hunter2hunter2"
SECRETS = [
    ("connection.password", PASSWORD),
    ("aws.secret.access.key", PASSWORD),
    ("sasl.jaas.config", f'org.apache.kafka.X required password="{PASSWORD}";'),
    ("basic.auth.user.info", f"user:{PASSWORD}"),
    ("encryption.key", PASSWORD),
    ("github.token", PASSWORD),
    ("http.headers.authorization", f"Bearer {PASSWORD}"),
    ("connection.url", f"jdbc:postgresql://user:{PASSWORD}@host/db"),
    ("connection.url", f"jdbc:mysql://host/db?user=me&password={PASSWORD}"),
    ("connection.url", f"jdbc:sqlserver://host:1433;user=me;password={PASSWORD}"),
    ("connection.url", f"jdbc:oracle:thin:me/{PASSWORD}@host:1521/db"),
    ("connection.uri", f"mongodb+srv://user:{PASSWORD}@host/db"),
]
HARMLESS = {
    "name": "orders",
    "tasks.max": "1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "topics": "orders",
    "connection.url": "jdbc:postgresql://host:5432/db",
    "message.key.columns": "id",
}


def masked(key, value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    record = read_connect_record(key, data, FieldRedaction())
    return record.secret, record.masked().to_json()["value"]["data"]


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_the_value_of_a_sensitive_config_is_masked(name, value):
    secret, shown = masked(b"connector-a", {"properties": HARMLESS | {name: value}})
    assert secret == {"value"}
    assert shown == {"properties": HARMLESS | {name: f"<redacted {len(value)} bytes>"}}


def test_the_key_of_a_session_is_masked():
    session = {"algorithm": "HmacSHA256", "key": PASSWORD, "creation-timestamp": 1}
    assert masked(b"session-key", session) == ({"value"}, session | {"key": "<redacted 14 bytes>"})


@pytest.mark.parametrize("value", [{"properties": HARMLESS}, {"tasks": 2}, {"state": "STARTED"}, None])
def test_other_records_are_shown(value):
    assert masked(b"commit-a", value) == (set(), value)


def test_a_value_that_is_not_json_is_hidden():
    assert masked(b"connector-a", f'{{"password":"{PASSWORD}"'.encode()) == ({"value"}, None)


def test_a_record_without_a_value():
    record = read_connect_record(None, None, FieldRedaction())
    assert (record.to_json(), record.masked(), record.known) == ({"key": None, "value": None}, record, True)


def test_fields_that_the_user_names_are_masked_too():
    record = read_connect_record(b"connector-a", b'{"a":"x","password":"y"}', FieldRedaction.of(["key", "value.a"]))
    assert record.secret == {"key", "value"}
    assert record.masked().to_json()["key"]["data"] == "<redacted 11 bytes>"
    assert record.masked().to_json()["value"]["data"] == {"a": "<redacted 1 bytes>", "password": "<redacted 1 bytes>"}


# The views of a log, and of a capture in which a worker writes and reads the topic.

TOPICS = ("connect-configs", "team_connect_configs")
OF_LOGS = [
    *(["dump", "--deep", "--full", "-f", form] for form in ("tree", "hex", "jsonl", "table", "csv")),
    ["dump", "-f", "hex"],
    ["explain", "--all"],
]
OF_CAPTURES = [
    *(["decode", "--full", "-f", form] for form in ("tree", "hex", "jsonl", "table", "csv")),
    *(["decode", "--records", form, "-f", "jsonl"] for form in ("base64", "decoded", "size")),
    ["explain", "--all"],
]


def batch(codec=0):
    value = json.dumps({"properties": HARMLESS | {"connection.password": PASSWORD}}).encode()
    return logs.batch(0, [logs.record(b"connector-a", value)], codec=codec)


def holds_password(text):
    pieces = [PASSWORD, PASSWORD.encode().hex(" ")[:20]]
    pieces += [base64.b64encode(b"\0" * lead + PASSWORD.encode()).decode()[4:-4] for lead in range(3)]
    return any(piece in text for piece in pieces)


def log(folder, topic, codec=0):
    path = folder / f"{topic}-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(batch(codec))
    return path


def conversation(topic, codec=0):
    """A worker writes a config and reads it."""
    partition = {"partitionIndex": 0, "records": base64.b64encode(batch(codec)).decode()}
    return [
        (0, Wire.produce(batch(codec), topic)),
        (1, Wire.response("Produce", 9)),
        (0, Wire.request("Fetch", 12, 2, topics=[{"topic": topic, "partitions": [{}]}])),
        (1, Wire.response("Fetch", 12, 2, responses=[{"topic": topic, "partitions": [partition]}])),
    ]


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("topic", TOPICS)
def test_no_view_of_a_log_shows_a_password(topic, codec, tmp_path):
    path = log(tmp_path, topic, codec)
    for words in OF_LOGS:
        done = kwire(*words, path)
        assert not holds_password(done.out + done.err), words
    assert holds_password(kwire("dump", "--deep", "--show-secrets", path).out)
    choice = ("--filter", f'value ~ "{PASSWORD}"')
    assert kwire("dump", "--deep", *choice, path).out == ""
    assert kwire("dump", "--deep", *choice, "--show-secrets", path).out != ""


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("topic", TOPICS)
def test_no_view_of_a_capture_shows_a_password(topic, codec, tmp_path):
    path = tmp_path / "connect.pcap"
    path.write_bytes(capture(conversation(topic, codec)))
    for words in OF_CAPTURES:
        done = kwire(*words, path)
        assert not holds_password(done.out + done.err), words
    assert holds_password(kwire("decode", "--records", "decoded", "--show-secrets", path).out)


@pytest.mark.parametrize("place", [12, 20, 30, 60])
def test_a_misaligned_request_or_answer_is_hidden(place, tmp_path):
    produce, _, asked, (side, answer) = conversation("connect-configs")
    damaged = [(0, sized(produce[1][4:place] + produce[1][place + 1 :])), asked]
    path = tmp_path / "connect.pcap"
    path.write_bytes(capture([*damaged, (side, sized(answer[4:place] + answer[place + 2 :]))]))
    for words in OF_CAPTURES:
        assert not holds_password(kwire(*words, path).out), words


@pytest.mark.slow
def test_no_table_shows_a_password(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "connect.pcap"
    path.write_bytes(capture(conversation("connect-configs")))
    log(tmp_path, "connect-configs")
    done = kwire("export", path, tmp_path / "connect-configs-0", "-o", tmp_path / "lake")
    assert done.code == 0, done.err
    tables = [parquet.read_table(file, partitioning=None) for file in (tmp_path / "lake").rglob("*.parquet")]
    text = "".join(str(table.to_pylist()) for table in tables)
    assert "connector-a" in text
    assert not holds_password(text)
