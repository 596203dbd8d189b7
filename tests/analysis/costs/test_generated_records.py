import pytest

from kwire_cli.analysis.costs.generated import Wanted, generated


def records(*wanted):
    return [record for batch in generated(Wanted(*wanted)) for record in batch.records()]


def test_records_have_the_sizes_that_were_asked_for():
    found = records(2500, 7, 31, ("a", "b"), 5)
    assert len(found) == 2500
    assert {(len(record.key), len(record.value)) for record in found} == {(7, 31)}
    assert {tuple((name, len(value)) for name, value in record.headers) for record in found} == {(("a", 5), ("b", 5))}
    assert [record.offset for record in found] == [*range(2500)]
    assert len({record.value for record in found}) == 2500


@pytest.mark.parametrize(("key", "value"), [(None, 3), (3, None), (0, 0)])
def test_nulls_and_empty_ones(key, value):
    [record] = records(1, key, value)
    assert record.key == (None if key is None else record.key[:key])
    assert record.value == (None if value is None else record.value[:value])


def test_they_are_the_same_in_every_run():
    assert records(5, 10, 10) == records(5, 10, 10)
