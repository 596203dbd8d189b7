"""The readers of a layout and the compiled kernel against the kernel: all golden bodies, all samples, and mutations of
them.

A reader may refuse what the kernel takes, where a test says so; whatever it gives is what the kernel says.
"""

import base64
import random
from dataclasses import replace
from types import MappingProxyType

import pytest
from definitions import definition, field
from golden_rows import sample, shared
from hypothesis import given, strategies as st
from many_messages import by_layout, walked
from record_sets import SEGMENTS, record
from valid_values import values as values_of

import kwire_cli as kwire
from kwire_cli.engine.lower import entry_for, lower, records_entry
from kwire_cli.engine.python_source import ERROR, MOST_LOOPS, TOPIC, TOPIC_ID, MalformedError, varint_reader
from kwire_cli.engine.reader import SKIP, counter_of, reader_of, records_counter, records_reader
from kwire_cli.engine.sinks import Counter, Sink
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form, anomalies, value
from kwire_cli.message.roles import roles
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import decompress
from kwire_cli.records.reading import items, source_of
from kwire_cli.spec.model import MAX_NESTING, FieldSpec, MessageSpec, Versions
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Varint, encoded_int, unsigned_varint
from kwire_cli.structs.records import v2

CATALOG = kwire.catalog()
FORMS = ("base64", "size", SKIP)
NO_ID = bytes(16)


def text(data):
    return str(data, "utf-8", "replace")


def uuid(data):
    return base64.urlsafe_b64encode(data)[:-2].decode()


def by_kernel(entry, data, form, start=0, stop=None):
    """What the kernel says of a well-formed message; None for any other."""
    spans = walk(entry, data, start, stop)
    if spans.flags or spans.lost >= 0:
        return None
    tree = build(entry, spans)
    return None if anomalies(tree) else value(tree.root, tree, Form("base64" if form == SKIP else form))


def collected(entry, spans, by_node, naming):
    """The values of leaves with a role, from spans."""
    found = [
        (by_node[node], spans.data[spans.value[at] : spans.end[at]], at)
        for at, node in enumerate(spans.node)
        if node in by_node
    ]
    topics = [text(data) for role, data, _ in found if role == TOPIC and data]
    ids = [uuid(data) for role, data, _ in found if role == TOPIC_ID and data != NO_ID]
    leaves = entry.program.leaves
    errors = [leaves[spans.node[at]].decl.read(data) for role, data, at in found if role == ERROR]
    named = []
    for name, topic_id in naming:
        rows = [
            [spans.data[spans.value[at] : spans.end[at]] for at, node in enumerate(spans.node) if node == wanted]
            for wanted in (topic_id, name)
        ]
        named += [(uuid(a), text(b)) for a, b in zip(*rows, strict=True) if b and a != NO_ID]
    return topics, ids, [code for code in errors if code], named


def by_reader(entry, data, form, by_node=None, naming=(), start=0, stop=None):
    try:
        return reader_of(entry, form, by_node, naming)(data, start, len(data) if stop is None else stop)
    except MalformedError:
        return None


def check(spec, version, data):
    """Hold all readers of a message's layout against the kernel; return whether the message is well-formed."""
    entry = entry_for(spec, version)
    known = roles(spec, entry)
    for form in FORMS:
        expected = by_kernel(entry, data, form)
        found = by_reader(entry, data, form, known.by_node, known.naming)
        assert (found is None) == (expected is None)
        if found is None:
            continue
        if form == SKIP:
            assert found.value.items() <= expected.items()
        else:
            assert repr(found.value) == repr(expected)  # the order of keys too
            assert repr(
                by_reader(entry, memoryview(b"ab" + data + b"c"), form, start=2, stop=2 + len(data)).value
            ) == repr(expected)
        topics, ids, errors, named = collected(entry, walk(entry, data), known.by_node, known.naming)
        assert [[*each] for each in found[1:4]] == [topics, ids, errors]
        assert sorted(found.names) == sorted(named)
    check_counter(entry, data)
    return by_kernel(entry, data, "base64") is not None


def summed(spans):
    """Bytes before values, bytes of values, and occurrences, by node."""
    sums, before = {}, spans.start
    for node, at, end in zip(spans.node, spans.value, spans.end, strict=True):
        row = sums.setdefault(node, [0, 0, 0])
        row[0], row[1], row[2] = row[0] + at - before, row[1] + end - at, row[2] + 1
        before = end
    return sums


