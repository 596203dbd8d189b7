"""Descriptors of .proto files: proto2, proto3 and editions.

Options are skipped, except those that change the bytes: packed, and the features of editions. Names of types stay as
they are written; the descriptor pool resolves them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELD = descriptor_pb2.FieldDescriptorProto
_LABELS = {
    "optional": _FIELD.LABEL_OPTIONAL,
    "required": _FIELD.LABEL_REQUIRED,
    "repeated": _FIELD.LABEL_REPEATED,
}
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in _FIELD.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}
_TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+|/\*.*?\*/)*+(?P<token>[A-Za-z_][\w.]*|\.[A-Za-z_][\w.]*|\d[\w.+]*|"(?:[^"\\\n]|\\.)*"|"""
    r"""'(?:[^'\\\n]|\\.)*'|[^\s\w]|\Z)""",
    re.DOTALL,
)
_SPACE_AND_LESS = re.compile(r"\s*+<")
_IS_FIELD = re.compile(r"\s*+[\w.]++\s*+=")
_LARGEST = (1 << 29) - 1
_DEEPEST = 60
_EDITIONS = {"2023": descriptor_pb2.EDITION_2023, "2024": getattr(descriptor_pb2, "EDITION_2024", 0)}


def read_proto(text: str, name: str, file: str) -> descriptor_pb2.FileDescriptorProto:
    """Return the descriptor of a .proto file that others import by `name`. InputError names the line of a mistake."""
    return _Parser(text, name, file).read()


