"""What a definition says of a version is the layout that bytes are read and written by, for every version of every
message.
"""

import kwire_cli as kwire
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.reading import ENCODABLE_TYPES
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Prefixed
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import FixedInt, Varint

SPECS = [kwire.catalog().message(entry.name) for entry in kwire.catalog()]


def wire(decl):
    """The form of a declaration, as `StructAt.wire` tells it of a definition."""
    if isinstance(decl, MessageStruct):
        plain = tuple(part for sc in decl.subcons for part in wire(sc.subcon))
        return (
            (*plain, ("tags", tuple((field.tag, wire(field.subcon)) for field in decl.tags.known)))
            if decl.tags
            else plain
        )
    if isinstance(decl, NullableStruct):
        return (("presence", decl.tagged, wire(decl.subcon)),)
    if isinstance(decl, Prefixed):
        form = (
            ("array", decl.compact, wire(decl.element))
            if isinstance(decl, ArrayOf)
            else (decl.kind.replace("records", "bytes"), decl.compact)
        )
        return (form, "or null") if decl.nullable else (form,)
    if isinstance(decl, Varint):
        return (
            (
                "integer",
                "packed" if decl.zigzag else f"upacked{decl.bits}",
                min(decl.bits, int(decl.kind.removeprefix("int"))),
            ),
        )
    if isinstance(decl, FixedInt) and decl.kind in ENCODABLE_TYPES:
        bits = [int(kind.removeprefix("int")) for kind in (decl.kind, decl.wire)]
        return (("integer", f"fixed{bits[1]}", min(bits)),)
    return ((decl.kind,),)


def structs(decl):
    """Every struct of a declaration, outermost first, in the order of its fields."""
    if isinstance(decl, MessageStruct):
        yield decl
        for sc in decl.subcons:
            yield from structs(sc.subcon)
        for field in decl.tags.known if decl.tags else ():
            yield from structs(field.subcon)
    elif isinstance(decl, NullableStruct):
        yield from structs(decl.subcon)
    elif isinstance(decl, ArrayOf):
        yield from structs(decl.element)


def structs_at(struct):
    yield struct
    for field in (*struct.plain, *struct.tagged):
        if field.struct:
            yield from structs_at(field.struct)


def test_a_definition_at_a_version_is_its_layout():
    """The same fields on the wire, the same tags that other versions have, and the same defaults of tagged fields."""
    for spec in SPECS:
        for version in spec.valid_versions.each():
            layout, declared = layout_at(spec, version), declare(spec, version)
            assert layout.wire == wire(declared), (spec.name, version)
            for at, decl in zip(structs_at(layout), structs(declared), strict=True):
                assert at.foreign == (decl.tags.invalid if decl.tags else frozenset()), (spec.name, version)
                assert [field.spec.json_name for field in at.plain] == [sc.name for sc in decl.subcons], spec.name
                known = decl.tags.known if decl.tags else ()
                for field, declaration in zip(at.tagged, known, strict=True):
                    assert field.spec.json_name == declaration.name, (spec.name, version)
                    assert plain(field.default) == plain(declaration.default), (spec.name, version)


def plain(default):
    """A default without the names in it, as it is compared."""
    if isinstance(default, dict):
        return tuple(plain(value) for value in default.values())
    return tuple(default) if isinstance(default, list) else default
