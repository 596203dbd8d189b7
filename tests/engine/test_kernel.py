from array import array

import pytest
from kit.logs import RECORD_SETS, batch, message, record
from kit.messages import FLEXIBLE, definition, field, sample

from kwire_cli.engine import kernel, program as p, spans
from kwire_cli.engine.codes import KERNEL_BITS
from kwire_cli.engine.lower import entry_for, lower, records_entry
from kwire_cli.engine.program import Program
from kwire_cli.engine.spans import walk
from kwire_cli.message.decoded import decode_spec
from kwire_cli.structs.messages import declare
from kwire_cli.structs.records import v2


def entry_of(row):
    return entry_for(row.catalog.message(row.message), row.version)


def columns(spans):
    return [*spans.node], [*spans.value], [*spans.end], spans.flags, spans.used, spans.lost


def covered(spans):
    """Whether the spans lead from the first byte to the last, each beginning where the one before it ended."""
    at = spans.start
    for value, end in zip(spans.value, spans.end, strict=True):
        assert at <= value <= end
        at = end
    return at == spans.stop


def run_jobs(run, program, data, jobs, chunk, *, array=list, narrow=list):
    """What the kernel makes of several jobs: all columns together, the flags, and the jobs as it leaves them."""
    room = chunk + program.widest
    jobs = array(jobs)
    state = array(spans.first_state(program, list(jobs), chunk))
    code, tables = array(program.code), array(program.tables or [0])
    out = [narrow([0] * room), array([0] * room), array([0] * room)]
    pairs = array([0] * (4 * room))
    rows, flags = [], []
    status = kernel.FULL
    while status == kernel.FULL:
        status = run(code, tables, data, jobs, *out, pairs, state)
        n, f = int(state[p.STATE_SPANS]), int(state[p.STATE_FLAGS])
        assert n <= room
        rows += zip(*([int(x) for x in column[:n]] for column in out), strict=True)
        flags += [(int(pairs[i]), int(pairs[i + 1])) for i in range(0, f, 2)]
    return rows, flags, [int(x) for x in jobs]


def all_jobs(rows):
    """One program of all layouts, one string of all bodies, one job for each."""
    program, entries, data, jobs = Program(), {}, b"", []
    for row in rows:
        key = (row.kafka, row.message, row.version)
        if key not in entries:
            entries[key] = lower(declare(row.catalog.message(row.message), row.version), program)
        jobs += [entries[key].pc, len(data), len(data) + len(row.body), 0, 0, 0, 0]
        data += row.body
    return program, data, jobs


