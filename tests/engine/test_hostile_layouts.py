"""Readers of hostile definitions: no text of theirs becomes source, and none is larger than CPython compiles."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from kit.messages import definition, field
from kit.peers import FORMS, by_kernel, by_reader, check, check_counter, section

from kwire_cli.engine.lower import entry_for, lower
from kwire_cli.engine.python_source import MOST_LOOPS
from kwire_cli.engine.reader import SKIP, reader_of
from kwire_cli.spec.model import MAX_NESTING, FieldSpec, MessageSpec, Versions
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import unsigned_varint

HOSTILE = (
    '"',
    "'",
    '"""',
    "\\",
    "{",
    "}{0}",
    "%s %(x)s",
    "\n    raise SystemExit",
    "x\n",
    "at",
    "data",
    "Malformed",
    "lambda",
    "None",
    '": __import__("os").system("false") or "',
    "'+__import__('os').abort()+'",
    "\0",
    "é\u2028",
    "#",
)


def versions(text):
    return Versions.parse(text)


def named(name, default=None):
    """A definition in which the loader's own checks are left out: all that it says is this text."""
    inner = (FieldSpec(name, "int32", versions("0+")), FieldSpec(name + "2", "string", versions("0+"), default=default))
    fields = (
        FieldSpec(name, "S", versions("0+"), fields=inner),
        FieldSpec(name + "3", "[]T", versions("0+"), fields=inner),
        FieldSpec(name + "4", "string", versions("0+"), tagged_versions=versions("1+"), tag=0, default=default or name),
        FieldSpec(name + "5", "records", versions("0+"), nullable_versions=versions("0+")),
    )
    return MessageSpec(name, "data", versions("0-1"), versions("1+"), fields, file=name)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_definition_becomes_source(name):
    spec = named(name, name)
    for version in (0, 1):
        entry = lower(declare(spec, version))
        keys = [each[:1].lower() + each[1:] for each in (name, *(f"{name}{number}" for number in range(2, 6)))]
        inner = {keys[0]: 1, keys[1]: "a"}
        body = declare(spec, version).build({keys[0]: inner, keys[2]: [inner], keys[3]: "c", keys[4]: None})
        for form in FORMS:
            reader = reader_of(entry, form)
            code = reader.__code__
            assert not [each for each in code.co_consts if isinstance(each, str)]
            assert not {*code.co_names, *code.co_varnames} & {name, name + "2", name + "3", name + "4", name + "5"} - {
                "at",
                "data",
                "Malformed",
            }
            found = reader(body, 0, len(body)).value
            if form != SKIP:
                assert repr(found) == repr(by_kernel(entry, body, form))
        check_counter(entry, body)


def nested(depth, kind):
    inner = FieldSpec("X", "int8", versions("0+"))
    for _ in range(depth):
        inner = FieldSpec(
            "X",
            f"{kind}S",
            versions("0+"),
            fields=(inner,),
            nullable_versions=versions("0+") if kind == "" else versions("none"),
        )
    return MessageSpec("Test", "data", versions("0-1"), versions("1+"), (inner,))


@pytest.mark.parametrize("kind", ["", "[]"])
@pytest.mark.parametrize("depth", [1, MOST_LOOPS, MOST_LOOPS + 1, MAX_NESTING - 1])
def test_deep_layouts_have_a_reader_or_are_left_to_the_kernel(kind, depth):
    spec = nested(depth, kind)
    for version in (0, 1):
        entry = lower(declare(spec, version))
        one = {"": b"\1", "[]": b"\2" if version else b"\0\0\0\1"}[kind]
        body = one * depth + b"\7" + bytes(depth + 1) * version
        expected = by_kernel(entry, body, "base64")
        assert expected is not None
        found = by_reader(entry, body, "base64")
        assert found is None or repr(found.value) == repr(expected)
        assert (found is not None) == (kind == "" or depth <= MOST_LOOPS)


def test_layouts_of_thousands_of_fields_are_left_to_the_kernel():
    spec = definition(*(field("string", name=f"F{number}") for number in range(2500)))
    assert by_reader(entry_for(spec, 0), bytes(5_000), "base64") is None
    tags = definition(*(field("int32", name=f"F{number}", taggedVersions="1+", tag=number) for number in range(2500)))
    assert by_reader(entry_for(tags, 1), section((2499, b"\0\0\0\7")), "base64") is None


def test_elements_without_bytes_are_left_to_the_kernel():
    spec = definition(field("[]S", fields=[]), common=())
    spec = replace(spec, fields=(FieldSpec("F", "[]S", versions("0+"), fields=()),))
    assert by_reader(entry_for(spec, 0), b"\0\0\0\0", "base64") is None


COUNTED = [definition(field(kind)) for kind in ("[]int64", "[]string", "bytes", "records")]


@given(st.integers(0, 1 << 31), st.binary(max_size=30))
def test_counts_and_lengths_never_make_more_than_the_bytes(count, rest):
    for spec in COUNTED:
        check(spec, 0, min(count, (1 << 31) - 1).to_bytes(4, "big") + rest)
        check(spec, 1, unsigned_varint(count) + rest)
