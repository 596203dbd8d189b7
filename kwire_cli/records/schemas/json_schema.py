"""JSON values validated by their JSON Schema."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import re2
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import MOST_REASON, UnfitError, Value
from kwire_cli.records.schemas.plain import document_of, json_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.records.schemas.model import Reader, Schema


def reader_of(schema: Schema, used: Iterable[tuple[str, Schema]]) -> Reader:
    """Return the reader of values of a JSON Schema. `used` are the schemas that it may refer to, by the names it uses.

    Nothing is fetched. InputError if the schema is invalid.
    """
    try:
        document = document_of(schema.text)
        kind = validator_for(document, default=Draft202012Validator)
        kind.check_schema(document, format_checker=None)  # with one, Python's `re` has to know all patterns
        known = dict(used)
        registry = Registry().with_resources(
            (name, resource) for name, other in known.items() if (resource := _resource(other.text)) is not None
        )
        bounds = _Bounds(has_patterns=any("patternProperties" in each.text for each in (schema, *known.values())))
        validator = extend(kind, bounds.guarded(kind.VALIDATORS))(document, registry=registry)
    except (ValueError, SchemaError, AttributeError, TypeError) as error:
        reason = str(error).splitlines()[0][:MOST_REASON] if str(error) else "it is malformed"
        raise InputError(f"{schema.label} is not a JSON Schema: {reason}", file=schema.file) from None
    title = document.get("title", "") if isinstance(document, dict) else ""

    def read(data: bytes, start: int) -> Value:
        value = json_value(data, start)
        try:
            bounds.reset()
            error = next(validator.iter_errors(value.data), None)
        except Unresolvable as missing:
            note = f"the schema refers to {missing.ref}, which is missing"
        except UnfitError as unfit:
            note = str(unfit)
        except (ValueError, TypeError, AttributeError, ArithmeticError):
            note = "the value cannot be validated by its schema"
        except RecursionError:
            note = "the value nests too deeply to be validated"
        else:
            note = "; ".join(bounds.unchecked)
            if error and not (note and _UNSURE.intersection(error.absolute_schema_path)):
                note = f"{error.json_path} violates {error.validator!r} of its schema"
        return Value(value.data, title if isinstance(title, str) else "", note)

    return read


@lru_cache(1024)
def _resource(text: str) -> Any:
    """Return what other schemas may refer to, None for text that is no schema: it harms only those that need it."""
    try:
        resource = Resource.from_contents(document_of(text), default_specification=DRAFT7)
        Registry().with_resource("", resource).crawl()
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None
    return resource


_MOST_STEPS, _MOST_MATCHES = 20_000, 200_000
"""References that are followed for one value, and patterns that it is matched with: a schema of a few lines can have
more than anyone can wait for.
"""
_MOST_MEMORY = 1 << 20
"""Bytes of memory that a pattern takes."""
_UNSURE = frozenset(
    {"not", "oneOf", "if", "then", "else", "contains", "unevaluatedProperties", "unevaluatedItems", "disallow"}
)
"""Keywords below which a violation may be due to a pattern that was not checked."""
_LONGEST = 60
"""Characters of a pattern that a note shows."""


class _Bounds:
    """Bounds the time of one comparison. `unchecked` says why patterns were not checked.

    A pattern that is not checked is assumed to match text, and names of declared fields.
    """

    def __init__(self, *, has_patterns: bool) -> None:
        self._has_patterns = has_patterns
        self.reset()

    def reset(self) -> None:
        """Begin with another value."""
        self._references, self._matches = _MOST_STEPS, _MOST_MATCHES
        self.unchecked: dict[str, None] = {}

    def guarded(self, keywords: Any) -> dict[str, Any]:
        """Return the keywords that may take long, with bounds."""
        own = {
            "pattern": self.pattern,
            "patternProperties": self.pattern_properties,
            "additionalProperties": self.additional(keywords["additionalProperties"]),
        }
        own |= {name: self.following(keywords[name]) for name in _REFERENCES if name in keywords}
        if self._has_patterns and "unevaluatedProperties" in keywords:
            own["unevaluatedProperties"] = self.unevaluated
        return own

    def following(self, check: Any) -> Any:
        """Return a keyword that refers to a schema, and counts references."""

        def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._references -= 1
            if self._references < 0:
                raise UnfitError(f"the schema needs more than {_MOST_STEPS} steps to be compared with the value")
            return check(validator, value, instance, schema)

        return keyword

    def matches(self, pattern: str, text: str) -> bool | None:
        """Return whether a pattern matches a part of a text, None if that is not checked."""
        self._matches -= 1
        if self._matches < 0:
            raise UnfitError(f"the schema matches more than {_MOST_MATCHES} patterns with the value")
        compiled, reason = pattern_of(pattern)
        if compiled:
            return compiled.search(text.encode("utf-8", "replace").decode()) is not None
        shown = pattern if len(pattern) <= _LONGEST else f"{pattern[:_LONGEST]}…"
        self.unchecked[f"the pattern {shown!r} of the schema is not checked: {reason}"] = None
        return None

    def pattern(self, validator: Any, pattern: str, instance: Any, _schema: Any) -> Any:
        """Yield an error for text that does not match."""
        if validator.is_type(instance, "string") and self.matches(pattern, instance) is False:
            yield ValidationError("the pattern does not match")

    def pattern_properties(self, validator: Any, patterns: Any, instance: Any, _schema: Any) -> Any:
        """Yield the errors of fields whose names match."""
        if validator.is_type(instance, "object"):
            for pattern, schema in patterns.items():
                for name, value in instance.items():
                    if self.matches(pattern, name):
                        yield from validator.descend(value, schema, path=name, schema_path=pattern)

    def additional(self, check: Any) -> Any:
        """Return the keyword for fields that are neither declared nor match a pattern."""

        def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            patterns = schema.get("patternProperties")
            if patterns and validator.is_type(instance, "object"):
                instance = {
                    name: part
                    for name, part in instance.items()
                    if all(self.matches(pattern, name) is False for pattern in patterns)
                }
                schema = {"properties": schema.get("properties", {})}
            return check(validator, value, instance, schema)

        return keyword

    def unevaluated(self, _validator: Any, _value: Any, _instance: Any, _schema: Any) -> Any:
        """Check nothing: the keyword would match patterns in its own way."""
        self.unchecked["unevaluatedProperties is not checked in a schema with patternProperties"] = None
        return ()


_CODE_POINT = re.compile(r"((?<!\\)(?:\\\\)*)\\u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})")
"""A code point in a pattern as JavaScript writes it."""


@lru_cache(1024)
def pattern_of(text: str) -> tuple[Any, str]:
    """Return a compiled pattern, or None and why RE2 cannot match it.

    RE2 takes time that grows with the text, whatever a pattern repeats, which Python's `re` does not.
    """
    options = re2.Options()
    options.max_mem, options.log_errors = _MOST_MEMORY, False
    try:
        return re2.compile(_CODE_POINT.sub(r"\1\\x{\2\3}", text), options=options), ""
    except (re2.error, UnicodeError) as error:
        said = error.args[0]
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else "it is no Unicode text"
        return None, reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"


_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
