"""Two messages compared: a message is the same as itself, a changed field gives that path alone, what is listed makes
b's values of a's.
"""

import copy
import re
from itertools import groupby

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.messages import sample, shared, values

import kwire_cli as kwire
from kwire_cli.analysis.comparison.messages import Operand, compare
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import build, decode, decode_spec
from kwire_cli.structs.messages import declare

CATALOG = kwire.catalog()
MANY_SHAPES = [
    ("MetadataResponse", 12),
    ("MetadataResponse", 1),
    ("CreateTopicsRequest", 7),
    ("ConsumerGroupHeartbeatResponse", 1),
    ("FetchRequest", 17),
    ("UpdateMetadataRequest", 8),
    ("StreamsGroupHeartbeatRequest", 0),
    ("DescribeAclsResponse", 3),
    ("CreatePartitionsRequest", 3),
    ("BrokerRegistrationRequest", 4),
]
TOKEN = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def tokens(path):
    return [int(index) if index else name for name, index in TOKEN.findall(path)]


def applied(value, differences):
    """Return the value of a with the differences applied, which must be b's: by what docs/diff.md says, not by what
    compares.

    What differs within fields first, at a's places; then elements leave their arrays, and others enter, the innermost
    arrays first.
    """
    out = copy.deepcopy(value)
    arrays = {}
    for each in differences:
        path = tokens(each.at.a)
        if each.kind == "bytes":
            continue
        if each.kind in {"removed", "added", "moved"} and isinstance(path[-1], int):
            arrays.setdefault(tuple(path[:-1]), []).append(each)
        elif each.kind == "removed":
            del _at(out, path[:-1])[path[-1]]
        else:
            _at(out, path[:-1])[path[-1]] = each.b.value
    for path in sorted(arrays, key=len, reverse=True):
        _elements(_at(out, path), arrays[path])
    return out


def _elements(array, differences):
    leave = {_index(each.a): array[_index(each.a)] for each in differences if each.a}
    enter = {
        _index(each.b): each.b.value if each.kind == "added" else leave[_index(each.a)]
        for each in differences
        if each.b
    }
    array[:] = [part for index, part in enumerate(array) if index not in leave]
    for index in sorted(enter):
        array.insert(index, enter[index])


def _index(side):
    return tokens(side.path)[-1]


def _at(out, path):
    for token in path:
        out = out[token]
    return out


def body(message, version, data):
    return Operand(decode(CATALOG, data, message, version))


def compared(message, version, a, b, other=None):
    return compare(body(message, version, a), body(message, version if other is None else other, b))


@pytest.mark.parametrize("row", sample(), ids=str)
def test_a_message_is_the_same_as_itself(row):
    operands = [Operand(decode(row.catalog, bytes(bytearray(row.body)), row.message, row.version)) for _ in "ab"]
    assert not compare(*operands).other_bytes


@pytest.mark.slow
@pytest.mark.shared
def test_bytes_of_one_layout_differ_if_and_only_if_something_is_told():
    rows = sorted(shared(), key=lambda row: (row.kafka, row.message, row.version))
    for _, group in groupby(rows, key=lambda row: (row.kafka, row.message, row.version)):
        some = [(row.body, Operand(decode(row.catalog, row.body, row.message, row.version))) for row in group]
        for data, a in some[:4]:
            for other, b in some[1::2]:
                assert compare(a, b).other_bytes == (data != other)


@pytest.mark.slow
@pytest.mark.shared
def test_versions_are_compared_in_both_directions():
    mirrored = {"removed": "added", "added": "removed"}
    for _, group in groupby(sorted(shared(), key=lambda row: row.message), key=lambda row: row.message):
        some = [Operand(decode(row.catalog, row.body, row.message, row.version)) for row in list(group)[::9]]
        for a in some:
            for b in some:
                one, two = compare(a, b), compare(b, a)
                assert one.other_values == two.other_values
                assert {mirrored.get(kind, kind): n for kind, n in one.counts.items() if kind in mirrored} == {
                    kind: n for kind, n in two.counts.items() if kind in mirrored
                }


