"""JSON Schemas (2020-12) of kwire's JSON output: Answers and rows by their columns, bodies by their definitions, and
frames and batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.answer import OTHER_COLUMNS, Facts
from kwire_cli.spec.model import INTEGER_RANGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from kwire_cli.answer import Answer, Column, Kind
    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_INSTANT: Schema = {
    "type": ["string", "integer"],
    "pattern": r"^\d{1,4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?$",
}
"""An instant of an Answer: ISO 8601 in UTC, without a Z if the zone of the clock is not known (request logs). JSON
Schema's date-time demands a zone. A time outside the years 1 to 9999 is its number of milliseconds.
"""
_BASE64: Schema = {"type": "string", "contentEncoding": "base64"}
_ANY: Schema = {}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, *, is_open: bool = False) -> Schema:
    """Return the schema of an object. An open object may have other keys too."""
    schema = {"type": "object", "properties": required | (optional or {}), "required": [*required]}
    return schema if is_open else schema | {"additionalProperties": False}


def document(title: str, schema: Schema) -> Schema:
    """Return a schema as a document of its own."""
    return {"$schema": DIALECT, "title": title, **schema}


# Answers.

_VALUES: dict[Kind, Schema] = {
    "count": _NUMBER,
    "bytes": _NUMBER,
    "number": {"type": ["number", "string"]},
    "share": {"type": "number"},
    "duration": {"type": "number"},
    "instant": _INSTANT,
    "id": {"type": ["integer", "string"]},
    "flag": _FLAG,
    "list": {"type": "array"},
    "map": {"type": "object"},
    "json": _ANY,
    "spark": _list({"type": ["number", "null"]}),
    "text": _TEXT,
}
"""Schemas of values by the kind of their column. NaN and infinities are text."""


def answer_schema(answer: Answer | None = None, *, lines: bool = False) -> Schema:
    """Return the schema of an Answer in --format json, or of one line in --format jsonl if `lines` is set.

    The schema gives the columns and kinds of the answer's tables and facts. It allows other tables, since an Answer
    has some tables only if they have rows. Without an answer, the schema describes any Answer.
    """
    tables = {table.name: _row(table.columns) for table in answer.tables} if answer else {}
    facts = {
        fact.name: _nullable(_VALUES[fact.kind])
        for block in (answer.blocks if answer else ())
        if isinstance(block, Facts)
        for fact in block.facts
        if not fact.spoken
    }
    if lines:
        return _lines(tables, facts)
    rows: Schema = {"type": "object", "properties": {name: _list(row) for name, row in tables.items()}}
    rows["additionalProperties"] = _list({"type": "object"})
    return _object({"title": _TEXT, "tables": rows, "facts": _open(facts), "notes": _list(_TEXT)})


def _open(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties}


def _row(columns: Iterable[Column]) -> Schema:
    """Return the schema of a row. `of` names the input if the answer has several inputs."""
    known = {column.name: _nullable(_VALUES[column.kind]) for column in columns if column.kind != "bar"}
    others = known.pop(OTHER_COLUMNS, None)
    return _object(known, {"of": _TEXT}) if others is None else _object(known) | {"additionalProperties": others}


def _lines(tables: dict[str, Schema], facts: dict[str, Schema]) -> Schema:
    """Return the schema of a line: a row with the name of its table, a note, or the facts."""
    named: dict[str, Schema] = {
        "notes": _object({"text": _TEXT, "level": {"enum": ["good", "info", "warning", "error"]}}),
        "facts": _open(facts),
        **tables,
    }
    line = _object({"table": _TEXT}, is_open=True)
    line["allOf"] = [
        {"if": {"properties": {"table": {"const": name}}}, "then": _with_table(name, row)}
        for name, row in named.items()
    ]
    return line


def _with_table(name: str, row: Schema) -> Schema:
    return {**row, "properties": {"table": {"const": name}, **row["properties"]}}


# Rows of tables and of chosen fields. Each row may lack the columns that nobody asked for.


def rows_schema(tables: Mapping[str, pa.Schema]) -> Schema:
    """Return the schema of a row of any of these tables."""
    rows = {
        name: _object({}, {each.name: _nullable(_arrow(each.type)) for each in table}) for name, table in tables.items()
    }
    return {"anyOf": [_ref(name) for name in rows], "$defs": rows}


def _arrow(kind: pa.DataType) -> Schema:
    """Return the schema of a value by its type in Arrow."""
    name = str(kind)
    if name.startswith("list"):
        return _list(_nullable(_arrow(kind.value_type)))
    if name.startswith("struct"):
        return _object({each.name: _nullable(_arrow(each.type)) for each in kind})
    return next(schema for start, schema in _ARROW.items() if name.startswith(start))


_ARROW: dict[str, Schema] = {
    "int": _NUMBER,
    "string": _TEXT,
    "bool": _FLAG,
    "binary": _BASE64,
    "timestamp": _TIME,
    "date": {"type": "string", "format": "date"},
}
"""Schemas of values by the beginnings of the names of Arrow's types."""
_FIELDS: dict[str, Schema] = {
    "int": _NUMBER,
    "float": {"type": "number"},
    "time": _TIME,
    "text": _TEXT,
    "[]int": _list(_NUMBER),
    "[]text": _list({"type": ["string", "integer"]}),
}
"""Schemas of columns of captures by the names of their types. An unknown error is its code."""


