"""The likeliest message in bytes of an unknown type: a request by its header, or one of all responses.

A response has no api key, so all versions of all apis are tried. Each candidate explains the same bytes, and the one
that needs the fewest bits is the likeliest. A leaf costs minus the logarithm of the likelihood of its value: 0 for an
error code or throttle time, short printable text, small counts, ids and epochs, zeros among the bytes of an inner
value. A request has to explain its header, and the choice of a response costs CHOICE, so both are in one ranking.
Random bytes cost 8 bits each: a candidate that costs more is not evidence.
"""

from __future__ import annotations

from functools import cache
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk, without_rest
from kwire_cli.engine.tree import Item, Tree, build, is_null, places, read_count
from kwire_cli.engine.values import leaf_value
from kwire_cli.errors import KwireError
from kwire_cli.message.encode import decode_header
from kwire_cli.structs.lengths import Sized

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Api, Catalog
    from kwire_cli.spec.model import MessageSpec


COMMON = (1, 0, 3, 18, 12, 9, 8, 10, 11, 14, 2, 22, 68, 26, 24, 36, 17, 44)
"""Api keys by how often they occur in ordinary traffic; of candidates that are equal otherwise the more common one
comes first."""

ANOMALY = 25.0
"""Bits for something that a correct writer would not have written."""
CHOICE = 10.0
"""Bits that choose one of about 900 responses."""
MAX_REST = 8
"""Bytes after a response that a faulty server may have written."""
MAX_CANDIDATES = 8
"""Candidates that are shown."""
ACKS = frozenset({-1, 0, 1})
"""The values of `acks` that a broker accepts."""
INT_BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uvarint": 32}


class Candidate(NamedTuple):
    """A request or response that fits, and the bits that it needs to explain the bytes."""

    kind: str
    api: Api
    version: int
    header_version: int
    bits: float
    aligned: bool = True
    """Whether no anomaly may have moved a byte."""
    is_exact: bool = True
    """Whether it fits to the last byte after the header that Kafka writes."""

    def __str__(self) -> str:
        return f"{self.api.name} {self.version}"

    @property
    def message(self) -> str:
        """The name of the message, such as FetchResponse."""
        return (self.api.request if self.kind == "request" else self.api.response) or ""

    def to_json(self, kind: str) -> dict[str, Any]:
        """Return the candidate in JSON form, with its kind unless that is `kind`."""
        other = {} if self.kind == kind else {"kind": self.kind}
        return {
            "api": self.api.name,
            "apiVersion": self.version,
            "headerVersion": self.header_version,
            **other,
        }


