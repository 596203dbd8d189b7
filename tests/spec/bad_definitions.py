"""A minimal definition that breaks each rule, by rule id: the rule book to ask, and the text."""

import json

from kwire_cli.spec.rules import DEFAULT_BOOK, examine


def check(text, file=None, rules=DEFAULT_BOOK):
    """The findings in one definition."""
    return examine(text, file, rules)[1]


def message(**keys):
    base = {"name": "M", "type": "data", "validVersions": "0-3", "flexibleVersions": "1+", "fields": []}
    return json.dumps({key: value for key, value in (base | keys).items() if value is not None})


def field(**keys):
    base = {"name": "F", "type": "int32", "versions": "0+"}
    return {key: value for key, value in (base | keys).items() if value is not None}


def with_field(**keys):
    return message(fields=[field(**keys)])


def request(**keys):
    return message(**({"name": "MRequest", "type": "request", "apiKey": 900} | keys))


def response(**keys):
    return message(**({"name": "MResponse", "type": "response", "apiKey": 900} | keys))


def tagged(**keys):
    return with_field(**({"tag": 0, "versions": "1+", "taggedVersions": "1+"} | keys))


def headers(versions, **keys):
    return request(headerVersions=versions, **keys)


A = {"name": "A", "versions": "0+"}
SUB = [field(name="G")]
CHAIN = [A | {"name": f"S{n}", "fields": [field(type=f"S{n + 1}")]} for n in range(70)] + [
    A | {"name": "S70", "fields": []}
]
WIDE = [A | {"name": f"S{n}", "fields": [field(name=f"F{i}", type=f"S{n + 1}") for i in range(10)]} for n in range(6)]
WIDE += [A | {"name": "S6", "fields": [field()]}]

TWO = [field(name=n, type="A", fields=SUB) for n in "XY"]
BELOW = field(name="L", type="[]int32", fields=TWO)
"""A field whose sub-fields Kafka's generator ignores, and with them their structs."""
IGNORED_STRUCTS = (
    message(fields=[BELOW]),
    message(fields=[BELOW, TWO[0]]),
    message(fields=[field(name="L", type="[]int32", fields=[field(type="Nowhere")])]),
    message(fields=[BELOW, field(type="A")], commonStructs=[A | {"fields": SUB}]),
    message(fields=[field(type="C")], commonStructs=[A | {"name": "C", "fields": [BELOW]}]),
)

