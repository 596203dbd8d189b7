"""Pairs of definitions, for each rule of compatibility at least one that breaks it: what a change is called, and what
it does to bytes.
"""

import json
from typing import NamedTuple

from kwire_cli.spec.evolution.breaking import breaking
from kwire_cli.spec.evolution.sources import Given
from kwire_cli.spec.overlay import read_text_leniently

A = {"name": "A", "type": "int32", "versions": "0+"}
B = {"name": "B", "type": "int32", "versions": "0+"}
S = {"name": "S", "type": "string", "versions": "0+"}


def message(*fields, **keys):
    """A definition: version 0 is plain, 1 and 2 are flexible."""
    document = {"name": "Test", "type": "data", "validVersions": "0-2", "flexibleVersions": "1+", "fields": [*fields]}
    return document | keys


def tagged(name="T", tag=0, versions="1+", **keys):
    return {"name": name, "type": "int32", "versions": versions, "tag": tag, "taggedVersions": versions} | keys


def request(*fields, **keys):
    return message(*fields, **({"type": "request", "name": "TestRequest", "apiKey": 9000} | keys))


def given(document):
    return Given(read_text_leniently(json.dumps(document), f"{document['name']}.json")[0])


def among(*documents):
    return {document["name"]: given(document) for document in documents}


def found(old, new, *, part=True):
    """What breaks between two definitions, or lists of them."""
    old, new = ([documents] if isinstance(documents, dict) else documents for documents in (old, new))
    return breaking(among(*old), among(*new), part=part)


def numbers(each):
    """The versions of a finding one by one."""
    return tuple(version for versions in each.versions for version in versions.each())


class Case(NamedTuple):
    old: object
    new: object
    path: str = ""
    versions: tuple = (0, 1, 2)
    fails: str = "both"
    """Which reader fails: old, new, both or none."""
    part: bool = True


STRUCT = {"name": "P", "type": "Part", "versions": "0+", "fields": [A]}
ARRAY = STRUCT | {"type": "[]Part"}

