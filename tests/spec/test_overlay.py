"""Overlays: what they change, and what is wrong with them where."""

import json
import os
from itertools import product
from threading import Thread

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.messages import sample
from kit.traffic import body_of

import kwire_cli as kwire
from kwire_cli.errors import EncodeError, InputError, SpecError
from kwire_cli.message.decoded import build, decode_spec
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import FIELD_KEYS, bundled_overlays, load_overlay, read_overlay
from kwire_cli.structs.messages import declare

METADATA = kwire.catalog().message("MetadataResponse")
LEADER = "topics[].partitions[].leaderId"


def overlay(fields, message="MetadataResponse", **keys):
    return read_overlay(json.dumps({"messages": {message: {**keys, "fields": fields}}}, indent=1), "mine.json")


def field(spec, path):
    return dict(fields_by_path(spec))[path]


def metadata(partitions, replicas):
    nodes = list(range(1, replicas + 1))
    partition = {"leaderId": 1, "leaderEpoch": 3, "replicaNodes": nodes, "isrNodes": nodes}
    topic = {"name": "t", "partitions": [{"partitionIndex": n} | partition for n in range(partitions)]}
    return body_of("MetadataResponse", 9, {"controllerId": 1, "topics": [topic]})


def test_a_definition_of_which_nothing_is_said_is_the_same_object():
    request = kwire.catalog().message("MetadataRequest")
    assert overlay({LEADER: {"encoding": "packed32"}}).laid(request) is request


def test_what_is_said_of_a_field_counts_more_than_what_is_said_of_all():
    laid = overlay(
        {LEADER: {"encoding": "fixed"}, "*": {"encoding": "upacked"}, "topics[].*": {"encoding": "packed"}}
    ).laid(METADATA)
    names = [field(laid, path).encoding[0].name for path in ("controllerId", "topics[].errorCode", LEADER)]
    assert names == ["upacked32", "packed16", "fixed32"]


def test_a_later_overlay_counts_more_than_one_before():
    first, second = overlay({"*": {"encoding": "upacked"}}), overlay({LEADER: {"encoding": None}})
    assert field(second.laid(first.laid(METADATA)), LEADER).encoding == ()


@pytest.mark.parametrize("name", [*bundled_overlays()])
def test_each_bundled_overlay_lies_over_all_that_it_names(name):
    catalog = kwire.catalog(specs=name)
    for message in load_overlay(name).messages:
        if message != "*":
            assert catalog.message(message) != kwire.catalog().message(message)


def test_every_integer_of_every_message_can_be_encoded():
    overlay = load_overlay("all-packed")
    for entry in kwire.catalog():
        encodable = {"int16", "int32", "int64"} if entry.type not in {"header", "data"} else {}
        for path, found in fields_by_path(overlay.laid(kwire.catalog().message(entry.name))):
            place = entry.name, path
            assert bool(found.encoding) == (found.type in encodable), place
            assert bool(found.element_encoding) == (found.is_array and found.element_type in encodable), place


@pytest.mark.parametrize(("partitions", "replicas"), [*product((1, 100), (0, 1, 3))])
def test_the_formulas_of_kafka9927_from_encoded_bytes(partitions, replicas):
    """17 + 4 (R + I + O) bytes a partition as shipped and 7 + R + I + O unsigned; the document forgets the byte of the
    tag section.
    """
    elements = 2 * replicas
    for name, size in (
        (None, 17 + 4 * elements),
        ("metadata-upacked", 7 + elements),
        ("metadata-upacked-fields", 7 + 4 * elements),
    ):
        more, fewer = (
            len(kwire.encode(metadata(n, replicas), message="MetadataResponse", version=9, specs=name))
            for n in (partitions + 1, 1)
        )
        assert more - fewer == partitions * (size + 1)


def test_a_new_version_is_one_that_the_catalogue_knows():
    catalog = kwire.catalog(specs=["metadata-v14"])
    value = metadata(2, 2) | {"errorCode": 0}
    del value["clusterAuthorizedOperations"]
    value["topics"][0]["topicId"] = "AAAAAAAAAAAAAAAAAAAAAA"
    sizes = [
        len(kwire.encode(value, message="MetadataResponse", version=version, specs="metadata-v14"))
        for version in (13, 14)
    ]
    assert sizes[1] < sizes[0]
    assert catalog.header_version("response", 3, 14) == 1
    assert str(catalog.entry("MetadataRequest").valid_versions) == "0-14"
    with pytest.raises(InputError, match="versions 0-13"):
        kwire.encode(value, message="MetadataResponse", version=14)


