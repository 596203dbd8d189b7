"""The layouts of messages in construct's own building blocks, as one would write them by hand: what `structs` would be
without the engine.
"""

from __future__ import annotations

import construct as c

from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Sized
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid

NUMBERS = {
    "int8": c.Int8sb,
    "int16": c.Int16sb,
    "uint16": c.Int16ub,
    "int32": c.Int32sb,
    "uint32": c.Int32ub,
    "int64": c.Int64sb,
}
TAGGED = c.PrefixedArray(c.VarInt, c.Struct("tag" / c.VarInt, "data" / c.Prefixed(c.VarInt, c.GreedyBytes)))
ONE_LESS = c.ExprAdapter(c.VarInt, lambda obj, _: obj - 1, lambda obj, _: obj + 1)


def stock(decl: object) -> c.Construct:
    """The same layout as `decl`; unknown and known tags alike stay bytes, which is less work than kwire does."""
    if isinstance(decl, MessageStruct):
        fields = [field.name / stock(field.subcon) for field in decl.subcons]
        return c.Struct(*fields, "_tags" / TAGGED) if decl.tags else c.Struct(*fields)
    if isinstance(decl, FixedInt):
        return NUMBERS[decl.wire]
    if isinstance(decl, Bool):
        return c.Flag
    if isinstance(decl, Float64):
        return c.Float64b
    if isinstance(decl, Uuid):
        return c.Bytes(16)
    if isinstance(decl, Sized):
        size = ONE_LESS if decl.compact else c.Int16sb if decl.kind == "string" else c.Int32sb
        raw = c.Bytes(c.this.n)
        return _nullable(size, c.StringEncoded(raw, "utf8") if decl.kind == "string" else raw)
    if isinstance(decl, ArrayOf):
        return _nullable(ONE_LESS if decl.compact else c.Int32sb, c.Array(c.this.n, stock(decl.element)))
    if isinstance(decl, NullableStruct):
        return c.FocusedSeq("v", "n" / c.Int8sb, "v" / c.If(c.this.n > 0, stock(decl.subcon)))
    raise TypeError(decl)


def _nullable(size: c.Construct, value: c.Construct) -> c.Construct:
    return c.FocusedSeq("v", "n" / size, "v" / c.IfThenElse(c.this.n < 0, c.Pass, value))
