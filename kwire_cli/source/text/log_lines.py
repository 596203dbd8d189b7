r"""Bytes inside the lines of a log: literals, hex digits, base64, and dumps between the lines.

A log is full of text that looks like bytes and is not: addresses, UUIDs, hashes, partitions. A run of bytes is taken
only if it proves itself, see `proves_itself`. A note names the lines of all other runs.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import counted, few
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, says_size
from kwire_cli.source.text.literals import literal_bytes
from kwire_cli.source.text.model import NO_FRAME, Answers, Chunk, Input, MismatchError, has_controls
from kwire_cli.source.text.rows import READERS
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MIN_FRAME = 8
"""Bytes of the shortest frame: a size, and a correlation id."""
MAX_HASH = 64
"""Bytes of SHA-512: no hash, id or address is longer."""
LABEL = 100
"""Characters of a line in a label."""
NOTES = 10
"""Places that are named."""

_RUNS = re.compile(
    r"""
    (?P<literal>(?<![\w\\])[bB]'(?:[^'\\]|\\.)*+'|(?<![\w\\])[bB]"(?:[^"\\]|\\.)*+"
      | <(?:Slow)?Buffer(?:[ ][0-9a-fA-F]{2})++[^>]{0,40}> | <<[^<>]{16,}+>>
      | \{"0":[0-9]{1,3}(?:,"[0-9]{1,8}":[0-9]{1,3})++\})
  | (?P<list>\[[ ]?-?[0-9]{1,3}(?:(?:,[ ]?|[ ])-?[0-9]{1,3})++[ ]?\])
  | (?<!\\)(?P<string>"(?:[^"\\]|\\.)*+")
  | (?P<bare>(?:\\x[0-9a-fA-F]{2}){3}.*+)
  | (?<![0-9A-Za-z_])(?P<hex>(?:0x)?[0-9a-fA-F]{2}(?:(?:[ :-]|,[ ]?)(?:0x)?[0-9a-fA-F]{2}){7,}+
      | [0-9a-fA-F]{4}(?:[ ][0-9a-fA-F]{4}){3,}+(?:[ ][0-9a-fA-F]{2})?(?![0-9A-Za-z_])
      | (?:0x)?(?:[0-9a-fA-F]{2}){8,}+(?![0-9A-Za-z_]))
  | (?<![0-9A-Za-z+/_-])(?P<base64>[0-9A-Za-z+/_-]{16,}+={0,2})
    """,
    re.VERBOSE,
)
_FOLLOWS = r"(?:[ ]?\|[ ]|:?[ \t]+)[0-9a-fA-F]{2}"
_FIRST = rf"\|?(?:0x)?0{{4,16}}{_FOLLOWS}"
_ROW = re.compile(rf"[ \t]*\|?(?:0x)?[0-9a-fA-F]{{4,16}}(?:{_FOLLOWS}|[ \t]*$)")
_FIRST_ROW = re.compile(rf"[ \t]*{_FIRST}")
_PREFIXED_ROW = re.compile(rf"[^\n]{{1,400}}?[ \t>|](?={_FIRST})")
"""The text that a log writes before the first row of a dump, such as a time and a thread."""
_KAFKAJS = re.compile(r"Response \w{1,40}\(key: (\d{1,4}), version: (\d{1,4})\)")
_CORRELATION_ID = re.compile(r'"correlationId":(\d{1,10}),')
_COLUMNS = bytes(range(16))
"""The heading of a dump: the last digit of each offset."""
_WITHOUT_BYTES = re.compile(r"java\.nio\.\w*ByteBufferR?\[[^\]]{0,80}\]|\[B@[0-9a-f]{1,8}\b")
_SECRETS = re.compile(r"passw|secret|token|hmac|credential|jaas|api.?key[ =:]", re.IGNORECASE)
"""Words in a line from which on a label does not show it."""
_WORD = re.compile(r"(?<![^\W\d_])(?=[^\W\d_]{3})[a-fA-F]*+[^\W\d_a-fA-F]")
"""Three letters or more, one of them not a hex digit."""


def read_log_lines(text: str) -> Input:
    """Return a chunk for each run of bytes, labelled with its line.

    Raises:
        MismatchError: No run is taken, or a line of hex has a typing error.

    """
    chunks: list[Chunk] = []
    notes: list[str] = []
    passed: list[int] = []
    lines = text.split("\n")
    at = 0
    above = ""
    position = 0
    while at < len(lines):
        line = lines[at]
        rows, words = _rows_of(lines, at, above)
        stop = at + len(rows)
        dumps = _dump(rows) if rows else None
        if dumps is not None:
            chunks += [Chunk(data, at + 1, _label(at + 1, _words(words))) for data in dumps]
        else:
            if len(rows) > 1:
                _note(notes, f"line {at + 1}: rows of a hexdump that cannot be read; --input xxd or hexdump says why")
            stop = at + 1
            taken, left = _of_line(line, at + 1, above, notes)
            chunks += taken
            passed += [at + 1] * left
            if not taken and not left:
                _refuse_slip(line, position)
            above = line if line.strip() else above
        position += sum(map(len, lines[at:stop])) + stop - at
        at = stop
    if not chunks:
        raise MismatchError(0, notes[0] if notes else NO_FRAME)
    if passed:
        where = few([str(number) for number in dict.fromkeys(passed)], NOTES)
        runs = f"{counted(len(passed), 'other run')} of bytes not read, because nothing proves a frame"
        notes.append(f"{runs}: line {where}; give a run alone to read it")
    return Input(tuple(chunks), f"runs of bytes in {len(lines)} lines", tuple(notes))


def proves_itself(data: bytes, *, numbers: bool = False) -> bool:
    """Return whether a run of bytes in a log is taken, by the first of these rules that holds.

    - Its size prefixes lead from one frame to the next. The last frame may be cut.
    - It begins with the header of a request, with or without a size: a known api and version, and a printable client
      id.
    - It is longer than any hash, and holds a zero byte. With `numbers`, which may be partitions, at least one number
      is also below 0 or above 127.
    """
    if len(data) < MIN_FRAME:
        return False
    at = _frames(data)
    rest = len(data) - at
    if at and (rest < SIZE_BYTES or len(data) - at - SIZE_BYTES < (says_size(data, at, len(data)) or 0) <= MAX_SIZE):
        return True
    from kwire_cli.source.first_bytes import reads_as_request  # noqa: PLC0415 - start-up counts

    definitions = catalog()
    if len(data) > 12 and (
        reads_as_request(definitions, data) or reads_as_request(definitions, len(data).to_bytes(SIZE_BYTES) + data)
    ):
        return True
    return len(data) > MAX_HASH and 0 in data and (not numbers or max(data) > 127)


def _frames(data: bytes) -> int:
    """Return the end of the last whole frame of those that size prefixes lead to, from the first byte on."""
    at = 0
    while len(data) - at >= MIN_FRAME:
        size = says_size(data, at, len(data)) or 0
        if not SIZE_BYTES <= size <= len(data) - at - SIZE_BYTES:
            break
        at += SIZE_BYTES + size
    return at


class _Run(NamedTuple):
    """A run in a line that looks like bytes: its place, how it is written, its bytes, and notes on them."""

    start: int
    stop: int
    kind: str
    data: bytes = b""
    notes: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Return whether the run is taken."""
        if self.kind == "base64" and says_size(self.data, 0, len(self.data)) != len(self.data) - SIZE_BYTES:
            return False
        return proves_itself(self.data, numbers=self.kind == "list")


