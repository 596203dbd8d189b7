"""Any text is a filter or an error; and trees of expressions, written down and read again, say what a small evaluator
of its own says.
"""

import re

import pytest
from filter.rows import FETCH, Row, compiled, outcome
from hypothesis import example, given, strategies as st
from kit.commands import examples

from kwire_cli.facts.columns import COLUMNS
from kwire_cli.filter.compile import Filter

SYMBOLS = """and or not && || ! ( ) , in has == != < <= > >= ~ !~ = . [ " ' \\ null true errorCode a.b waitMs"""
LITERALS = "Fetch 6 -1 0x1F 2.5 100ms 10KB 10:00 2026-11-21 2026-11-21T10:00:00Z '\\n' '(a|b)+' [a-z]* é \x00 \ud800"
NAMED = [name for column in COLUMNS for name in (column.name, *column.also)]
PIECES = st.sampled_from([*NAMED, *SYMBOLS.split(), *LITERALS.split(), '"a b"'])
TEXTS = (
    st.text()
    | st.lists(PIECES | st.text(max_size=3), max_size=12).map(" ".join)
    | st.lists(PIECES, max_size=12).map("".join)
)


@given(TEXTS)
@example("a ~ '[[a]'")
@example("a ~ '(?<=a+)b'")
@example("a ~ '(?<\ud800'")
@example("a == 1 \ud800")
@example("time > 0000-00-00")
@examples(900)
def test_any_text_is_a_filter_or_an_error(text):
    found = outcome(text)
    if isinstance(found, Filter):
        assert found.matches(FETCH) in {True, False}
        return
    assert found.column is not None
    assert 1 <= found.column <= len(text) + 1
    assert str(found).encode()


@given(st.text())
def test_a_quoted_text_is_that_text(text):
    row = Row({"client_id": text}, body={"x": [text]})
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert compiled(f"client == {quoted} and x == {quoted} and not client != {quoted}").matches(row)


# An evaluator of its own: a test is (name, operator, value), a tree ("and" | "or" | "not", *trees). Names are those of
# the rows below, values Python's own; it knows nothing of text, types or closures.

HOLDS = {
    "==": lambda value, literal: value == literal,
    "!=": lambda value, literal: value != literal,
    "<": lambda value, literal: value is not None and value < literal,
    "<=": lambda value, literal: value is not None and value <= literal,
    ">": lambda value, literal: value is not None and value > literal,
    ">=": lambda value, literal: value is not None and value >= literal,
    "~": lambda value, literal: value is not None and re.search(literal, value) is not None,
    "!~": lambda value, literal: value is None or re.search(literal, value) is None,
    "in": lambda value, literals: value in literals,
    "not in": lambda value, literals: value not in literals,
    "has": lambda value, _: value is not None,
    "says": lambda value, _: bool(value),
}

ORDER = ["<", "<=", ">", ">="]
NUMBERS = st.integers(-2, 3)
WORDS = st.sampled_from(["", "a", "b", "ab", "a b", 'x"y', "\\", "and"])
NAMES = {  # how a row is asked, and what its values are
    "stream": NUMBERS,
    "size": NUMBERS,
    "client": WORDS,
    "topic": WORDS,
    "port": NUMBERS,
    "n": NUMBERS,
    "s.n": NUMBERS,
    "body.n": NUMBERS,
    "t": WORDS,
}
MANY = {"topic", "port"}
NULLABLE = set(NAMES) - MANY


def values(name, row):
    """All values that a name has in a row (columns, and a body of the shape of BODIES)."""
    columns, body = row
    if name in columns:
        return columns[name] if name in MANY else [columns[name]]
    structs = body["s"]
    inside = [number for struct in structs for number in struct["n"]]
    if name == "t":
        return [struct["t"] for struct in structs]
    return {"n": [body["n"], *inside], "s.n": inside, "body.n": [body["n"]]}[name]


def says(tree, row):
    head, *rest = tree
    if head == "and":
        return all(says(each, row) for each in rest)
    if head == "or":
        return any(says(each, row) for each in rest)
    if head == "not":
        return not says(rest[0], row)
    operator, literal = rest
    return any(HOLDS[operator](value, literal) for value in values(head, row))


def written(tree, draw):
    head, *rest = tree
    if head in {"and", "or"}:
        sign = draw(st.sampled_from({"and": [" and ", "&&", " AND "], "or": [" or ", " || "]}[head]))
        text = sign.join(written(each, draw) if each[0] in NAMES else f"({written(each, draw)})" for each in rest)
        return f"({text})" if draw(st.booleans()) else text
    if head == "not":
        inside = written(rest[0], draw)
        return draw(st.sampled_from(["not ", "! ", "!"])) + (inside if rest[0][0] in NAMES else f"({inside})")
    operator, literal = rest
    if operator in {"has", "says"}:
        return f"has {head}" if operator == "has" else head
    if operator in {"in", "not in"}:
        return f"{head} {operator} ({', '.join(map(value_text, literal))})"
    return f"{head} {operator} " + (f'"{literal}"' if operator in {"~", "!~"} else value_text(literal))


def value_text(literal):
    if literal is None:
        return "null"
    return str(literal) if isinstance(literal, int) else '"' + literal.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(sorted(NAMES)))
    literals = NAMES[name]
    maybe = literals | st.none() if name in NULLABLE else literals
    operator = draw(st.sampled_from(sorted(HOLDS)).filter(lambda each: "~" not in each or literals is WORDS))
    if operator in {"in", "not in"}:
        return name, operator, draw(st.lists(maybe, min_size=1, max_size=3))
    if "~" in operator:
        return name, operator, draw(st.sampled_from(["a", "^b", "a.b", "^$", "[xy]$", r"\s"]))
    return name, operator, draw(literals if operator in ORDER else maybe)


TREES = st.recursive(
    comparisons(),
    lambda trees: (
        st.tuples(st.sampled_from(["and", "or"]), trees, trees)
        | st.tuples(st.just("and"), trees, trees, trees)
        | st.tuples(st.just("not"), trees)
    ),
    max_leaves=10,
)
COLUMN_VALUES = st.fixed_dictionaries(
    {
        name: st.lists(kind, max_size=3) if name in MANY else kind | st.none()
        for name, kind in NAMES.items()
        if name in {"stream", "size", "client", *MANY}
    }
)
STRUCTS = st.fixed_dictionaries({"n": st.lists(NUMBERS | st.none(), max_size=2), "t": WORDS | st.none()})
BODIES = st.fixed_dictionaries({"n": NUMBERS | st.none(), "s": st.lists(STRUCTS, max_size=2)})


@pytest.mark.slow
@given(TREES, COLUMN_VALUES, BODIES, st.data())
@examples(600)
def test_filters_say_what_the_evaluator_says(tree, columns, body, data):
    text = written(tree, data.draw)
    names = {"client": "client_id", "topic": "topics"}
    row = Row({names.get(name, name): value for name, value in columns.items()}, body=body)
    assert compiled(text).matches(row) == says(tree, (columns, body)), text
