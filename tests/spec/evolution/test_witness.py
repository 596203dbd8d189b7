"""What is said of definitions is so of bytes: where nothing breaks, what one side writes the other reads; where
something does, a value shows it.
"""

import copy
import json

import pytest
from evolution_cases import CASES, COMPATIBLE, Case, found, message, numbers, tagged
from hypothesis import HealthCheck, Phase, assume, find, given, settings, strategies as st
from hypothesis.errors import NoSuchExample
from kit.commands import examples
from kit.messages import values

from kwire_cli.errors import KwireError
from kwire_cli.message.decoded import checked, decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.spec.overlay import load_text, read_text_leniently
from kwire_cli.structs.composites import UNKNOWN_KEY, MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare

OF_NO_BYTES = {
    "MESSAGE_REMOVED", "MESSAGE_TYPE_CHANGED", "API_KEY_CHANGED", "VERSIONS_REMOVED", "VERSION_WITHDRAWN",
    "HEADER_VERSION_CHANGED",
    "TAG_NUMBER_TAKEN",
}  # fmt: skip
"""Rules about whole messages, headers, and versions that only one side has: there are no bytes of a body that show
them."""
QUIET = {"source", "advice"}


def written(decl):
    """Values that Kafka's writers write: without unknown tags."""
    return values(decl).map(without_unknown)


def without_unknown(value):
    if isinstance(value, dict):
        return {key: without_unknown(part) for key, part in value.items() if key != UNKNOWN_KEY}
    return [without_unknown(part) for part in value] if isinstance(value, list) else value


def meant(decl, value):
    """A value with the defaults of the tagged fields that were left out."""
    if isinstance(decl, MessageStruct) and isinstance(value, dict):
        known = {sc.name: sc.subcon for sc in decl.subcons} | {
            field.name: field.subcon for field in (decl.tags.known if decl.tags else ())
        }
        defaults = {field.name: field.default for field in (decl.tags.known if decl.tags else ())}
        return {key: meant(known[key], part) for key, part in (defaults | value).items() if key in known}
    if isinstance(decl, ArrayOf) and isinstance(value, list):
        return [meant(decl.element, part) for part in value]
    return meant(decl.subcon, value) if isinstance(decl, NullableStruct) and value is not None else value


def agree(a, b):
    """Whether what both have under one name is the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(agree(a[key], b[key]) for key in a.keys() & b.keys())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    return a == b


def understood(writer, reader, version, value):
    """Whether a reader understands the bytes of a value: nothing odd in them, the same values by name, and nothing lost
    in writing them again.
    """
    data = encode_spec(writer, value, version)
    try:
        read = checked(decode_spec(reader, data, version), strict=True)
        again = encode_spec(reader, read.value, version)
    except KwireError:
        return False
    ours, theirs = (meant(declare(spec, version), part) for spec, part in ((writer, value), (reader, read.value)))
    return again == data and agree(ours, theirs)


def load(document):
    return load_text(json.dumps(document))


def witness(writer, reader, version, tries=150):
    """A value that a reader does not understand; None where there is none to be found."""
    try:
        return find(
            written(declare(writer, version)),
            lambda value: not understood(writer, reader, version, value),
            settings=settings(max_examples=tries, derandomize=True, database=None, phases=[Phase.generate]),
        )
    except NoSuchExample:
        return None


SHOWN = [
    pytest.param(rule, case, id=f"{rule}-{number}")
    for rule, cases in CASES.items()
    for number, case in enumerate(cases)
    if rule not in OF_NO_BYTES and case.fails != "none"
]


@pytest.mark.parametrize(("rule", "case"), SHOWN)
def test_a_value_shows_each_break(rule, case: Case):
    old, new = load(case.old), load(case.new)
    for version in case.versions:
        assert case.fails == "new" or witness(new, old, version) is not None, (
            f"{rule}: an old reader understands all that a new writer writes"
        )
        if case.fails in {"both", "new"} and rule != "TAGGED_REMOVED":
            assert witness(old, new, version) is not None, (
                f"{rule}: a new reader understands all that an old writer writes"
            )


@pytest.mark.slow
@pytest.mark.parametrize("change", COMPATIBLE)
def test_compatible_changes_are_understood(change):
    old, new = map(load, COMPATIBLE[change])
    for version in (old.valid_versions & new.valid_versions).each():
        assert witness(old, new, version, 25) is None
        assert witness(new, old, version, 25) is None


TYPES = [
    "bool",
    "int8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float64",
    "uuid",
    "string",
    "bytes",
    "records",
    "[]int32",
    "[]string",
]
RANGES = ["0+", "1+", "2+", "0", "0-1", "1", "2", "1-2"]
FLEXIBLE = ["1+", "2+"]
BASES = [
    message(
        {"name": "A", "type": "int32", "versions": "0+"},
        {"name": "B", "type": "string", "versions": "0+", "nullableVersions": "1+"},
        {"name": "C", "type": "int32", "versions": "1+"},
        {
            "name": "P",
            "type": "[]Part",
            "versions": "0+",
            "fields": [{"name": "D", "type": "int16", "versions": "0+"}, tagged("E", type="string")],
        },
        tagged("T"),
        tagged("U", 1, "2+", type="string", nullableVersions="2+", default="null"),
    ),
    message(
        {"name": "A", "type": "bytes", "versions": "0+"},
        {
            "name": "P",
            "type": "Part",
            "versions": "0+",
            "nullableVersions": "1+",
            "fields": [{"name": "B", "type": "int64", "versions": "0+"}],
        },
        {
            "name": "Q",
            "type": "Piece",
            "versions": "0+",
            "fields": [{"name": "C", "type": "int32", "versions": "0+", "encoding": "packed32"}],
        },
        tagged("T", type="Thing", fields=[{"name": "X", "type": "int8", "versions": "1+"}]),
    ),
]


@st.composite
def mutated(draw, document):
    """A definition with up to three keys, fields or places changed."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(st.sampled_from([*_lists(document)]))
        change = draw(
            st.sampled_from(
                [
                    "add",
                    "add tagged",
                    "remove",
                    "swap",
                    "rename",
                    "take over",
                    "wrap",
                    "key",
                    "key",
                    "key",
                    "key",
                    "flexible",
                ]
            )
        )
        at = draw(st.integers(0, max(len(rows) - 1, 0)))
        if change == "add":
            rows.insert(
                at, {"name": "New", "type": draw(st.sampled_from(TYPES)), "versions": draw(st.sampled_from(RANGES))}
            )
        elif change == "add tagged":
            free = min({*range(9)} - {row.get("tag") for row in rows})
            rows.insert(
                at, tagged("NewTagged", free, draw(st.sampled_from(FLEXIBLE)), type=draw(st.sampled_from(TYPES[:9])))
            )
        elif change == "flexible":
            document["flexibleVersions"] = draw(st.sampled_from(["0+", "1+", "2+", "none"]))
        elif rows:
            _change_field(draw, change, rows, at)
    return document


