"""Values in JSON form that a declaration takes: hypothesis strategies made from the declarations themselves."""

import base64

from hypothesis import strategies as st

from kwire_cli.structs.lengths import UNKNOWN_KEY, ArrayOf, NullableStruct
from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
BYTES = st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode())
UUIDS = st.binary(min_size=16, max_size=16).map(lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="))
FLOATS = st.sampled_from(["NaN", "Infinity", "-Infinity"]) | st.floats(allow_nan=False, allow_infinity=False)


def integers(low, high):
    edges = [n for n in (low, -1, 0, 1, 63, 64, 127, 128, 16383, 16384, high) if low <= n <= high]
    return st.sampled_from(edges) | st.integers(low, high)


def values(decl):
    """Values of a construct: for a message a dict in which tagged fields may be absent, and unknown tags may stand."""
    if isinstance(decl, MessageStruct):
        return structs(decl)
    if isinstance(decl, NullableStruct):
        return st.none() | structs(decl.subcon)
    if isinstance(decl, ArrayOf):
        lists = st.lists(values(decl.element), max_size=3)
        return st.none() | lists if decl.nullable else lists
    if isinstance(decl, FixedInt | Varint):
        return integers(decl.low, decl.high)
    fixed = next(
        (
            strategy
            for kind, strategy in ((Bool, st.booleans()), (Float64, FLOATS), (Uuid, UUIDS))
            if isinstance(decl, kind)
        ),
        None,
    )
    if fixed is not None:
        return fixed
    sized = TEXT if decl.kind == "string" else BYTES
    return st.none() | sized if decl.nullable else sized


def structs(decl):
    plain = {sc.name: values(sc.subcon) for sc in decl.subcons}
    if not decl.tags:
        return st.fixed_dictionaries(plain)
    tagged = {
        field.name: values(field.subcon).filter(lambda v, field=field: v != field.default) for field in decl.tags.known
    }
    taken = {field.tag for field in decl.tags.known} | decl.tags.invalid
    tags = integers(0, 2**31 - 1).filter(lambda tag: tag not in taken)
    unknown = st.dictionaries(tags, BYTES, min_size=1, max_size=2).map(
        lambda d: [{"tag": tag, "data": d[tag]} for tag in sorted(d)]
    )
    return st.fixed_dictionaries(plain, optional=tagged | {UNKNOWN_KEY: unknown})