def fields_schema(types: Mapping[str, str]) -> Schema:
    """Return the schema of chosen columns of a frame, which have these types, and of fields by their paths."""
    return _open({name: _nullable(_FIELDS[kind]) for name, kind in types.items()})


# Bodies of messages.

_REDACTED: Schema = {"type": "string", "pattern": r"^<redacted \d+ bytes>$"}
_SPECIAL: Schema = {"enum": ["NaN", "Infinity", "-Infinity"]}
_LEAVES: dict[str, Schema] = {
    "bool": _FLAG,
    "float64": {"anyOf": [{"type": "number"}, _SPECIAL]},
    "uuid": {"type": "string", "pattern": r"^[\w-]{22}$"},
    "string": _TEXT,
    "bytes": _BASE64,
    "records": {"anyOf": [_BASE64, {"type": "array"}]},
} | {name: {"type": "integer", "minimum": low, "maximum": high} for name, (low, high) in INTEGER_RANGES.items()}
_UNKNOWN_TAGS = _list(_object({"tag": _COUNT, "data": _TEXT}))
_PATCHES = _list(_object({"path": _TEXT, "kind": _TEXT, "data": _TEXT}))


def body_schema(spec: MessageSpec, version: int) -> Schema:
    """Return the schema of the body of a message that was decoded to its end.

    A tagged field may be missing, and then has its default. A text may stand for any redacted value. Records are
    base64, batches, or a size under their name with SizeInBytes.
    """
    structs: dict[str, Schema] = {}
    body = _struct(spec, spec.fields, version, structs)
    body["properties"]["_lossless"] = _ref("lossless")
    shared = {"unknownTaggedFields": _UNKNOWN_TAGS, "lossless": _PATCHES, "redacted": _REDACTED}
    return {**body, "$defs": shared | structs}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _struct(spec: MessageSpec, fields: Iterable[FieldSpec], version: int, structs: dict[str, Schema]) -> Schema:
    required: dict[str, Schema] = {}
    optional: dict[str, Schema] = {"unknownTaggedFields": _ref("unknownTaggedFields")}
    for field in fields:
        if version not in field.versions:
            continue
        name, value = field.json_name, _field(spec, field, version, structs)
        is_optional = version in field.tagged_versions or field.type == "records"
        (optional if is_optional else required)[name] = value
        if field.type == "records":
            optional[f"{name}SizeInBytes"] = _nullable(_COUNT)
    return _object(required, optional)


def _field(spec: MessageSpec, field: FieldSpec, version: int, structs: dict[str, Schema]) -> Schema:
    if struct := field.struct_name:
        if struct not in structs:
            structs[struct] = {}  # it may hold itself
            structs[struct] = _struct(spec, spec.struct_fields(field), version, structs)
    elif field.element_type not in {"string", "bytes"}:  # where a secret is a text too
        structs[field.element_type] = {"anyOf": [_LEAVES[field.element_type], _ref("redacted")]}
    else:
        structs[field.element_type] = _LEAVES[field.element_type]
    value = _ref(field.element_type)
    if field.is_array:
        value = {"anyOf": [_list(value), _ref("redacted")]}
    return _nullable(value) if version in field.nullable_versions else value


# Frames, messages, batches and the files beside them.

