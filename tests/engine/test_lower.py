from kit.messages import definition, field

from kwire_cli.engine import program as p
from kwire_cli.engine.lower import lower
from kwire_cli.structs.messages import declare


def ops(entry):
    return entry.program.code[entry.pc :: p.STRIDE]


def test_fields_of_fixed_size_are_one_instruction():
    spec = definition(
        *({"name": name, "type": kind} for name, kind in (("A", "int8"), ("B", "int64"), ("C", "uuid"), ("D", "bool")))
    )
    entry = lower(declare(spec, 0))
    assert ops(entry) == [p.RUN, p.END]
    assert entry.program.tables[1::2] == [1, 9, 25, 26]


def test_arrays_of_fixed_size_elements_are_one_instruction():
    assert ops(lower(declare(definition(field("[]int32")), 0))) == [p.FIXED32, p.END]
    pair = definition(field("[]S", fields=[{"name": "A", "type": "int8"}, {"name": "B", "type": "int16"}]))
    assert ops(lower(declare(pair, 0))) == [p.FIXED32, p.END]
    assert p.ARRAYV in ops(lower(declare(pair, 1)))


def test_an_encoded_integer_is_no_fixed_one():
    spec = definition(field("int32", encoding="packed32"), {"name": "G", "type": "int32", "encoding": "fixed64"})
    assert ops(lower(declare(spec, 0))) == [p.VARINT, p.RUN, p.END]