CASES = {
    "MESSAGE_REMOVED": [
        Case([message(A), message(A, name="Other")], [message(A, name="Other")], fails="new", part=False),
        Case(message(A), message(A, validVersions="none"), fails="new"),
    ],
    "MESSAGE_TYPE_CHANGED": [Case(request(A), request(A, type="response", name="TestResponse"), versions=())],
    "API_KEY_CHANGED": [Case(request(A), request(A, apiKey=9001), versions=())],
    "VERSIONS_REMOVED": [
        Case(message(A), message(A, validVersions="1-3"), versions=(0,)),
        Case(message(A), message(A, validVersions="0-1"), versions=(2,)),
    ],
    "VERSION_WITHDRAWN": [Case(request(A), request(A, latestVersionUnstable=True), versions=(2,))],
    "FLEXIBLE_VERSIONS_CHANGED": [
        Case(message(A), message(A, flexibleVersions="2+"), versions=(1,)),
        Case(message(A), message(A, flexibleVersions="0+"), versions=(0,)),
        Case(message(), message(flexibleVersions="none"), versions=(1, 2)),
    ],
    "HEADER_VERSION_CHANGED": [Case(request(A), request(A, headerVersions={"0": "1", "1+": "3"}), versions=(1, 2))],
    "FIELD_REMOVED": [
        Case(message(A, S), message(A), "s"),
        Case(message(A, S), message(A, S | {"versions": "2+"}), "s", (0, 1)),
        Case(message(ARRAY | {"fields": [A, S]}), message(ARRAY), "p[].s"),
    ],
    "FIELD_ADDED": [
        Case(message(A), message(A, S), "s"),
        Case(message(A), message(A, S | {"versions": "1+"}), "s", (1, 2)),
        Case(message(STRUCT), message(STRUCT | {"fields": [A, S]}), "p.s"),
    ],
    "FIELD_MOVED": [
        Case(message(A, S), message(S, A), "s"),
        Case(message(A, B), message(B, A), "b"),
        Case(message(ARRAY | {"fields": [A, B, S]}), message(ARRAY | {"fields": [S, A, B]}), "p[].s"),
        Case(message(A, B), message(B, A | {"name": "C"}), "b"),
        Case(message(S, STRUCT), message(S | {"name": "P"}, STRUCT | {"name": "Q"}), "p"),
    ],
    "TYPE_CHANGED": [
        Case(message(A), message(A | {"type": "int64"}), "a"),
        Case(message(A), message(A | {"type": "uint32"}), "a"),
        Case(message(S), message(S | {"type": "bytes"}), "s"),
        Case(message(S), message(S | {"type": "[]string"}), "s"),
        Case(message(STRUCT), message(ARRAY), "p"),
        Case(message(A), message(STRUCT | {"name": "A"}), "a", (1, 2)),
        Case(message(A | {"type": "[]int32"}), message(A | {"type": "[]int16"}), "a"),
    ],
    "ENCODING_CHANGED": [
        Case(message(A), message(A | {"encoding": "packed32"}), "a"),
        Case(
            message(A | {"encoding": "upacked32"}),
            message(A | {"encoding": {"0-1": "upacked32", "2+": "upacked64"}}),
            "a",
            (2,),
        ),
        Case(message(A | {"type": "[]int32"}), message(A | {"type": "[]int32", "elementEncoding": "packed32"}), "a"),
        Case(
            message(A | {"encoding": "packed32"}),
            message(A | {"type": "int64", "encoding": "packed64"}),
            "a",
            fails="old",
        ),
        Case(
            message(A | {"type": "int64", "encoding": "packed64"}),
            message(A | {"type": "int64", "encoding": "packed32"}),
            "a",
            fails="new",
        ),
    ],
    "NULLABLE_ADDED": [
        Case(message(S), message(S | {"nullableVersions": "1+"}), "s", (1, 2), "old"),
        Case(message(ARRAY), message(ARRAY | {"nullableVersions": "0+"}), "p", fails="old"),
    ],
    "NULLABLE_REMOVED": [
        Case(message(S | {"nullableVersions": "0+"}), message(S | {"nullableVersions": "1+"}), "s", (0,), "new")
    ],
    "NULLABLE_STRUCT_CHANGED": [
        Case(message(STRUCT), message(STRUCT | {"nullableVersions": "0+"}), "p"),
        Case(message(STRUCT | {"nullableVersions": "0+"}), message(STRUCT), "p"),
        Case(
            message(tagged(type="Part", fields=[A])),
            message(tagged(type="Part", fields=[A], nullableVersions="1+")),
            "t",
            (1, 2),
        ),
    ],
    "COMPACT_CHANGED": [Case(message(S), message(S | {"flexibleVersions": "none"}), "s", (1, 2))],
    "TAG_ON_INFLEXIBLE_VERSION": [Case(message(A), message(A, tagged(versions="0+")), "t", (0,))],
    "MANDATORY_TO_TAGGED": [
        Case(
            message(A, tagged(versions="1+") | {"tag": None, "taggedVersions": None}),
            message(A, tagged(versions="1+")),
            "t",
            (1, 2),
        ),
        Case(message(A, B), message(A, B | {"tag": 0, "taggedVersions": "2+"}), "b", (2,)),
    ],
    "TAGGED_TO_MANDATORY": [Case(message(A, B | {"tag": 0, "taggedVersions": "1+"}), message(A, B), "b", (1, 2))],
    "TAG_REUSED": [
        Case(message(tagged("T", 0), tagged("U", 1)), message(tagged("T", 1), tagged("U", 0)), "u", (1, 2)),
        Case(message(tagged("T", 0), tagged("U", 1)), message(tagged("T", 1), tagged("U", 0)), "t", (1, 2)),
        Case(message(tagged("T", 0)), message(tagged("U", 0, type="string")), "u", (1, 2)),
        Case(message(tagged("T", 0)), message(tagged("T", 1), tagged("U", 0)), "u", (1, 2)),
    ],
    "TAG_TYPE_CHANGED": [Case(message(tagged()), message(tagged(type="int64")), "t", (1, 2))],
    "TAG_NULLABLE_CHANGED": [
        Case(message(tagged(type="string")), message(tagged(type="string", nullableVersions="1+")), "t", (1, 2), "old"),
        Case(message(tagged(type="string", nullableVersions="1+")), message(tagged(type="string")), "t", (1, 2), "new"),
    ],
    "TAG_WIDENED": [Case(message(tagged(versions="2+")), message(tagged(versions="1+")), "t", (1,), "old")],
    "TAG_NARROWED": [Case(message(tagged(versions="1+")), message(tagged(versions="2+")), "t", (1,), "new")],
    "TAGGED_REMOVED": [Case(message(A, tagged()), message(A), "t", (1, 2), "new")],
    "TAG_NUMBER_CHANGED": [Case(message(tagged(tag=0)), message(tagged(tag=1)), "t", (1, 2))],
    "TAG_DEFAULT_CHANGED": [
        Case(message(tagged()), message(tagged(default="-1")), "t", (1, 2)),
        Case(
            message(tagged(type="Part", fields=[A])),
            message(tagged(type="Part", fields=[A | {"default": "3"}])),
            "t",
            (1, 2),
        ),
    ],
    "TAG_NUMBER_TAKEN": [
        Case(
            message(tagged("T", versions="1+")),
            message(tagged("U", versions="3+"), validVersions="0-3"),
            "u",
            (),
            "none",
        ),
        Case(
            message({"name": "P", "type": "[]Part", "versions": "0+", "fields": [A, tagged("T")]}),
            message(
                {"name": "Q", "type": "[]Part", "versions": "0+", "fields": [A, tagged("U", versions="3+")]},
                validVersions="0-3",
            ),
            "q[].u",
            (),
            "none",
        ),
    ],
    "SAME_BYTES_OTHER_TYPE": [
        Case(message(S | {"type": "bytes"}), message(S | {"type": "records"}), "s", fails="none"),
        Case(message(A), message(A | {"type": "int64", "encoding": "fixed32"}), "a", fails="none"),
        Case(message(A), message(STRUCT | {"name": "A"}), "a", (0,), fails="none"),
    ],
    "MESSAGE_KIND_CHANGED": [
        Case(message(A), message(A, type="coordinator-value", apiKey=3), versions=(), fails="none")
    ],
    "DEFAULT_CHANGED": [Case(message(A), message(A | {"default": "-1"}), "a", (), "none")],
    "MAP_KEY_CHANGED": [Case(message(ARRAY), message(ARRAY | {"fields": [A | {"mapKey": True}]}), "p[].a", (), "none")],
    "ZERO_COPY_CHANGED": [
        Case(message(S | {"type": "bytes"}), message(S | {"type": "bytes", "zeroCopy": True}), "s", (), "none")
    ],
    "MESSAGE_RENAMED": [Case(request(A), request(A, name="OtherRequest"), versions=(), fails="none", part=False)],
    "FIELD_RENAMED": [
        Case(message(A, S), message(A | {"name": "Z"}, S), "z", (), "none"),
        Case(message(tagged("T")), message(tagged("U")), "u", (), "none"),
        Case(message(A, tagged("T")), message(tagged("U"), A), "u", (), "none"),
        Case(message(A, B, S), message(A | {"name": "X"}, B | {"name": "Y"}, S), "y", (), "none"),
        Case(message(ARRAY), message(ARRAY | {"fields": [B]}), "p[].b", (), "none"),
    ],
    "STRUCT_RENAMED": [Case(message(ARRAY), message(ARRAY | {"type": "[]Piece"}), "p", (), "none")],
    "IGNORABLE_CHANGED": [Case(message(A), message(A | {"ignorable": True}), "a", (), "none")],
    "ENTITY_TYPE_CHANGED": [Case(message(S), message(S | {"entityType": "topicName"}), "s", (), "none")],
    "LISTENERS_REMOVED": [
        Case(request(listeners=["broker", "controller"]), request(listeners=["broker"]), versions=(), fails="none")
    ],
}