def _runs(line: str, start: int = 0, stop: int | None = None) -> Iterator[_Run]:
    """Yield all runs in a line, also those inside quoted text."""
    for match in _RUNS.finditer(line, start, len(line) if stop is None else stop):
        kind = match.lastgroup or ""
        data, notes = _bytes(kind, match[0])
        # A line feed in a string is an escape too, and no sign of bytes.
        if kind == "string" and (not data or ("\\" in match[0] and not has_controls(data))):
            yield from _runs(line, match.start() + 1, match.end() - 1)
        elif kind != "base64" or any(map(str.isdigit, match[0])):
            yield _Run(match.start(), match.end(), kind, data, notes)


def _of_line(line: str, place: int, above: str, notes: list[str]) -> tuple[list[Chunk], int]:
    """Return the chunks in a line, and the number of runs that prove nothing."""
    runs = [*_runs(line)]
    response = _KAFKAJS.search(line)
    correlation_id = _CORRELATION_ID.search(line)
    payloads = [run for run in runs if run.kind in ("list", "literal")]
    if response is not None and correlation_id is not None and len(payloads) == 1:
        _note(notes, f"line {place}: kafkajs logs no size and no correlation id in a payload; a frame shows both")
        payload = literal_bytes(line[payloads[0].start : payloads[0].stop])[0]
        answers = Answers(int(response[1]), int(response[2]), int(correlation_id[1]))
        return [Chunk(payload, place, _label(place, _words(line, runs)), answers)], 0
    taken = []
    passed = 0
    for run in runs:
        if run.proved:
            taken.append(run)
        else:
            passed += len(run.data) >= MIN_FRAME and run.kind != "base64" and run.data != _COLUMNS
    for run in taken:
        for note in run.notes:
            _note(notes, note.replace("line 1:", f"line {place}:"))
    if not taken and (buffer := _WITHOUT_BYTES.search(line)):
        _note(
            notes,
            f"line {place}: {buffer[0]} names a buffer without its bytes; log HexFormat.of().formatHex(bytes) "
            f"or Arrays.toString(bytes)",
        )
    words = _words(line, runs)
    if taken and not _WORD.search(words):
        words = _words(above)
        if not _WORD.search(words):
            return [], passed + len(taken)
    return [Chunk(run.data, place, _label(place, words)) for run in taken], passed