BAD = {
    "JSON_SYNTAX": "{",
    "TRAILING_TOKENS": message() + "]}",
    "DUPLICATE_KEY": message().replace('"name": "M"', '"name": "L", "name": "M"'),
    "NOT_AN_OBJECT": "[]",
    "UNKNOWN_KEY": message(colour="red"),
    "KEY_TYPE": with_field(tag=[]),
    "VERSIONS_SYNTAX": with_field(versions="1-"),
    "VERSIONS_REVERSED": with_field(versions="3-1"),
    "NAME_MISSING": message(name=None),
    "MESSAGE_NAME_INVALID": message(name="A={}}os.execute('id')B"),
    "NAME_REQUEST_SUFFIX": request(name="M"),
    "NAME_RESPONSE_SUFFIX": response(name="M"),
    "TYPE_MISSING": message(type=None),
    "TYPE_UNKNOWN": message(type="thing"),
    "VALID_VERSIONS_MISSING": message(validVersions=None),
    "VALID_VERSIONS_OPEN": message(validVersions="0+"),
    "FLEXIBLE_VERSIONS_MISSING": message(flexibleVersions=None),
    "FLEXIBLE_VERSIONS_CLOSED": message(flexibleVersions="1-2"),
    "API_KEY_MISSING": request(apiKey=None),
    "API_KEY_RANGE": request(apiKey=40000),
    "LISTENER_UNKNOWN": request(listeners=["moon"]),
    "LISTENER_REMOVED": request(listeners=["zkBroker"]),
    "LISTENERS_ON_NON_REQUEST": message(listeners=["broker"]),
    "UNSTABLE_ON_NON_REQUEST": message(latestVersionUnstable=True),
    "COORDINATOR_KEY_VERSIONS": message(type="coordinator-key", apiKey=1, flexibleVersions="none"),
    "COORDINATOR_KEY_FLEXIBLE": message(type="coordinator-key", apiKey=1, validVersions="0", flexibleVersions="0+"),
    "HEADER_VERSIONS_TYPE": message(headerVersions={"0+": "1"}),
    "HEADER_VERSIONS_RANGE": headers({"0-1": "1", "3+": "2"}, flexibleVersions="3+"),
    "HEADER_VERSIONS_VALUE": headers({"0+": "4"}),
    "HEADER_VERSIONS_BEYOND_VALID": headers({"0-8": "2", "9+": "2"}),
    "HEADER_VERSIONS_API_VERSIONS": response(apiKey=18, headerVersions={"0+": "1"}),
    "HEADER_VERSIONS_DECREASING": headers({"0": "3", "1+": "2"}),
    "HEADER_VERSIONS_NOT_FLEXIBLE": headers({"0+": "1"}),
    "FIELD_NAME_MISSING": with_field(name=None),
    "FIELD_NAME_INVALID": with_field(name="a-b"),
    "FIELD_NAME_DUPLICATE": message(fields=[field(), field()]),
    "FIELD_NAME_CASE": message(fields=[field(), field(name="f")]),
    "FIELD_TYPE_MISSING": with_field(type=None),
    "FIELD_TYPE_UNKNOWN": with_field(type="int24"),
    "RECORDS_ARRAY": with_field(type="[]records"),
    "FIELD_TYPE_ARRAY": with_field(type="[][]int32"),
    "FIELD_VERSIONS_MISSING": with_field(versions=None),
    "FIELD_NO_COMMON_VERSIONS": with_field(versions="4+"),
    "FIELD_FLEXIBLE_TYPE": with_field(flexibleVersions="2+"),
    "FIELD_FLEXIBLE_NOT_SUBSET": with_field(type="string", flexibleVersions="0+"),
    "NULLABLE_TYPE": with_field(type="uuid", nullableVersions="0+"),
    "SUBFIELDS_ON_NON_STRUCT": with_field(fields=SUB),
    "SUBFIELDS_IGNORED": with_field(type="[]int32", fields=SUB),
    "MAP_KEY_TOP_LEVEL": with_field(mapKey=True),
    "ENTITY_TYPE_UNKNOWN": with_field(entityType="colour"),
    "ENTITY_TYPE_MISMATCH": with_field(type="int64", entityType="brokerId"),
    "ZERO_COPY_TYPE": with_field(zeroCopy=True),
    "ZERO_COPY_TAGGED": tagged(type="bytes", zeroCopy=True),
    "DEFAULT_INVALID": with_field(default="many"),
    "DEFAULT_NULL_NOT_NULLABLE": with_field(type="string", default="null", nullableVersions="1+"),
    "DEFAULT_IGNORED": with_field(type="records", default="abc"),
    "DEFAULT_IN_JAVA": with_field(default="010"),
    "TAG_RANGE": tagged(tag=-1),
    "TAG_DUPLICATE": message(fields=[field(name=n, versions="1+", taggedVersions="1+", tag=0) for n in "AB"]),
    "TAG_NOT_CONTIGUOUS": tagged(tag=1),
    "TAG_WITHOUT_TAGGED_VERSIONS": tagged(taggedVersions=None),
    "TAGGED_VERSIONS_WITHOUT_TAG": tagged(tag=None),
    "TAG_MAP_KEY": tagged(mapKey=True),
    "TAGGED_VERSIONS_CLOSED": tagged(taggedVersions="1-2"),
    "TAGGED_NOT_IN_VERSIONS": tagged(versions="2+"),
    "TAGGED_NOT_FLEXIBLE": tagged(versions="0+", taggedVersions="0+"),
    "TAGGED_PARTLY_NULLABLE": tagged(type="string", nullableVersions="2+"),
    "TAGGED_RECORDS": tagged(type="records"),
    "KIP482_VERSIONS_MISSING": tagged(versions=None),
    "DRAFT_TAGGED_ARRAY": message(optionalFields=[field(type="[]int32", tag=0, versions=None)]),
    "DRAFT_TAG_OUTSIDE": with_field(tag=0, versions=None),
    "DRAFT_TAG_MISSING": message(optionalFields=[field()]),
    "STRUCT_NAME": message(commonStructs=[A | {"name": "a", "fields": SUB}]),
    "STRUCT_NAME_INVALID": message(commonStructs=[A | {"name": "A\n::error::", "fields": SUB}]),
    "STRUCT_VERSIONS_MISSING": tagged(type="[]A", fields=SUB, versions=None),
    "STRUCT_DUPLICATE": message(fields=TWO),
    "STRUCT_INLINE_AND_COMMON": message(commonStructs=[A | {"fields": SUB}], fields=[field(type="A", fields=SUB)]),
    "STRUCT_EMPTY": with_field(type="Nowhere"),
    "STRUCT_NOT_COMMON": message(commonStructs=[A | {"fields": [field(type="B", fields=SUB)]}]),
    "STRUCT_NO_COMMON_VERSIONS": with_field(type="A", versions="4+", fields=SUB),
    "STRUCT_USED_EARLY": message(commonStructs=[A | {"versions": "2+", "fields": SUB}], fields=[field(type="[]A")]),
    "STRUCT_RECURSIVE": message(commonStructs=[A | {"fields": [field(type="[]A")]}], fields=[field(type="A")]),
    "STRUCT_TOO_LARGE": message(commonStructs=CHAIN, fields=[field(type="S0")]),
    "ENCODING_TYPE": with_field(type="int8", encoding="packed16"),
    "ENCODING_RANGES": with_field(encoding={"0-2": "packed32"}),
    "ENCODING_OVERLAP": with_field(encoding={"0-2": "packed32", "2+": "fixed32"}),
    "ENCODING_NAME": with_field(encoding="unsigned32"),
}
BOOK_OF = {
    "DRAFT_TAGGED_ARRAY": "kip482-draft",
    "DRAFT_TAG_OUTSIDE": "kip482-draft",
    "DRAFT_TAG_MISSING": "kip482-draft",
    "KIP482_VERSIONS_MISSING": "kip482",
}
MANY = {
    "API_KEY_DUPLICATE": [request(), response(), request(name="NRequest"), response(name="NResponse", apiKey=901)],
    "NAME_DUPLICATE": [message(), message()],
    "PAIR_MISSING": [request()],
}
MORE_BAD = [
    ("STRUCT_NO_COMMON_VERSIONS", message(commonStructs=[A | {"versions": "none", "fields": SUB}])),
    ("STRUCT_NO_COMMON_VERSIONS", with_field(type="A", versions="none", fields=SUB)),
    ("DEFAULT_IN_JAVA", with_field(default="0x-1")),
    ("FIELD_VERSIONS_MISSING", tagged(versions=None, taggedVersions="none")),
    ("VERSIONS_SYNTAX", with_field(type="string", flexibleVersions=" ")),
    ("JSON_SYNTAX", message() + "// \0"),
    ("UNKNOWN_KEY", message(about="x")),
    ("UNKNOWN_KEY", headers({"0+": "2"})),
    ("UNKNOWN_KEY", with_field(encoding="packed32")),
    ("UNKNOWN_KEY", message(optionalFields=[])),
    ("ENCODING_TYPE", with_field(elementEncoding="packed32")),
    ("ENCODING_TYPE", with_field(type="[]int32", encoding="packed32")),
    (
        "ENCODING_OVERLAP",
        message(fields=["@"]).replace(
            '"@"', '{"name": "F", "type": "int64", "versions": "2+", "encoding": {"2+": "fixed64", "2+": "fixed64"}}'
        ),
    ),
    ("ENCODING_RANGES", with_field(encoding={"0": "packed32", "2+": "packed32"})),
    ("ENCODING_NAME", with_field(type="[]int32", elementEncoding="packed8")),
    ("FIELD_TYPE_ARRAY", with_field(type="[]")),
    ("STRUCT_NAME_INVALID", with_field(type="A-b")),
    *(
        ("MESSAGE_NAME_INVALID", message(name=name))
        for name in ("", "a b", "\x1b[31mM", "M\n", "é", "1M", "a-b", "<b>")
    ),
    *(("FIELD_NAME_INVALID", with_field(name=name)) for name in ("a b", "\x1b[31mF", "F\n", "é", "1F", "a_b")),
    ("STRUCT_TOO_LARGE", message(commonStructs=WIDE, fields=[field(type="S0")])),
    ("HEADER_VERSIONS_RANGE", headers({})),
    ("HEADER_VERSIONS_RANGE", headers({"0-5": "2"})),
    ("HEADER_VERSIONS_TYPE", headers({"0+": "2"}, validVersions="none")),
    ("DEFAULT_INVALID", with_field(type="int8", default="0xff")),
    ("DEFAULT_INVALID", with_field(type="bytes", default="abc")),
    ("STRUCT_VERSIONS_MISSING", message(commonStructs=[{"name": "A", "fields": SUB}])),
    ("KEY_TYPE", message(fields=[3])),
    ("KEY_TYPE", message(listeners=[3])),
    ("KEY_TYPE", message(headerVersions=[])),
    ("KEY_TYPE", with_field(encoding=[])),
    ("KEY_TYPE", with_field(ignorable="perhaps")),
    ("JSON_SYNTAX", "[" * 100_000),
]
