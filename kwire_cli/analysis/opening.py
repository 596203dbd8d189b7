"""The library's function `kwire_cli.open`, which yields the frames and batches of inputs one by one.

A subject reads its values from the source object when they are requested, through the same columns as filters. So a
loop over a large capture decodes only the values that it uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.subjects import LOGS, TRAFFIC
from kwire_cli.errors import InputError
from kwire_cli.facts.columns import BY_NAME
from kwire_cli.facts.frame_values import LAST_SECOND, Half, halves_of
from kwire_cli.filter.rows import BatchRow, FrameRow, filter_of
from kwire_cli.message.redaction import Redaction, redacting
from kwire_cli.records.batch import Batch
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput, LogItem
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from kwire_cli.message.frames import Frame
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.schemas.serdes import Serdes
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.reading import LineFault
    from kwire_cli.spec.catalog import Catalog, Paths

    Source: TypeAlias = Captured | Half | LineFault | LogItem


@dataclass(frozen=True, slots=True, repr=False)
class Subject:
    """A frame of a capture, the request or the response of a line of a request log, or a batch of a log.

    `subject["client_id"]` is the value of a column of frames (docs/filter.md), and None if the input does not have the
    value. `source` is the object from which the values are read. It contains the bytes of the input, with secrets.
    """

    source: Source
    redaction: Redaction

    def __repr__(self) -> str:
        time, version, topics = (self[name] for name in ("time", "api_version", "topics"))
        ends = f" {self['src']} > {self['dst']}" if self["src"] or self["dst"] else ""
        label = "" if version is None else f" v{version}"
        what = f" {self['api']}{label}" if self["api"] else ""
        about = f" {', '.join(topics[:3])}" if topics else ""
        return f"<{self['kind']}{what}{about}{f' {time:%H:%M:%S.%f}' if time else ''}{ends}>"

    def __getitem__(self, name: str) -> Any:
        """Return the value of a column of frames, by one of its names. Raise KeyError for another name."""
        column = BY_NAME[name]
        source = self.source
        if isinstance(source, Captured):
            value = column.of_line(source)
        elif isinstance(source, Half):
            value = column.of_half(source)
        else:
            value = _values_of(source).get(column.name)
        if column.type == "time" and value is not None:
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value)
        return value

    def _repr_html_(self) -> str | None:
        shown = self.frame or self.batch
        return shown._repr_html_() if isinstance(shown, Batch) or self.frame else None  # type: ignore[union-attr]

    @property
    def frame(self) -> Frame | None:
        """The decoded request or response. Its `to_json` redacts secrets, like the frames of `read_frames`."""
        source = self.source
        if not isinstance(source, Captured) or source.frame is None:
            return None
        if self.redaction.show_secrets:
            return source.frame
        return redacting(self.redaction.catalog, source.frame, source)

    @property
    def batch(self) -> Batch | Gap | None:
        """The batch of a log, or a gap of bytes outside any batch."""
        return self.source.item if isinstance(self.source, LogItem) else None

    def to_json(self) -> dict[str, Any]:
        """Return a frame as `kwire decode`, and a batch as `kwire dump --deep` prints it; InputError for the rest."""
        source = self.source
        redaction = self.redaction
        if isinstance(source, Captured):
            return source.to_json(records="decoded", hidden=redaction.line(source), hide=redaction.record)
        if isinstance(source, LogItem):
            return source.item.to_json(hide=redaction.record)
        raise InputError("a line of a request log has no JSON of its own: `source` has its parts")


def _values_of(source: LogItem | LineFault) -> dict[str, Any]:
    """Return the columns that batches of logs, and lines that cannot be read, have too."""
    if not isinstance(source, LogItem):
        return {"kind": "fault", "line": source.line}
    item = source.item
    is_batch = isinstance(item, Batch)
    milliseconds = item.head.max_timestamp if isinstance(item, Batch) else -1
    return {
        "kind": "batch" if is_batch else "gap",
        "file": source.file,
        "size": item.size,
        "time": milliseconds * 1000 if 0 <= milliseconds < LAST_SECOND * 1000 else None,
        "topics": [source.topic] if source.topic else [],
    }


class Subjects:
    """An iterable over the subjects of inputs.

    Each iteration reads the inputs again, one subject at a time.
    """

    def __init__(self, inputs: Sequence[str], how: Reading, text: str | None, *, show_secrets: bool) -> None:
        self._inputs = inputs
        self._text = text
        self._redaction = Redaction(how.catalog, show_secrets=show_secrets)
        self._how = replace(how, hide=self._redaction.record)

    def __repr__(self) -> str:
        only = f", only {self._text}" if self._text else ""
        return f"<kwire subjects of {', '.join(self._inputs[:3])}{', …' if len(self._inputs) > 3 else ''}{only}>"

    def __iter__(self) -> Iterator[Subject]:
        for opened in open_inputs(self._inputs, self._how, takes=TRAFFIC | LOGS):
            for source in self._chosen(opened):
                yield Subject(source, self._redaction)

    def _chosen(self, opened: Opened) -> Iterator[Source]:
        is_log = isinstance(opened, LogInput)
        if opened.kind is Kind.REQUEST_LOG:
            if self._text is not None:
                raise InputError("a filter is for captures and logs, and this is a request log", file=opened.name)
            yield from _requests_and_responses(opened)
        elif self._text is None:
            yield from opened.subjects()
        else:
            wanted = filter_of(self._how.catalog, self._text, "either" if is_log else "frames")
            for source in opened.subjects():
                if isinstance(source, LogItem):
                    row: BatchRow | FrameRow = BatchRow(source.item, wanted.deep, self._redaction.record)
                else:
                    row = FrameRow(source, self._redaction)
                if wanted.matches(row):
                    yield source


def _requests_and_responses(opened: Opened) -> Iterator[Half | LineFault]:
    """Yield the request and the response of each line of a request log, and the lines that cannot be read."""
    for subject in opened.subjects():
        if isinstance(subject, Exchange):
            yield from halves_of(subject, opened.label, opened.how.catalog)
        else:
            yield subject


def open(  # noqa: A001 - the library's word for it
    *inputs: str | os.PathLike[str],
    filter: str | None = None,  # noqa: A002 - the name of the command's option
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    show_secrets: bool = False,
    specs: Paths = (),
    serdes: Serdes | None = None,
) -> Subjects:
    """Open captures, request logs and logs. Iterate over the result to get their frames and batches one by one.

    Args:
        inputs: Paths or URLs of files and folders.
        filter: The frames or batches that are wanted, in the language of --filter, such as "latency > 100ms".
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        show_secrets: Whether `to_json` shows secrets.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        serdes: The formats of keys and values that applications wrote, from `kwire.serdes`.

    Raises:
        InputError: There are no inputs, or the filter is invalid. During iteration: an input cannot be read.

    """
    if not inputs:
        raise InputError("no input: give paths of captures, request logs or log directories")
    definitions: Catalog = catalog(specs).with_serdes(serdes)
    if filter is not None:
        filter_of(definitions, filter, "either")
    files = [str(path) for path in inputs]
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog))
    return Subjects(files, how, filter, show_secrets=show_secrets)
