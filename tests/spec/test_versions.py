import pytest
from hypothesis import given, strategies as st

from kwire_cli.spec.model import MAX, NONE, Versions

RANGES = st.builds(Versions, st.integers(0, 20), st.integers(0, 20) | st.just(MAX)).filter(bool) | st.just(NONE)


@given(RANGES)
def test_text_and_back(versions):
    assert Versions.parse(str(versions)) == versions


@given(RANGES, RANGES, st.integers(0, 25))
def test_intersection_and_cover_agree_with_membership(left, right, version):
    assert (version in left & right) == (version in left and version in right)
    if left.covers(right) and version in right:
        assert version in left


@pytest.mark.parametrize("text", ["1-", "+", "-1", "x", "32768", "0-40000", "1-2-3", "1 +", "²", "9" * 5000])
def test_texts_that_are_no_range(text):
    with pytest.raises(ValueError, match="version"):
        Versions.parse(text)


def test_a_reversed_range_is_empty():
    assert not Versions.parse("3-1")
    assert 2 not in Versions.parse("3-1")
