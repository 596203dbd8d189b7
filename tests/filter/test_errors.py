"""What is said of a wrong filter, and at which column."""

import pytest
from filter.rows import compiled, outcome

from kwire_cli.errors import InputError
from kwire_cli.filter.compile import Filter
from kwire_cli.filter.model import FilterError

OPERATORS = "an operator (== != < <= > >= ~ !~ in), 'and' or 'or'"


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected the name of a column or field, found the end"),
        ("and", 1, "expected the name of a column or field, found 'and'"),
        ("frame == 1 and", 15, "expected the name of a column or field, found the end"),
        ("has 5", 5, "expected the name of a column or field, found '5'"),
        ("()", 2, "expected the name of a column or field, found ')'"),
        ("topics[0].x == 1", 7, "a path has no indexes: topics.partitions, not topics[0].partitions"),
        ("api = Fetch", 5, "expected '==' for equality or '~' for a regular expression, found '='"),
        ("topic == and", 10, "expected a value, found 'and'"),
        ("topic == (a, b)", 10, "expected a value, found '('"),
        ("api Fetch", 5, f"expected {OPERATORS}, found 'Fetch'"),
        ("size == 1 2", 11, "expected 'and' or 'or', found '2'"),
        ("a == b == c", 8, "expected 'and' or 'or', found '='"),
        ("a == 1)", 7, "expected 'and' or 'or', found ')'"),
        ("(a == 1", 8, "expected 'and' or 'or' or ')', found the end"),
        ("has a == 1", 7, "expected 'and' or 'or', found '='"),
        ("topics. == 1", 7, f"expected {OPERATORS}, found '.'"),
        ("a not 5", 7, "expected 'in' after 'not', found '5'"),
        ("a in 5", 6, "expected '(' and values, as in api in (Fetch, Produce), found '5'"),
        ("a in ()", 7, "expected a value, found ')'"),
        ("a in (1,)", 9, "expected a value, found ')'"),
        ("a in (1 2)", 9, "expected ',' or ')', found '2'"),
        ("a == 'x", 6, "expected a closing ' for this one"),
        ('a == "x\\"', 6, 'expected a closing " for this one'),
        ('a == "x\\q"', 8, r"""expected an escape: \\ \" \' \n \r \t \xHH \uHHHH"""),
        ('a == "\\x4"', 7, r"""expected an escape: \\ \" \' \n \r \t \xHH \uHHHH"""),
        ("(" * 51 + "a" + ")" * 51, 51, "parentheses are nested deeper than 50"),
        ("api == Fetchh", 8, "no api has the name 'Fetchh'; did you mean Fetch?"),
        (
            "error == request_timedout",
            10,
            "no error code has the name 'request_timedout'; did you mean REQUEST_TIMED_OUT?",
        ),
        (
            "size > 10 KB",
            11,
            "expected 'and' or 'or', found 'KB'; a unit follows its number without a space, as in 5ms",
        ),
        ("partitions.partitionErrorCode != true", 34, "no error code has the name 'true'"),
        ("error == null", 10, "errors is never null; 'not errors' holds where there are none"),
        ("topic in (a, null)", 14, "topics is never null; 'not topics' holds where there are none"),
        ("frame == x", 10, "expected a number, found 'x'"),
        ("frame == '1'", 10, "expected a number, found '1'"),
        ("size > 100ms", 8, "expected a size, such as 10KB, or a number of bytes, found '100ms'"),
        ("latency > 5KB", 11, "expected a duration, such as 100ms, or a number of seconds, found '5KB'"),
        (
            "latency_us > 5KB",
            14,
            "expected a duration, such as 100ms, or a number of microseconds, found '5KB'",
        ),
        ("delayed == 1", 12, "expected true or false, found '1'"),
        ("time > 5", 8, "expected a time, such as 2026-11-21T10:00:00Z or 10:00:00, found '5'"),
        (
            "time > 2026-11-21T25:00",
            8,
            "expected a time, such as 2026-11-21T10:00:00Z or 10:00:00, found '2026-11-21T25:00'",
        ),
        ("latency > null", 11, "null has no order; compare with == or !="),
        ("kind < a", 6, "kind has no order; compare with == != ~ !~ or in"),
        ("api > Fetch", 7, "expected a number, as names of apis have no order, found 'Fetch'"),
        (
            "x > 5ms",
            5,
            "a duration or date is compared with fields whose name ends in Ms or Timestamp; put a text in quotes",
        ),
        (
            "waitMs > 10:00",
            10,
            (
                "a time of day is compared with the column time; a date with fields whose name ends in Ms or "
                "Timestamp; put a text in quotes"
            ),
        ),
        ("size ~ 5", 6, "size is not text; compare with == != < <= > >= or in"),
        ("apiKey !~ 5", 8, "api_key has numbers; the column api has names"),
        ('topic ~ "ab(c"', 12, "expected a regular expression: missing ), unterminated subpattern"),
        ('topic ~ "a{99999999999999}"', 10, "expected a regular expression: the repetition number is too large"),
    ],
)
def test_what_is_wrong_and_where(text, column, reason):
    with pytest.raises(FilterError) as caught:
        compiled(text)
    assert (caught.value.column, caught.value.reason) == (column, reason)
    assert str(caught.value) == f"filter, column {column}: {reason}"
    assert isinstance(caught.value, InputError)
    assert caught.value.text == text


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50 + "a" + ")" * 50,
        "!" * 10_000 + "a",
        " and ".join(["a"] * 10_000),
        "a in (" + ",".join(["1"] * 10_000) + ")",
    ],
)
def test_long_is_not_wrong(text):
    compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "a == " + "9" * 100_000,
        "a ~ '" + "(" * 100_000 + ")" * 100_000 + "'",
        "a.b" * 100_000 + "[",
        "a ~ '(?a)(?u)'",
    ],
)
def test_too_long_is_an_error_at_most(text):
    assert isinstance(outcome(text), Filter | FilterError)
