"""The answer of compare: how versions are named together, what is cut, and what each table adds up to."""

import pytest
from kit.messages import definition

from kwire_cli.analysis.costs.comparison_answer import SHOWN, comparison_answer, example, names_text
from kwire_cli.analysis.costs.forms import FLEXIBLE, INFLEXIBLE, Choice, forms_of
from kwire_cli.analysis.costs.prices import add_prices, price
from kwire_cli.answer import MOST_ROWS
from kwire_cli.view.answers import answer_document
from kwire_cli.view.terminal import answer_text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["version 3"], "version 3"),
        (["version 0", "version 1", "version 2"], "versions 0-2"),
        (["version 0", "version 2", "version 3", "packed"], "versions 0, 2-3; packed"),
        (["lowest version", "inflexible"], "lowest version; inflexible"),
        (["version 1", "version 5"], "versions 1, 5"),
    ],
)
def test_versions_that_follow_one_another_are_a_range(names, text):
    assert names_text(names) == text


@pytest.mark.parametrize("value", ["a\x1b[2J\nb", ["\x9b", {"k": "\u202e"}], None, 7, "x" * 500])
def test_an_example_is_short_and_moves_no_cursor(value):
    text = example(value)
    assert len(text) <= SHOWN + 1
    assert text.isprintable()


def compared(spec, value, choice):
    totals = {}
    add_prices(totals, [price(form, value) for form in forms_of(spec, 1, choice)])
    return totals


def tables_of(totals, **how):
    return answer_document(comparison_answer([totals], **how))["tables"]


def test_the_answer_says_what_is_lost_and_refused():
    spec = definition(
        {"name": "A", "type": "int32"},
        {"name": "B", "type": "string", "versions": "1+", "ignorable": True},
        {"name": "C", "type": "int8", "versions": "0"},
    )
    comparison = compared(spec, {"a": 70_000, "b": "text"}, Choice(versions=(0,), names=("packed16",)))
    tables = tables_of(comparison)
    assert [row["remark"] for row in tables["forms"]] == [
        "",
        "1 field lost",
        "cannot be written",
    ]
    [lost], [refused] = tables["lost"], tables["refused"]
    assert (lost["path"], lost["first"], lost["kafka"], lost["forms"]) == ("b", '"text"', "drops", "version 0")
    assert refused["why"].startswith("a: 70000 does not fit int32 written as packed16")
    assert '"text"' in answer_text(comparison_answer([comparison]))


def test_the_differences_of_kinds_add_up_to_that_of_all():
    spec = definition({"name": "A", "type": "[]string"}, {"name": "B", "type": "bytes"})
    comparison = compared(spec, {"a": ["x", "y"], "b": "AAAA"}, Choice(names=(INFLEXIBLE, FLEXIBLE)))
    sums = comparison
    difference = sum(row["difference"] for row in tables_of(comparison)["flexible"])
    assert difference == sums[FLEXIBLE].size - sums[INFLEXIBLE].size
    assert "flexible" not in tables_of(compared(spec, {"a": [], "b": ""}, Choice()))


def test_bytes_by_field_add_up_to_each_form():
    spec = definition({"name": "A", "type": "[]string"}, {"name": "B", "type": "bytes"})
    comparison = compared(spec, {"a": ["x", "y"], "b": "AAAA"}, Choice(names=(INFLEXIBLE, FLEXIBLE)))
    rows = tables_of(comparison, by_field=True)["byField"]
    for name, total in comparison.items():
        assert sum(row[name] or 0 for row in rows) == total.size


def test_long_lists_of_losses_are_cut_for_a_person_alone():
    count = MOST_ROWS + 3
    spec = definition(*({"name": f"F{n}", "type": "int32", "versions": "1+"} for n in range(count)))
    comparison = compared(spec, {f"f{n}": n + 1 for n in range(count)}, Choice(versions=(0,)))
    assert len(tables_of(comparison)["lost"]) == count
    assert answer_text(comparison_answer([comparison])).splitlines()[-1] == "… and 3 more"
