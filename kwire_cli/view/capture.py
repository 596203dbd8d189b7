"""Lines of a capture for eyes: as trees, as annotated hex, and requests with their responses below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.structs.sized import redacted
from kwire_cli.view import hex as hex_view, tree as tree_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.model import Hide
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.lines import Line


def tree_lines(catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], *, full: bool, hide: Hide | None = None) -> Iterator[Line]:
    """A line of a capture as a tree."""
    yield _where(line)
    if line.frame:
        yield from _titled(line, tree_view.frame_lines(catalog, line.frame, hidden, full=full, asked=line.asked, reading=line.reading(hide)))
    else:
        yield _other(line)


def hex_lines(catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], *, rows: int | None, hide: Hide | None = None) -> Iterator[Line]:
    """A line of a capture byte by byte; offsets count from the start of the frame."""
    yield _where(line)
    if line.frame:
        yield from _titled(line, hex_view.frame_lines(catalog, line.frame, hidden, rows=rows, reading=line.reading(hide)))
    else:
        yield _other(line)


def _titled(line: Captured, lines: Iterator[Line]) -> Iterator[Line]:
    """Put the title of a gap in place of the first line, if the bytes are no frame."""
    if line.code:
        next(lines)
        yield _other(line)
    yield from lines


def _where(line: Captured) -> Line:
    file, packet = line.where
    where = f" of {file}" if line.origin.several else ""
    out: Line = [(f"{line.time or 'no time'}  {line.src} → {line.dst}  stream {line.stream}, packet {packet}{where}", "dim")]
    if line.request:
        out.append((f"  answers frame {line.request.number}", "dim"))
    if line.latency is not None:
        out.append((f" after {line.latency * 1000:.3f} ms", "number"))
    if line.topics:
        out.append((f"  {', '.join(line.topics)}", "text"))
    return out


def _other(line: Captured) -> Line:
    seen = line.seen
    size = f"{seen.size} byte{'' if seen.size == 1 else 's'}"
    if line.kind == "sasl-token":
        return [(f"frame {line.number}: ", "dim"), ("SASL token", "title"), (f" {redacted(seen.size)}", "secret")]
    if line.kind == "not-kafka":
        out: Line = [(f"frame {line.number}: ", "dim"), (f"not Kafka: {seen.protocol or 'unknown'}", "warning"), (f", {size}", "dim")]
        out += [(f": {', '.join(seen.content)}", "text")] if seen.content else []
        return [*out, (f"; not decrypted: {seen.reason}", "warning")] if seen.reason else out
    return [(f"frame {line.number}: ", "dim"), (f"gap: {line.code}", "warning"), (f", {size}", "dim")]
