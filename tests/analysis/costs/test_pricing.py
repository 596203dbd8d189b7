import pytest
from hypothesis import given, strategies as st
from kit.commands import examples, slow
from kit.messages import definition, sample, shared, values

import kwire_cli as kwire
from kwire_cli.analysis.costs.carrying import carried
from kwire_cli.analysis.costs.changed_definitions import all_tagged, check_fields, encoded
from kwire_cli.analysis.costs.comparison_answer import by_kind
from kwire_cli.analysis.costs.forms import (
    ALL_TAGGED,
    FLEXIBLE,
    HIGHEST,
    INFLEXIBLE,
    LOWEST,
    Choice,
    Form,
    form_of,
    forms_of,
    highest,
    written_form,
)
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.analysis.costs.prices import Prices, add_prices, given_total, merged, price
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.message.decoded import decode
from kwire_cli.message.encode import encode_spec
from kwire_cli.structs.messages import declare

REJECTED = (ALL_TAGGED, "tag-type", "escape-bytes")
CASES = ("packed-best", "packed-worst", "upacked-best", "upacked-worst")
EVERYTHING = Choice(
    names=(LOWEST, HIGHEST, INFLEXIBLE, FLEXIBLE, *REJECTED, "plain", "tagged", "fixed", "packed", "upacked", *CASES)
)


def rows_of(price):
    """Return the bytes of a price by field and kind of leaf."""
    ledger = Ledger()
    price.add_to(ledger)
    return ledger.rows()


def prices(spec, version, value, choice=EVERYTHING):
    return {form.name: price(form, value) for form in forms_of(spec, version, choice)}


