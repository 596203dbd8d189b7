"""Definitions with changed fields."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kwire_cli as kwire
from kwire_cli.errors import SpecError
from kwire_cli.spec.model import StructSpec, changed, fields_by_path
from kwire_cli.spec.overlay import load_text


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
