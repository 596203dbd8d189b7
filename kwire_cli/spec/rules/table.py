"""Every rule: its id, what breaks it, which rule books hold it, and whether a definition that breaks it can be loaded."""

from __future__ import annotations

from typing import NamedTuple

from kwire_cli.spec.kafka import RELEASE

DEFAULT_BOOK = f"kafka-{RELEASE}"
BOOKS = (DEFAULT_BOOK, "kip482", "kip482-draft", "kafka9927")

REFUSED_KEYS: dict[str, frozenset[str]] = {
    DEFAULT_BOOK: frozenset({"optionalFields"}),
    "kip482": frozenset({"optionalFields", "encoding", "elementEncoding"}),
    "kip482-draft": frozenset({"taggedVersions", "encoding", "elementEncoding"}),
    "kafka9927": frozenset({"optionalFields", "elementEncoding"}),
}
"""Keys that the loader knows but a rule book does not. Kafka's takes kwire's own extensions, encoding and elementEncoding."""

_KAFKA = (DEFAULT_BOOK, "kafka9927")


class Rule(NamedTuple):
    """A rule. A fatal one is broken by definitions that have no usable meaning: loading them raises SpecError."""

    summary: str
    books: tuple[str, ...] = BOOKS
    fatal: bool = False
    warning: bool = False


