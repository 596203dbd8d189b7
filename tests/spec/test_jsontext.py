import json

import pytest
from hypothesis import given, strategies as st
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


def refusal(text, **how):
    try:
        parse(text, **how)
    except SpecError as error:
        return error
    return None


JSON_LIKE = st.text(st.sampled_from('{}[]",:/*\\\n -0.1eEtrufalsn\ud800'), max_size=30)


@examples(150)
@given(JSON, st.booleans())
def test_reads_what_the_standard_library_writes(value, ascii_only):
    assert parse(json.dumps(value, ensure_ascii=ascii_only, indent=1)).value == value


@pytest.mark.parametrize(("text", "place"), [('{"a": 1,}', (1, 8)), ("[1,\n2 ,\n]", (2, 3)), ("[1,,]", None)])
def test_a_comma_before_the_end_is_named(text, place):
    error = refusal(text)
    assert ("remove this comma" in str(error)) is (place is not None)
    assert place in {None, (error.line, error.column)}


@examples(300)
@given(st.text() | JSON_LIKE, st.booleans(), st.booleans())
def test_any_text_is_read_or_refused_with_its_place(text, comments, trailing):
    error = refusal(text, comments=comments, trailing=trailing)
    assert not error or (error.line >= 1 and error.column >= 1)


@examples(150)
@given(JSON_LIKE)
def test_accepts_nothing_that_the_standard_library_refuses(text):
    try:
        value = parse(text).value
    except SpecError:
        return
    assert json.loads(text) == value


def test_keeps_the_place_of_every_key_and_value():
    text = parse('{\n  "a": [1,\n    {"b": "é"}]\n}')
    assert text.places[()] == Place(1, 1)
    assert text.key_places[("a",)] == Place(2, 3)
    assert text.places[("a",)] == Place(2, 8)
    assert text.places[("a", 0)] == Place(2, 9)
    assert text.key_places[("a", 1, "b")] == Place(3, 6)
    assert text.nearest(("a", 1, "c", 4)) == Place(3, 5)
    assert text.nearest(("z",)) == Place(1, 1)


def test_notes_duplicates_comments_and_trailing_tokens():
    text = parse('// one\n{"a": 1, /* two */ "a": 2} ]}', comments=True, trailing=True)
    assert text.value == {"a": 2}
    assert text.duplicates == [(("a",), Place(2, 20))]
    assert text.comments == [Place(1, 1), Place(2, 10)]
    assert text.trailing == Place(2, 28)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "expected a value"),
        ('{"a" 1}', 1, 6, "expected ':'"),
        ('{"a": 1,\n}', 1, 8, "remove this comma"),
        ("[1 2]", 1, 4, "expected ',' or ']'"),
        ('{"a": 1 "b"}', 1, 9, "expected ',' or '}'"),
        ('"abc', 1, 1, "has no end"),
        ('"a\nb"', 1, 3, "control character"),
        ('"\\x"', 1, 2, "escape"),
        ('"\\ud800"', 1, 1, "surrogate"),
        ("[01]", 1, 2, "expected a value"),
        ("NaN", 1, 1, "expected a value"),
        ("nul", 1, 1, "expected a value"),
        ("1" * 500, 1, 1, "expected a value"),
        ("{} {}", 1, 4, "end of the text"),
        ("// x\n1", 1, 1, "comments"),
        ("[" * 200, 1, MAX_DEPTH + 1, "deeper"),
    ],
)
def test_says_what_is_wrong_and_where(text, line, column, words):
    with pytest.raises(SpecError, match=words) as error:
        parse(text, file="x.json")
    assert (error.value.file, error.value.line, error.value.column) == ("x.json", line, column)


def test_a_comment_without_end_and_one_at_the_end_of_the_text():
    assert parse("1 // end", comments=True).value == 1
    with pytest.raises(SpecError, match="no end"):
        parse("1 /* end", comments=True)


def test_escapes_are_read():
    assert parse(r'"\u00e9\n\"\\\/\ud83d\ude00"').value == 'é\n"\\/😀'
