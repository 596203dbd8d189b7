"""Readers of one layout: Python functions generated from it, which read well-formed bytes without spans.

The generator is `engine.reader_source`. A reader returns exactly the values of the kernel's spans, or it raises
MalformedError. The kernel then locates the anomaly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Series, Struct, holds_records
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID, Counter, MalformedError, Sink, Skip, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.python_source import Read, Source
    from kwire_cli.engine.reader_source import Writer

SKIP = "skip"
"""The form of values in which there are only the single fields of the message itself."""
MAX_READERS = 4096
"""Maximum number of cached readers. Kafka has fewer layouts, but definitions can change often."""
_FAULTS = "IndexError, struct_error, UnicodeDecodeError"
"""Exceptions of generated source for bytes that end too early, or invalid UTF-8."""


_READERS: dict[tuple[int, str, bool], tuple[Entry, Callable[[Any, int, int], Read]]] = {}
_COUNTERS: dict[tuple[int, frozenset[int]], tuple[Entry, Counter]] = {}


def reader_of(
    entry: Entry, form: str = "base64", roles: Mapping[int, str] | None = None, naming: Sequence[tuple[int, int]] = ()
) -> Callable[[Any, int, int], Read]:
    """Return `read(data, start, stop)` of messages of a layout; made once for each form.

    `form` is SKIP, or how records are shown, as in `values.Form`. `roles` has the roles of leaves by node, and
    `naming` the nodes of a topic's name and id in one structure, always the same for a layout. The reader of a layout
    that none can be made for raises MalformedError.
    """
    key = (id(entry), form, roles is not None)
    cached = _READERS.get(key)
    if cached is None:
        if len(_READERS) >= MAX_READERS:
            _READERS.clear()
        cached = _READERS[key] = (
            entry,
            _reader(entry, form, roles or {}, naming),
        )  # the entry is kept, so that its id stays its own
    return cached[1]


_SEEN: dict[int, list[Any]] = {}
OFTEN = 8
"""Number of messages of a layout from which on it pays to generate a reader."""


def often_read(entry: Entry, form: str) -> Callable[[Any, int, int], Read] | None:
    """Return the reader of a layout whose messages are decoded one by one, or None for the first messages."""
    tally = _SEEN.get(id(entry))
    if tally is None:
        if len(_SEEN) >= MAX_READERS:
            _SEEN.clear()
        tally = _SEEN[id(entry)] = [entry, 0, holds_records(entry)]  # as above
    own = form if tally[2] else "base64"  # only records depend on the form
    if (id(entry), own, False) not in _READERS:
        tally[1] += 1
        if tally[1] < OFTEN:
            return None
    return reader_of(entry, own)


def counter_of(entry: Entry, places: Mapping[int, Any]) -> Counter:
    """Return the counter of messages of a layout, made once: `count(data, start, stop, sums, rows)`.

    `places` are the nodes of leaves whose places `rows` gets, always the same for a layout: 0, the node, where the
    value begins and where it ends. The counter of a layout that none can be made for raises MalformedError.
    """
    key = (id(entry), frozenset(places))
    cached = _COUNTERS.get(key)
    if cached is None:
        if len(_COUNTERS) >= MAX_READERS:
            _COUNTERS.clear()
        cached = _COUNTERS[key] = entry, _counter(entry, places)
    return cached[1]


def _writer(sink: Sink, roles: Mapping[int, str] | None = None, naming: Sequence[tuple[int, int]] = ()) -> Writer:
    """Return a generator, which is imported for the first reader: who decodes a single message needs none."""
    from kwire_cli.engine.reader_source import Writer  # noqa: PLC0415 - as said above

    return Writer(sink, roles or {}, naming)


def _refuse(*_: Any) -> Any:
    """Read nothing: there is no reader of the layout."""
    raise MalformedError


def _reader(
    entry: Entry, form: str, roles: Mapping[int, str], naming: Sequence[tuple[int, int]]
) -> Callable[[Any, int, int], Read]:
    writer = _writer(Skip() if form == SKIP else Sink(form), roles, naming)
    out = writer.out
    there = {
        "topics": TOPIC in roles.values(),
        "ids": TOPIC_ID in roles.values(),
        "errors": ERROR in roles.values(),
        "names": bool(naming),
    }
    try:
        with out.block("def read(data, at, stop):"):
            with out.block("if type(data) is not bytes:"):  # only bytes can be read as text
                out.add("data = bytes(data[at:stop])", "at, stop = 0, len(data)")
            out.add(*(f"{name} = []" for name, wanted in there.items() if wanted))
            _write_message(writer, out, entry, kept=True)
            out.add(
                f"return make(Read, (value, {', '.join(name if wanted else '()' for name, wanted in there.items())}))"
            )
        return out.function("read")
    except UnsupportedError:
        return _refuse


def _write_message(writer: Any, out: Source, entry: Entry, *, kept: bool) -> None:
    """Write the statements that read a complete message."""
    with out.block("try:"):
        writer.struct(entry.root, "value", kept=kept, top=True)
    out.add(f"except ({_FAULTS}): raise Malformed from None", "if at != stop: raise Malformed")


def _counter(entry: Entry, places: Mapping[int, Any]) -> Counter:
    counter = Counter(entry.program, places)
    counter.count = _refuse
    writer = _writer(counter)
    out = writer.out
    try:
        with out.block("def count(data, at, stop, sums, rows):"):
            counter.begin(out)
            _write_message(writer, out, entry, kept=False)
            counter.end(out)
        counter.count = out.function("count")
    except UnsupportedError:
        return counter
    return counter


# Records: the layout of a series of records, each after its size


def records_reader(
    entry: Entry, sink: Sink, given: Sequence[str], then: Sequence[str], last: str
) -> Callable[..., Any]:
    """Return `read(data, at, stop, most, *given)`, which reads up to `most` records.

    It returns a list of results, where it stopped, whether that is not a malformed record, how many records it read,
    and `last`. `then` are the statements for a record, which call `add` with a result or extend `out` by several. They
    use the names in `given`, those in the sink's `names` and `space`, and for such a field `name_at`, where its bytes
    begin. `last` is the name of the value wanted of the last record, 0 without one.
    """
    writer = _writer(sink)
    out = writer.out
    with out.block(f"def read(data, at, stop, most, {', '.join(given)}):"):
        out.add("out = []", "add = out.append", "begin, room = at, most", f"{last} = 0")
        with out.block("try:"), out.block("while at < stop and most:"):
            out.add("begin = at")
            writer.struct(_record(entry), "", kept=False, top=True)
            out.add(*then, "most -= 1")
        out.add(f"except (Malformed, {_FAULTS}): return out, begin, False, room - most, {last}")
        out.add(f"return out, at, True, room - most, {last}")
    return out.function("read")


def records_counter(entry: Entry, counter: Counter, then: Sequence[str] = ()) -> Counter:
    """Return the counter of records: `count(data, at, stop, sums)` adds to `sums`.

    It returns how many records there are, and the bytes of their strings and bytes. Where a record is malformed it
    returns None, and `sums` stay.
    `then` are the statements for a record, as for `records_reader`; they may use the counters in `Counter.most`.
    """
    writer = _writer(counter)
    out = writer.out
    with out.block("def count(data, at, stop, sums):"):
        counter.begin(out)
        with out.block("try:"), out.block("while at < stop:"):
            writer.struct(_record(entry), "", kept=False, top=True)
            out.add(*then)
        out.add(f"except (Malformed, {_FAULTS}): return None")
        counter.end(out)
        records, *sizes = counter.structures[:1] + counter.sized
        out.add(f"return {records}, {' + '.join(sizes)}")
    counter.count = out.function("count")
    return counter


def _record(entry: Entry) -> Struct:
    (series,) = entry.root.fields
    assert isinstance(series, Series)  # noqa: S101 - for the type checker
    assert isinstance(series.element, Struct)  # noqa: S101 - as above
    return series.element
