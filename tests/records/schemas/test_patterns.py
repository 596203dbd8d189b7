"""Patterns of JSON Schemas match the text that Python's `re` matches, and none takes forever."""

import re

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples

pytest.importorskip("re2")

from kwire_cli.records.schemas.json_schema import pattern_of

ATOM = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\w", r"\W", r"[a-b\d_-]", "^", "$", r"\b", r"\B", r"\u0061", ""]
)
PATTERNS = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])).map(
            lambda p: f"({p[0]}){p[1]}"
        ),
    ),
    max_leaves=8,
)


def search(pattern, text):
    compiled, reason = pattern_of(pattern)
    return compiled.search(text) is not None if compiled else reason


@examples(240)
@given(PATTERNS, st.text("ab-_1 ", min_size=1, max_size=6))
def test_patterns_match_what_python_matches(pattern, text):
    assert search(pattern, text) == bool(re.search(pattern, text, re.ASCII))


@pytest.mark.parametrize(
    "pattern", ["(a|a)*b", "^(a+)+$", "(a*)*b", "^(a|b?)*$", "(.*)(.*)(.*)(.*)!$", "((a{0,9}){0,9})*c"]
)
def test_a_pattern_that_repeats_what_repeats_ends(pattern):
    assert search(pattern, "a" * 100_000 + "?") is False


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\p{L}+$", "Zoë", True),
        (r"^\p{Lu}\pL*$", "éa", False),
        (r"^\d$", "٣", False),
        (r"^[^\d\s]$", "é", True),
        (r"^\/\-\.\$$", "/-.$", True),
        (r"^\u00e9\u{1F600}$", "é😀", True),
        (r"^\\u00e9$", r"\u00e9", True),
        ("^[a-]{2}x{,2}$", "a-x{,2}", True),
        ("^(?<year>[0-9]{4})-", "2026-x", True),
        ("^a$", "a\n", False),
    ],
)
def test_the_dialect_is_that_of_json_schemas(pattern, text, found):
    assert search(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)b", "invalid perl operator: (?="),
        (r"\p{IsGreek}", r"invalid character class range: \p{IsGreek}"),
        ("(" * 100_000, "missing ): " + "(" * 49 + "…"),
        ("(((a{99}){99}){99}){99}", "invalid repetition size: {99}"),
        ("\ud800", "it is no Unicode text"),
    ],
)
def test_other_patterns_have_a_reason(pattern, reason):
    assert search(pattern, "a") == reason