@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_the_kernel_resumes_where_the_output_was_full(chunk, monkeypatch):
    cut = [row.body[: len(row.body) * 2 // 3] for row in sample()]
    whole = [
        columns(walk(entry_of(row), data)) for row, end in zip(sample(), cut, strict=True) for data in (row.body, end)
    ]
    monkeypatch.setattr(spans, "CHUNK", chunk)
    assert [
        columns(walk(entry_of(row), data)) for row, end in zip(sample(), cut, strict=True) for data in (row.body, end)
    ] == whole


def test_the_columns_of_many_spans_are_arrays(monkeypatch):
    rows = [row for row in sample() if len(row.body) > 100]
    lists = [walk(entry_of(row), row.body) for row in rows]
    monkeypatch.setattr(spans, "MANY", 1)
    monkeypatch.setattr(spans, "CHUNK", 8)
    arrays = [walk(entry_of(row), row.body) for row in rows]
    assert {type(each.node) for each in lists} == {list}
    assert array in {type(each.end) for each in arrays}
    assert [columns(each) for each in arrays] == [columns(each) for each in lists]
    row = rows[0]
    longer = spans.without_rest(walk(entry_of(row), row.body + b"\xff"))
    assert columns(longer) == columns(lists[0])


def test_the_kernel_resumes_amid_an_array_of_structs(monkeypatch):
    spec = definition(field("[]S", fields=[{"name": "A", "type": "int8"}, {"name": "B", "type": "int16"}]))
    data = b"\0\0\1\0" + bytes(3 * 256)
    for body in (data, data[:-1], data[:-2], data[:-3]):
        monkeypatch.setattr(spans, "CHUNK", 4096)
        whole = columns(walk(entry_for(spec, 0), body))
        for chunk in range(1, 9):
            monkeypatch.setattr(spans, "CHUNK", chunk)
            assert columns(walk(entry_for(spec, 0), body)) == whole


def test_a_struct_with_more_fields_than_the_output_has_room_for(monkeypatch):
    spec = definition(*({"name": f"F{i}", "type": "int8"} for i in range(70)))
    twice = definition(
        field("[]S", fields=[{"name": "T", "type": "string"}, *({"name": f"F{i}", "type": "int8"} for i in range(70))])
    )
    for each, data in ((spec, bytes(70)), (twice, b"\0\0\0\x09" + bytes(9 * 72))):
        whole = columns(walk(entry_for(each, 0), data))
        for chunk in (1, 2, 3, 40, 72):
            monkeypatch.setattr(spans, "CHUNK", chunk)
            assert columns(walk(entry_for(each, 0), data)) == whole
        monkeypatch.undo()


@pytest.mark.parametrize("chunk", [1, 4096])
def test_one_run_walks_many_messages_of_many_kinds(chunk):
    rows = sample()
    program, data, jobs = all_jobs(rows)
    out, flags, jobs = run_jobs(kernel.run, program, data, jobs, chunk)
    assert flags == []
    firsts = [jobs[i + 3] for i in range(0, len(jobs), p.JOB)] + [len(out)]
    for i, row in enumerate(rows):
        alone = walk(entry_of(row), row.body)
        start, used, bits = jobs[i * p.JOB + 1], jobs[i * p.JOB + 4], jobs[i * p.JOB + 5]
        mine = out[firsts[i] : firsts[i + 1]]
        assert [end - start for _, _, end in mine] == alone.end
        assert [value - start for _, value, _ in mine] == alone.value
        kinds = [(leaf.kind, leaf.path) for leaf in (program.leaves[node] for node, _, _ in mine)]
        assert kinds == [(leaf.kind, leaf.path) for leaf in (alone.program.leaves[node] for node in alone.node)]
        assert (used - start, bits) == (len(row.body), 0)


LONGEST = sorted(sample(), key=lambda row: (row.message not in {"MetadataResponse", "FetchResponse"}, -len(row.body)))[
    :12
]


@pytest.mark.parametrize("row", LONGEST, ids=str)
def test_a_body_cut_at_every_byte(row):
    spec = row.catalog.message(row.message)
    whole = walk(entry_of(row), row.body)
    for end in range(len(row.body)):
        decoded = decode_spec(spec, row.body[:end], row.version)
        spans = decoded.raw
        assert covered(spans)
        assert not decoded.complete
        assert spans.lost > 0
        # what was decoded is what the whole message has there; then comes one gap
        gap = len(spans.node) - 1
        assert spans.node[:gap] == whole.node[:gap]
        assert spans.end[:gap] == whole.end[:gap]
        assert spans.node[gap] == p.GAP
        assert "TRUNCATED" in [anomaly.code for anomaly in decoded.anomalies]
        assert [span.kind for span in decoded.spans].count("gap") == 1
        assert decoded.size == end - (decoded.spans[-1].end - decoded.spans[-1].start)
        assert isinstance(decoded.value, dict)


def items(item):
    return 1 + sum(items(part) for part in item.parts)


def nested(*names):
    """Arrays in arrays, of structs without a field."""
    struct = {"name": names[0], "type": f"[]S{len(names)}"}
    return struct | ({"fields": [nested(*names[1:])]} if names[1:] else {"fields": []})


@pytest.mark.parametrize(("names", "counts"), [("A", [2**31 - 1]), ("A", [200]), ("AB", [100, *[90] * 100])])
def test_elements_without_bytes_are_no_way_to_cost_time(names, counts):
    spec = definition(nested(*names) | {"name": "F"}, field("[]int8") | {"name": "G"})
    data = b"".join(count.to_bytes(4, "big") for count in counts) + bytes(60)
    decoded = decode_spec(spec, data, 0)
    assert "INVALID_LENGTH" in [anomaly.code for anomaly in decoded.anomalies]
    assert covered(decoded.raw)
    assert items(decoded.tree.root) <= 4 * len(data)


def test_a_flexible_element_without_fields_has_a_byte():
    spec = definition(field("[]T", fields=[]))
    decoded = decode_spec(spec, b"\3\0\0\0", FLEXIBLE)
    assert decoded.value == {"f": [{}, {}]}
    assert not decoded.anomalies


def hollow(count):
    """Structs without a field."""
    return [{"name": f"E{i}", "type": f"E{i}", "fields": []} for i in range(count)]


def chain(depth, inner):
    """A struct in a struct in a struct."""
    return {"name": f"C{depth}", "type": f"C{depth}", "fields": [chain(depth - 1, inner) if depth else inner]}


BYTE = {"name": "B", "type": "int8"}
TEXT = {"name": "T", "type": "string"}
HEAVY = {
    "nothing else": hollow(300),
    "a byte": [BYTE, *hollow(300)],
    "a text": [TEXT, *hollow(300)],
    "a null": [{"name": "N", "type": "N", "nullableVersions": "0+", "fields": hollow(300)}],
    "an array": [{"name": "A", "type": "[]S", "fields": [BYTE]}, *hollow(300)],
    "elements without bytes": [{"name": "A", "type": "[]S", "fields": hollow(300)}],
    "deep": [chain(25, BYTE)],
}


@pytest.mark.parametrize("fields", HEAVY.values(), ids=HEAVY)
@pytest.mark.parametrize("octet", [0, 1])
def test_no_definition_makes_more_than_a_few_items_of_a_byte(fields, octet):
    spec = definition(field("[]F", fields=fields))
    data = (2000).to_bytes(4, "big") + bytes([0, 0, 0, octet]) * 2000
    decoded = decode_spec(spec, data, 0)
    assert covered(decoded.raw)
    assert items(decoded.tree.root) <= 20 * len(data)
    if decoded.raw.lost > 0:
        assert "INVALID_LENGTH" in [anomaly.code for anomaly in decoded.anomalies]


def test_a_few_structs_without_a_field_are_no_fault():
    spec = definition(field("[]F", fields=[BYTE, *hollow(15)]))
    decoded = decode_spec(spec, (1000).to_bytes(4, "big") + bytes(range(100)) * 10, 0)
    assert not decoded.anomalies
    assert [element["b"] for element in decoded.value["f"]] == [*range(100)] * 10
    assert decoded.value["f"][0]["e7"] == {}


def test_no_definition_of_kafkas_has_elements_with_a_weight():
    for row in sample():
        entry = entry_of(row)
        code = entry.program.code
        for at in range(0, len(code), p.STRIDE):
            assert code[at] not in {p.ARRAY32, p.ARRAYV} or code[at + 4] == 0


class Counted(list):
    """A list that counts how often something is taken from it."""

    taken = 0

    def __getitem__(self, at):
        self.taken += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 64, 1000])
