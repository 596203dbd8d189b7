"""The tree view: everything that the JSON form has, in its order; long values cut unless all is asked for."""

import json
import re

from hypothesis import given, strategies as st
from kit.messages import sample, values
from kit.traffic import body_of

import kwire_cli
from kwire_cli.message.decoded import decode
from kwire_cli.message.encode import encode
from kwire_cli.structs.messages import declare
from kwire_cli.view.lines import STYLES, plain, quoted
from kwire_cli.view.tree import message_lines

CATALOG = kwire_cli.catalog()
NAMES = sorted(entry.name for entry in CATALOG if entry.valid_versions)


def shown(catalog, decoded, *, full=True):
    return [plain(line) for line in message_lines(catalog, decoded, frozenset(), full=full)]


def leaves(value, key=""):
    """The leaves of a JSON value with their keys, tagged fields apart: these stand in the tree in another order."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


def spelled(value):
    """What the tree can show for a leaf, apart from bytes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return quoted(value) if isinstance(value, str) else str(value)


def check(catalog, decoded):
    text = "\n".join(shown(catalog, decoded))
    for key, value in leaves(decoded.value):
        if key in {"tag", "data"}:
            continue
        # Bytes are shown in hex, ids and infinities without quotes.
        assert spelled(value) in text or str(value) in text or as_hex(value) in text, key
        assert key in text


def as_hex(value):
    import base64

    raw = base64.b64decode(value)
    return f"{len(raw)} byte{'' if len(raw) == 1 else 's'}{' ' if raw else ''}{raw.hex(' ')}"


def test_trees_of_golden_bodies_have_all_of_their_value():
    for row in sample():
        check(row.catalog, decode(row.catalog, row.body, row.message, row.version))


@given(st.data())
def test_the_tree_has_every_leaf_of_the_value(data):
    name = data.draw(st.sampled_from(NAMES))
    version = data.draw(st.sampled_from([*CATALOG.entry(name).valid_versions.each()]))
    value = data.draw(values(declare(CATALOG.message(name), version)))
    decoded = decode(CATALOG, encode(CATALOG, value, name, version), name, version)
    check(CATALOG, decoded)
    for tag in decoded.value.get("unknownTaggedFields", ()):
        assert any(f"tag {tag['tag']} (unknown): {as_hex(tag['data'])}" in line for line in shown(CATALOG, decoded))


@given(st.data())
def test_any_bytes_make_a_tree_of_well_formed_lines(data):
    name = data.draw(st.sampled_from(NAMES))
    version = data.draw(st.sampled_from([*CATALOG.entry(name).valid_versions.each()]))
    decoded = decode(CATALOG, data.draw(st.binary(max_size=100)), name, version)
    for full in (False, True):
        title, *rest = message_lines(CATALOG, decoded, frozenset(), full=full)
        assert plain(title).startswith(name)
        for line in rest:
            assert re.match(r"(?:[│ ]  )*[├└]─ [\[\w]|! [A-Z]", plain(line))
            assert all(style in STYLES or style == "" for _, style in line)
            assert len(plain(line).splitlines()) == 1


def lines_of(message, version, value, *, full=False):
    return shown(CATALOG, decode(CATALOG, encode(CATALOG, value, message, version), message, version), full=full)


def test_ten_thousand_numbers_are_one_line():
    value = {"topics": [{"topic": "t", "partitions": [*range(10_000)]}]}
    assert lines_of("DescribeLogDirsRequest", 1, value)[-1].endswith(
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, … 9,980 more]"
    )
    assert lines_of("DescribeLogDirsRequest", 1, value, full=True)[-1].endswith(", 9998, 9999]")


def test_many_texts_have_a_line_each_and_none_is_left_out():
    value = {"groups": [f"group-{i}" for i in range(500)], "includeAuthorizedOperations": False}
    text = lines_of("DescribeGroupsRequest", 3, value)
    assert sum("group-" in line for line in text) == 500
    assert '   [7]: "group-7"' in "\n".join(text).replace("│  ├─ ", "   ")


def test_long_bytes_and_texts_are_cut_unless_all_is_asked_for():
    assignments = [{"memberId": "m", "assignment": "QUFB" * 20}]
    value = body_of("SyncGroupRequest", 5, {"groupId": "x" * 200, "assignments": assignments})
    cut, full = lines_of("SyncGroupRequest", 5, value), lines_of("SyncGroupRequest", 5, value, full=True)
    assert cut[1].endswith('x"… 80 more characters')
    assert full[1].endswith(quoted("x" * 200))
    assert any(line.endswith("60 bytes " + " ".join(["41"] * 16) + " …  |" + "A" * 16 + " …|") for line in cut)
    assert any(line.endswith("60 bytes " + " ".join(["41"] * 60) + "  |" + "A" * 60 + "|") for line in full)


def test_a_cut_list_says_where_it_ends():
    body = encode(CATALOG, {"topics": [{"topic": "t", "partitions": [1, 2, 3]}]}, "DescribeLogDirsRequest", 1)
    decoded = decode(CATALOG, body[:-5], "DescribeLogDirsRequest", 1)
    assert any(line.endswith("partitions: [1, not reached]") for line in shown(CATALOG, decoded, full=False))