def test_widening_reads_what_was_written_narrow_and_refuses_what_does_not_fit():
    spec = load_overlay("kafka9927-too-small").laid(METADATA)
    partition = {"partitionIndex": 5}
    value = body_of("MetadataResponse", 1, {"topics": [{"name": "t", "partitions": [partition]}]})
    partition = value["topics"][0]["partitions"][0]
    assert build(spec, value, 1) == build(METADATA, value, 1)
    partition["partitionIndex"] = 1 << 31
    with pytest.raises(EncodeError, match="int64 written as int32") as error:
        build(spec, value, 1)
    assert error.value.path == "topics[0].partitions[0].partitionIndex"


@pytest.mark.parametrize("name", ["all-packed", "all-upacked"])
def test_every_message_is_written_and_read_with_every_integer_encoded(name):
    for row in sample():
        laid = load_overlay(name).laid(row.catalog.message(row.message))
        value = decode_spec(row.catalog.message(row.message), row.body, row.version).value
        assert decode_spec(laid, build(laid, value, row.version), row.version).value == value, str(row)


BAD = {
    "unknown field": ({"topics[].leaderId": {"encoding": "packed32"}}, 5, "did you mean topics"),
    "close field": (
        {"topics[].partitions[].leaderid": {"encoding": "packed32"}},
        5,
        f"did you mean {LEADER.replace('[', '.').split('.')[0]}",
    ),
    "unknown name": ({LEADER: {"encoding": "unsigned32"}}, 6, "ENCODING_NAME"),
    "wrong type": ({"topics[].name": {"encoding": "packed32"}}, 6, "ENCODING_TYPE"),
    "encoding of an array": ({"topics[].partitions[].isrNodes": {"encoding": "packed"}}, 6, "ENCODING_TYPE"),
    "elements of a number": ({LEADER: {"elementEncoding": "packed"}}, 6, "ENCODING_TYPE"),
    "versions left out": ({LEADER: {"encoding": {"10+": "upacked32"}}}, 6, "ENCODING_RANGES"),
    "versions twice": ({LEADER: {"encoding": {"0-10": "fixed32", "10+": "upacked32"}}}, 6, "ENCODING_OVERLAP"),
    "no range": ({LEADER: {"encoding": {"ten": "upacked32"}}}, 7, "VERSIONS_SYNTAX"),
    "an encoding of 5": ({LEADER: {"encoding": 5}}, 6, "KEY_TYPE"),
    "a tag twice": (
        {"clusterId": {"tag": 0, "taggedVersions": "9+"}, "controllerId": {"tag": 0, "taggedVersions": "9+"}},
        10,
        "TAG_DUPLICATE",
    ),
    "a tag in an inflexible version": ({"clusterId": {"tag": 0, "taggedVersions": "2+"}}, 7, "TAGGED_NOT_FLEXIBLE"),
    "a tagged key": ({"brokers[].nodeId": {"tag": 0, "taggedVersions": "9+"}}, 5, "TAG_MAP_KEY"),
    "a default that does not fit": ({"controllerId": {"default": "many"}}, 6, "DEFAULT_INVALID"),
    "an unknown type": ({"controllerId": {"type": "int128"}}, 6, "FIELD_TYPE_UNKNOWN"),
    "a null number": ({"controllerId": {"nullableVersions": "0+"}}, 6, "NULLABLE_TYPE"),
    "no integers there": ({"brokers[].port.*": {"encoding": "packed"}}, 5, "not an integer field"),
    "an array without brackets": ({"brokers.*": {"encoding": "packed"}}, 5, r"did you mean brokers[].*"),
    "an unknown key": ({LEADER: {"coding": "packed32"}}, 6, "not a key here"),
    "a tag for all": ({"*": {"tag": 0}}, 6, "not a key here"),
    "no object": ({LEADER: "packed32"}, 5, "takes an object"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_with_its_place(name):
    fields, line, message = BAD[name]
    with pytest.raises(SpecError) as error:
        overlay(fields).laid(METADATA)
    assert message in str(error.value)
    assert (error.value.file, error.value.line) == ("mine.json", line)
    assert error.value.column


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[]", "1:1", "an overlay is an object"),
        ("{", "1:2", "expected property name"),
        ("{}", "1:1", "'messages' takes an object"),
        ('{"message": {}}', "1:2", "not a key here"),
        ('{"messages": {"MetadataResponse": 3}}', "1:15", "takes an object"),
        ('{"messages": {"*": {"validVersions": "0-9"}}}', "1:21", "not a key here"),
        ('{"messages": {"*": {"fields": {"topics": {}}}}}', "1:32", "only * can be meant"),
        ('{"messages": {"A": {}, "A": {}}}', "1:24", "occurs twice"),
        ('{"messages": {}} more', "1:18", "nothing may follow"),
    ],
)
def test_a_text_that_is_no_overlay(text, place, message):
    with pytest.raises(SpecError, match=message.replace("*", r"\*")) as error:
        read_overlay(text, "bad.json")
    assert str(error.value).startswith(f"bad.json:{place}: ")


