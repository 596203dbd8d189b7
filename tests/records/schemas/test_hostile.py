"""Damaged and hostile values and schemas: a reason and never a crash, and nothing that grows beyond the input."""

import base64
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import example, given, strategies as st
from kit.commands import examples
from kit.messages import BY, FOLDER, headers_of, rows, store

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import Reference, Schema
from kwire_cli.records.schemas.plain import DEEPEST
from kwire_cli.records.schemas.proto_files import MAIN
from kwire_cli.records.schemas.protobuf import MOST_FILES, Reader
from kwire_cli.records.schemas.redact import FieldRedaction
from kwire_cli.records.schemas.serdes import FORMATS, WITH_SCHEMA, Serdes, serde_of
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.schema_inputs import serdes

EXAMPLES = examples(120)
ROWS = [(places[0], row) for writer, places in BY.items() if places for row in rows(writer)]
GROWTH, LEAST = 400, 20_000
"""Characters of JSON for each byte: an empty message of Protobuf is two bytes, and shows the names of its fields."""


def damaged(data, at, change, cut):
    data = data[: len(data) - cut] if cut else data
    at %= max(len(data), 1)
    return data[:at] + change + data[at + 1 :]


def shown(serdes, data, headers=(), part="value", topic="orders"):
    pair = (data, None) if part == "key" else (None, data)
    record = serdes.record(topic, *pair, headers)
    document = record.to_json() if record else {}
    text = json.dumps(document, allow_nan=False)
    assert len(text) <= GROWTH * len(data) + LEAST
    return document.get(part)


@EXAMPLES
@given(st.sampled_from(ROWS), st.integers(0, 400), st.binary(max_size=4), st.integers(0, 3))
def test_damaged_values_have_a_reason_or_a_value(row, at, change, cut):
    place, row = row
    data = damaged(base64.b64decode(row["bytes"]), at, change, cut)
    serde = serde_of(row["format"])
    part = shown(Serdes(store(place), serde, serde), data, headers_of(row), row["part"], row["topic"])
    assert part["format"] == row["format"] or "is a schema of" in part["error"]  # the id of another schema
    assert part["data"] is not None or part.get("error")


@EXAMPLES
@given(st.sampled_from([form for form in FORMATS if form not in {*WITH_SCHEMA, "registry"}]), st.binary(max_size=60))
@example("json", b"[" * 100_000)
@example("json", b"9" * 100_000)
@example("json", b'{"a": NaN, "b": 1e999}')
@example("json", b'"\\ud800"')
@example("text", b"\xff")
@example("double", b"\x7f\xf8\0\0\0\0\0\0")
def test_bytes_of_any_format_have_a_reason_or_a_value(form, data):
    shown(Serdes(SchemaStore(), None, serde_of(form)), data)


def avro(schema, **more):
    return Serdes(SchemaStore([Schema("avro", json.dumps(schema), "s.avsc", 7, **more)]))


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
PREFIX = b"\0\0\0\0\x07"


def test_a_value_that_nests_without_end_is_refused():
    def nested(levels):
        return shown(avro(LIST), PREFIX + b"\x02" * levels + b"\0")

    assert nested(DEEPEST // 2 - 2)["data"]
    assert nested(50_000)["error"] == nested(DEEPEST + 5)["error"] == f"the value nests more than {DEEPEST} levels deep"


def levels_without_bytes():
    schema = {"type": "record", "name": "R0", "fields": []}
    for level in range(1, 14):
        fields = [{"name": "a", "type": schema}, *({"name": f"b{n}", "type": f"R{level - 1}"} for n in range(9))]
        schema = {"type": "record", "name": f"R{level}", "fields": fields}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": {"type": "record", "name": "E", "fields": []}},
        levels_without_bytes(),
        {"type": "array", "items": levels_without_bytes()},
    ],
)
def test_a_schema_of_values_without_bytes_is_refused(schema):
    assert "without bytes" in shown(avro(schema), PREFIX + b"\2\0")["error"]


def test_nested_messages_are_refused():
    text = 'syntax = "proto3"; message M { M m = 1; repeated M many = 2; int32 a = 3; int32 b = 4; int32 c = 5; }'
    serdes = Serdes(SchemaStore([Schema("protobuf", text, "m.proto", 7)]))
    data = b""
    for _ in range(300):
        data = b"\x0a" + varint(len(data)) + data
    assert "the bytes are not a M" in shown(serdes, PREFIX + b"\0" + data)["error"]
    many = b"\x12\x00" * 20_000
    assert shown(serdes, PREFIX + b"\0" + many)["data"]["many"][0]["a"] == 0


