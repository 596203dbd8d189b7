"""JSON values validated by their JSON Schema."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import UnfitError, Value
from kwire_cli.records.schemas.plain import json_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.records.schemas.model import Reader, Schema


def reader_of(schema: Schema, used: Iterable[tuple[str, Schema]]) -> Reader:
    """Return the reader of values of a JSON Schema. `used` are the schemas that it may refer to, by the names it uses.

    Nothing is fetched. InputError if the schema is invalid.
    """
    try:
        document = json.loads(schema.text)
        kind = validator_for(document, default=Draft202012Validator)
        kind.check_schema(document)
        registry = Registry().with_resources(
            (name, resource) for name, other in used if (resource := _resource(other.text)) is not None
        )
        steps = _Steps()
        validator = extend(kind, steps.guarded(kind.VALIDATORS))(document, registry=registry)
    except (ValueError, SchemaError, RecursionError, AttributeError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it nests too deeply"
        raise InputError(f"{schema.label} is not a JSON Schema: {reason}", file=schema.file) from None
    title = document.get("title", "") if isinstance(document, dict) else ""

    def read(data: bytes, start: int) -> Value:
        value = json_value(data, start)
        try:
            steps.left = _MOST_STEPS
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
            note = "" if error is None else f"{error.json_path} violates {error.validator!r} of its schema"
        return Value(value.data, title if isinstance(title, str) else "", note)

    return read


@lru_cache(1024)
def _resource(text: str) -> Any:
    """Return what other schemas may refer to, None for text that is no schema: it harms only those that need it."""
    try:
        resource = Resource.from_contents(json.loads(text), default_specification=DRAFT7)
        Registry().with_resource("", resource).crawl()
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None
    return resource


_MOST_STEPS = 20_000
"""References that are followed for one value: a schema of a few lines can have more than anyone can wait for."""
_SLOW = re.compile(r"[*+?}]\)+[*+{]")
"""A group that ends in what repeats and is repeated itself, as in (a+)+: each more character doubles the time."""
_LONGEST = 20
"""Characters of text that such a pattern is tried on."""


class _Steps:
    """Bounds the time of one comparison."""

    def __init__(self) -> None:
        self.left = 0

    def guarded(self, keywords: Any) -> dict[str, Any]:
        """Return the keywords that may take long, with bounds."""
        bounds: dict[str, Any] = {"pattern": self.match}
        bounds |= dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), self.follow)
        bounds |= dict.fromkeys(("patternProperties", "additionalProperties", "unevaluatedProperties"), self.names)
        return {name: _after(bound, keywords[name]) for name, bound in bounds.items() if name in keywords}

    def follow(self, _value: Any, _instance: Any, _schema: Any) -> None:
        """Count a reference."""
        self.left -= 1
        if self.left < 0:
            raise UnfitError(f"the schema needs more than {_MOST_STEPS} steps to be compared with the value")

    def match(self, pattern: Any, instance: Any, _schema: Any) -> None:
        """Refuse a pattern that may take forever on a text."""
        if isinstance(instance, str) and len(instance) > _LONGEST and _SLOW.search(pattern):
            raise UnfitError(f"the pattern {pattern!a} of the schema may take forever on text of this length")

    def names(self, _value: Any, instance: Any, schema: Any) -> None:
        """Refuse patterns that may take forever on names of fields."""
        for pattern in schema.get("patternProperties", ()):
            for name in instance if isinstance(instance, dict) else ():
                self.match(pattern, name, schema)


def _after(bound: Any, check: Any) -> Any:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        bound(value, instance, schema)
        return check(validator, value, instance, schema)

    return keyword