def test_every_tag_is_found_among_many_in_a_few_steps(count):
    # Of every third there is no field in version 1.
    tagged = [
        {"name": f"A{i}", "type": "int16", "tag": i, "taggedVersions": "1+", "versions": "0+" if i % 3 else "2+"}
        for i in range(count)
        if i != 5
    ]
    spec = definition(*tagged, validVersions="0-2")
    tags = [*range(count + 2)]
    data = b"".join(map(varint, [len(tags)])) + b"".join(
        varint(tag) + b"\2" + (tag + 1).to_bytes(2, "big") for tag in tags
    )
    decoded = decode_spec(spec, data, 1)
    known = [i for i in range(count) if i % 3 and i != 5]
    value = decoded.value
    unknown = [entry["tag"] for entry in value.pop("unknownTaggedFields")]
    assert {name: number for name, number in value.items() if number} == {f"a{i}": i + 1 for i in known}
    assert unknown == [tag for tag in tags if tag not in known]
    invalid = [a for a in decoded.anomalies if a.code == "TAG_NOT_VALID"]
    assert len(invalid) == len([i for i in range(count) if i % 3 == 0])

    entry = lower(declare(spec, 1))
    tables = Counted(entry.program.tables)
    entry.program.tables = tables
    walk(entry, data)
    assert tables.taken <= len(tags) * (8 + count.bit_length())


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def test_every_bit_has_a_name():
    assert len(KERNEL_BITS) == 16
    assert all(bit & bit - 1 == 0 for bit in KERNEL_BITS)