def _bytes(kind: str, text: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of a run, and the notes on them. Text has no bytes."""
    if len(text) < 2 * MIN_FRAME or (kind == "string" and "\\" not in text and not text[1:-1].isalnum()):
        return b"", ()
    try:
        if kind == "bare":
            data, notes = literal_bytes(text)
            size = _frames(data)
            return (data[:size], notes) if size else literal_bytes(text.split(None, 1)[0])
        if kind == "base64":
            bare = text.rstrip("=").translate({45: "+", 95: "/"})
            return b64decode(bare + "=" * (-len(bare) % 4), validate=True), ()
        if kind == "hex":
            return bytes.fromhex(re.sub("0x|[ :,-]", "", text)), ()
        return literal_bytes(text)
    except (ValueError, Error, MismatchError):
        return b"", ()


def _rows_of(lines: list[str], at: int, above: str) -> tuple[list[str], str]:
    """Return the rows of the dump that begins in this line, and the line that describes the dump.

    A log may write the same number of characters before every row, such as a time: these are cut off. The rows are
    empty if no dump begins here.
    """
    first = _FIRST_ROW.match(lines[at])
    prefix = None if first else _PREFIXED_ROW.match(lines[at])
    if first is None and prefix is None:
        return [], above
    width = prefix.end() if prefix else 0
    rows = [lines[at][width:]]
    while at + len(rows) < len(lines):
        row = lines[at + len(rows)][width:]
        if row.strip() != "*" and (not _ROW.match(row) or _FIRST_ROW.match(row)):
            break
        rows.append(row)
    if prefix is None:
        return rows, above
    return (rows, prefix[0]) if len(rows) > 1 else ([], above)


def _dump(rows: list[str]) -> list[bytes] | None:
    """Return the bytes of a dump between lines, or None if no form reads it. Leave out bytes too short for a frame."""
    block = "\n".join(rows)
    for read in READERS.values():
        try:
            return [chunk.data for chunk in read(block).chunks if len(chunk.data) >= MIN_FRAME]
        except MismatchError:
            continue
    return None


def _refuse_slip(line: str, position: int) -> None:
    """MismatchError for a line that is hex but for one or two characters: bytes are lost if it is left."""
    code = re.split("#|//", line, maxsplit=1)[0]
    digits = code.strip()
    if len(digits) < 16 or "=" in digits or "|" in digits:
        return
    strange = [at for at, character in enumerate(code) if character not in "0123456789abcdefABCDEF \t"]
    if 0 < len(strange) <= 2 and not _WORD.search(digits):
        raise MismatchError(position + strange[0], "expected a hex digit, as nearly all of this line are")


def _words(line: str, runs: Iterable[_Run] | None = None) -> str:
    """Return a line with `…` in the place of its runs, up to a word that a secret may follow."""
    out = []
    at = 0
    for run in _runs(line) if runs is None else runs:
        out += [line[at : run.start], "…"]
        at = run.stop
    words = "".join([*out, line[at:]])
    secret = _SECRETS.search(words)
    return words if secret is None else f"{words[: secret.start()]}…"


def _label(place: int, words: str) -> str:
    words = " ".join(words.split())
    excerpt = words if len(words) <= LABEL else f"{words[: LABEL - 1]}…"
    return f"line {place}: {excerpt}" if excerpt else f"line {place}"


def _note(notes: list[str], text: str) -> None:
    if len(notes) < NOTES:
        notes.append(text)
