"""What differs between definitions and versions, as changes."""

import pytest
from evolution_cases import ARRAY, COMMON, STRUCT, USE, A, B, S, given, message, tagged
from hypothesis import given as examples, strategies as st

import kwire_cli as kwire
from kwire_cli.spec.evolution.changes import changes, definition_part, version_part
from kwire_cli.spec.evolution.layout import moved

SPECS = [kwire.catalog().message(entry.name) for entry in kwire.catalog()]


def between(old, new):
    return changes(*(definition_part(given(document).spec) for document in (old, new)))


def short(found):
    return [(change.kind, change.path, change.key) for change in found]


def test_nothing_differs_from_itself():
    for spec in SPECS:
        assert changes(definition_part(spec), definition_part(spec)) == [], spec.name
        for version in spec.valid_versions.each():
            assert changes(version_part(spec, version), version_part(spec, version)) == [], (spec.name, version)


def test_versions_differ_in_what_one_of_them_has():
    """Going from the first version to the last and back tells the same: added is removed, old is new, and nothing is
    told twice.
    """
    for spec in [spec for spec in SPECS if spec.valid_versions]:
        first, last = (version_part(spec, version) for version in (spec.valid_versions.low, spec.valid_versions.high))
        there, back = changes(first, last), changes(last, first)
        swap = {
            "added": "removed",
            "removed": "added",
            "becameTagged": "becameMandatory",
            "becameMandatory": "becameTagged",
        }
        if not any(change.kind == "moved" for change in there):
            assert {(swap.get(c.kind, c.kind), c.path, c.key, str(c.new), str(c.old)) for c in there} == {
                (c.kind, c.path, c.key, str(c.old), str(c.new)) for c in back
            }, spec.name
        assert len({(change.kind, change.path, change.key) for change in there}) == len(there), spec.name


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (message(A), message(A, S), [("added", "s", None)]),
        (message(A, S), message(S), [("removed", "a", None)]),
        (message(A, S), message(A | {"name": "Z"}, S), [("renamed", "z", None)]),
        (message(A, S), message(S, A), [("moved", "s", None)]),
        (message(A), message(A | {"type": "int64"}), [("retyped", "a", "type")]),
        (
            message(A),
            message(A | {"tag": 0, "taggedVersions": "1+"}),
            [("becameTagged", "a", "tag"), ("changed", "a", "taggedVersions")],
        ),
        (
            message(tagged()),
            message(tagged() | {"tag": None, "taggedVersions": None}),
            [("becameMandatory", "t", "tag"), ("changed", "t", "taggedVersions")],
        ),
        (message(tagged()), message(tagged(tag=1)), [("changed", "t", "tag")]),
        (message(S), message(S | {"nullableVersions": "2+"}), [("changed", "s", "nullableVersions")]),
        (message(S), message(S | {"flexibleVersions": "none"}), [("changed", "s", "flexibleVersions")]),
        (message(A), message(A | {"default": "7"}), [("changed", "a", "default")]),
        (message(A), message(A | {"default": "0x0"}), []),
        (message(A), message(A | {"encoding": "packed32"}), [("changed", "a", "encoding")]),
        (message(ARRAY), message(USE, **COMMON), []),
        (message(ARRAY), message(ARRAY | {"fields": [A, S]}), [("added", "p[].s", None)]),
        (message(A), message(A, STRUCT), [("added", "p", None), ("added", "p.a", None)]),
        (message(A), message(A, validVersions="0-3"), [("changed", "", "validVersions")]),
        (message(A), message(A, flexibleVersions="none"), [("changed", "", "flexibleVersions")]),
        (message(A), message(A, deprecatedVersions="0"), [("changed", "", "deprecatedVersions")]),
        (message(A), message(A, name="Other"), [("renamed", "", "name")]),
    ],
)
def test_what_a_change_is_called(old, new, expected):
    assert short(between(old, new)) == expected


def test_a_field_that_only_other_versions_have_is_no_other_name():
    gone, new = A | {"versions": "0-1"}, B | {"versions": "2+"}
    assert short(between(message(gone), message(new))) == [("removed", "a", None), ("added", "b", None)]
    assert short(between(message(A), message(B))) == [("renamed", "b", None)]


@examples(st.permutations(range(9)))
def test_the_fewest_fields_have_moved(order):
    away = moved(order)
    stayed = [number for number in order if number not in away]
    assert stayed == sorted(stayed)
    longest = [1] * len(order)
    for at, number in enumerate(order):
        longest[at] += max((longest[i] for i in range(at) if order[i] < number), default=0)
    assert len(stayed) == max(longest)
