"""KIP-482 beside measurements: tagged fields and flexible versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.papers import kip482_measured as measured
from kwire_cli.analysis.papers.kip482_measured import MESSAGES, Message
from kwire_cli.analysis.papers.model import Cell, Claim, Paper, Table
from kwire_cli.message.encode import HEADERS, encode_spec, header_spec, header_version
from kwire_cli.spec.kafka import API_VERSIONS, CONTROLLED_SHUTDOWN, METADATA
from kwire_cli.spec.rules import DEFAULT_BOOK
from kwire_cli.structs.numbers import UVARINT

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog


# KIP-482 in tables: both numberings of headers, what lengths save, what messages cost in the forms that it
# weighs.

KINDS = ("array", "bytes", "string")


LENGTHS = (0, 10, 126, 127, 16382, 16383, 2097150, 2097151, 268435454, 268435455)


def header_table(catalog: Catalog) -> Table:
    """The mapping of both numberings."""
    rows: list[tuple[Cell, ...]] = [
        (row.of, *("-" if number is None else number for number in (row.kip482, row.kafka)), row.layout)
        for row in HEADERS
    ]
    shutdown = header_version(catalog, "request", CONTROLLED_SHUTDOWN, 0)
    note = (
        f"Kafka's request header {shutdown} is that of ControlledShutdown 0 alone; - is a header that the "
        f"one numbering has and the other has not."
    )
    return Table(
        "Headers by the KIP's numbers and by Kafka's", ("of a", "KIP-482", "Kafka", "fields"), tuple(rows), note
    )


def length_table() -> Table:
    """The boundaries."""
    rows = tuple(
        (length, *(measured.saving(kind, length) if length <= measured.MOST[kind] else None for kind in KINDS), 1)
        for length in LENGTHS
    )
    note = (
        f"A string has at most {measured.MOST['string']} bytes. The last column is what each structure "
        f"pays for an empty tag section."
    )
    return Table(
        "Bytes that a compact length saves, by length",
        ("length", "array", "byte buffer", "string", "tag section"),
        rows,
        note,
    )


def message_table(catalog: Catalog) -> Table:
    """Some messages."""
    rows: list[tuple[Cell, ...]] = []
    for message in MESSAGES:
        row = measured.priced(catalog, message)
        saved = {
            kind: sum(size for name, (_, size) in row.lengths.items() if measured.LENGTHS[name] == kind)
            for kind in KINDS
        }
        parts = (*(saved[kind] for kind in KINDS), -row.sections)
        difference = row.flexible - row.inflexible
        rows.append(
            (
                row.message,
                row.version,
                row.inflexible,
                row.flexible,
                difference,
                *parts,
                row.tagged,
                row.tagged - row.flexible,
            )
        )
    heading = (
        "message",
        "version",
        "inflexible",
        "flexible",
        "+/-",
        "arrays",
        "buffers",
        "strings",
        "sections",
        "all tagged",
        "+/- flexible",
    )
    note = (
        "Generated bodies, in bytes. arrays, buffers, strings: what their lengths save; sections: what empty ones "
        "cost; the rest of the difference is tagged fields at their defaults, which the inflexible form has to write. "
        "To repeat it: kwire compare --flexible --all-tagged and " + "; ".join(message.options for message in MESSAGES)
    )
    return Table("Messages in the three forms", heading, tuple(rows), note)


# KIP-482: tagged fields, compact lengths and flexible versions, as accepted, with what its earlier draft had.

FIGURES = {"array": 3, "bytes": 3, "string": 1}
"""What the document says that each of them saves."""


_FIGURES = tuple(FIGURES.values())
API_VERSIONS_60 = Message("ApiVersionsResponse", {}, {"apiKeys": 60})
SHORT = 10
_REPEAT = "kwire compare -m MetadataResponse --brokers 2 --partitions 100 --replicas 2"
_TITLE = "KIP-482: the Kafka protocol should support optional tagged fields"
_PROPOSED = (
    "Flexible versions of messages: every structure ends in a section of tagged fields, which may be "
    "left out and added without a new version, and "
    "strings, byte buffers and arrays have varint lengths of one more than their number."
)
_SHIPPED = (
    "All of it, in Kafka 2.4. Request headers are numbered one higher, since version 0 was taken; ClientId in them "
    "keeps its int16 length, so that a broker can read the header of a version that it does not know; "
    "ApiVersionsResponse keeps the plain response header."
)


def paper(catalog: Catalog, *, times: bool) -> Paper:  # noqa: ARG001 - the same for all papers
    """The document's numbers and kwire's."""
    claims = (*_encodings(), *_headers(catalog), *_tags(catalog), *_example(), *_savings(catalog), *_rejected(catalog))
    return Paper(
        "kip482", _TITLE, _PROPOSED, _SHIPPED, claims, (header_table(catalog), length_table(), message_table(catalog))
    )


def _encodings() -> tuple[Claim, ...]:
    """Varints and compact forms."""
    where = "Unsigned Varints"
    return (
        Claim(where, "the bytes of 300", ("ac 02",), (UVARINT.build(300).hex(" "),)),
        Claim(where, "fewest and most bytes of a length", (1, 5), measured.varint_bytes()),
        Claim(
            where,
            "numbers from 0 up that take more bits unsigned than signed (zig-zag)",
            (0,),
            (measured.longer_unsigned(),),
        ),
        *(
            Claim(
                f"Compact {name}", "the length of null, of nothing, of one", (0, 1, 2), measured.compact_lengths(kind)
            )
            for name, kind in (("Arrays", "array"), ("Bytes", "bytes"), ("String", "string"))
        ),
    )


def _headers(catalog: Catalog) -> tuple[Claim, ...]:
    """Their numbers, and the client id."""
    plain, flexible = (header_version(catalog, "request", METADATA, version) for version in (8, 9))
    answers = tuple(header_version(catalog, "response", METADATA, version) for version in (8, 9))
    return (
        Claim(
            "RequestHeader Version 1",
            "the header's version in inflexible and flexible requests",
            (0, 1),
            (plain, flexible),
            "version 0 was there already: ControlledShutdown 0 has a header without client id. The KIP's 0 is "
            "Kafka's 1, and its 1 is Kafka's 2",
            "kwire spec headers",
            "explained",
        ),
        Claim(
            "RequestHeader Version 1",
            "bytes of the flexible header with a client id of 5 characters",
            (_header_size(catalog, "kip482"),),
            (_header_size(catalog, "kafka"),),
            "by the text ClientId is a compact string; as shipped it keeps its length of two bytes (the compact one "
            "was on trunk for four days of October 2019). kwire reads the KIP's own form with decode --header kip482",
            "",
            "explained",
        ),
        Claim(
            "ResponseHeader Version 1",
            "the header's version in inflexible and flexible responses",
            (0, 1),
            answers,
            repeat="kwire spec headers",
        ),
        Claim(
            "ResponseHeader Version 1",
            "the same of ApiVersions, of which version 3 is flexible",
            (0, 1),
            tuple(header_version(catalog, "response", API_VERSIONS, version) for version in (2, 3)),
            "a client reads this response before it knows what the broker speaks (KIP-511)",
            "kwire spec headers",
            "explained",
        ),
    )


def _header_size(catalog: Catalog, flavour: str) -> int:
    value = {"requestApiKey": METADATA, "requestApiVersion": 9, "correlationId": 1, "clientId": "kwire"}
    return len(encode_spec(header_spec(catalog, "request", flavour), value, 2))


def _tags(catalog: Catalog) -> tuple[Claim, ...]:
    """Sections and headers."""
    metadata = measured.priced(catalog, MESSAGES[0])
    return (
        Claim("Tagged Fields", "the largest tag, of 31 bits", ((1 << 31) - 1,), (measured.largest_tag(),)),
        Claim(
            "Tagged Fields",
            "bytes of tagged fields that are not present, authorized operations of cluster and topics, in a "
            "MetadataResponse",
            (0,),
            (measured.absent_fields(catalog),),
            f"as mandatory fields, which the motivation names, blank authorized operations cost "
            f"{measured.blank_operations(catalog, 10)} bytes in a "
            "response of version 8 with 10 topics, and still do in version 13 but for those of the cluster",
        ),
        Claim(
            "Tag Sections",
            "bytes of a section without tagged fields",
            (1,),
            (metadata.sections // metadata.structs,),
            repeat=f"{_REPEAT} --flexible",
        ),
        Claim(
            "Flexible Versions",
            "sections of that message: as many as it has structures",
            (measured.structs_of(catalog, MESSAGES[0]),),
            (metadata.structs,),
            repeat=f"{_REPEAT} --flexible",
        ),
        Claim(
            "Tag Sections", "the order of the tags 1000, 5 and 1", (1, 5, 1000), measured.tags_on_the_wire((1000, 5, 1))
        ),
        Claim("Tag Headers", "bytes before 5 bytes of tag 0: two varints", (2,), (measured.tag_header(0, 5),)),
        Claim(
            "Tagged Fields",
            "what becomes of a field whose tag the reader does not know",
            ("skipped",),
            ("kept",) if measured.kept(catalog) else ("skipped",),
            "Kafka's readers keep it too, and write it back; kwire shows it as unknownTaggedFields",
            "kwire decode -m HeartbeatResponse -n 4 00000000000001e80703000102 | kwire encode",
            "explained",
        ),
    )


def _example() -> tuple[Claim, ...]:
    """The definition that is printed, and the rules around it."""
    faults = measured.syntax_errors()
    return (
        Claim(
            "Specifying Tagged Fields",
            "errors in the JSON of the example",
            (0,),
            (len(faults),),
            "; ".join(f"{name}: {error}" for name, error in faults)
            + ". What follows is about the example with these put right",
            "kwire lint FILE",
        ),
        Claim(
            "Tagged Fields and Version Compatibility",
            'fields of the example that break "if taggedVersions does appear, then it must be a subset of '
            'versions, which must also be specified"',
            (0,),
            (len(measured.violations("kip482")),),
            ", ".join(
                violation.split()[1].removesuffix(".taggedVersions") for violation in measured.violations("kip482")
            )
            + (
                f"; Kafka's generator takes versions from taggedVersions ({len(measured.violations(DEFAULT_BOOK))} "
                f"violations by its rules)"
            ),
            "kwire lint --rules kip482 FILE",
        ),
        Claim(
            "Specifying Tagged Fields",
            "tagged arrays that are refused: any type may be tagged",
            (0,),
            (measured.tagged_array_findings("kip482"),),
            repeat="kwire lint --rules kip482 FILE",
        ),
        Claim(
            "Specifying Tagged Fields",
            "the same by the earlier draft: any type, except arrays",
            (1,),
            (measured.tagged_array_findings("kip482-draft"),),
            repeat="kwire lint --rules kip482-draft FILE",
        ),
    )


def _savings(catalog: Catalog) -> tuple[Claim, ...]:
    """Return the claims about the savings of varint lengths."""
    where = "More Efficient Serialization for Variable-Length Objects"
    metadata = measured.priced(catalog, MESSAGES[0])
    versions = measured.priced(catalog, API_VERSIONS_60)
    by_figures = (
        sum(FIGURES[measured.LENGTHS[name]] * number for name, (number, _) in metadata.lengths.items())
        - metadata.structs
    )
    return (
        Claim(
            where,
            "bytes saved by an array, a byte buffer, a string, of 10",
            _FIGURES,
            tuple(measured.saving(kind, SHORT) for kind in KINDS),
        ),
        Claim(
            where,
            "the same at the longest: " + ", ".join(f"{kind} of {measured.MOST[kind]}" for kind in KINDS),
            _FIGURES,
            tuple(measured.saving(kind, measured.MOST[kind]) for kind in KINDS),
            "; ".join(f"{kind}: {_ranges(kind)}" for kind in ("string", "array")) + "; byte buffers are as arrays",
            "kwire compare -m MetadataResponse --count clusterId=126,127,16382,16383 --flexible",
        ),
        Claim(
            where,
            "bytes saved of a MetadataResponse with 100 partitions: 3 an array, 1 a string, less 1 a structure",
            (by_figures,),
            (metadata.inflexible - metadata.flexible,),
            f"the lengths save {metadata.saved}, {metadata.sections} empty tag sections take so many back",
            f"{_REPEAT} --flexible",
        ),
        Claim(
            where,
            "more efficient: bytes saved of an ApiVersionsResponse with 60 apis",
            ("some",),
            (versions.inflexible - versions.flexible,),
            f"each of its {versions.structs} small structures has a byte for its empty tag section, and its "
            f"few lengths save {versions.saved}",
            f"kwire compare {API_VERSIONS_60.options} --flexible",
            "explained",
        ),
    )


def _ranges(kind: str) -> str:
    return ", ".join(f"{low} to {high} {saved:+}" for low, high, saved in measured.savings(kind))


def _rejected(catalog: Catalog) -> tuple[Claim, ...]:
    """The alternatives."""
    rows = [measured.priced(catalog, message) for message in MESSAGES]
    larger = [row for row in rows if row.tagged > row.flexible]
    smaller = [row for row in rows if row.tagged <= row.flexible]
    metadata = rows[0]
    return (
        Claim(
            "Tagged Field Buffer Serialization Alternatives",
            "shipped tagged fields that are arrays of objects, which is not supported yet",
            (0,),
            (measured.tagged_arrays(catalog),),
            "the remark is left over from the draft: the accepted text allows any type",
            "kwire spec show FetchResponse",
        ),
        Claim(
            "Make all Fields Tagged",
            f"messages, of the {len(rows)} below, that take more space with all fields tagged",
            (len(rows),),
            (len(larger),),
            f"a MetadataResponse has {metadata.tagged} instead of {metadata.flexible} bytes, "
            f"{metadata.tagged - metadata.flexible:+}. True for "
            "fields that are used; one at its default takes no space, which pays for the headers in "
            + " and ".join(f"{row.message} ({row.tagged} instead of {row.flexible})" for row in smaller),
            f"{_REPEAT} --all-tagged",
            "explained",
        ),
        Claim(
            "Use Escape Bytes to Minimize Space Usage",
            "the most that escape bytes could save of a MetadataResponse with 100 partitions, against what its "
            "lengths save",
            ("less",),
            ("less",) if metadata.sections < metadata.saved else ("more",),
            f"{metadata.sections} bytes of empty sections against {metadata.saved}",
            f"{_REPEAT} --flexible",
        ),
    )
