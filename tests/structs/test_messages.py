import itertools
import json

import pytest
from kit.messages import definition, field

import kwire_cli as kwire
from kwire_cli import EncodeError, SpecError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.spec.evolution.changes import changes, version_part
from kwire_cli.spec.model import MAX_NESTING, NONE, FieldSpec, MessageSpec, StructSpec, Versions
from kwire_cli.structs.messages import declare

PARTITION = {
    "errorCode": 0, "partitionIndex": 0, "leaderId": 1, "leaderEpoch": 2, "replicaNodes": [1], "isrNodes": [1],
    "offlineReplicas": [],
}  # fmt: skip
METADATA = {
    "throttleTimeMs": 0,
    "brokers": [{"nodeId": 1, "host": "h", "port": 9092, "rack": None}],
    "clusterId": None,
    "controllerId": 1,
    "topics": [
        {
            "errorCode": 0,
            "name": "t",
            "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
            "isInternal": False,
            "partitions": [PARTITION] * 4,
            "topicAuthorizedOperations": 0,
        }
    ],
}


def changed(value, path, new):
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if new is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return copy


@pytest.mark.parametrize(
    ("place", "value", "path", "reason"),
    [
        (("topics", 0, "partitions", 3, "leaderId"), "x", "topics[0].partitions[3].leaderId", "int32 takes an integer"),
        (("topics", 0, "partitions", 3, "leaderId"), 1 << 31, "topics[0].partitions[3].leaderId", "does not fit int32"),
        (
            ("topics", 0, "partitions", 3, "leaderId"),
            KeyError,
            "topics[0].partitions[3].leaderId",
            "the field is missing",
        ),
        (
            ("topics", 0, "partitions", 2, "replicaNodes", 0),
            None,
            "topics[0].partitions[2].replicaNodes[0]",
            "int32 takes an integer",
        ),
        (("topics", 0, "partitions", 1), None, "topics[0].partitions[1]", "a struct takes an object, not null"),
        (("topics", 0, "partitions", 1, "leader"), 1, "topics[0].partitions[1].leader", "no such field"),
        (("topics", 0, 7), 1, "topics[0].7", "no such field"),
        (("brokers", 0, "nodId"), 1, "brokers[0].nodId", r"no such field; did you mean nodeId\?"),
        (("topics", 0, "isInternal"), 1, "topics[0].isInternal", "bool takes true or false"),
        (("topics", 0, "topicId"), "x", "topics[0].topicId", "uuid takes 22 characters"),
        (("topics",), None, "topics", "not nullable"),
        (("brokers", 0, "host"), None, "brokers[0].host", "not nullable"),
        (("unknownTaggedFields",), [3], "unknownTaggedFields[0]", "an unknown tagged field is"),
        (("clusterAuthorizedOperations",), 5, "clusterAuthorizedOperations", "versions 8-10 only"),
    ],
)
def test_an_error_says_where_and_why(place, value, path, reason):
    with pytest.raises(EncodeError, match=reason) as caught:
        kwire.encode(changed(METADATA, place, value), message="MetadataResponse", version=12)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")


def test_a_field_of_another_version():
    old = definition(field("int8"), {"name": "New", "type": "int8", "versions": "1+", "default": "4"})
    assert encode_spec(old, {"f": 0, "new": 4}, 0) == b"\0"
    with pytest.raises(EncodeError, match=r"versions 1\+ only"):
        encode_spec(old, {"f": 0, "new": 5}, 0)
    ignorable = definition(field("int8"), {"name": "New", "type": "int8", "versions": "1+", "ignorable": True})
    assert encode_spec(ignorable, {"f": 0, "new": 5}, 0) == b"\0"


def test_only_the_size_of_records_is_no_records():
    spec = definition(field("records", nullableVersions="0+"))
    with pytest.raises(EncodeError, match="only the size of the records is here") as caught:
        encode_spec(spec, {"fSizeInBytes": 10}, 0)
    assert caught.value.path == "f"
    assert encode_spec(spec, {"f": "AA==", "fSizeInBytes": 1}, 0) == b"\0\0\0\1\0"


def test_structs_that_nest_too_deep_have_no_layout():
    # The loader refuses a struct that holds itself; the layout relies on no loader.
    sub = FieldSpec("A", "S", Versions(0, 0))
    spec = MessageSpec(
        "Test", "data", Versions(0, 0), NONE, (sub,), common_structs=(StructSpec("S", Versions(0, 0), (sub,)),)
    )
    with pytest.raises(SpecError, match=f"nest deeper than {MAX_NESTING} levels"):
        declare(spec, 0)


def nested(levels):
    """A message of that many levels, itself among them."""
    structs = [
        {
            "name": f"S{n}",
            "versions": "0+",
            "fields": [{"name": "A", "type": f"S{n + 1}" if n + 2 < levels else "int8"}],
        }
        for n in range(levels - 1)
    ]
    return definition(field("S0"), common=structs)


def test_what_the_loader_takes_has_a_layout():
    declare(nested(MAX_NESTING), 0)
    with pytest.raises(SpecError, match=f"nest deeper than {MAX_NESTING} levels") as caught:
        nested(MAX_NESTING + 1)
    assert caught.value.line


def test_structs_that_double_at_every_level_have_no_layout():
    def level(n):
        pair = [{"name": name, "type": f"S{n + 1}"} for name in ("A", "B")]
        return {"name": f"S{n}", "versions": "0+", "fields": pair if n < 30 else [{"name": "A", "type": "int8"}]}

    with pytest.raises(SpecError, match="more than 100000 fields"):
        declare(definition(field("S0"), common=[level(n) for n in range(31)]), 0)


def test_a_field_can_stay_plain_in_flexible_versions():
    spec = definition(field("string", flexibleVersions="none", nullableVersions="0+"))
    assert encode_spec(spec, {"f": "ab"}, 1) == b"\0\2ab\0"
    assert decode_spec(spec, b"\0\2ab\0", 1).value == {"f": "ab"}


def test_a_declaration_shows_names_and_types():
    assert (
        repr(declare(kwire.catalog().message("DescribeTopicPartitionsRequest"), 0))
        == """Struct(
    "topics" / COMPACT_ARRAY(Struct(
        "name" / COMPACT_STRING,
        TagSection(),
    )),
    "responsePartitionLimit" / INT32,
    "cursor" / NULLABLE(Struct(
        "topicName" / COMPACT_STRING,
        "partitionIndex" / INT32,
        TagSection(),
    ), presence=INT8),
    TagSection(),
)"""
    )


def test_declarations_that_differ_look_different():
    for name in ("FetchRequest", "FetchResponse", "MetadataResponse", "ApiVersionsResponse"):
        spec = kwire.catalog().message(name)
        for old, new in itertools.pairwise(spec.valid_versions.each()):
            differs = any(change.path for change in changes(version_part(spec, old), version_part(spec, new)))
            assert (repr(declare(spec, old)) != repr(declare(spec, new))) == differs, (spec.name, old, new)
