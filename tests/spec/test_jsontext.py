import json

import pytest
from hypothesis import assume, given, strategies as st
from kit.commands import examples

from kwire_cli.errors import SpecError
from kwire_cli.spec.jsontext import MAX_DEPTH, Place, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def refusal(text):
    try:
        parse(text)
    except SpecError as error:
        return error
    return None


JSON_LIKE = st.text(st.sampled_from('{}[]",:/*\\\n -0.1eEtrufalsn\ud800'), max_size=30)


@examples(90)
@given(JSON, st.booleans())
def test_reads_what_the_standard_library_writes(value, ascii_only):
    assert parse(json.dumps(value, ensure_ascii=ascii_only, indent=1)).value == value


@examples(180)
@given(st.text() | JSON_LIKE)
def test_any_text_is_read_or_refused_with_its_place(text):
    error = refusal(text)
    assert not error or (error.line >= 1 and error.column >= 1)


@examples(90)
@given(JSON_LIKE)
def test_accepts_nothing_that_the_standard_library_refuses(text):
    assume("/" not in text)
    try:
        found = parse(text)
    except SpecError:
        return
    if not found.trailing:
        assert json.loads(text) == found.value


def test_notes_duplicates_and_what_follows():
    text = parse('// one\n{"a": 1, /* "two" */ "a": 2, "b//": {"a": "/*"}} ]}')
    assert text.value == {"a": 2, "b//": {"a": "/*"}}
    assert text.duplicates == [(("a",), Place(2, 22))]
    assert text.trailing == Place(2, 50)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "expected a value, found the end of the text"),
        ('{"a" 1}', 1, 6, "expected ':' delimiter, found '1'"),
        ("[1 2]", 1, 4, "expected ',' delimiter, found '2'"),
        ('{"a": 1 "b"}', 1, 9, "expected ',' delimiter"),
        ('"abc', 1, 1, "unterminated string"),
        ('"a\nb"', 1, 3, "control character"),
        ('"\\x"', 1, 2, "escape"),
        ('"\\ud800"', 1, 1, "surrogate"),
        ("[NaN]", 1, 2, "expected a value, found 'NaN'"),
        ("nul", 1, 1, "expected a value, found 'nul'"),
        ("1" * 5000, 1, 1, "4300 digits"),
        ("\n /* end", 2, 2, "expected a value"),
        ("[" * 200 + "]" * 200, 1, MAX_DEPTH + 1, "deeper"),
        ("[" * 200_000 + "]" * 200_000, 1, 1, "deeper"),
    ],
)
def test_says_what_is_wrong_and_where(text, line, column, words):
    with pytest.raises(SpecError, match=words) as error:
        parse(text, "x.json")
    assert (error.value.file, error.value.line, error.value.column) == ("x.json", line, column)


def test_a_comment_at_the_end_of_the_text():
    assert parse("1 // end").value == 1
    assert parse("1 /* end").trailing == Place(1, 3)


@pytest.mark.parametrize("text", ['"/*', '"\\', "/*", '"\n/*', "/* * ", "// /*\n"])
def test_text_without_ends_is_read_once(text):
    """Each would take minutes if every beginning were searched for its end."""
    with pytest.raises(SpecError):
        parse("{" + text * 300_000)
