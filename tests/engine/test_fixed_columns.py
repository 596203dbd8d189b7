"""Declarations as numpy types: what `fixed` reads one by one."""

import struct

import numpy as np
import pytest
from construct import Array, Byte

from kwire_cli.engine.compiled import field_offset, numpy_type, octets, read_rows
from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network
from kwire_cli.structs.network import PCAP, PCAPNG
from kwire_cli.structs.numbers import Bool

DECLARATIONS = [
    PCAP["<"].record,
    PCAP[">"].header,
    PCAPNG[">"].section,
    PCAPNG["<"].enhanced,
    network.IPV4,
    network.IPV6,
    network.SLL2,
    network.TCP,
]


@pytest.mark.parametrize("decl", DECLARATIONS, ids=repr)
def test_rows_are_what_fixed_reads(decl):
    layout, numbers = numpy_type(decl), fixed(decl)
    assert (layout.names, layout.itemsize) == (numbers.names, numbers.size)
    data = bytes(range(7, 256)) * 3
    starts = np.array([0, 1, 100, len(data) - numbers.size], np.int64)
    for start, row in zip(starts.tolist(), read_rows(octets(data), starts, layout), strict=True):
        assert tuple(each.tobytes() if isinstance(each, np.ndarray) else each.item() for each in row) == numbers.unpack(
            data, start
        )
    for name in numbers.names:
        assert numpy_type(decl)[name] == layout.fields[name][0]
        assert layout.fields[name][1] == field_offset(decl, name)


def test_other_kinds():
    assert numpy_type("flag" / Bool()).itemsize == struct.calcsize("?")
    with pytest.raises(TypeError):
        numpy_type(Array(2, Byte))
