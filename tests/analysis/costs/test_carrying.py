import pytest
from kit.messages import definition

import kwire_cli as kwire
from kwire_cli.analysis.costs.carrying import Misfit, carried, with_defaults
from kwire_cli.analysis.costs.changed_definitions import inflexible
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.errors import EncodeError

CATALOG = kwire.catalog()

INT, TEXT = "int32", "string"


def form(spec, version, **keys):
    return Form("test", spec, version, **keys)


def test_a_value_that_a_version_has_no_place_for_is_lost_unless_it_is_the_default():
    spec = definition({"name": "A", "type": INT}, {"name": "B", "type": INT, "versions": "1+", "default": "-1"})
    assert carried(form(spec, 0), {"a": 1, "b": 7}) == ({"a": 1}, (Misfit("b", 1, 7, False),))
    assert carried(form(spec, 0), {"a": 1, "b": -1}) == ({"a": 1}, ())


def test_losses_in_an_array_are_counted_by_path_with_the_first_of_them():
    spec = definition(
        {"name": "Rows", "type": "[]Row", "fields": [{"name": "B", "type": TEXT, "versions": "1+", "ignorable": True}]}
    )
    value = {"rows": [{"b": ""}, {"b": "one"}, {"b": "two"}]}
    assert carried(form(spec, 0), value) == ({"rows": [{}, {}, {}]}, (Misfit("rows[].b", 2, "one", True),))
    assert carried(form(spec, 1), value) == (value, ())


def test_a_field_that_the_values_lack_is_filled_with_its_default():
    spec = definition(
        {"name": "A", "type": INT, "default": "-1"},
        {
            "name": "S",
            "type": "Sub",
            "fields": [{"name": "X", "type": INT, "default": "3"}, {"name": "Y", "type": TEXT}],
        },
        {"name": "T", "type": TEXT, "versions": "1+", "taggedVersions": "1+", "tag": 0, "default": "t"},
    )
    default = {"a": -1, "s": {"x": 3, "y": ""}}
    assert carried(form(spec, 1), {}) == (default, ())  # a tagged field need not be there
    assert carried(form(inflexible(spec), 1), {}) == (default | {"t": "t"}, ())


def test_values_with_defaults_are_those_that_any_writer_writes():
    spec = CATALOG.message("HeartbeatRequest")
    whole = with_defaults(spec, {"groupId": "g"}, 4)
    assert whole == {"groupId": "g", "generationId": 0, "memberId": "", "groupInstanceId": None}
    assert with_defaults(spec, whole, 4) == whole
    with pytest.raises(EncodeError, match="version 2 has no place for this value") as caught:
        with_defaults(spec, {"groupInstanceId": "i"}, 2)
    assert caught.value.path == "groupInstanceId"


def test_records_of_which_only_the_size_is_known_are_not_filled():
    produce = CATALOG.message("ProduceRequest")
    values = {"topicData": [{"partitionData": [{"recordsSizeInBytes": 80}]}]}
    assert "records" not in with_defaults(produce, values, 9)["topicData"][0]["partitionData"][0]


def test_null_where_it_is_not_allowed_is_lost_and_written_as_the_default_or_empty():
    spec = definition(
        {"name": "A", "type": TEXT, "nullableVersions": "1+"},
        {"name": "B", "type": "[]int32", "nullableVersions": "1+"},
        {"name": "C", "type": TEXT, "nullableVersions": "1+", "default": "null"},
        {"name": "D", "type": "Sub", "nullableVersions": "1+", "fields": [{"name": "X", "type": INT}]},
    )
    nothing = {"a": None, "b": None, "c": None, "d": None}
    fit = carried(form(spec, 0), nothing)
    assert fit.value == {"a": "", "b": [], "c": "", "d": {"x": 0}}
    assert [(loss.path, loss.value) for loss in fit.lost] == [("a", None), ("b", None), ("c", None), ("d", None)]
    assert carried(form(spec, 1), nothing) == (nothing, ())


def test_a_struct_of_defaults_is_no_loss():
    spec = definition(
        {"name": "S", "type": "Sub", "versions": "1+", "fields": [{"name": "X", "type": INT, "default": "3"}]}
    )
    assert carried(form(spec, 0), {"s": {"x": 3}}).lost == ()
    assert carried(form(spec, 0), {"s": {"x": 4}}).lost == (Misfit("s", 1, {"x": 4}, False),)


def test_unknown_tags_stay_in_flexible_forms_unless_a_field_has_their_number():
    spec = definition({"name": "T", "type": INT, "versions": "1+", "taggedVersions": "1+", "tag": 3})
    tags = [{"tag": 3, "data": "AAAA"}, {"tag": 9, "data": "AAAA"}]
    assert carried(form(spec, 1), {"unknownTaggedFields": tags}).value == {"unknownTaggedFields": tags[1:]}
    assert carried(form(spec, 0), {"unknownTaggedFields": tags}) == (
        {},
        (Misfit("unknownTaggedFields", 2, tags[0], False),),
    )


def test_what_no_version_has_is_left_for_the_writer_to_refuse():
    spec = definition({"name": "A", "type": INT})
    for odd in ({"a": 1, "z": 2}, [], None, {"a": [1]}, {"a": 1, "unknownTaggedFields": 7}):
        assert carried(form(spec, 1), odd).value == odd