def places_in(entry):
    return {leaf.id: "" for leaf in entry.program.leaves if leaf.kind in {"string", "records", "int32", "uuid"}}


def check_counter(entry, data):
    """Hold the counter of a layout against the spans; it leaves tag sections that are not empty to them."""
    spans = walk(entry, data)
    places = places_in(entry)
    counter, rows = counter_of(entry, places), []
    sums = counter.sums()
    try:
        counter.count(data, 0, len(data), sums, rows)
    except MalformedError:
        assert sums == counter.sums()
        tagged = any(leaf.kind == "tag-header" for leaf in map(entry.program.leaves.__getitem__, spans.node))
        assert tagged or by_kernel(entry, data, "size") is None
        return
    found = {}
    for leaf, *numbers in counter.totals(sums):
        found[leaf.id] = [a + b for a, b in zip(found.get(leaf.id, (0, 0, 0)), numbers, strict=True)]
    assert found == summed(spans)
    assert [row[1:] for row in rows] == [
        row for row in zip(spans.node, spans.value, spans.end, strict=True) if row[0] in places
    ]


def mutated(body, rng):
    """Another body: some bytes changed, some left out, some put in."""
    data = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        if data:
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
    if rng.random() < 0.2:
        del data[rng.randrange(len(data) + 1) :]
    if rng.random() < 0.2:
        at = rng.randrange(len(data) + 1)
        data[at:at] = rng.randbytes(rng.randrange(4))
    return bytes(data)


# Messages


def test_every_version_of_every_message_has_a_reader():
    for spec in (CATALOG.message(entry.name) for entry in CATALOG):
        for version in spec.valid_versions:
            entry = entry_for(spec, version)
            assert all(reader_of(entry, form).__name__ == "read" for form in FORMS)
            assert counter_of(entry, places_in(entry)).count.__name__ == "count"


def test_samples():
    assert all(check(row.catalog.message(row.message), row.version, row.body) for row in sample())


@pytest.mark.shared
def test_all_golden_bodies():
    assert all(check(row.catalog.message(row.message), row.version, row.body) for row in shared())


def test_mutations():
    rng = random.Random(16)
    calm = [
        check(row.catalog.message(row.message), row.version, mutated(row.body, rng))
        for row in sample()
        for _ in range(12)
    ]
    assert 0.1 < sum(calm) / len(calm) < 0.9


@pytest.mark.numba
def test_the_compiled_kernel_says_of_samples_and_mutations_what_the_kernel_says():
    pytest.importorskip("numba")
    rng = random.Random(17)
    for _, _, entry, given_bodies in by_layout(sample()):
        bodies = [*given_bodies, *(mutated(body, rng) for body in given_bodies for _ in range(6))]
        many = walked(entry, bodies)
        for job, body in enumerate(bodies):
            expected, found = walk(entry, body), many.spans(job)
            first = int(many.jobs[job, 1])
            assert [*found.node] == [*expected.node]
            assert [at - first for at in (*found.value, *found.end)] == [*expected.value, *expected.end]
            assert (found.flags, found.used - first, found.lost) == (expected.flags, expected.used, expected.lost)


ROWS = sample()


@given(st.sampled_from(range(len(ROWS))), st.integers(0, 1 << 32))
def test_any_mutation(number, seed):
    row = ROWS[number]
    check(row.catalog.message(row.message), row.version, mutated(row.body, random.Random(seed)))


@given(st.sampled_from(range(len(ROWS))), st.data())
def test_any_values(number, data):
    row = ROWS[number]
    spec = row.catalog.message(row.message)
    decl = declare(spec, row.version)
    check(spec, row.version, decl.build(data.draw(values_of(decl))))


def test_an_error_code_in_an_array_is_collected_in_its_order():
    spec = definition(field("[]int16", name="ErrorCode"), field("string", name="Topic", entityType="topicName"))
    body = declare(spec, 0).build({"errorCode": [3, 0, 5], "topic": "t"})
    assert check(spec, 0, body)
    known = roles(spec, entry_for(spec, 0))
    assert by_reader(entry_for(spec, 0), body, SKIP, known.by_node).errors == [3, 5]


# Tag sections


