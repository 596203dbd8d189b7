"""Definitions made to be slow to compare are refused; Kafka's own are far from that."""

import json

import pytest
from kit.commands import kwire

from kwire_cli import SpecError, catalog
from kwire_cli.spec.evolution.layout import MOST, Stretches, _written_out
from kwire_cli.spec.overlay import load_text


def staircase(fields, kind="int32"):
    """A definition whose fields each begin at a version of their own."""
    steps = [
        {"name": f"F{number}", "type": kind if number == 0 else "int8", "versions": f"{number}+"}
        for number in range(fields)
    ]
    return json.dumps(
        {"type": "data", "name": "Steps", "validVersions": f"0-{fields}", "flexibleVersions": "none", "fields": steps}
    )


@pytest.mark.parametrize("command", ["diff", "breaking"])
def test_a_definition_with_many_fields_at_many_versions_is_refused(tmp_path, command):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(staircase(1000))
    new.write_text(staircase(1000, "int64"))
    done = kwire(command, old, new)
    assert done.code == 2
    assert "its 1000 fields change at 1001 versions" in done.err
    assert str(old) in done.err
    assert kwire("spec", "show", "Steps", "7", "--specs", old).code == 0


def test_structs_count_as_often_as_they_stand_there():
    inner = [{"name": f"I{number}", "type": "int8", "versions": "0+"} for number in range(100)]
    outer = [{"name": f"F{number}", "type": "Inner", "versions": f"{number}+"} for number in range(100)]
    spec = {"type": "data", "name": "Wide", "validVersions": "0-100", "flexibleVersions": "none", "fields": outer}
    text = json.dumps(spec | {"commonStructs": [{"name": "Inner", "versions": "0+", "fields": inner}]})
    with pytest.raises(SpecError, match="its 10100 fields change at 101 versions"):
        Stretches(load_text(text))


def test_what_changes_before_and_after_all_versions_counts_for_nothing():
    fields = [{"name": f"F{number}", "type": "int8", "versions": f"{number}+"} for number in range(1000)]
    spec = {"type": "data", "name": "Late", "validVersions": "0-1", "flexibleVersions": "none", "fields": fields}
    assert Stretches(load_text(json.dumps(spec))).of(1) > 0


def test_definitions_of_kafka_are_far_from_the_limit():
    known = catalog()
    for entry in known:
        spec = known.message(entry.name)
        assert (
            _written_out(spec, spec.fields) * (len(spec.valid_versions) and len([*spec.valid_versions.each()]))
            < MOST / 10
        )
        Stretches(spec)
