import construct
import pytest

from kwire_cli.engine.fixed import fixed, part
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import FIXED, INTS

HEAD = construct.Struct(
    "a" / construct.Int8ub, "b" / construct.Int16ub, "c" / construct.Bytes(3), "d" / construct.Int32ub
)
DATA = bytes.fromhex("01 0203 040506 0708090a 0b")


def test_reads_what_construct_reads():
    layout = fixed(HEAD)
    parsed = HEAD.parse(DATA)
    assert layout.names == ("a", "b", "c", "d")
    assert layout.size == HEAD.sizeof() == 10
    assert dict(zip(layout.names, layout.unpack(DATA), strict=True)) == {name: parsed[name] for name in layout.names}
    assert layout.unpack(b"\xff" + DATA, 1) == layout.unpack(DATA)
    assert list(layout.iter_unpack(DATA[:10] * 2)) == [layout.unpack(DATA)] * 2


def test_takes_some_fields_and_neighbours_in_one_piece():
    layout = fixed(HEAD, (("b", "c"),))
    assert layout.names == ("b",)
    assert layout.unpack(DATA) == (DATA[1:6],)
    assert layout.size == 6
    assert fixed(HEAD, ("a", "d")).unpack(DATA) == (1, 0x0708090A)


def test_kafkas_own_numbers():
    decl = construct.Struct(*(name / FIXED[name] for name in ("int8", "int64", "uint16", "float64", "bool", "uuid")))
    value = {"int8": -1, "int64": -2, "uint16": 65535, "float64": 0.5, "bool": True, "uuid": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert fixed(decl).unpack(decl.build(value)) == (-1, -2, 65535, 0.5, True, bytes(15) + b"\1")


@pytest.mark.parametrize(
    "decl",
    [
        construct.Struct("a" / construct.Int16ub, "b" / construct.Int16ul),
        construct.Struct("a" / Sized("string", compact=True, nullable=False)),
        construct.Struct("a" / construct.Bytes(construct.this.n)),
        construct.Struct("a" / construct.GreedyBytes),
    ],
)
def test_refuses_what_has_no_fixed_size(decl):
    with pytest.raises(TypeError):
        fixed(decl)


@pytest.mark.parametrize("take", [("d", "a"), ("nosuch",), (("a", "c"),)])
def test_refuses_fields_that_are_not_in_that_order(take):
    with pytest.raises(TypeError):
        fixed(HEAD, take)
    with pytest.raises(TypeError):
        part(HEAD, "d", "a")
    assert fixed(construct.Struct("x" / INTS["int16"])).size == 2
