"""The keys of messages, common structs and fields in each rule book."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwire_cli.spec.reading import Definition, Item, Struct


class Grammar(NamedTuple):
    """The keys of a message, of a common struct and of a field."""

    message: frozenset[str]
    struct: frozenset[str]
    field: frozenset[str]

    def with_keys(self, message: str = "", struct: str = "", field: str = "") -> Grammar:
        """Return the grammar with more keys, each argument a list of words."""
        return Grammar(
            self.message | {*message.split()}, self.struct | {*struct.split()}, self.field | {*field.split()}
        )

    def unknown_keys(self, definition: Definition) -> None:
        """Report the keys that the grammar does not have."""
        places: list[tuple[Definition | Struct | Item, frozenset[str]]] = [(definition, self.message)]
        places += [(struct, self.struct) for struct in definition.structs]
        places += [(item, self.field) for item in definition.walk()]
        for place, known in places:
            for key in place.json.values.keys() - known:
                place.json.add("UNKNOWN_KEY", f"{key!a} is not a key of this rule book", key)


KAFKA = Grammar(frozenset(), frozenset(), frozenset()).with_keys(
    "name type validVersions deprecatedVersions flexibleVersions apiKey fields commonStructs listeners "
    "latestVersionUnstable",
    "name versions deprecatedVersions fields",
    "name type versions fields mapKey nullableVersions default ignorable entityType about taggedVersions "
    "flexibleVersions tag zeroCopy",
)
"""The constructors of MessageSpec, StructSpec and FieldSpec in Kafka's generator."""
KIP482 = KAFKA.with_keys("about headerVersions", "about")
KIP482_DRAFT = KIP482.with_keys("optionalFields", "optionalFields", "optionalFields")
KIP482_DRAFT = KIP482_DRAFT._replace(field=KIP482_DRAFT.field - {"taggedVersions"})
KAFKA9927 = KIP482.with_keys(field="encoding")
KWIRE = KAFKA9927.with_keys(field="elementEncoding")