COMMON = {"commonStructs": [{"name": "Part", "versions": "0+", "fields": [A]}]}
USE = {"name": "P", "type": "[]Part", "versions": "0+"}

COMPATIBLE = {
    "a tagged field is added to a flexible version": (message(A), message(A, tagged())),
    "a tagged field is added to a struct": (message(ARRAY), message(ARRAY | {"fields": [A, tagged()]})),
    "a version is added": (message(A), message(A, S | {"versions": "3+"}, validVersions="0-3")),
    "a field is not in the new version": (message(A, B), message(A, B | {"versions": "0-2"}, validVersions="0-3")),
    "a field becomes tagged in the new version": (
        message(A, B, validVersions="0-2"),
        message(A, B | {"tag": 0, "taggedVersions": "3+"}, validVersions="0-3"),
    ),
    "a field becomes nullable in the new version": (
        message(S),
        message(S | {"nullableVersions": "3+"}, validVersions="0-3"),
    ),
    "a struct becomes a common one": (message(ARRAY), message(USE, **COMMON)),
    "a common struct becomes that of its field": (message(USE, **COMMON), message(ARRAY)),
    "fields of different versions change places": (
        message(A | {"versions": "0"}, B | {"versions": "1+"}, S),
        message(B | {"versions": "1+"}, A | {"versions": "0"}, S),
    ),
    "tagged fields change places": (message(tagged("T", 0), tagged("U", 1)), message(tagged("U", 1), tagged("T", 0))),
    "a tagged field goes among the mandatory ones": (message(A, B, tagged()), message(A, tagged(), B)),
    "fields are put into a struct of an inflexible version": (
        message(A, S, flexibleVersions="none"),
        message(A, {"name": "P", "type": "Part", "versions": "0+", "fields": [S]}, flexibleVersions="none"),
    ),
    "a default is written otherwise": (message(tagged(default="16")), message(tagged(default="0x10"))),
    "a version range is written otherwise": (message(A), message(A | {"versions": "0-2"})),
    "an encoding is that of the type": (message(A), message(A | {"encoding": "fixed32"})),
    "a zig-zag varint has room to spare": (
        message(A | {"encoding": "packed32"}),
        message(A | {"encoding": "packed64"}),
    ),
    "a versions key is left to taggedVersions": (
        message(tagged()),
        message({k: v for k, v in tagged().items() if k != "versions"}),
    ),
}
