"""The bodies of logged requests and responses as bytes again: a log has their values, and of records only the size (KIP-673)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.batches import records_in
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import build
from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.structs.messages import SIZE_SUFFIX
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.batches import Way
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.spec.catalog import Catalog

REFUSED = "UNSUPPORTED_VERSION"
"""With this error a broker answers an ApiVersions request in version 0, whatever the request's (KIP-511); of that it has read the header alone."""
_LONGEST = RANGES["int32"][1]


class Written(NamedTuple):
    """A body with the bytes of its values, without records; `unsaid` is by how many these would make it longer, of which nothing else is known."""

    body: Decoded
    unsaid: int


class Unwritten(NamedTuple):
    """A body that cannot be written, and why; where it is as in `Exchange`."""

    line: int
    reason: str
    start: int = 0


@dataclass(slots=True)
class LeftOut:
    """Bodies that cannot be written: how many, and why not the first one and where it is."""

    count: int = 0
    first: str | None = None

    def add(self, place: str, body: Unwritten) -> None:
        """Count one."""
        self.count += 1
        self.first = self.first or f"{place}: {body.reason}"

    def merge(self, other: LeftOut) -> None:
        """Count those that come later."""
        self.count += other.count
        self.first = self.first or other.first

    @property
    def text(self) -> str | None:
        """What to say of them; None where there are none."""
        if not self.first:
            return None
        more = self.count - 1
        also = f", as {'is' if more == 1 else 'are'} {more} more" if more else ""
        return f"{self.first}: it cannot be written as bytes and is left out{also}"


class Bodies:
    """Writes bodies; what it has found out of a definition it keeps."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._ways: dict[str, Way] = {}

    def of(self, exchange: Exchange) -> Iterator[Written | Unwritten]:
        """The request of an exchange, and its response if there is one."""
        api = self._catalog.api_by_key(exchange.api_key)
        if api is None:
            yield Unwritten(exchange.line, f"api key {exchange.api_key} is not known", exchange.start)
            return
        version = exchange.api_version
        refused = exchange.api_key == API_VERSIONS and REFUSED in exchange.errors
        for message, value, layout in ((api.request, exchange.request, version), (api.response, exchange.response, 0 if refused else version)):
            if value is None or not message:
                continue
            try:
                yield self.written(message, value, layout)
            except (EncodeError, InputError) as error:
                yield Unwritten(exchange.line, f"{message} {layout}: {error}", exchange.start)

    def written(self, message: str, value: dict[str, Any], version: int) -> Written:
        """A body. EncodeError with the path of what does not fit, InputError for a message or version that no definition has."""
        spec = self._catalog.message(message)
        if message not in self._ways:
            self._ways[message] = records_in(spec)
        sizes: list[int] = []
        data = build(spec, _without_records(value, self._ways[message], sizes), version)
        body = decode_spec(spec, data, version)
        return Written(body, _unsaid(body, sizes) if sizes else 0)


def _without_records(value: Any, way: Way, sizes: list[int]) -> Any:
    """The value with nothing in place of records, whose sizes are added to `sizes`; itself where it has none. What is odd is left to be refused."""
    if isinstance(value, list):
        return [_without_records(each, way, sizes) for each in value] if way else value
    if not isinstance(value, dict) or not way:
        return value
    changed: dict[str, Any] = {}
    for key, inner in way.items():
        if inner is not None and key in value:
            changed[key] = _without_records(value[key], inner, sizes)
        size = value.get(key + SIZE_SUFFIX) if inner is None else None
        if type(size) is int and 0 <= size <= _LONGEST:
            sizes.append(size)
            changed[key] = ""
    if not changed:
        return value
    return {key: part for key, part in value.items() if key.removesuffix(SIZE_SUFFIX) not in changed or key in changed} | changed


def _unsaid(body: Decoded, sizes: list[int]) -> int:
    """What records of these sizes add to a body, with what their lengths take more than those of empty ones."""
    decl = next(leaf.decl for leaf in body.entry.program.leaves if leaf.kind == "records")
    lengths = [len(decl.prefix.build(size + decl.compact)) for size in (0, *sizes)]
    return sum(sizes) + sum(lengths[1:]) - len(sizes) * lengths[0]