def damaged_jobs(rows):
    """All bodies, and of the first ones cut, damaged and hostile bytes too."""
    program, data, jobs = all_jobs(rows)
    for i, row in enumerate(rows[:400]):
        pc = jobs[i * p.JOB]
        cut = row.body[: len(row.body) // 2]
        damaged = bytes(byte ^ 0xFF if k % 7 == 3 else byte for k, byte in enumerate(row.body))
        for body in (cut, damaged, b"\xff" * 12, row.body + b"\0"):
            jobs += [pc, len(data), len(data) + len(body), 0, 0, 0, 0]
            data += body
    return program, data, jobs


class Natural(list):
    """A list that refuses negative indexes, which the compiled kernel does not test."""

    def __getitem__(self, at):
        assert isinstance(at, slice) or at >= 0
        return super().__getitem__(at)

    def __setitem__(self, at, value):
        assert at >= 0
        super().__setitem__(at, value)


@pytest.mark.parametrize("chunk", [1, 4096])
def test_no_index_is_negative_or_beyond_the_end(chunk):
    for program, data, jobs in (damaged_jobs(sample()), record_jobs()):
        some = jobs[-2000 * p.JOB :]
        plain = run_jobs(kernel.run, program, data, some, chunk)
        assert run_jobs(kernel.run, program, Natural(data), some, chunk, array=Natural, narrow=Natural) == plain


def record_jobs():
    """Jobs of every record format over good, cut, damaged and hostile bytes, in one program."""
    entries = {name: records_entry(decl) for name, decl in RECORD_SETS.items()} | {"records": records_entry(v2.RECORDS)}
    one = record(None, b"\1\2", 70, 9000, [("h", None)])
    records = v2.RECORDS.build({"records": [one, record(None, b"\1\2")] * 3})
    batches = (batch(3, [one]) + batch(3, codec=3, packed=b"\xff")) * 3
    messages = message("v1", 1, b"\1", b"", attributes=0x10) * 3
    data, jobs = b"", []
    for entry in entries.values():
        for body in (records, batches, messages, b"", b"\xff" * 30, bytes(200), bytes(range(256))):
            changed = [
                body[:at] + bytes([byte]) + body[at + 1 :]
                for at in range(min(len(body), 40))
                for byte in (0, 0x7F, 0xFF)
            ]
            for each in [body, *(body[:end] for end in range(0, min(len(body), 90), 3)), *changed]:
                jobs += [entry.pc, len(data), len(data) + len(each), 0, 0, 0, 0]
                data += each
    return entries["v0"].program, data, jobs


def test_numba_compiles_the_kernel_unchanged():
    """What stops the kernel stops the compiled one alike; test_compiled.py has all golden bodies."""
    import numpy as np

    from kwire_cli.engine.compiled import compiled_kernel

    def wide(values):
        return np.array(values, dtype=np.int64)

    def narrow(values):
        return np.array(values, dtype=np.int32)

    run = compiled_kernel()
    for program, data, jobs in (damaged_jobs(sample()), record_jobs()):
        octets = np.frombuffer(data, dtype=np.uint8)
        plain = run_jobs(kernel.run, program, data, jobs, 4096)
        assert run_jobs(run, program, octets, jobs, 4096, array=wide, narrow=narrow) == plain
        assert len(plain[0]) > 1000
        some = jobs[: 300 * p.JOB]
        small = run_jobs(run, program, octets, some, 1, array=wide, narrow=narrow)
        assert small == run_jobs(kernel.run, program, data, some, 4096)
    assert len(run.signatures) == 1