RULES: dict[str, Rule] = {
    # The text
    "JSON_SYNTAX": Rule("The text is not JSON (comments apart), or nests deeper than 64 levels.", fatal=True),
    "TRAILING_TOKENS": Rule("Something follows the definition."),
    "DUPLICATE_KEY": Rule("A key occurs twice in one object; Kafka's parser takes the last.", warning=True),
    "NOT_AN_OBJECT": Rule("The text is not one JSON object.", fatal=True),
    "UNKNOWN_KEY": Rule("A key that the rule book's grammar does not have."),
    "KEY_TYPE": Rule("A key's value is of a JSON type that cannot be read as what the key takes.", fatal=True),
    "VERSIONS_SYNTAX": Rule("A version range is not `none`, `3`, `0-9` or `9+`, or goes beyond 32767.", fatal=True),
    "VERSIONS_REVERSED": Rule("A version range runs backwards (`3-1`); Kafka takes it as empty.", warning=True),
    # The message
    "NAME_MISSING": Rule("The message has no name.", fatal=True),
    "NAME_REQUEST_SUFFIX": Rule("A request's name does not end in Request, or a response's in Response."),
    "TYPE_MISSING": Rule("The message has no type.", fatal=True),
    "TYPE_UNKNOWN": Rule("The message's type is none of Kafka's.", fatal=True),
    "VALID_VERSIONS_MISSING": Rule("The message has no validVersions.", fatal=True),
    "VALID_VERSIONS_OPEN": Rule("validVersions has no upper end.", fatal=True),
    "FLEXIBLE_VERSIONS_MISSING": Rule("The message has no flexibleVersions (mandatory since Kafka 3.0; not needed where validVersions is none)."),
    "FLEXIBLE_VERSIONS_CLOSED": Rule("flexibleVersions is neither none nor open-ended.", _KAFKA),
    "API_KEY_MISSING": Rule("A request, response, metadata or coordinator message has no apiKey."),
    "API_KEY_RANGE": Rule("apiKey is not an int16.", fatal=True),
    "LISTENER_UNKNOWN": Rule("A listener is none of zkBroker, broker, controller."),
    "LISTENERS_ON_NON_REQUEST": Rule("Listeners are named on something other than a request."),
    "UNSTABLE_ON_NON_REQUEST": Rule("latestVersionUnstable is true on something other than a request."),
    "COORDINATOR_KEY_VERSIONS": Rule("A coordinator-key has validVersions other than 0.", _KAFKA),
    "COORDINATOR_KEY_FLEXIBLE": Rule("A coordinator-key has flexible versions.", _KAFKA),
    "HEADER_VERSIONS_TYPE": Rule("headerVersions on something other than a request or response, or where validVersions is none.", _KAFKA),
    "HEADER_VERSIONS_RANGE": Rule("headerVersions is empty, or its ranges do not ascend without gaps from 0 to an open end.", _KAFKA),
    "HEADER_VERSIONS_VALUE": Rule("A header version does not exist: 0 to 3 for requests, 0 or 1 for responses.", _KAFKA),
    "HEADER_VERSIONS_BEYOND_VALID": Rule("A range of headerVersions starts above the highest valid version.", _KAFKA),
    "HEADER_VERSIONS_API_VERSIONS": Rule("The response of api key 18 has a header version other than 0.", _KAFKA),
    "HEADER_VERSIONS_DECREASING": Rule("Header versions decrease from one range to the next.", _KAFKA),
    "HEADER_VERSIONS_NOT_FLEXIBLE": Rule("A flexible version has a header that is not flexible.", _KAFKA),
    # Fields
    "FIELD_NAME_MISSING": Rule("A field has no name.", fatal=True),
    "FIELD_NAME_INVALID": Rule("A field's name is not letters and digits, a letter first."),
    "FIELD_NAME_DUPLICATE": Rule("Two fields of one struct have the same name (in JSON form).", fatal=True),
    "FIELD_TYPE_MISSING": Rule("A field has no type.", fatal=True),
    "FIELD_TYPE_UNKNOWN": Rule("A type is none of Kafka's, and no struct (capital letter first).", fatal=True),
    "FIELD_TYPE_ARRAY": Rule("An array has no element type, or arrays as elements.", fatal=True),
    "FIELD_VERSIONS_MISSING": Rule("A field has neither versions nor taggedVersions nor a tag.", fatal=True),
    "FIELD_NO_COMMON_VERSIONS": Rule("A field exists in no version of the struct that it is in.", _KAFKA),
    "FIELD_FLEXIBLE_TYPE": Rule("A field that is no string or bytes has flexibleVersions of its own."),
    "FIELD_FLEXIBLE_NOT_SUBSET": Rule("A field's flexibleVersions are not all flexible versions of the message."),
    "NULLABLE_TYPE": Rule("A type that can't be null has nullableVersions.", fatal=True),
    "SUBFIELDS_ON_NON_STRUCT": Rule("A field that is no struct has sub-fields."),
    "MAP_KEY_TOP_LEVEL": Rule("mapKey on a field of the message itself."),
    "ENTITY_TYPE_UNKNOWN": Rule("An entityType that Kafka does not have."),
    "ENTITY_TYPE_MISMATCH": Rule("A field's type is not that of its entityType."),
    "ZERO_COPY_TYPE": Rule("zeroCopy on a field that is not bytes."),
    "ZERO_COPY_TAGGED": Rule("zeroCopy on a tagged field: Kafka generates code that does not compile."),
    "DEFAULT_INVALID": Rule("A default is no value of the field's type.", fatal=True),
    "DEFAULT_NULL_NOT_NULLABLE": Rule("A default of null on a field that is not nullable in all its versions."),
    "DEFAULT_OCTAL": Rule("A decimal default with a leading zero: Kafka's generated Java reads it as octal.", warning=True),
    # Tags
    "TAG_RANGE": Rule("A tag is negative or above 2147483647.", fatal=True),
    "TAG_DUPLICATE": Rule("Two fields of one struct have the same tag.", fatal=True),
    "TAG_NOT_CONTIGUOUS": Rule("The tags of a struct do not run from 0 without gaps.", _KAFKA),
    "TAG_WITHOUT_TAGGED_VERSIONS": Rule("A tag without taggedVersions (KIP-482 takes that as all flexible versions).", _KAFKA),
    "TAGGED_VERSIONS_WITHOUT_TAG": Rule("taggedVersions without a tag."),
    "TAG_MAP_KEY": Rule("A tagged field is a mapKey."),
    "TAGGED_VERSIONS_CLOSED": Rule("taggedVersions is not open-ended.", _KAFKA),
    "TAGGED_NOT_IN_VERSIONS": Rule("taggedVersions is not within versions."),
    "TAGGED_NOT_FLEXIBLE": Rule("taggedVersions is not within the flexible versions."),
    "TAGGED_PARTLY_NULLABLE": Rule("A tagged field is nullable in some of its tagged versions, but not in all."),
    "TAGGED_RECORDS": Rule("A field of the type records is tagged.", _KAFKA),
    "KIP482_VERSIONS_MISSING": Rule("taggedVersions without versions, which KIP-482 requires beside it.", ("kip482",)),
    "DRAFT_TAGGED_ARRAY": Rule("A tagged array, which the draft of KIP-482 forbids.", ("kip482-draft",)),
    "DRAFT_TAG_OUTSIDE": Rule("A field with a tag outside optionalFields, where the draft of KIP-482 has them.", ("kip482-draft",)),
    "DRAFT_TAG_MISSING": Rule("A field in optionalFields without a tag."),
    # Structs
    "STRUCT_NAME": Rule("A common struct has no name, or one that does not start with a capital letter."),
    "STRUCT_VERSIONS_MISSING": Rule("A common struct, or a field with sub-fields, has no versions.", _KAFKA),
    "STRUCT_DUPLICATE": Rule("A struct is described twice."),
    "STRUCT_INLINE_AND_COMMON": Rule("A field of a common struct's type has sub-fields of its own."),
    "STRUCT_EMPTY": Rule("A struct that is described nowhere; Kafka takes it as one without fields.", warning=True),
    "STRUCT_NOT_COMMON": Rule("A common struct uses a struct that is not common."),
    "STRUCT_RECURSIVE": Rule("A struct contains itself.", fatal=True),
    "STRUCT_TOO_LARGE": Rule("Written out, the structs nest deeper than 48 levels or have more than 100000 fields.", fatal=True),
    # Encodings
    "ENCODING_TYPE": Rule("encoding on a type other than int16, int32, int64, or elementEncoding on anything but an array of them.", fatal=True),
    "ENCODING_RANGES": Rule("The versions of an encoding are not exactly those of the field.", fatal=True),
    "ENCODING_OVERLAP": Rule("Two version ranges of an encoding overlap.", fatal=True),
    "ENCODING_NAME": Rule("An encoding's name is not (fixed|packed|upacked)(16|32|64).", fatal=True),
    # Several files
    "API_KEY_DUPLICATE": Rule("Two requests, two responses, or two records of one kind and module have the same apiKey."),
    "NAME_DUPLICATE": Rule("Two definitions have the same name."),
    "PAIR_MISSING": Rule("A request without its response, or a response without its request."),
}

