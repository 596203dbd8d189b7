"""Readers of a layout held against the kernel, for the tests of readers."""

import base64

import kwire_cli as kwire
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID, MalformedError
from kwire_cli.engine.reader import SKIP, counter_of, reader_of
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form, anomalies, value
from kwire_cli.message.roles import roles
from kwire_cli.structs.numbers import unsigned_varint

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


def section(*pairs):
    return unsigned_varint(len(pairs)) + b"".join(
        unsigned_varint(tag) + unsigned_varint(len(data)) + data for tag, data in pairs
    )
