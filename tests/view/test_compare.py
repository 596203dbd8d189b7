"""The table of forms: how versions are named together, what is cut, and that columns stay columns."""

import pytest
from definitions import definition

from kwire_cli.analysis.costs.form_comparison import FLEXIBLE, INFLEXIBLE, Choice, Comparison, forms_of
from kwire_cli.analysis.costs.forms import Form, price
from kwire_cli.view.compare import MOST, SHOWN, example, flexible_lines, form_lines, loss_lines, names_text, title_lines
from kwire_cli.view.lines import plain


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
    comparison = Comparison(spec.name, 1)
    comparison.add(price(Form("as given", spec, 1), value), [price(form, value) for form in forms_of(spec, 1, choice)])
    return comparison


def test_lines_say_what_is_lost_filled_and_refused():
    spec = definition(
        {"name": "A", "type": "int32"},
        {"name": "B", "type": "string", "versions": "1+", "ignorable": True},
        {"name": "C", "type": "int8", "versions": "0"},
    )
    comparison = compared(spec, {"a": 70_000, "b": "text"}, Choice(versions=(0,), encodings=("packed16",)))
    text = "\n".join(map(plain, [*title_lines(comparison, "remark"), *form_lines(comparison), *loss_lines(comparison)]))
    assert "1 field lost, 1 field at default" in text
    assert '"text"     dropped   version 0' in text
    assert "c      0        version 0" in text
    assert "a: 70000 does not fit int32 written as packed16" in text


def test_the_differences_of_kinds_add_up_to_that_of_all():
    spec = definition({"name": "A", "type": "[]string"}, {"name": "B", "type": "bytes"})
    comparison = compared(spec, {"a": ["x", "y"], "b": "AAAA"}, Choice(both_ways=True))
    lines = [plain(line).split() for line in flexible_lines(comparison)]
    numbers = [int(line[-1]) for line in lines[3:]]
    assert sum(numbers[:-1]) == numbers[-1] == comparison.sums[FLEXIBLE].size - comparison.sums[INFLEXIBLE].size
    assert [*flexible_lines(compared(spec, {"a": [], "b": ""}, Choice()))] == []


def test_long_lists_of_losses_are_cut_and_say_so():
    spec = definition(*({"name": f"F{n}", "type": "int32", "versions": "1+"} for n in range(MOST + 3)))
    comparison = compared(spec, {f"f{n}": n + 1 for n in range(MOST + 3)}, Choice(versions=(0,)))
    lines = [plain(line) for line in loss_lines(comparison)]
    assert lines[-1] == "and 3 more, which --format json has"
    assert len(lines) == MOST + 4
