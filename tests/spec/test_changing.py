"""Definitions with changed fields."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kwire_cli as kwire
from kwire_cli.errors import SpecError
from kwire_cli.spec.model import StructSpec, changed, fields_by_path
from kwire_cli.spec.overlay import load_text

SPECS = [kwire.catalog().message(entry.name) for entry in kwire.catalog()]


def test_a_definition_that_is_not_changed_has_the_same_fields() -> None:
    for spec in SPECS:
        same, shipped = (
            [(path, field.type, field.versions) for path, field in fields_by_path(definition)]
            for definition in (changed(spec, lambda _, field: field), spec)
        )
        assert same == shipped, spec.name
        assert bool(same) == bool(spec.fields)


def test_each_use_of_a_common_struct_is_changed_by_itself() -> None:
    spec = kwire.catalog().message("ConsumerGroupDescribeResponse")
    path = "groups[].members[].assignment.topicPartitions[].partitions"
    other = path.replace("assignment", "targetAssignment")
    new = changed(
        spec, lambda at, field: replace(field, element_encoding=()) if at != path else replace(field, name="Parts")
    )
    names = [at for at, _ in fields_by_path(new)]
    assert path.removesuffix("partitions") + "parts" in names
    assert other in names


def test_a_struct_that_holds_itself_is_refused() -> None:
    text = '{"name": "AData", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": ['
    spec = load_text(text + '{"name": "A", "type": "int8", "versions": "0"}]}')
    field = replace(spec.fields[0], type="S")
    loop = replace(spec, fields=(field,), common_structs=(StructSpec("S", spec.valid_versions, (field,)),))
    with pytest.raises(SpecError, match="nest deeper"):
        list(fields_by_path(loop))