class _Parser:
    """Parser of one file, token by token."""

    def __init__(self, text: str, name: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = self.here = 0
        self.word = ""
        self.out = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto2")
        self.next()

    # Tokens.

    def next(self) -> str:
        """Return the current token, and move on to the next one; "" is the end."""
        token = self.word
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.wrong("unexpected character")
        self.here, self.at, self.word = match.start("token"), match.end(), match["token"]
        return token

    def wrong(self, what: str) -> InputError:
        """Return the error for the current token."""
        line = self.text.count("\n", 0, self.here) + 1
        return InputError(f"not a .proto file: {what}", file=self.file, line=line)

    def expect(self, token: str) -> None:
        """Move on past a token. InputError if it is another one."""
        if self.word != token:
            raise self.wrong(f"{token!r} is missing before {self.word or 'the end'!r}")
        self.next()

    def take(self, token: str) -> bool:
        """Move on past a token if it is this one."""
        if self.word != token:
            return False
        self.next()
        return True

    def name(self) -> str:
        """Return a name, and move on."""
        if not re.match(r"\.?[A-Za-z_]", self.word):
            raise self.wrong(f"a name is missing before {self.word or 'the end'!r}")
        return self.next()

    def number(self) -> int:
        """Return an integer, and move on."""
        sign = -1 if self.take("-") else 1
        try:
            text = self.word
            value = int(text, 8) if re.fullmatch(r"0[0-7]+", text) else int(text, 0)
        except ValueError:
            raise self.wrong(f"a number is missing before {self.word or 'the end'!r}") from None
        self.next()
        return sign * value

    def string(self) -> str:
        """Return the text of string literals, and move on."""
        parts = []
        while self.word[:1] in ('"', "'") and self.word:
            parts.append(self.next()[1:-1])
        if not parts:
            raise self.wrong(f"text in quotes is missing before {self.word or 'the end'!r}")
        return "".join(parts)

    def skip_to(self, *ends: str) -> list[str]:
        """Move on to one of these tokens that is outside of brackets, and return those before it."""
        depth, skipped = 0, []
        while self.word and (depth or self.word not in ends):
            depth += (self.word in ("{", "[", "(", "<")) - (self.word in ("}", "]", ")", ">"))
            skipped.append(self.next())
        if not self.word:
            raise self.wrong("the file ends early")
        return skipped

    # The file.

    def read(self) -> descriptor_pb2.FileDescriptorProto:
        """Return the descriptor."""
        while self.word:
            word = self.next()
            if word == ";":
                continue
            if word in ("syntax", "edition"):
                self.syntax(word)
            elif word == "package":
                self.out.package = self.name()
                self.expect(";")
            elif word == "import":
                self.imported()
            elif word == "service":
                self.skip_to("{")
                self.braces()
            elif word == "option":
                self.option(self.out)
            elif word == "message":
                self.message(self.out.message_type.add(), 0)
            elif word == "enum":
                self.enum(self.out.enum_type.add())
            elif word == "extend":
                self.extend(self.out.extension, self.out.message_type, 0)
            else:
                raise self.wrong(f"unexpected {word!r}: expected a message, an enum or another definition")
        return self.out

    def syntax(self, word: str) -> None:
        """Read the syntax or the edition."""
        self.expect("=")
        value = self.string()
        if word == "edition":
            if value not in _EDITIONS:
                raise self.wrong(f"unknown edition {value}")
            self.out.syntax, self.out.edition = "editions", _EDITIONS[value]
        elif value in ("proto2", "proto3"):
            self.out.syntax = value
        else:
            raise self.wrong(f"unknown syntax {value}")
        self.expect(";")

    def imported(self) -> None:
        """Read an import."""
        public = self.word == "public"
        if self.word in ("public", "weak", "option"):
            self.next()
        if public:
            self.out.public_dependency.append(len(self.out.dependency))
        self.out.dependency.append(self.string())
        self.expect(";")

    def braces(self) -> None:
        """Skip a block."""
        self.expect("{")
        self.skip_to("}")
        self.next()

    def option(self, owner: Any) -> None:
        """Read an option statement."""
        self.set_option(owner, self.skip_to(";"))
        self.next()

    def set_option(self, owner: Any, tokens: list[str]) -> None:
        """Set an option that changes the bytes, from tokens such as `packed = true` or `features.x = Y`."""
        if len(tokens) != 3 or tokens[1] != "=":
            return
        name, _, value = tokens
        if (
            name in ("packed", "allow_alias", "message_set_wire_format")
            and name in owner.options.DESCRIPTOR.fields_by_name
        ):
            setattr(owner.options, name, value == "true")
        elif name == "default" and isinstance(owner, _FIELD):
            owner.default_value = value[1:-1] if value[:1] in ('"', "'") else value
        elif name.startswith("features."):
            field = owner.options.features.DESCRIPTOR.fields_by_name.get(name.removeprefix("features."))
            if field and field.enum_type and value in field.enum_type.values_by_name:
                setattr(owner.options.features, field.name, field.enum_type.values_by_name[value].number)

    def options(self, owner: Any) -> None:
        """Read options in square brackets, if there are any."""
        if not self.take("["):
            return
        while True:
            self.set_option(owner, self.skip_to(",", "]"))
            if self.next() == "]":
                return

    # Messages.

    def message(self, out: Any, depth: int) -> None:
        """Read the name and the body of a message."""
        out.name = self.name()
        self.body(out, depth)

    def body(self, out: Any, depth: int) -> None:
        """Read the body of a message."""
        if depth > _DEEPEST:
            raise self.wrong("messages nest too deeply")
        self.expect("{")
        statements: dict[str, Callable[[], None]] = {
            "message": lambda: self.message(out.nested_type.add(), depth + 1),
            "enum": lambda: self.enum(out.enum_type.add()),
            "extend": lambda: self.extend(out.extension, out.nested_type, depth + 1),
            "oneof": lambda: self.oneof(out, depth),
            "option": lambda: self.option(out),
            "reserved": lambda: self.reserved(out),
            "extensions": lambda: self.extensions(out),
            "map": lambda: self.map_field(out),
        }
        while not self.take("}"):
            word = self.word
            if not word:
                raise self.wrong("'}' is missing at the end")
            if word == ";":
                self.next()
            elif word in statements and self.is_statement(word):
                self.next()
                statements[word]()
            else:
                self.field(out.field, out.nested_type, depth, owner=out)
        self.synthetic(out)

    def is_statement(self, word: str) -> bool:
        """Return whether a word begins a statement: a field may have a type of this name, as in `message x = 1`."""
        if word == "map":
            return bool(_SPACE_AND_LESS.match(self.text, self.at))
        return word == "option" or not _IS_FIELD.match(self.text, self.at)

    def oneof(self, out: Any, depth: int) -> None:
        """Read a oneof."""
        index = len(out.oneof_decl)
        decl = out.oneof_decl.add(name=self.name())
        self.expect("{")
        while not self.take("}"):
            if self.take(";"):
                continue
            if self.word == "option" and self.is_statement("option"):
                self.next()
                self.option(decl)
                continue
            self.field(out.field, out.nested_type, depth, owner=out, oneof=index)

    def field(self, fields: Any, nested: Any, depth: int, owner: Any = None, oneof: int | None = None) -> None:
        """Read a field, or a group."""
        field = fields.add(label=_FIELD.LABEL_OPTIONAL)
        if oneof is not None:
            field.oneof_index = oneof
        elif self.word in _LABELS:
            word = self.next()
            field.label = _LABELS[word]
            field.proto3_optional = word == "optional" and self.out.syntax == "proto3" and owner is not None
        kind = self.name()
        if kind == "group":
            group = nested.add(name=self.name())
            field.name, field.type, field.type_name = group.name.lower(), _FIELD.TYPE_GROUP, group.name
            self.expect("=")
            field.number = self.number()
            self.options(field)
            self.body(group, depth + 1)
            return
        self.typed(field, kind)
        self.numbered(field)

    def typed(self, field: Any, kind: str) -> None:
        """Set the type of a field."""
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type_name = kind

    def numbered(self, field: Any) -> None:
        """Read the name, the number and the options of a field."""
        field.name = self.name()
        self.expect("=")
        number = self.number()
        if not 0 < number <= _LARGEST:
            raise self.wrong(f"{number} is not a valid field number")
        field.number = number
        self.options(field)
        self.expect(";")

    def map_field(self, out: Any) -> None:
        """Read a map, which is a repeated message of a key and a value."""
        self.expect("<")
        key = self.name()
        self.expect(",")
        value = self.name()
        self.expect(">")
        field = out.field.add(label=_FIELD.LABEL_REPEATED)
        self.numbered(field)
        entry = out.nested_type.add(
            name="".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        )
        entry.options.map_entry = True
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, entry.name
        self.typed(entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL), key)
        self.typed(entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL), value)

    def synthetic(self, out: Any) -> None:
        """Give each optional field of proto3 its own oneof, which records whether the field is set."""
        for field in out.field:
            if field.proto3_optional:
                field.oneof_index = len(out.oneof_decl)
                out.oneof_decl.add(name=f"_{field.name}")

    def extend(self, fields: Any, nested: Any, depth: int) -> None:
        """Read extensions."""
        extendee = self.name()
        self.expect("{")
        while not self.take("}"):
            if not self.take(";"):
                self.field(fields, nested, depth)
                fields[-1].extendee = extendee

    def reserved(self, out: Any) -> None:
        """Skip reserved numbers and names, which do not change the bytes."""
        del out
        self.skip_to(";")
        self.next()

    def extensions(self, out: Any) -> None:
        """Read the numbers that extensions have."""
        while True:
            first = self.number()
            last = first
            if self.take("to"):
                last = _LARGEST if self.take("max") else self.number()
            out.extension_range.add(start=first, end=last + 1)
            if not self.take(","):
                break
        if self.word == "[":
            self.skip_to(";")
        self.expect(";")

    # Enums.

    def enum(self, out: Any) -> None:
        """Read an enum."""
        out.name = self.name()
        self.expect("{")
        while not self.take("}"):
            word = self.word
            if self.take(";"):
                continue
            if word == "option" and self.is_statement(word):
                self.next()
                self.option(out)
            elif word == "reserved" and self.is_statement(word):
                self.next()
                self.reserved(out)
            else:
                value = out.value.add(name=self.name())
                self.expect("=")
                value.number = self.number()
                self.options(value)
                self.expect(";")
