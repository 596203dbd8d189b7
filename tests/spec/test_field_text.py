"""A field as a line of text becomes an overlay."""

import pytest

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.field_text import is_field_text, overlay_of_field
from kwire_cli.spec.model import fields_by_path


def added(message, text):
    spec = catalog().message(message)
    laid = overlay_of_field(spec, text).laid(spec)
    [path] = dict(fields_by_path(laid)).keys() - dict(fields_by_path(spec)).keys()
    return laid, path, dict(fields_by_path(laid))[path]


def test_a_field_is_in_all_flexible_versions_and_a_tag_is_the_next_one():
    _, path, field = added("FetchRequest", "clientZone: string, nullable, tag")
    assert (path, field.type, str(field.versions), str(field.nullable_versions)) == (
        "clientZone",
        "string",
        "12+",
        "12+",
    )
    used = [one.tag for where, one in fields_by_path(catalog().message("FetchRequest")) if "." not in where]
    assert field.tag == max(tag for tag in used if tag is not None) + 1
    assert field.default == "null"


def test_a_field_of_a_struct_with_a_default_in_a_new_version():
    laid, path, field = added("MetadataResponse", "topics[].partitions[].rack : int32 , default -1, versions 14+")
    assert (path, field.default, str(field.versions), field.tag) == ("topics[].partitions[].rack", "-1", "14+", None)
    assert str(laid.valid_versions) == "0-14"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("zone", "is not a field"),
        ("maxBytes: int32", "FetchRequest has a field maxBytes already"),
        ("zone: string, foo", "'foo' in 'zone: string, foo' is not a setting"),
        ("zone: string, versions x", "is not a setting"),
        ("zone: string, tag x", "is not a setting"),
        ("a.b: string", "no field is called 'a.b'"),
        ("zone: strin", "'strin' is neither a type nor the name of a struct"),
        ("zone: int32, nullable", "NULLABLE"),
    ],
)
def test_what_is_no_field_is_refused(text, why):
    spec = catalog().message("FetchRequest")
    with pytest.raises((InputError, SpecError), match=why.replace("[", r"\[")):
        overlay_of_field(spec, text).laid(spec)


@pytest.mark.parametrize(
    ("text", "is_field"),
    [("a: b", True), ("topics[].x: []int32, tag 3", True), ("file.pcap", False), ("0a:0b", False), ("a:", False)],
)
def test_a_field_begins_with_its_path_and_type(text, is_field):
    assert is_field_text(text) is is_field
