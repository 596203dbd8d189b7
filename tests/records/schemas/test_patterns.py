"""Patterns of JSON Schemas match the text that Python's `re` matches, and none takes forever."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from kwire_cli.records.schemas.patterns import Pattern, Steps, UncheckedError, pattern_of

STEPS = 100_000
ATOM = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\W", r"[a-b\d_-]", "^", "$", r"\b", r"\B", r"\x61", ""])
PATTERNS = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])).map(
            lambda p: f"({p[0]}){p[1]}"
        ),
        st.tuples(st.sampled_from("=!"), inner).map(lambda pair: f"(?{pair[0]}{pair[1]})"),
    ),
    max_leaves=8,
)


def search(pattern, text):
    compiled = pattern_of(pattern)
    return compiled.search(text, Steps(STEPS)) if isinstance(compiled, Pattern) else compiled


@settings(max_examples=400, deadline=None)
@given(PATTERNS, st.text("ab-_1 ", min_size=1, max_size=6))
def test_patterns_match_what_python_matches(pattern, text):
    assert search(pattern, text) == bool(re.search(pattern, text, re.ASCII))


@pytest.mark.parametrize(
    "pattern", ["(a|a)*b", "^(a+)+$", "(a*)*b", "^(a|b?)*$", "(.*)(.*)(.*)(.*)!$", "((a{0,9}){0,9})*c"]
)
def test_a_pattern_takes_no_more_steps_than_states_times_characters(pattern):
    assert search(pattern, "a" * 60 + "?") is False


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\p{L}+$", "Zoë", True),
        (r"^\p{Lu}\pL*$", "éa", False),
        (r"^[\p{Letter}\P{gc=L}]$", "é", True),
        (r"^\d$", "٣", False),
        (r"^[^\d\s]$", "é", True),
        (r"^\/\-\.\$$", "/-.$", True),
        (r"^\u00e9\u{1F600}$", "é😀", True),
        ("^[a-]{2}x{,2}$", "a-x{,2}", True),
        ("^(?<year>[0-9]{4})-[^]$", "2026-x", True),
        ("[]", "a", False),
        ("^a$", "a\n", False),
    ],
)
def test_the_dialect_is_that_of_json_schemas(pattern, text, found):
    assert search(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "it refers back to a group"),
        ("(?<=a)b", "groups that begin with (?< are unknown"),
        ("(?i)a", "groups that begin with (?i are unknown"),
        (r"\p{IsGreek}", "the Unicode property 'IsGreek' is unknown"),
        ("(a", "it lacks a ')'"),
        ("a)", "it has a ')' too many"),
        ("[a", "it ends early"),
        ("a**", "it repeats a repetition"),
        ("+", "nothing stands before '+'"),
        ("a{3,2}", "the counts of {3,2} are the wrong way round"),
        ("[b-a]", "the range b-a is the wrong way round"),
        (r"\u{110000}", "there is no character u{110000}"),
        ("(" * 100_000, "it nests too deeply"),
        ("(((a{99}){99}){99}){99}", "it is too large"),
        ("(((){999999}){999999}){999999}", "it is too large"),
    ],
)
def test_other_patterns_have_a_reason(pattern, reason):
    assert search(pattern, "a") == reason


def test_long_text_is_given_up():
    with pytest.raises(UncheckedError, match="the text is too long for it"):
        search("^a*$", "a" * STEPS)
