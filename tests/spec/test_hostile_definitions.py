"""JSON that is no definition gets findings with a place, or an error of ours."""

import copy
import json

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.errors import SpecError
from kwire_cli.spec.conventions import advise
from kwire_cli.spec.files import read_bundled
from kwire_cli.spec.grammars import KIP482_DRAFT, KWIRE
from kwire_cli.spec.model import default_value
from kwire_cli.spec.overlay import load_text
from kwire_cli.spec.rules import BOOKS, check_many
from kwire_cli.structs.messages import declare

SOURCES = [read_bundled(f"{name}.json") for name in ("FetchRequest", "MetadataResponse", "GroupMetadataValue")]
TEXTS = ["0+", "none", "3-1", "[]Topic", "Topic", "[]records", "int32", "null", "request", "coordinator-key"]
SCALARS = st.none() | st.booleans() | st.integers(-(10**390), 10**390) | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted(KIP482_DRAFT.message | KWIRE.message | KIP482_DRAFT.field | KWIRE.field))
DEEP = st.integers(1, 200).map(lambda depth: json.loads('{"fields":[' * depth + "]}" * depth))


def places(value):
    """Yield each object and list with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield value, key
        yield from places(item)


@st.composite
def definitions(draw):
    value = copy.deepcopy(draw(st.sampled_from(SOURCES)))
    for _ in range(draw(st.integers(1, 3))):
        where, key = draw(st.sampled_from(list(places(value))))
        change = draw(st.sampled_from(("set", "set", "set", "add", "drop", "twice")))
        if change == "set":
            where[key] = draw(VALUES | DEEP)
        elif change == "add" and isinstance(where, dict):
            where[draw(KEYS)] = draw(VALUES)
        elif change == "drop":
            del where[key]
        elif isinstance(where, list):
            where.append(copy.deepcopy(where[key]))
    text = json.dumps(value)
    return text.replace('"name":', '"name": 1, "name":', 1) if draw(st.booleans()) else text


@pytest.mark.slow  # each example is checked by four rule books and loaded
@examples(90)
@given(definitions() | VALUES.map(json.dumps))
def test_any_changed_definition_has_findings_with_places(text):
    for book in BOOKS:
        findings = check_many([(text, "M.json"), (text, "N.json")], book)
        assert all(finding.line and finding.column and finding.file in {"M.json", "N.json"} for finding in findings)
    advise(text, "M.json")
    try:
        spec = load_text(text, "M.json")
    except SpecError as error:
        place = (error.file, error.line)
    else:
        place = ("M.json", spec.name)
        for field in spec.fields:
            default_value(field)
        for version in list(spec.valid_versions.each())[:3]:
            declare(spec, version)
    assert place[0] == "M.json"
    assert place[1]


@pytest.mark.parametrize("kind", [None, {"name": "M"}, [["data"]], 30, "thing"])
def test_a_definition_without_a_type_is_an_error_with_its_place(kind):
    text = json.dumps({"name": "M", "apiKey": 3, "validVersions": "0", "flexibleVersions": "0+", "type": kind})
    finding = check_many([(text, "M.json")])[0]
    assert (finding.file, finding.line, finding.severity) == ("M.json", 1, "error")
    assert finding.rule in {"TYPE_MISSING", "TYPE_UNKNOWN", "KEY_TYPE"}