def varint(number):
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


SOURCES = FOLDER.parent / "makers" / "schemas"
PROTO = (SOURCES / "order.proto").read_text("utf-8")


def compiled(text, used=()):
    return Reader(
        Schema("protobuf", text, "a.proto"), [(name, Schema("protobuf", other, name)) for name, other in used]
    )


@examples(12)  # each runs protoc
@given(st.integers(0, len(PROTO)), st.text(alphabet='{}[]()<>=;,."\\ /*aZ9-\n', max_size=6), st.integers(0, 30))
@example(0, "message a {" * 2000, 0)
@example(len(PROTO), 'message x { option a = "', 0)
def test_a_proto_file_is_read_or_refused(at, change, cut):
    customer = (SOURCES / "customer.proto").read_text("utf-8")
    with suppress(InputError):
        reader = compiled(PROTO[:at] + change + PROTO[at + cut :], [("customer.proto", customer)])
        assert reader.first.file.name == MAIN


@pytest.mark.parametrize(
    "name",
    ["{0}/secret.proto", "../secret.proto", "x/../../secret.proto", "./secret.proto", "x.py", "grpc_tools/protoc.py"],
)
@pytest.mark.parametrize("is_given", [False, True])
def test_an_import_reads_and_writes_nothing_else(tmp_path, monkeypatch, name, is_given):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for place in (tmp_path, tmp_path / "temporary"):
        (place / "secret.proto").write_text('syntax = "proto3"; message Secret {}', "utf-8")
    before = sorted(tmp_path.rglob("*"))
    name = name.format(tmp_path)
    given = [(name, 'syntax = "proto3"; message Secret { int32 given = 1; }')] if is_given else []
    with pytest.raises(InputError, match=r"which is missing|was not found"):
        compiled(f'syntax = "proto3"; import "{name}"; message A {{ Secret s = 1; }}', given)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_import_may_be_a_descriptor_or_a_file_of_a_registry():
    given = descriptor_pb2.FileDescriptorProto(name="another.proto")
    given.message_type.add(name="B")
    b = base64.b64encode(given.SerializeToString()).decode()
    of_registry = 'import "confluent/meta.proto"; string n = 2 [(confluent.field_meta).tags = "PII"];'
    head, field = of_registry.split("; ")
    reader = compiled(
        f'syntax = "proto3"; import "b.proto"; {head}; message A {{ B b = 1; {field} }}', [("b.proto", b)]
    )
    assert reader.read(b"\x0a\x00\x12\x01x", 0, reader.first).data == {"b": {}, "n": "x"}


VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["record", "array", "null", "A", "", "fixed", "decimal"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "symbols", "size", "logicalType", "scale", "default"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@EXAMPLES
@given(st.sampled_from(WITH_SCHEMA), VALUE | st.text(max_size=20), st.binary(max_size=12))
def test_a_schema_that_is_none_is_refused(kind, schema, data):
    serdes = Serdes(SchemaStore([Schema(kind, json.dumps(schema), "s", 7)]))
    shown(serdes, PREFIX + data)


NESTED = 100_000
DEEP = f"the JSON nests more than {DEEPEST} levels deep"
JSON_DEEP = f"s version 1 is not a JSON Schema: {DEEP}"


NOT_PROTO = "not a .proto file: "
TOO_DEEP = "Reached maximum recursion limit for nested messages."
CUT = "Unexpected end of stream while parsing aggregate value."


def nested(start, end, levels=NESTED):
    return start * levels + "1" + end * levels


def answer(**more):
    return json.dumps({"id": 3, "subject": "s", "version": 1} | more)


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ("json-schema:a.json", nested("[", "]"), DEEP),
        ("avro:a.json", nested('{"items":[', "]}", 150), DEEP),
        ("avro:a.avsc", nested('{"type":"array","items":', "}"), DEEP),
        ("avro:a.avsc", nested("[", "]", 400), DEEP),
        ("json-schema:a.jsonschema", nested('{"items":', "}"), DEEP),
        ("avro:s", answer(schema=nested("[", "]")), f"s version 1 is not an Avro schema: {DEEP}"),
        ("json-schema:s", answer(schema=nested("[", "]"), schemaType="JSON"), JSON_DEEP),
        ("protobuf:a.proto", "message a {" * NESTED, f"{NOT_PROTO}{TOO_DEEP}"),
        ("protobuf:a.proto", "message a { option b = {" + nested("[", "]"), f"{NOT_PROTO}{CUT}"),
    ],
)  # fmt: skip
def test_schemas_that_nest_without_end_are_refused(value, text, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = value.partition(":")[2] if "." in value else "answer.json"
    Path(name).write_text(text, "utf-8")
    with pytest.raises(InputError) as raised:
        serdes(name, value=value)
    assert (raised.value.file, raised.value.reason) == (name, reason)


@pytest.mark.slow
def test_references_and_imports_that_nest_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers, last = [], DEEPEST + 2
    for at in range(last):
        fields = [{"name": "f", "type": f"r{at + 1}"}] * (at < last - 1)
        above = [{"name": f"r{at + 1}", "subject": f"s{at + 1}", "version": 1}] * len(fields)
        record = json.dumps({"type": "record", "name": f"r{at}", "fields": fields})
        answers.append({"schema": record, "id": at, "subject": f"s{at}", "version": 1, "references": above})
        imported = f'import "{at + 1}.proto";' if fields else ""
        Path(f"{at}.proto").write_text(f'syntax = "proto3"; {imported} message M{at} {{}}', "utf-8")
    Path("all.json").write_text(json.dumps(answers), "utf-8")
    with pytest.raises(InputError, match=rf"all\.json: references nest more than {DEEPEST} schemas deep"):
        serdes("all.json", value="avro:s0")
    assert serdes(".", value="protobuf:0.proto").record("t", None, b"").value.type == "M0"
    chain = [(f"{at}.proto", f'import "{at + 1}.proto"; message M{at} {{}}') for at in range(20_000)]
    with pytest.raises(InputError, match="protoc ended with code"):
        compiled('import "0.proto"; message A {}', chain)
    files = [descriptor_pb2.FileDescriptorProto(name=f"{at}", dependency=[f"{at + 1}"]) for at in range(50_000)]
    everything = descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
    with pytest.raises(InputError, match=f"more than {MOST_FILES} files"):
        Reader(Schema("protobuf", everything, "a.desc"), [])


def test_a_schema_that_others_refer_to_is_read_once():
    names = [f"s{at}" for at in range(60)]
    twice = {name: (Reference(name, name, 1), Reference(f"{name}.avsc", name, 1)) for name in names}
    schemas = [
        Schema("avro", '"long"', "s.avsc", at, "", name, 1, references=twice.get(f"s{at + 1}", ()))
        for at, name in enumerate(names)
    ]
    assert shown(Serdes(SchemaStore(schemas)), b"\0\0\0\0\0" + b"\2")["data"] == 1


def test_a_mistake_in_a_proto_file_has_its_line():
    with pytest.raises(InputError, match=r"^a\.proto:3:100001: not a \.proto file: "):
        compiled('syntax = "proto3";\n\n' + " " * 100_000 + "é")
    with pytest.raises(InputError, match=r"a\.proto imports b\.proto, which is not a \.proto file: "):
        compiled('import "b.proto"; message A {}', [("b.proto", "message {")])


@pytest.mark.parametrize(
    ("form", "data", "pattern"),
    [
        ("json", b'{"c\\u0061rd":"secret"}', "value.card"),
        ("json", b'{"card":"secret","card":1}', "value.card"),
        ("json", b'{"card":1,"card":"secret"}', "value.card"),
        ("json", b'[[{"card":["secret"]}]]', "value.card"),
        ("json", b'{"a\\nb":{"card":"secret"}}', "value.*card"),
    ],
)
def test_a_pattern_reaches_every_way_to_write_a_key(form, data, pattern):
    formats = Serdes(SchemaStore(), None, serde_of(form), FieldRedaction.of([pattern]))
    record = formats.record("orders", None, data)
    assert record.secret == {"value"}
    assert "secret" not in json.dumps(record.masked().to_json())
    assert record.value.fits


def test_required_fields_that_are_missing_are_named():
    nested_message = "message N { required int32 b = 1; required int32 c = 2; }"
    text = "message M { required int32 a = 1; map<string, N> n = 2; }" + nested_message
    formats = Serdes(SchemaStore([Schema("protobuf", text, "m.proto", 7)]))
    entry = b"\x0a\x06secret\x12\x02\x10\x05"
    part = shown(formats, PREFIX + b"\0\x12" + bytes([len(entry)]) + entry + b"\x18\x01")
    assert part["data"] == {"n": {"secret": {"c": 5}}}
    assert part["error"] == "required fields are missing: M.a, N.b; 1 field is not in the schema"
    assert shown(formats, PREFIX + b"\0\x08\x01").get("error") is None