def shown_candidates(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the first MAX_CANDIDATES. If only later ones have another kind, the last one is the first of these."""
    shown = candidates[:MAX_CANDIDATES]
    kinds = {candidate.kind for candidate in shown}
    others = [candidate for candidate in candidates if candidate.kind not in kinds]
    return [*shown[:-1], others[0]] if others else shown


def describe_candidates(candidates: Sequence[Candidate]) -> str:
    """Return the shown candidates after the first as text, with their kind if it is another kind than the first's."""
    return ", ".join(
        f"{candidate}{'' if candidate.kind == candidates[0].kind else f' {candidate.kind}'}"
        for candidate in shown_candidates(candidates)[1:]
    )


def response_candidates(
    catalog: Catalog,
    data: Any,
    start: int,
    stop: int,
    *,
    api: Api | None = None,
    version: int | None = None,
    exact_only: bool = False,
) -> list[Candidate]:
    """Return the responses that fit the bytes [start, stop), header included, with the likeliest first.

    `api` and `version` narrow the search. If no response fits without an anomaly that may have moved bytes, responses
    with one fault of a server are candidates too, unless `exact_only`: a header of another version, or a few bytes too
    many.
    """
    layouts = _layouts(catalog)
    if api is not None or version is not None:
        layouts = [*_narrowed(layouts, api, version)]
    headers = [decode_header(catalog, "response", number, data, start=start, stop=stop) for number in (0, 1)]
    candidates = ranked(_exact(catalog, layouts, headers, stop))
    if exact_only or any(candidate.aligned for candidate in candidates):
        return candidates
    return ranked([*candidates, *_with_one_fault(catalog, layouts, headers, stop)])


def _narrowed(layouts: list[_Layout], api: Api | None, version: int | None) -> Iterator[_Layout]:
    for layout in layouts:
        meanings = [each for each in layout.meanings if api in {None, each[0]} and version in {None, each[1]}]
        if meanings:
            yield layout._replace(meanings=meanings)


def _exact(catalog: Catalog, layouts: list[_Layout], headers: list[Decoded], stop: int) -> Iterable[Candidate]:
    candidates: dict[tuple[int, int], Candidate] = {}  # of two layouts of a version the likelier one
    for layout in layouts:
        header = headers[layout.header]
        if not header.complete:
            continue
        spans = walk(layout.meanings[0][2], header.data, header.raw.used, stop)
        if spans.lost >= 0 or spans.used != stop:
            continue
        for candidate in _candidates(catalog, layout, header, spans):
            known = candidates.get((candidate.api.key, candidate.version))
            if known is None or candidate.bits < known.bits:
                candidates[candidate.api.key, candidate.version] = candidate
    return candidates.values()


def _with_one_fault(catalog: Catalog, layouts: list[_Layout], headers: list[Decoded], stop: int) -> Iterator[Candidate]:
    """Yield the responses that fit after a header of another version, or that leave a few bytes."""
    for layout in layouts:
        for number in (layout.header, 1 - layout.header):
            header = headers[number]
            if not header.complete or header.raw.flags:
                continue
            spans = without_rest(walk(layout.meanings[0][2], header.data, header.raw.used, stop, strict=True))
            rest = stop - spans.used
            most = MAX_REST if number == layout.header else 0
            if spans.lost >= 0 or spans.flags or rest > most:
                continue
            for candidate in _candidates(catalog, layout, header, spans):
                bits = candidate.bits + ANOMALY + bytes_bits(header.data[spans.used : stop])
                yield candidate._replace(bits=bits, aligned=not rest, is_exact=False)


def _candidates(catalog: Catalog, layout: _Layout, header: Decoded, spans: Spans) -> Iterator[Candidate]:
    bits = CHOICE + bits_of(catalog, header.tree)
    for api, version, entry in layout.meanings:
        tree = build(entry, spans._replace(program=entry.program))
        yield Candidate("response", api, version, header.version, bits + bits_of(catalog, tree), spans.aligned)


def least_response_bits(catalog: Catalog, data: Any, start: int, stop: int) -> float:
    """Return the bits that any response needs at least. Its header begins at `start`; no definition is read."""
    header = decode_header(catalog, "response", 0, data, start=start, stop=stop)
    return CHOICE + bits_of(catalog, header.tree)


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates with the likeliest first; of equal ones, the common apis and the newest versions."""
    return sorted(candidates, key=lambda c: (c.bits, _commonness(c.api.key), c.api.key, -c.version))


class _Layout(NamedTuple):
    """Responses that read any bytes in the same way, down to the numbers of their leaves, with all their meanings."""

    header: int
    meanings: list[tuple[Api, int, Entry]]


@cache
def _layouts(catalog: Catalog) -> list[_Layout]:
    """Return the layouts of all responses. Many versions differ in other messages, or in names, and are walked once."""
    layouts: dict[Any, _Layout] = {}
    for api in catalog.apis:
        if not api.response:
            continue
        for version in catalog.entry(api.response).valid_versions.each():
            header = catalog.header_version("response", api.key, version)
            for spec in (catalog.message(api.response), *_early_layouts(catalog, api.response, version)):
                try:
                    entry = entry_for(spec, version)
                except KwireError:
                    continue
                same = header, entry.pc, tuple(entry.program.code), tuple(entry.program.tables)
                layouts.setdefault(same, _Layout(header, [])).meanings.append((api, version, entry))
    return [*layouts.values()]


def _early_layouts(catalog: Catalog, message: str, version: int) -> list[MessageSpec]:
    return [catalog.early_layout(message, release) for release in catalog.early_releases(message, version)]


def _commonness(key: int) -> int:
    return COMMON.index(key) if key in COMMON else len(COMMON)


def bits_of(catalog: Catalog, tree: Tree) -> float:
    """Return the number of bits that this reading of the bytes costs. Fewer bits are likelier."""
    bits = ANOMALY * len(tree.spans.flags)
    return bits + sum(_leaf_bits(catalog, item, tree) for _, item in places(tree.root) if item.span >= 0)


def _leaf_bits(catalog: Catalog, item: Item, tree: Tree) -> float:
    leaf = item.leaf
    data = tree.spans.data
    if isinstance(leaf.decl, Sized):
        length = item.end - tree.spans.value[item.span]
        if length == 0 and is_null(item, data):
            return 2.5
        raw = data[item.end - length : item.end]
        return 1.5 * log2(length + 2) + (_text_bits(raw) if leaf.kind == "string" else bytes_bits(raw))
    if leaf.kind == "count":
        count = read_count(item, data)
        return 3.5 if count < 0 else 1.5 + 2 * log2(count + 1)
    if leaf.kind in INT_BITS:
        return _int_bits(catalog, leaf.name, leaf.kind, leaf_value(item, tree))
    if leaf.kind == "unknown-tag":
        return 8.0 * (item.end - item.start)
    if leaf.kind == "tag-header":
        return 1.0 if item.tag is None else 20.0
    first = data[item.start]
    if leaf.kind == "tag-count":
        return 0.05 if first == 0 else 5.0
    if leaf.kind == "bool":
        return 1.0 if first < 2 else ANOMALY
    fixed = {"uuid": 128.0 if any(data[item.start : item.end]) else 2.0, "float64": 64.0}
    return fixed.get(leaf.kind, 1.0)


def _int_bits(catalog: Catalog, name: str, kind: str, number: int) -> float:
    width = INT_BITS[kind]
    if kind == "int16" and name[-9:].lower() == "errorcode":
        if number == 0:
            return 0.5
        return 9.5 if catalog.error_name(number) else width + ANOMALY
    if name == "throttleTimeMs":
        if number == 0:
            return 0.2
        return 16.0 if 0 < number < 1 << 16 else width + 6.0
    if name == "acks" and number not in ACKS:
        return ANOMALY + width
    if number in {0, -1}:
        return 2.0
    # two bits for the scale of the number, then its digits
    return min(2.0 + 2 * log2(abs(number) + 1), width + 2.0)


def bytes_bits(raw: Any) -> float:
    """Return the number of bits of bytes without a layout."""
    return 8.0 * len(raw) - 5.5 * bytes(raw).count(0)


def _text_bits(raw: Any) -> float:
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError:
        return ANOMALY + 8.0 * len(raw)
    if raw and not text.isprintable():
        return 10.0 + 8.0 * len(raw)
    return 5.5 * len(raw)