def tagged_spec():
    return definition(
        field("int32", name="A", taggedVersions="1+", tag=0),
        field("string", name="B", taggedVersions="1+", tag=2, nullableVersions="1+", default="null"),
        field(
            "S",
            name="C",
            taggedVersions="1+",
            tag=3,
            fields=[{"name": "X", "type": "int8"}],
            nullableVersions="1+",
            default="null",
        ),
        field("[]string", name="D", taggedVersions="1+", tag=5),
        field("float64", name="E", taggedVersions="1+", tag=6),
        field("bool", name="G", versions="0", tag=7, taggedVersions="1+") | {"versions": "1+"},
    )


def section(*pairs):
    return unsigned_varint(len(pairs)) + b"".join(
        unsigned_varint(tag) + unsigned_varint(len(data)) + data for tag, data in pairs
    )


NAN, ZERO, MINUS_ZERO = bytes.fromhex("7ff8000000000000"), bytes(8), b"\x80" + bytes(7)
SECTIONS = {
    "none": (section(), True),
    "known": (section((0, b"\0\0\0\7"), (2, b"\2x")), True),
    "default": (section((0, b"\0\0\0\0")), False),
    "null as default": (section((2, b"\0")), False),
    "struct": (section((3, b"\1\5\0")), True),
    "presence": (section((3, b"\2\5\0")), False),
    "array": (section((5, b"\3\2a\2b")), True),
    "no elements": (section((5, b"\1")), False),
    "not a number": (section((6, NAN)), True),
    "zero": (section((6, ZERO)), False),
    "minus zero": (section((6, MINUS_ZERO)), False),
    "unknown": (section((0, b"\0\0\0\7"), (9, b"abc")), True),
    "unknown between": (section((1, b"abc"), (2, b"\2x"), (300, bytes(200))), True),
    "order": (section((2, b"\2x"), (0, b"\0\0\0\7")), False),
    "twice": (section((9, b""), (9, b"")), False),
    "size": (section((0, b"\0\0\0\7\0")), False),
    "long count": (b"\x81\0" + section((0, b"\0\0\0\7"))[1:], False),
    "many": (unsigned_varint(1 << 30) + b"\0\4\0\0\0\7", False),
    "negative tag": (b"\1\xff\xff\xff\xff\x0f\0", False),
    "beyond": (b"\1\x09\x05ab", False),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_tag_sections(name):
    data, whole = SECTIONS[name]
    assert check(tagged_spec(), 1, data) is whole


def test_a_tag_of_other_versions_is_malformed():
    spec = definition(
        field("int32", name="A", versions="1", taggedVersions="1+", tag=0),
        field("int8"),
        flexibleVersions="0+",
        validVersions="0-2",
    )
    assert not check(spec, 2, b"\1\1\0\4\0\0\0\7")
    assert check(spec, 2, b"\1\1\1\4\0\0\0\7")


# Numbers


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("zigzag", [True, False])
@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
def test_varints(kind, bits, zigzag):
    encoding = f"{'' if zigzag else 'u'}packed{bits}"
    decl = encoded_int(kind, encoding)
    assert isinstance(decl, Varint)
    spec = definition(field(kind, encoding=encoding))
    rng = random.Random(bits)
    numbers = [
        n
        for n in (
            0,
            1,
            -1,
            63,
            64,
            127,
            128,
            decl.low,
            decl.high,
            *(rng.randrange(decl.low, decl.high + 1) for _ in range(20)),
        )
        if decl.low <= n <= decl.high
    ]
    for number in numbers:
        data = decl.build(number)
        assert varint_reader(decl)(data, 0) == (number, len(data))
    for _ in range(300):
        data = rng.randbytes(rng.randrange(1, 12))
        check(spec, 0, data)


# Hostile definitions

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
    spec = definition(*(field("string", name=f"F{number}") for number in range(5000)))
    assert by_reader(entry_for(spec, 0), bytes(10_000), "base64") is None
    tags = definition(*(field("int32", name=f"F{number}", taggedVersions="1+", tag=number) for number in range(5000)))
    assert by_reader(entry_for(tags, 1), section((4999, b"\0\0\0\7")), "base64") is None


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


# Records


class Rows(Sink):
    """Records as tuples."""

    names = MappingProxyType({name: name for name in ("timestampDelta", "offsetDelta", "key", "value", "headers")})
    empty = "()"

    def keeps(self, node, *, top):  # noqa: ARG002 - as the sink has it
        return node.name != "attributes"

    def data(self, node, data, size):  # noqa: ARG002 - as above
        return data

    def array(self, out, name):
        out.add(f"{name} = tuple({name})")

    def only(self, value):
        return f"({value},)"

    def struct(self, out, pairs):  # noqa: ARG002 - as above
        return f"({', '.join(value for _, value in pairs)},)"


class Counts(Counter):
    """Bytes of records by leaf."""

    names = Rows.names


RECORDS = records_entry(v2.RECORDS)
READ = records_reader(
    RECORDS,
    Rows(),
    ("base",),
    ("offset = base + offsetDelta", "add((offset, timestampDelta, key, value, headers, key_at, value_at))"),
    "offset",
)
COUNT = records_counter(RECORDS, Counts(RECORDS.program), ("rows",), ("rows.append(offsetDelta)",))


def areas():
    """The records of all batches of format v2 in the samples."""
    for path in sorted([*SEGMENTS.glob("*/*.log"), *(SEGMENTS.parent / "logs").glob("*/*.log")]):
        for item in items(source_of(path)):
            if isinstance(item, Batch) and item.layout.name == "v2":
                packed = bytes(item.source.data[item.position + item.layout.head.size : item.end])
                yield decompress(item.head.codec, packed, item.source.limits)[0] if item.head.codec else packed


def raw(data):
    return None if data is None else base64.b64decode(data)


def check_records(area):
    """Hold the reader and the counter of records against the spans; return how many records the reader took, and of how
    many.
    """
    spans = walk(RECORDS, area)
    tree = build(RECORDS, spans)
    whole = not (spans.flags or spans.lost >= 0 or anomalies(tree))
    expected = value(tree.root, tree)["records"] if spans.node else []
    found, upto, right, taken, last = READ(area, 0, len(area), 1 << 20, 100)
    assert right == (upto == len(area))
    assert right or not whole
    assert taken == len(found)
    if whole:
        assert taken == len(expected)
    if found:
        assert last == found[-1][0]
    for (offset, delta, key, data, headers, key_at, value_at), say in zip(found, expected, strict=False):
        assert (offset - 100, delta, key, data) == (
            say["offsetDelta"],
            say["timestampDelta"],
            raw(say["key"]),
            raw(say["value"]),
        )
        assert headers == tuple((each["key"], raw(each["value"])) for each in say["headers"])
        assert key is None or area[key_at : key_at + len(key)] == key
        assert data is None or area[value_at : value_at + len(data)] == data
    sums, rows = COUNT.sums(), []
    counted = COUNT.count(area, 0, len(area), sums, rows)
    assert (counted is None) == (not right)
    if counted is None:
        assert sums == COUNT.sums()
    else:
        assert counted[0] == taken == len(rows)
        texts = [
            each
            for _, _, key, data, headers, *_ in found
            for each in (key, data, *(part for header in headers for part in header))
        ]
        assert counted[1] == sum(
            len(each.encode() if isinstance(each, str) else each) for each in texts if each is not None
        )
        totals = {leaf.id: numbers for leaf, *numbers in COUNT.totals(sums)}
        assert totals == summed(spans)
    return taken, len(expected)


def test_records_of_the_samples():
    assert sum(taken for taken, _ in map(check_records, areas())) > 500


def test_mutations_of_records():
    rng = random.Random(18)
    for area in areas():
        if len(area) < 5000:
            check_records(mutated(area, rng))


TEXT = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), TEXT), max_size=70)
ANY = st.lists(
    st.builds(record, TEXT, TEXT, st.integers(-5, 1 << 20), st.integers(-(1 << 40), 1 << 40), HEADERS), max_size=5
)


@given(ANY, st.integers(0, 1 << 32))
def test_any_records(records, seed):
    area = v2.RECORDS.build({"records": records})
    assert check_records(area) == (len(records), len(records))
    check_records(mutated(area, random.Random(seed)))


def test_records_are_read_some_at_a_time():
    area = v2.RECORDS.build({"records": [record(b"k", b"v", number) for number in range(10)]})
    first = READ(area, 0, len(area), 4, 0)
    assert (len(first[0]), first[2:]) == (4, (True, 4, 3))
    again = READ(area, first[1], len(area), 100, 0)
    assert again[1:] == (len(area), True, 6, 9)
    assert READ(area, len(area), len(area), 4, 0) == ([], len(area), True, 0, 0)