FATAL = frozenset(name for name, rule in RULES.items() if rule.fatal)

ADVICE: dict[str, str] = {
    # Names and types
    "NAME_MESSAGE_SUFFIX": "The name of a metadata message, coordinator-key, coordinator-value or header does not end in Record, Key, Value, Header.",
    "NAME_LOWER_CASE": "A field's name begins with a small letter.",
    "NAME_ARRAY_SINGULAR": "The name of an array has no word in the plural.",
    "NAME_ERROR": "An error is not an int16 called ErrorCode, or its text no string called ErrorMessage (or something that ends so).",
    "NAME_WITHOUT_UNIT": "A number that is a span of time does not say in its name that it is milliseconds (TimeoutMs).",
    "TYPE_UNUSUAL": "A field of a name that has the same type nearly everywhere, such as PartitionIndex, has another one; a wider one costs bytes.",
    "ENTITY_TYPE_MISSING": "A broker, topic, group, transaction or producer in a request or response has no entityType.",
    "THROTTLE_TIME_MISSING": "A response has no ThrottleTimeMs.",
    # Tags
    "TAG_CHEAPER_AS_FIELD": "A tagged field whose tag and size are larger than an ordinary field's default: it pays only if it is mostly left out.",
    "TAGS_OUTWEIGH_FIELDS": "A struct that spends more bytes on its tags than on what its fields hold, where all of them are written.",
}
"""What is no rule of any book, but better otherwise. It is asked for (`kwire lint --advice`)."""