def _change_field(draw, change, rows, at):
    other = draw(st.integers(0, len(rows) - 1))
    row = rows[at]
    if change == "remove":
        del rows[at]
    elif change == "swap":
        rows[at], rows[other] = rows[other], row
    elif change == "rename":
        row["name"] += "Now"
    elif change == "take over":
        row["name"], rows[other]["name"] = (
            f"{rows[other]['name']}Was" if row is rows[other] else rows[other]["name"],
            f"{row['name']}Was",
        )
    elif change == "wrap":
        rows[at] = {"name": "W", "type": "Wrapped", "versions": row["versions"], "fields": [row]}
    else:
        key = draw(
            st.sampled_from(["type", "versions", "nullableVersions", "tag", "taggedVersions", "default", "encoding"])
        )
        choices = {
            "type": TYPES,
            "tag": [0, 1, 2, None],
            "taggedVersions": [*FLEXIBLE, None],
            "default": [None, "0", "7", "null", ""],
        }
        choices["encoding"] = [None, "packed32", "upacked32", "fixed32", "fixed64"]
        row[key] = draw(st.sampled_from(choices.get(key, RANGES)))
        if key == "tag" and row["tag"] is not None:
            row.setdefault("taggedVersions", "1+")


def _lists(document):
    yield document["fields"]
    for row in document["fields"]:
        if "fields" in row:
            yield from _lists(row)


@st.composite
def pairs(draw):
    old = draw(st.sampled_from(BASES) | st.sampled_from(BASES).flatmap(mutated))
    new = draw(mutated(old))
    for document in (old, new):
        try:
            assume(not read_text_leniently(json.dumps(document))[1])
        except KwireError:
            assume(condition=False)
    return (old, new) if draw(st.booleans()) else (new, old)


@pytest.mark.slow
@examples(90, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(pairs(), st.data())
def test_where_nothing_breaks_all_is_understood(pair, data):
    old, new = map(load, pair)
    broken = {version for each in found(*pair) if each.severity not in QUIET for version in numbers(each) or range(3)}
    for version in set(range(3)) - broken:
        for writer, reader in ((old, new), (new, old)):
            value = data.draw(written(declare(writer, version)))
            if understood(writer, writer, version, value):  # nobody reads an array of structs without fields
                assert understood(writer, reader, version, value), (version, value)


@pytest.mark.slow
@examples(12, suppress_health_check=[HealthCheck.nested_given, HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(pairs())
def test_where_bytes_break_a_value_shows_it(pair):
    old, new = map(load, pair)
    for each in found(*pair):
        if each.severity == "wire" and each.rule not in OF_NO_BYTES:
            version = numbers(each)[0]
            assert witness(new, old, version) is not None or witness(old, new, version) is not None, each