@pytest.mark.parametrize("row", sample(), ids=str)
def test_the_parts_of_every_form_are_its_bytes(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    given = Prices(lambda spec, version: [Form("as given", spec, version)])
    given.add(decoded)
    assert [total.size for totals in given.found.values() for total in totals.values()] == [len(row.body)]
    for name, found in prices(decoded.spec, row.version, decoded.value).items():
        if found.refusal:  # random values: an unknown tag that some version knows, a null in another place
            continue
        assert sum(row.prefix_bytes + row.value_bytes for row in rows_of(found)) == found.size
        assert name != "fixed" or found.size == len(row.body)


@pytest.mark.parametrize("row", sample()[::5], ids=str)
def test_what_is_written_is_read_again_by_construct_and_is_the_same_when_written_again(row):
    spec = row.catalog.message(row.message)
    for form in forms_of(spec, row.version, EVERYTHING):
        fit = carried(form, decode(row.catalog, row.body, row.message, row.version).value)
        try:
            data = written_form(form, fit.value)
        except EncodeError:
            continue
        again = form.layout.parse(data)
        assert written_form(form, again) == data
        assert carried(form, again).lost == ()


@pytest.mark.parametrize("row", sample()[::7], ids=str)
def test_the_own_way_is_the_size_as_given_and_kinds_explain_the_other(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    found = prices(decoded.spec, row.version, decoded.value)
    own, other = (FLEXIBLE, INFLEXIBLE) if row.version in decoded.spec.flexible_versions else (INFLEXIBLE, FLEXIBLE)
    assert found[own].size == len(row.body)
    totals = {}
    add_prices(totals, [*found.values()])
    for name in (own, other):
        assert sum(size for _, size in by_kind(totals[name]).values()) == (found[name].size or 0)


def test_every_version_of_every_message_is_written_from_the_values_of_its_highest():
    for entry in kwire.catalog():
        spec = kwire.catalog().message(entry.name)
        if not spec.valid_versions:
            continue
        version = highest(spec)
        value = generate(spec, version, counts_for(spec, version, {}, {}))
        for other in spec.valid_versions.each():
            found = price(Form("other", spec, other), value)
            assert found.refusal is None


def test_the_bytes_are_those_that_encode_writes():
    spec = kwire.catalog().message("MetadataResponse")
    value = generate(spec, 12, counts_for(spec, 12, {"partitions": 5}, {}))
    assert written_form(Form("v12", spec, 12), value) == encode_spec(spec, value, 12)


def test_all_fields_tagged_pays_for_headers_counts_and_lengths_and_leaves_out_defaults():
    spec = all_tagged(
        definition({"name": "A", "type": "int32"}, {"name": "B", "type": "string"}, {"name": "C", "type": "int8"})
    )
    form = Form(ALL_TAGGED, spec, 0)
    # count 2; tag 0, size 4, 4 bytes; tag 1, size 3, length + 1 and 2 bytes
    assert written_form(form, {"a": 1, "b": "hi", "c": 0}).hex(" ") == "02 00 04 00 00 00 01 01 03 03 68 69"
    assert written_form(form, {"a": 0, "b": "", "c": 0}) == b"\0"


def test_all_fields_tagged_goes_into_structs_and_common_structs():
    row = {"name": "Row", "versions": "0+", "fields": [{"name": "X", "type": "int16"}]}
    spec = all_tagged(definition({"name": "Rows", "type": "[]Row"}, common=(row,)))
    # one tag: number 0, size 7: count + 1, per row a tag section
    assert (
        written_form(Form(ALL_TAGGED, spec, 1), {"rows": [{"x": 258}, {"x": 0}]}).hex(" ")
        == "01 00 07 03 01 00 02 01 02 00"
    )


TAGGED = {"tag": 0, "taggedVersions": "0+"}
LISTED = {"name": "L", "type": "[]int8", "tag": 1, "taggedVersions": "0+"}


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        # count, tag 0, type string, length + 1 and bytes; tag 1, type array, type int8, count + 1
        ("tag-type", {"a": 1, "t": "hi", "l": [7]}, "01 02 00 09 03 68 69 01 0c 00 02 07"),
        ("tag-type", {"a": 1, "t": "", "l": []}, "01 00"),
        # escape, count, the field, tag 0, size, length + 1 and bytes
        ("escape-bytes", {"a": 1, "t": "hi", "l": []}, "fe 01 01 00 03 03 68 69"),
        ("escape-bytes", {"a": 1, "t": "", "l": []}, "01"),
        ("escape-bytes", {"a": -2, "t": "", "l": []}, "fe 00 fe"),
        ("escape-bytes", {"a": -2, "t": "hi", "l": []}, "fe 01 fe 00 03 03 68 69"),
    ],
)
def test_forms_that_kip_482_rejects_are_written_and_read(name, value, written):
    spec = definition({"name": "A", "type": "int8"}, {"name": "T", "type": "string", **TAGGED}, LISTED)
    form = form_of(name, spec, 1)
    data = written_form(form, value)
    assert data.hex(" ") == written
    assert form.layout.parse(data) == {key: part for key, part in value.items() if key == "a" or part}
    assert price(form, value).size == len(data)


def test_a_tag_without_a_type_is_refused_with_its_path():
    form = form_of("tag-type", definition({"name": "A", "type": "int8"}), 1)
    refusal = price(form, {"a": 1, "unknownTaggedFields": [{"tag": 9, "data": ""}]}).refusal
    assert refusal == "unknownTaggedFields: tag 9 has no known type"


def test_encodings_are_laid_over_all_integers_or_those_of_a_path():
    spec = kwire.catalog().message("MetadataResponse")
    value = generate(spec, 12, counts_for(spec, 12, {"partitions": 10}, {}))
    plain = price(Form("fixed", spec, 12), value).size
    every = price(Form("packed", encoded(spec, "packed"), 12), value).size
    leaders = price(Form("packed", encoded(spec, "packed", ("leaderId",)), 12), value).size
    assert leaders == plain - 10 * 3
    assert every < leaders
    assert encoded(spec, "packed", ("nothing",)) is spec