def test_an_unknown_message_is_said_with_its_place(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('{"messages": {\n"MetadataRespons": {}}}')
    with pytest.raises(SpecError, match=r"mine\.json:2:1: .*did you mean MetadataResponse"):
        kwire.catalog(specs=file)


def test_an_overlay_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = json.dumps({"messages": {"MetadataResponse": {"fields": {LEADER: {"encoding": "upacked32"}}}}})
    writer = Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    laid = load_overlay(pipe).laid(kwire.catalog().message("MetadataResponse"))
    assert field(laid, LEADER).encoding[0].name == "upacked32"
    writer.join()


def test_a_file_that_changes_is_read_again(tmp_path):
    file = tmp_path / "mine.json"
    sizes = []
    for name in ("fixed32", "upacked32"):
        file.write_text(json.dumps({"messages": {"MetadataResponse": {"fields": {LEADER: {"encoding": name}}}}}))
        sizes.append(len(kwire.encode(metadata(1, 1), message="MetadataResponse", version=9, specs=file)))
    assert sizes[1] == sizes[0] - 3


def test_there_is_no_such_overlay():
    with pytest.raises(InputError, match="release or overlay; did you mean metadata-upacked"):
        kwire.catalog("metadata-packed")
    with pytest.raises(InputError, match=r"metadata-packed: no overlay.*metadata-upacked"):
        load_overlay("metadata-packed")


def paths(spec, version):
    return [path for path, field in fields_by_path(spec) if version in field.versions]


def test_fields_are_added_removed_and_renamed():
    zone = {"type": "string", "versions": "9+", "nullableVersions": "9+"}
    fields = {
        "zone": zone,
        "topics[].partitions[].zone": zone,
        "controllerId": None,
        "brokers[].rack": {"name": "Zone"},
    }
    laid = overlay(fields).laid(METADATA)
    changed = {"zone", "topics[].partitions[].zone", "brokers[].zone"}
    assert {*paths(laid, 9)} == {*paths(METADATA, 9)} - {"controllerId", "brokers[].rack"} | changed
    value = {"throttleTimeMs": 0, "brokers": [], "clusterId": None, "topics": [], "clusterAuthorizedOperations": 0}
    data = build(laid, value | {"zone": "a"}, 9)
    assert decode_spec(laid, data, 9).value == value | {"zone": "a"}


def test_a_new_field_needs_a_type_and_a_struct():
    for fields in ({"zone": {"versions": "9+"}}, {"nothing[].zone": {"type": "string"}}, {"zone": None}):
        with pytest.raises(SpecError, match="no field is called"):
            overlay(fields).laid(METADATA)


def test_an_error_after_a_removed_field_has_its_place():
    fields = {"controllerId": None, "topics[].name": {"type": "int128"}}
    with pytest.raises(SpecError, match="FIELD_TYPE_UNKNOWN") as caught:
        overlay(fields).laid(METADATA)
    assert caught.value.line == 7


def test_headers_keep_the_fields_by_which_messages_are_recognised():
    header = kwire.catalog().message("RequestHeader")
    laid = overlay({"shard": {"type": "int32", "versions": "2+"}, "clientId": None}, "RequestHeader").laid(header)
    assert paths(laid, 2) == ["requestApiKey", "requestApiVersion", "correlationId", "shard"]
    for fields in ({"correlationId": {"encoding": "packed"}}, {"requestApiKey": None}, {"x": {"type": "int8"}}):
        with pytest.raises(SpecError, match="cannot change the fields of header version 0"):
            overlay(fields, "RequestHeader").laid(header)


_WORDS = ("packed", "upacked32", "fixed64", "0+", "9+", "3-1", "none", "int64", "[]int8", "", "null", "x")
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(_WORDS),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["0+", "0-9", "10+", "tag", "encoding", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_PATHS = [*(path for path, _ in fields_by_path(METADATA)), "*", "topics[].*", "nothing"]
_FIELDS = st.dictionaries(
    st.sampled_from(_PATHS), st.dictionaries(st.sampled_from(FIELD_KEYS), _VALUES, max_size=4) | _VALUES, max_size=4
)


@given(
    _FIELDS, st.dictionaries(st.sampled_from(["validVersions", "flexibleVersions", "about", "y"]), _VALUES, max_size=1)
)
@examples(180)
def test_any_overlay_is_laid_or_refused(fields, keys):
    """What is laid is a layout in every version."""
    try:
        laid = overlay(fields, **keys).laid(METADATA)
    except SpecError as error:
        place = (error.file, error.line)
    else:
        place = ("mine.json", all(declare(laid, version) for version in laid.valid_versions.each()) or laid)
    assert place[0] == "mine.json"
    assert place[1]