_ANOMALIES = _list(_object({"code": _TEXT, "path": _TEXT, "offset": _COUNT, "detail": _TEXT}))
_CANDIDATE = _object(
    {"api": _TEXT, "apiVersion": _NUMBER, "headerVersion": _COUNT}, {"kind": {"enum": ["request", "response"]}}
)
_BODY: Schema = _nullable({"type": "object"})
_PAYLOADS = _list(
    _object({"path": _TEXT, "type": _TEXT, "version": _nullable(_NUMBER), "data": _ANY}, {"guess": _FLAG})
)
_LABELS: Schema = {"capture": _TEXT, "file": _nullable(_TEXT)}
_PLACE: Schema = {
    **_LABELS,
    "time": _nullable(_TIME),
    "src": _TEXT,
    "dst": _TEXT,
    "stream": _COUNT,
    "packet": _nullable(_COUNT),
    "label": _TEXT,
}
_HEADER = _object(
    {},
    {
        "headerVersion": _COUNT,
        "correlationId": {"anyOf": [_NUMBER, _REDACTED]},
        "clientId": _nullable(_TEXT),
        "flavour": _TEXT,
        "unknownTaggedFields": _UNKNOWN_TAGS,
        "_lossless": _PATCHES,
    },
)
_GAP_CODE = _TEXT
_ANSWERED: Schema = {"requestFrame": _COUNT, "latency": {"type": "number"}}
"""The keys that a response has because its request was seen. A gap has them too if it answers a request of an unknown
api.
"""
_FRAME: dict[str, Schema] = {
    "message": _object(
        {
            "frame": _COUNT,
            "kind": {"enum": ["request", "response"]},
            "size": _COUNT,
            "apiKey": _nullable(_NUMBER),
            "api": _nullable(_TEXT),
            "apiVersion": _nullable(_NUMBER),
            "header": _HEADER,
            "body": _BODY,
            "anomalies": _ANOMALIES,
        },
        _PLACE
        | _ANSWERED
        | {
            "bodyVersion": _NUMBER,
            "prefixed": {"const": False},
            "guess": {"const": True},
            "candidates": _list(_CANDIDATE),
            "payloads": _PAYLOADS,
            "topics": _list(_TEXT),
            "_lossless": _PATCHES,
        },
    ),
    "gap": _object(
        {"frame": _COUNT, "kind": {"const": "gap"}, "size": _COUNT, "code": _GAP_CODE},
        _PLACE | _ANSWERED | {"anomalies": _ANOMALIES, "_lossless": _PATCHES},
    ),
    "other": _object(
        {"frame": _COUNT, "kind": {"enum": ["sasl-token", "not-kafka"]}, "size": _COUNT},
        _PLACE | {"protocol": _nullable(_TEXT), "content": _list(_TEXT), "reason": _TEXT, "code": _TEXT},
    ),
}
_BATCH_KEYS: Schema = {
    "position": _COUNT,
    "size": _NUMBER,
    "baseOffset": _NUMBER,
    "lastOffset": _nullable(_NUMBER),
    "magic": _NUMBER,
    "crc": _NUMBER,
    "crcValid": _nullable(_FLAG),
    "compression": _TEXT,
    "timestampType": _TEXT,
    "maxTimestamp": _NUMBER,
    "producerId": _NUMBER,
    "producerEpoch": _NUMBER,
    "baseSequence": _NUMBER,
    "partitionLeaderEpoch": _NUMBER,
    "isTransactional": _FLAG,
    "isControl": _FLAG,
    "deleteHorizonMs": _nullable(_NUMBER),
    "count": _nullable(_NUMBER),
    "anomalies": _ANOMALIES,
}
_RECORD = _object(
    {
        "offset": _NUMBER,
        "timestamp": _NUMBER,
        "sequence": _NUMBER,
        "keySize": _NUMBER,
        "valueSize": _NUMBER,
        "key": _nullable(_TEXT),
        "value": _nullable(_TEXT),
        "headers": _list(_object({"key": {"type": ["string", "integer"]}, "value": _nullable(_TEXT)})),
    },
    {"decoded": {"type": "object"}, "control": {"type": "object"}},
)
_CUT_HEADER = _object(
    {"position": _COUNT, "size": _NUMBER, "header": {"type": "object"}, "anomalies": _ANOMALIES},
    {"records": {"type": "array"}},
)
_BATCH: dict[str, Schema] = {
    "record": _RECORD,
    "batch": _object(_BATCH_KEYS, {"file": _TEXT, "records": _list({"$ref": "#/$defs/record"})}),
    "gap": _object(
        {"position": _COUNT, "size": _COUNT, "gap": _TEXT},
        {"file": _TEXT, "batch": {"anyOf": [{"$ref": "#/$defs/batch"}, _CUT_HEADER]}},
    ),
}
_ANY_FRAME = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in _FRAME]}

FORMS: dict[str, tuple[str, Schema]] = {
    "frame": ("a request, a response or a gap, as kwire decode prints it", _ANY_FRAME | {"$defs": _FRAME}),
    "pair": (
        "a request with its response, as kwire decode --pairs prints them",
        _object({"request": _nullable(_ANY_FRAME), "response": _nullable(_ANY_FRAME)}, {"remark": _TEXT})
        | {"$defs": _FRAME},
    ),
    "message": (
        "a body without a header, as kwire decode --message prints it",
        _object(
            {"message": _TEXT, "version": _NUMBER, "size": _COUNT, "body": {"type": "object"}, "anomalies": _ANOMALIES},
            {"guess": {"const": True}, "versionPrefix": {"const": True}},
        ),
    ),
    "batch": (
        "a record batch or a gap, as kwire dump prints it",
        {"anyOf": [{"$ref": "#/$defs/batch"}, {"$ref": "#/$defs/gap"}], "$defs": _BATCH},
    ),
    "definition": (
        "a message definition, as kwire spec show --format json prints it",
        _object({"name": _TEXT, "type": _TEXT, "fields": _list({"type": "object"})}, is_open=True),
    ),
    "explanation": (
        "an explanation, as kwire explain --format json prints it",
        _object({"explanation": _list({"type": "object"}), "rules": _list({"type": "object"})}, is_open=True),
    ),
    "log-file": (
        "an index, a snapshot or a checkpoint, as kwire dump --format json prints it",
        _object(
            {
                "type": _TEXT,
                "size": _COUNT,
                "entries": _list({"type": "object"}),
                "gaps": _list(_object({"position": _COUNT, "size": _COUNT, "gap": _TEXT})),
                "anomalies": _ANOMALIES,
            },
            {"file": _TEXT},
            is_open=True,
        ),
    ),
}
"""Schemas of JSON that is not an Answer, by name, each with a description."""
