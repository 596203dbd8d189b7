"""The generator of readers: statements that read the nodes of a lowered layout, for messages and records alike.

Nodes are visited in wire order, and each visit appends lines to a `Source`. A sink (`Sink`) determines the values that
are built from the bytes. Strings of definitions never become part of the source: names and defaults are constants of
its
namespace.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import weight
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.python_source import (
    ERROR,
    TOPIC,
    TOPIC_ID,
    Counter,
    Sink,
    Source,
    UnsupportedError,
    varint_reader,
)
from kwire_cli.structs.composites import UNKNOWN_KEY
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.engine.program import Node


class Writer:
    """Writes the statements that read nodes of a layout for a sink.

    `roles` are roles by node, `naming` the pairs of a topic's name and its id in one structure. Statements read
    `data` at `at`. Where bytes are not well-formed they raise MalformedError or one of `reader.FAULTS`, or go beyond
    `stop`, which the function around them checks at its end.
    """

    def __init__(
        self, sink: Sink, roles: Mapping[int, str] | None = None, naming: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.out = Source(sink.space)
        self.sink = sink
        self.roles = roles or {}
        self.naming = dict(naming)
        self._counter = sink if isinstance(sink, Counter) else None
        self._tagging = 0  # depth of tagged fields around the current node
        self._bounded = False  # whether a size determines the end of the structure
        self._occurs = ""  # the counter of the current structure
        # Fixed-size values that are unpacked together: code, name, statements after them, node of a place.
        self._run: list[tuple[str, str, list[str], int]] = []

    # Values of fixed size

    def flush(self) -> None:
        """Write what unpacks the values that wait."""
        run, self._run = self._run, []
        if not run:
            return
        codes = "".join(code for code, _, _, _ in run)
        names = [name for _, name, _, _ in run if name]
        left = struct.calcsize(">" + codes)
        if names:
            self.out.add(f"{', '.join(names)}, = {self.out.unpack(codes)}(data, at)")
        self.out.add(f"at += {left}")
        for code, _, after, place in run:
            if place:
                self.out.add(f"rows.append((0, {place}, at - {left}, at - {left - struct.calcsize('>' + code)}))")
            left -= struct.calcsize(">" + code)
            self.out.add(*after)

    def _fixed(self, node: Leaf, name: str, *, kept: bool) -> None:
        """Let a leaf of fixed size wait for its neighbours."""
        decl = node.decl
        role = self.roles.get(node.id)
        after: list[str] = []
        code = "d"
        size = decl.length
        if isinstance(decl, FixedInt):
            code = decl.fmtstr[1]
            if decl.declared:
                after.append(f"if not {decl.declared[0]} <= {name} <= {decl.declared[1]}: raise Malformed")
            if role == ERROR:
                after.append(f"if {name}: errors.append({name})")
        elif isinstance(decl, Bool):
            code = "B"
            after.append(f"if {name} > 1: raise Malformed")
            if kept:
                after.append(f"{name} = {name} == 1")
        elif isinstance(decl, Uuid):
            code = "16s"
            if kept or role == TOPIC_ID:
                after.append(f"{name} = uuid({name})")
            if role == TOPIC_ID:
                after.append(f"if {name} != NO_ID: ids.append({name})")
        elif kept:
            after.append(f"{name} = float64({name})")
        named = kept or bool(after)
        place = 0
        if self._counter:
            self._counter.leaf(node, self._occurs, value=size)
            place = node.id if node.id in self._counter.places else 0
        self._run.append((code if named else f"{size}x", name if named else "", after, place))

    # Lengths and counts

    def _length(self, decl: Any, name: str, *, most: int = 0) -> tuple[str, str, tuple[int, str]]:
        """Write the statements that read a length or count.

        Return the conditions for a value and for null, and the size of the length: a fixed number of bytes, and the
        counter of further bytes. A compact length is left as it is stored, plus one. `most` is the allowed maximum.
        """
        out = self.out
        extra = ""
        if decl.compact:
            self.flush()
            out.add(f"{name} = data[at]", "at += 1")
            with out.block(f"if {name} > 127:"):
                if self._counter:
                    extra = self._counter.more(seldom=True)
                    out.add(f"{extra} -= at")
                out.add(f"{name}, at = more(data, at, {name})")
                if extra:
                    out.add(f"{extra} += at")
                if most:
                    out.add(f"if {name} > {most + 1}: raise Malformed")
            return name, f"not {name}", (1, extra)
        width = 1
        if isinstance(decl.prefix, FixedInt):
            self._run.append((decl.prefix.fmtstr[1], name, [], 0))
            self.flush()
            width = decl.prefix.length
        elif decl.prefix.zigzag:
            extra = self._zigzag(decl.prefix, name)
        else:
            self.flush()
            if self._counter:
                raise UnsupportedError
            out.add(f"{name}, at = {out.constant(varint_reader(decl.prefix))}(data, at)")
        if most and not (isinstance(decl.prefix, FixedInt) and decl.prefix.high <= most):
            out.add(f"if {name} > {most}: raise Malformed")
        return f"{name} >= 0", f"{name} == -1", (width, extra)

    def _zigzag(self, decl: Varint, name: str) -> str:
        """Write the statements that read a zig-zag number. Return the counter of its bytes after the first.

        Numbers of one or two bytes are read inline, because most have this size. A second byte of 0 is an overlong
        form.
        """
        out = self.out
        extra = self._counter.more() if self._counter else ""
        self.flush()
        out.add(f"{name} = SHORT[data[at]]")
        with out.block(f"if {name} is None:"):
            out.add("byte = data[at + 1]")
            with out.block("if 0 < byte < 128:"):
                out.add(f"{name} = data[at] & 127 | byte << 7", f"{name} = {name} >> 1 ^ -({name} & 1)", "at += 2")
                if extra:
                    out.add(f"{extra} += 1")
            with out.block("else:"):
                if extra:
                    out.add(f"{extra} -= at + 1")
                out.add(f"{name}, at = {out.constant(varint_reader(decl))}(data, at)")
                if extra:
                    out.add(f"{extra} += at")
        out.add("else: at += 1")
        return extra

    def _sized(self, node: Leaf, name: str, *, kept: bool) -> None:
        """Write what reads a string, bytes or records."""
        out = self.out
        decl = node.decl
        sink = self.sink
        counter = self._counter
        size = f"{name}_size"
        role = self.roles.get(node.id)
        text = node.kind == "string"
        kept = kept or role == TOPIC
        if self._tagging and node.kind == "records" and sink.records != "base64":
            raise UnsupportedError  # such a value can't be compared with its default
        there, null, prefix = self._length(decl, size, most=(decl.longest or 0) if text else 0)
        with out.block(f"if {there}:"):
            if self._bounded:
                out.add(f"{name}_at = at", f"at += {size}")
                begin = f"{name}_at"
                end = "at"
            else:
                out.add(
                    f"end = at + {size} - 1" if decl.compact else f"end = at + {size}", "if end > stop: raise Malformed"
                )
                begin = "at"
                end = "end"
            data = f"data[{begin}:{end}]"
            if counter:
                total = counter.more()
                counter.sized.append(total)
                out.add(f"{total} += {end} - {begin}")
                counter.leaf(node, self._occurs, *prefix, value=0, more_value=total)
                if node.id in counter.places:
                    out.add(f"rows.append((0, {node.id}, {begin}, {end}))")
            if kept:
                out.add(f"{name} = {sink.string(data) if text or role else sink.data(node, data, f'{end} - {begin}')}")
            elif text:
                out.add(f"{data}.isascii() or {data}.decode()")
            if role == TOPIC:
                out.add(f"if {name}: topics.append({name})")
            if not self._bounded:
                out.add("at = end")
        missing = [f"{name} = None"] * kept + [f"{name}_at = at"] * self._bounded
        if counter and node.id in counter.places:
            missing.append(f"rows.append((0, {node.id}, at, at))")
        self._null(decl, null, missing)

    def _null(self, decl: Any, null: str, statements: list[str]) -> None:
        out = self.out
        if decl.nullable:
            body = "; ".join(statements) or "pass"
            out.add(f"else: {body}" if decl.compact else f"elif {null}: {body}")
        if not (decl.nullable and decl.compact):
            out.add("else: raise Malformed")

    def _varint(self, node: Leaf, name: str) -> None:
        """Write what reads a number of variable length."""
        out = self.out
        decl = node.decl
        counter = self._counter
        placed = counter is not None and node.id in counter.places
        if decl.zigzag and not decl.declared and not placed:
            extra = self._zigzag(decl, name)
            if counter:
                counter.leaf(node, self._occurs, value=1, more_value=extra)
        else:
            self.flush()
            if counter:
                out.add(f"{name}_at = at")
            out.add(f"{name}, at = {out.constant(varint_reader(decl))}(data, at)")
            if counter:
                total = counter.more()
                out.add(f"{total} += at - {name}_at")
                counter.leaf(node, self._occurs, more_value=total)
            if placed:
                out.add(f"rows.append((0, {node.id}, {name}_at, at))")
        if self.roles.get(node.id) == ERROR:
            out.add(f"if {name}: errors.append({name})")

    def _bound(self, node: Node, name: str) -> None:
        """Write the statements that read the size of a structure. It is counted as a prefix and has no value."""
        if not isinstance(node, Leaf) or not isinstance(node.decl, Varint) or not node.decl.zigzag:
            raise UnsupportedError
        extra = self._zigzag(node.decl, name)
        if self._counter:
            self._counter.leaf(node, self._occurs, 1, extra)
        self.out.add(f"size_end = at + {name}", "if size_end > stop: raise Malformed")
        self._bounded = True

    # Nodes

    def node(self, node: Node, name: str, *, kept: bool = True) -> None:
        """Write the statements that read a node. A value that is `kept` is in `name`; fixed-size leaves need a
        flush.
        """
        if isinstance(node, Struct):
            self.struct(node, name, kept=kept)
        elif isinstance(node, Array):
            self._array(node, name, kept=kept)
        elif isinstance(node, Nullable):
            self._nullable(node, name, kept=kept)
        elif not isinstance(node, Leaf):
            raise UnsupportedError
        elif isinstance(node.decl, FixedInt | Bool | Uuid | Float64):
            self._fixed(node, name, kept=kept)
        elif isinstance(node.decl, Sized):
            self._sized(node, name, kept=kept)
        elif isinstance(node.decl, Varint):
            self._varint(node, name)
        else:
            raise UnsupportedError

    def struct(self, node: Struct, name: str, *, kept: bool, top: bool = False) -> None:
        """Write the statements that read a structure with its tag section; `top` is set for the message itself."""
        out = self.out
        sink = self.sink
        pairs: list[tuple[Node, str]] = []
        names: dict[int, str] = {}
        outer = self._occurs
        bounded = self._bounded
        if self._counter:
            self._occurs = self._counter.structure()
            out.add(f"{self._occurs} += 1")
        for number, field in enumerate(node.fields):
            value = (top and sink.names.get(field.name)) or out.name()
            wanted = sink.keeps(field, top=top)
            if number == node.size:
                self._bound(field, value)
                continue
            if before := sink.before(value):
                self.flush()
                out.add(*before)
            self.node(field, value, kept=wanted)
            out.add(*sink.after(value))
            if wanted:
                pairs.append((field, value))
            if isinstance(field, Leaf):
                names[field.id] = value
        self.flush()
        if node.size >= 0:
            out.add("if at != size_end: raise Malformed")
        for topic, topic_id in self.naming.items():
            if topic in names and topic_id in names:
                topic_value = names[topic]
                id_value = names[topic_id]
                out.add(f"if {topic_value} and {id_value} != NO_ID: names.append(({id_value}, {topic_value}))")
        if kept:
            out.add(f"{name} = {sink.struct(out, pairs)}")
        if node.tags:
            self._tags(node.tags, name if kept else "")
        self._occurs = outer
        self._bounded = bounded

    def _array(self, node: Array, name: str, *, kept: bool) -> None:
        """Write what reads a count and elements."""
        out = self.out
        decl = node.count.decl
        element = node.element
        sink = self.sink
        if weight(decl.element):
            raise UnsupportedError  # the kernel bounds how many such elements there can be
        if not isinstance(decl.prefix, FixedInt) and decl.prefix.zigzag and not self._counter:
            # The headers of a record: none or one, as nearly all have.
            self.flush()
            with out.block("if data[at] == 0:"):
                out.add("at += 1", f"{name} = {sink.empty}")
            with out.block("elif data[at] == 2:"):
                out.add("at += 1")
                only = out.name()
                self.node(element, only)
                self.flush()
                out.add(f"{name} = {sink.only(only)}")
            with out.block("else:"):
                self._loop_over_elements(node, name, kept=kept)
            return
        self._loop_over_elements(node, name, kept=kept)

    def _loop_over_elements(self, node: Array, name: str, *, kept: bool) -> None:
        out = self.out
        decl = node.count.decl
        element = node.element
        sink = self.sink
        count = out.name()
        there, null, prefix = self._length(decl, count)
        if self._counter:
            self._counter.leaf(node.count, self._occurs, *prefix)
        with out.block(f"if {there}:"):
            if decl.compact:
                out.add(f"{count} -= 1")
            out.add(f"if {count} > stop - at: raise Malformed")
            if isinstance(element, Leaf) and isinstance(element.decl, FixedInt) and self._is_bare(element):
                size = element.decl.length
                if kept:
                    code = out.constant(f">%d{element.decl.fmtstr[1]}")
                    out.add(f"{name} = list(unpack({code} % {count}, data, at))")
                if self._counter:
                    occurs = self._counter.more()
                    out.add(f"{occurs} += {count}")
                    self._counter.leaf(element, occurs, value=size)
                out.add(f"at += {count} * {size}" if size > 1 else f"at += {count}")
            else:
                self._elements(element, name, count, kept=kept)
            if kept:
                sink.array(out, name)
        self._null(decl, null, [f"{name} = None"] if kept else [])

    def _is_bare(self, element: Leaf) -> bool:
        """Return whether the elements are numbers that only contribute their values."""
        places = self._counter.places if self._counter else ()
        return not (element.decl.declared or element.id in self.roles or element.id in places)

    def _elements(self, element: Node, name: str, count: str, *, kept: bool) -> None:
        out = self.out
        value = out.name()
        wanted = kept and self.sink.keeps(element, top=False)
        outer = self._occurs
        if kept:
            out.add(f"{name} = []")
        if self._counter and not isinstance(element, Struct):
            self._occurs = self._counter.more()
            out.add(f"{self._occurs} += {count}")
        with out.block(f"for _ in range({count}):"):
            self.node(element, value, kept=wanted)
            self.flush()
            if wanted:
                out.add(f"{name}.append({value})")
        self._occurs = outer

    def _nullable(self, node: Nullable, name: str, *, kept: bool) -> None:
        """Write what reads a presence marker and a structure."""
        out = self.out
        self.flush()
        mark = out.name()
        null = 255 if isinstance(node.presence.decl.presence, FixedInt) else 0
        out.add(f"{mark} = data[at]", "at += 1")
        if self._counter:
            self._counter.leaf(node.presence, self._occurs, 1)
        with out.block(f"if {mark} == 1:"):
            self.struct(node.struct, name, kept=kept)
        out.add(f"elif {mark} == {null}: {f'{name} = None' if kept else 'pass'}", "else: raise Malformed")

    def _tags(self, node: Tags, name: str) -> None:
        """Write what reads a tag section; its fields go into the structure `name`, if there is one."""
        out = self.out
        if self._counter:
            self._counter.leaf(node.count, self._occurs, 1)
            out.add("if data[at]: raise Malformed", "at += 1")
            return
        invalid = out.constant(node.count.decl.invalid)
        with out.block("if data[at]:"):
            if node.known:
                self._tagged(node, name, invalid)
            else:
                unknown = out.name()
                out.add(f"{unknown}, at = unknown_tags(data, at, stop, {invalid})")
                self._put_unknown(name, unknown)
        out.add("else: at += 1")

    def _tagged(self, node: Tags, name: str, invalid: str) -> None:
        out = self.out
        count, last, tag, size, value, unknown = (out.name() for _ in range(6))
        out.add(
            f"{count}, at = unsigned(data, at)",
            f"if {count} > stop - at: raise Malformed",
            f"{last} = -1",
            f"{unknown} = []",
        )
        with out.block(f"for _ in range({count}):"):
            out.add(f"{tag}, at = unsigned(data, at)", f"{size}, at = unsigned(data, at)", f"{size} += at")
            out.add(f"if {tag} <= {last} or {size} > stop: raise Malformed", f"{last} = {tag}")
            for (field, default), declared in zip(node.known.values(), node.count.decl.known, strict=True):
                with out.block(f"if {tag} == {declared.tag}:"):
                    # The value is made in any case: at its default it would not have been written.
                    outer, self.sink = self.sink, self.sink.tagged()
                    self._tagging += 1
                    self.node(field, value)
                    self.flush()
                    self._tagging -= 1
                    self.sink = outer
                    out.add(f"if at != {size} or {value} == {out.constant(default)}: raise Malformed")
                    if name:
                        out.add(f"{name}[{out.constant(field.name)}] = {value}")
                    out.add("continue")
            out.add(
                f"if {tag} in {invalid}: raise Malformed", f"{unknown}.append(({tag}, data[at:{size}]))", f"at = {size}"
            )
        self._put_unknown(name, unknown)

    def _put_unknown(self, name: str, unknown: str) -> None:
        if name:
            self.out.add(f"if {unknown}: {name}[{self.out.constant(UNKNOWN_KEY)}] = unknown_json({unknown})")