def test_a_narrow_encoding_refuses_what_does_not_fit_with_its_path():
    spec = encoded(
        definition({"name": "Rows", "type": "[]Row", "fields": [{"name": "X", "type": "int32"}]}), "packed16"
    )
    assert price(Form("packed16", spec, 0), {"rows": [{"x": 1}, {"x": 40_000}]}).refusal.startswith(
        "rows[1].x: 40000 does not fit"
    )


def test_a_path_that_is_no_integer_is_refused_with_what_was_meant():
    spec = kwire.catalog().message("MetadataResponse")
    with pytest.raises(InputError, match=r"topics\[\].partitions\[\].leaderId"):
        check_fields([spec], ["partitions[].leaderIds"])
    check_fields([spec], ["leaderId", "topics[].partitions[].isrNodes[]"])


def test_best_and_worst_case_are_the_fewest_and_most_bytes_of_every_integer():
    spec = kwire.catalog().message("MetadataResponse")
    value = generate(spec, 9, counts_for(spec, 9, {"partitions": 100, "replicas": 2, "brokers": 2}, {}))
    found = prices(spec, 9, value)
    for name in ("packed", "upacked"):
        assert found[f"{name}-best"].size < found[name].size < found[f"{name}-worst"].size
    integers = sum(row.count for row in rows_of(found["packed"]) if row.kinds[0] in {"int16", "int32", "int64"})
    assert (
        sum(row.prefix_bytes for row in rows_of(found["packed-best"]))
        + integers
        + sum(row.value_bytes for row in rows_of(found["packed"]) if row.kinds[0] in {"string", "bool"})
        == found["packed-best"].size
    )


def test_sums_compare_like_with_like():
    spec = encoded(definition({"name": "A", "type": "int32"}), "packed16")
    plain = definition({"name": "A", "type": "int32"})
    totals = {}
    for number in (1, 2, 70_000):
        value = {"a": number}
        add_prices(totals, [price(Form("as given", plain, 0), value), price(Form("packed16", spec, 0), value)])
    found = totals["packed16"]
    assert (found.messages, found.size, found.given, found.difference, found.refused.total()) == (2, 2, 8, -6, 1)
    whole = merged([totals, totals])
    assert (given_total(whole).size, whole["packed16"].difference, whole["packed16"].refused.total()) == (
        24,
        -12,
        2,
    )


@pytest.mark.parametrize(
    ("message", "version"),
    [("MetadataResponse", 12), slow("FetchResponse", 16), ("CreateTopicsResponse", 7), ("OffsetFetchResponse", 5)],
)
@given(data=st.data())
@examples(10)
def test_whatever_the_values_the_own_form_is_what_encode_writes_and_no_form_makes_bytes_up(message, version, data):
    spec = kwire.catalog().message(message)
    value = data.draw(values(declare(spec, version)))
    for form in forms_of(spec, version, EVERYTHING):
        found = price(form, value)
        assert found.refusal or sum(row.prefix_bytes + row.value_bytes for row in rows_of(found)) == found.size
    own = price(Form("own", spec, version), value)
    assert (own.size, own.lost) == (len(encode_spec(spec, value, version)), ())


@pytest.mark.slow  # all golden bodies; the sample has its own test
@pytest.mark.shared
def test_every_golden_body_is_priced_in_every_form_and_its_own_way_is_its_size():
    refused = 0
    for row in shared()[::3]:
        decoded = decode(row.catalog, row.body, row.message, row.version)
        own = FLEXIBLE if row.version in decoded.spec.flexible_versions else INFLEXIBLE
        for form in forms_of(decoded.spec, row.version, Choice(names=(INFLEXIBLE, FLEXIBLE, ALL_TAGGED, "upacked"))):
            found = price(form, decoded.value)
            refused += found.refusal is not None
            assert found.refusal or sum(row.prefix_bytes + row.value_bytes for row in rows_of(found)) == found.size
            assert form.name != own or found.size == len(row.body)
    assert not refused
