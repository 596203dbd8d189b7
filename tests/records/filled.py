"""A value of every field of a message, made from its declaration."""

import kwire_cli as kwire
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint


def sample(spec, version):
    """The JSON form and the bytes of a message, given as its definition or its name: one element in each array, nothing
    null, no tagged field.
    """
    spec = kwire.catalog().message(spec) if isinstance(spec, str) else spec
    decl = declare(spec, version)
    value = _fill(decl)
    return value, decl.build(value, lenient=False)


def _fill(decl):
    if isinstance(decl, MessageStruct):
        return {sc.name: _fill(sc.subcon) for sc in decl.subcons}
    if isinstance(decl, NullableStruct):
        return _fill(decl.subcon)
    if isinstance(decl, ArrayOf):
        return [_fill(decl.element)]
    if isinstance(decl, FixedInt | Varint):
        return 1
    if isinstance(decl, Bool):
        return True
    if isinstance(decl, Float64):
        return 0.5
    if isinstance(decl, Uuid):
        return "AAAAAAAAAAEAAAAAAAAAAg"
    return "text" if decl.kind == "string" else "AAECAw=="