def scalars(value, path=()):
    """The paths of what can be changed without a thought for what it is."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in pairs:
        if isinstance(part, dict | list):
            yield from scalars(part, (*path, key)) if key != "unknownTaggedFields" else ()
        elif isinstance(part, bool | int) or (isinstance(part, str) and not part.endswith("=") and not key_like(part)):
            yield (*path, key)


def key_like(text):
    return len(text) == 22  # a uuid


@pytest.mark.parametrize("row", [row for row in sample() if row.variant != "default"], ids=str)
def test_a_changed_field_gives_that_path_alone(row):
    spec = row.catalog.message(row.message)
    a = decode_spec(spec, row.body, row.version)
    for path in list(scalars(a.value))[:40]:
        value = decode_spec(spec, row.body, row.version).to_json()
        target = value
        for key in path[:-1]:
            target = target[key]
        old = target[path[-1]]
        target[path[-1]] = not old if isinstance(old, bool) else old ^ 1 if isinstance(old, int) else f"{old}AAAA"
        try:
            b = decode_spec(spec, build(spec, value, row.version), row.version)
        except kwire.EncodeError:
            continue  # records, say, that are none any more
        found = compare(Operand(a), Operand(b)).differences
        if len(found) == 1:
            assert found[0].kind in {"changed", "added", "removed", "bytes"}
            assert [*path][: len(tokens(found[0].at.a))] == tokens(found[0].at.a)
        else:  # the key of an element
            assert [each.kind for each in found] == ["removed", "added"]
            assert all(tokens(each.at.a) == [*path[:-1]] for each in found)


@pytest.mark.slow
@pytest.mark.parametrize(("message", "version"), MANY_SHAPES)
def test_what_is_listed_makes_the_values_of_b(message, version):
    spec = CATALOG.message(message)
    strategy = values(declare(spec, version))

    @examples(20)
    @given(strategy, strategy, st.randoms(use_true_random=False))
    def check(one, two, dice):
        if dice.random() < 0.5:  # two that have much in common
            two = mixed(one, two, dice)
        a, b = (decode_spec(spec, build(spec, value, version), version) for value in (one, two))
        found = compare(Operand(a), Operand(b))
        assert applied(a.value, found.differences) == b.value
        assert found.other_bytes == (bytes(a.data) != bytes(b.data))
        assert not found.other_layout

    check()


def mixed(one, two, dice):
    """Most of one, some of two: elements of arrays in another order, some left out."""
    if isinstance(one, dict) and isinstance(two, dict):
        same = {key for key in two if key in one and key != "unknownTaggedFields"}
        return {
            key: mixed(one[key], two[key], dice) if key in same and dice.random() < 0.8 else two[key] for key in two
        }
    if isinstance(one, list) and isinstance(two, list):
        row = [*one, *two[:1]]
        dice.shuffle(row)
        return row[: len(one) + dice.randint(0, 1)]
    return one if dice.random() < 0.7 else two


@examples(90)
@given(st.sampled_from(sample()), st.randoms(use_true_random=False))
def test_damaged_bytes_are_compared_too(row, dice):
    data = bytearray(row.body)
    for _ in range(dice.randint(1, 4)):
        if data:
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 2)] = bytes(dice.randrange(256) for _ in range(dice.randint(0, 2)))
    a, b = (Operand(decode(row.catalog, each, row.message, row.version)) for each in (row.body, bytes(data)))
    for pair in ((a, b), (b, a)):
        found = compare(*pair)
        assert found.other_bytes == (row.body != bytes(data))
        assert found.counts.keys() <= {"changed", "removed", "added", "moved", "bytes"}
    assert not compare(b, Operand(decode(row.catalog, bytes(data), row.message, row.version))).other_bytes


# Bytes that differ where the values do not


@pytest.mark.parametrize(
    ("message", "version", "a", "b", "path", "said"),
    [
        ("ApiVersionsResponse", 3, "0000 01 00000000 00", "0000 8100 00000000 00", "apiKeys", "OVERLONG_VARINT in b"),
        ("ApiVersionsResponse", 3, "0000 01 00000000 00", "0000 01 00000000 8000", "_tags", "OVERLONG_VARINT in b"),
        (
            "ApiVersionsResponse",
            3,
            "0000 01 00000000 02 01 08 0000000000000001 03 01 01",
            "0000 01 00000000 02 03 01 01 01 08 0000000000000001",
            "_tags",
            "TAG_ORDER in b",
        ),
        (
            "ApiVersionsResponse",
            3,
            "0000 01 00000000 00",
            "0000 01 00000000 01 03 01 00",
            "_tags",
            "TAG_DEFAULT_VALUE in b",
        ),
        (
            "ApiVersionsResponse",
            3,
            "0000 01 00000000 01 03 01 01",
            "0000 01 00000000 01 03 01 02",
            "zkMigrationReady",
            "BOOL_NOT_0_OR_1 in b",
        ),
        (
            "ApiVersionsResponse",
            3,
            "0000 01 00000000 01 03 01 01",
            "0000 01 00000000 01 8300 01 01",
            "_tags",
            "OVERLONG_VARINT in b",
        ),
        ("MetadataRequest", 1, "ffffffff", "fffffffe", "topics", "NEGATIVE_LENGTH in b"),
    ],
)
def test_the_same_value_in_other_bytes(message, version, a, b, path, said):
    [found] = compared(message, version, bytes.fromhex(a), bytes.fromhex(b)).differences
    assert (found.kind, found.path, found.detail) == ("bytes", path, said)
    assert found.a.value == found.b.value
    [found] = compared(message, version, bytes.fromhex(b), bytes.fromhex(a)).differences
    assert found.kind == "bytes"


def test_a_tag_that_occurs_twice():
    a, b = ("0000 01 00000000 02 03 01 00 03 01 01", "0000 01 00000000 01 03 01 01")
    found = compared("ApiVersionsResponse", 3, bytes.fromhex(a), bytes.fromhex(b)).differences
    assert [(each.kind, each.path, each.detail) for each in found] == [
        ("bytes", "_tags", "TAG_DEFAULT_VALUE, TAG_DUPLICATE in a")
    ]


def test_unknown_tags_and_gaps():
    a, b = ("0000 01 00000000 01 63 01 aa", "0000 01 00000000 01 63 01 ab ffff")
    found = compared("ApiVersionsResponse", 3, bytes.fromhex(a), bytes.fromhex(b)).differences
    assert [(each.kind, each.path) for each in found] == [
        ("changed", "unknownTaggedFields[tag=99].data"),
        ("added", "gap"),
    ]
    assert (found[1].b.value, found[1].b.offset, found[1].b.size) == ("//8=", 11, 2)


# Arrays


def brokers(*ids):
    rows = [{"nodeId": node, "host": f"h{node}", "port": 9092, "rack": None} for node in ids]
    return {"throttleTimeMs": 0, "brokers": rows, "clusterId": "c", "controllerId": 1, "topics": []}


def metadata(value, version=12):
    return kwire.encode(value, message="MetadataResponse", version=version)


def test_elements_belong_together_by_key_wherever_they_stand():
    one, two = brokers(1, 2, 3), brokers(3, 1, 4)
    two["brokers"][0]["host"] = "elsewhere"
    found = compared("MetadataResponse", 12, metadata(one), metadata(two)).differences
    assert [(each.kind, each.path) for each in found] == [
        ("removed", "brokers[nodeId=2]"),
        ("moved", "brokers[nodeId=3]"),
        ("changed", "brokers[nodeId=3].host"),
        ("added", "brokers[nodeId=4]"),
    ]
    changed = found[2]
    assert (changed.a.path, changed.b.path, changed.at.field) == (
        "brokers[2].host",
        "brokers[0].host",
        "brokers[].host",
    )
    assert metadata(one)[changed.a.offset : changed.a.offset + changed.a.size] == b"\x03h3"


def test_keys_that_occur_twice_are_none():
    found = compared("MetadataResponse", 12, metadata(brokers(1, 1, 2)), metadata(brokers(1, 2))).differences
    assert [(each.kind, each.path) for each in found] == [("removed", "brokers[1]")]


def test_numbers_are_aligned_in_order():
    def partition(*nodes):
        numbers = {
            "errorCode": 0,
            "partitionIndex": 0,
            "leaderId": 1,
            "leaderEpoch": 1,
            "isrNodes": [],
            "offlineReplicas": [],
        }
        topic = {"errorCode": 0, "name": "t", "topicId": "A" * 22, "isInternal": False, "topicAuthorizedOperations": 0}
        return brokers() | {"topics": [topic | {"partitions": [numbers | {"replicaNodes": [*nodes]}]}]}

    found = compared(
        "MetadataResponse", 12, metadata(partition(1, 2, 3, 4)), metadata(partition(2, 3, 9, 5))
    ).differences
    at = 'topics[name="t"].partitions[partitionIndex=0].replicaNodes'
    assert [(each.kind, each.path.removeprefix(at)) for each in found] == [
        ("removed", "[0]"),
        ("changed", "[3]"),
        ("added", "[3]"),
    ]


# Versions


def test_two_versions_have_the_same_values_in_other_layouts():
    value = brokers(1, 2)
    found = compared("MetadataResponse", 7, metadata(value, 7), metadata(value, 12), 12)
    assert (found.differences, found.other_layout, found.verdict) == ([], True, "same-values")


def test_fields_that_one_version_lacks():
    value = brokers(1) | {"clusterAuthorizedOperations": 7}
    found = compared("MetadataResponse", 7, metadata(brokers(1), 7), metadata(value, 10), 10).differences
    assert [(each.kind, each.path, each.layout, each.detail) for each in found] == [
        ("added", "clusterAuthorizedOperations", True, "version 7 has no such field")
    ]


def test_messages_of_two_kinds():
    with pytest.raises(InputError, match="a is MetadataRequest, b is MetadataResponse"):
        compare(body("MetadataRequest", 12, b""), body("MetadataResponse", 12, b""))


# Secrets


def test_secrets_are_not_told():
    def token(secret):
        return kwire.encode({"authBytes": secret}, message="SaslAuthenticateRequest", version=2)

    a, b = ("c2VjcmV0IG9uZQ==", "c2VjcmV0IHR3bw==")
    sides = [Operand(decode(CATALOG, token(each), "SaslAuthenticateRequest", 2), frozenset({0})) for each in (a, b)]
    [found] = compare(*sides).differences
    assert (found.kind, found.a.value, found.b.value) == ("changed", "<redacted 10 bytes>", "<redacted 10 bytes>")
    assert (found.a.item, found.a.raw) == (None, None)
