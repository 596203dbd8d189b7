"""The tables: each rule rests on rules that there are, each note is on a field that there is."""

import pytest

import kwire_cli as kwire
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.messages import SIZE_PREFIX
from kwire_cli.view.explain.notes import BITS, CHECKSUMS, NOTES
from kwire_cli.view.explain.rules import RULES
from kwire_cli.view.explain.topics import TYPES, explain_value

CATALOG = kwire.catalog()


def test_a_rule_says_what_and_where_from():
    for key, rule in RULES.items():
        assert rule.name, key
        assert rule.text.endswith((".", "UTF-8.")), key
        assert rule.source, key
        assert RULES.keys() >= {*rule.uses}, key
        assert key not in rule.uses


def paths(layout):
    if layout == "records":
        return set().union(*map(paths, LAYOUTS))
    if layout in LAYOUTS:
        return {leaf.path for leaf in records_entry(LAYOUTS[layout].decl).program.leaves}
    spec = SIZE_PREFIX if layout == "FrameSize" else CATALOG.message(layout)
    return {leaf.path for leaf in entry_for(spec, spec.valid_versions.high).program.leaves}


@pytest.mark.parametrize("layout", NOTES)
def test_a_note_is_on_a_field(layout):
    assert NOTES[layout].keys() <= paths(layout)


@pytest.mark.parametrize("name", LAYOUTS)
def test_special_fields_are_fields(name):
    layout = LAYOUTS[name]
    for form, path in (*BITS, *CHECKSUMS):
        assert form != name or path in paths(name)
    assert CHECKSUMS[name, "crc"][1] in paths(name)
    assert BITS[name, "attributes"] == layout.attributes


@pytest.mark.parametrize("name", TYPES)
def test_the_example_of_a_type_is_one(name):
    kind = TYPES[name]
    _, first, *_ = explain_value(name, kind.decl, kind.example)
    encoded = {"packed32": "varint", "packed64": "varlong", "fixed16": "int16", "fixed32": "int32", "fixed64": "int64"}
    assert encoded.get(name, name) in first.type.replace("_", "-").lower()
