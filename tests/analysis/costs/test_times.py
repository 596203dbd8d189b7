import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs import times
from kwire_cli.analysis.costs.forms import Choice, Form, form_of, forms_of
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.analysis.costs.prices import price
from kwire_cli.analysis.costs.times import Times, encode_and_decode, measure_times, times_table

SPEC = kwire.catalog().message("MetadataResponse")
VALUE = generate(SPEC, 9, counts_for(SPEC, 9, {"partitions": 3}, {}))
FORMS = [Form("as given", SPEC, 9), *forms_of(SPEC, 9, Choice(cases=True, names=("fixed", "packed")))]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_the_measured_bytes_are_those_of_the_form(form):
    encode, decode = encode_and_decode(form, VALUE)
    assert len(encode()) == price(form, VALUE).size
    assert decode().stop == len(encode())


def test_each_form_is_measured(monkeypatch):
    monkeypatch.setattr(times, "SECONDS", 0)
    monkeypatch.setattr(times, "ROUNDS", 1)
    rows = measure_times([*FORMS, form_of("escape-bytes", SPEC, 9)], VALUE)
    assert [row.form for row in rows] == [form.name for form in FORMS]


def test_the_median_of_the_rounds_counts(monkeypatch):
    seconds = iter([1.0, 2.0, 3.0, 6.0, 5.0, 4.0])
    monkeypatch.setattr(times, "ROUNDS", 3)
    monkeypatch.setattr(times, "_clock", lambda _: seconds.__next__)
    assert measure_times(FORMS[:1], VALUE) == [Times("as given", 3.0, 4.0)]


@pytest.mark.parametrize(("names", "base"), [(("as given", "fixed"), "fixed"), (("as given", "packed"), "as given")])
def test_ratios_are_to_fixed_or_to_the_first_form(names, base):
    table = times_table([Times(name, 2.0 + number, 4.0) for number, name in enumerate(names)])
    assert table.note == f"ratio: to {base}, in the same run"
    assert [row[3:] for row in table.rows if row[0] == base] == [(1.0, 1.0)]
    [other] = [row for row in table.rows if row[0] != base]
    assert other[3] == (0.667 if base == "fixed" else 1.5)
