r"""Bytes inside the lines of a log: Python's `b'\x00'`, Node's Buffers, lists of Java's bytes, hex digits, base64,
hexdumps.

A log is full of what looks like bytes and is none: addresses, UUIDs, hashes, partitions. A run is taken only if it
proves itself, see `proves_itself`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, says_size
from kwire_cli.source.text.literals import number
from kwire_cli.source.text.model import NO_FRAME, Chunk, MismatchError, Reading, cut_note, unescape
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEAST = 8
"""Bytes of the shortest frame: a size, and a correlation id."""
LONGEST_HASH = 64
"""Bytes of SHA-512: no hash, id or address is longer."""
LABEL, NOTES = 100, 10
"""Characters of a line in a label; places that are named."""

_RUNS = re.compile(
    r"""
    (?<![\w\\])[bB](?P<python>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")
  | <(?:Slow)?Buffer(?P<buffer>(?:[ ][0-9a-fA-F]{2})++)(?P<left>[^>]{0,40})>
  | \[[ ]?(?P<list>-?[0-9]{1,3}(?:,[ ]?-?[0-9]{1,3})++)[ ]?\]
  | (?<!\\)"(?P<string>(?:[^"\\]|\\.)*+)"
  | (?P<escapes>(?:\\x[0-9a-fA-F]{2}){8,}+)
  | (?<![0-9A-Za-z_])(?P<groups>(?:0x)?[0-9a-fA-F]{2}(?:(?:[ :-]|,[ ]?)(?:0x)?[0-9a-fA-F]{2}){7,}+)
  | (?<![0-9A-Za-z_])(?P<words>[0-9a-fA-F]{4}(?:[ ][0-9a-fA-F]{4}){3,}+(?:[ ][0-9a-fA-F]{2})?)(?![0-9A-Za-z_])
  | (?<![0-9A-Za-z_])(?:0x)?(?P<hex>(?:[0-9a-fA-F]{2}){8,}+)(?![0-9A-Za-z_])
  | (?<![0-9A-Za-z+/_-])(?P<base64>[0-9A-Za-z+/_-]{16,}+={0,2})
    """,
    re.VERBOSE,
)
_ROW = re.compile(r"[ \t]*(?:0x)?([0-9a-fA-F]{4,16})(?::(?=[ \t]|$)|(?=[ ]{2}|[ \t][0-9a-fA-F]{2}[ ]|$))")
_FIRST_ROW = re.compile(r"[ \t]*(?:0x)?0{4,16}:?[ \t]+[0-9a-fA-F]{2}")
_PREFIXED_ROW = re.compile(r"[^\n]{1,400}?[ \t>|](?=(?:0x)?0{4,16}:?[ \t]+[0-9a-fA-F]{2})")
"""The text that a log writes before the first row of a dump, such as a time and a thread."""
_OPEN_LIST = re.compile(r"\[[ ]?(?:-?[0-9]{1,3},[ ]?)*+(?:-?[0-9]{1,3})?[ ]*$")
_REST_OF_LIST = re.compile(r"[ \t]*-?[0-9]{1,3}(?:,[ ]?-?[0-9]{1,3})*+,?[ ]*(?P<end>\])?")
_WITHOUT_BYTES = re.compile(r"java\.nio\.\w*ByteBufferR?\[[^\]]{0,80}\]|\[B@[0-9a-f]{1,8}\b")
_SECRETS = re.compile(r"passw|secret|token|hmac|credential|jaas|api.?key[ =:]", re.IGNORECASE)
"""Words in a line from which on a label does not show it."""
_WORD = re.compile(r"(?<![^\W\d_])(?=[^\W\d_]{3})[a-fA-F]*+[^\W\d_a-fA-F]")
"""Three letters or more, of which one is no hex digit."""


def read_log_lines(text: str) -> Reading:
    """Return a chunk for each run of bytes, labelled with its line.

    MismatchError if there is none, or a line of hex has a slip in it.
    """
    chunks: list[Chunk] = []
    notes: list[str] = []
    lines = text.split("\n")
    at, above, position, left = 0, "", 0, 0
    while at < len(lines):
        line = lines[at]
        rows, words = _rows_of(lines, at, above)
        stop = at + len(rows)
        dumps = _dump(rows) if rows else None
        if dumps is not None:
            chunks += [Chunk(data, at + 1, _label(at + 1, _words(words))) for data in dumps]
            position += sum(map(len, lines[at:stop])) + stop - at
            at = stop
            continue
        if stop > at + 1:
            _note(notes, f"line {at + 1}: rows of a hexdump that cannot be read; --input xxd or hexdump says why")
        stop = _list_end(lines, at)
        taken, passed = _of_line(" ".join([line.rstrip(), *map(str.strip, lines[at + 1 : stop])]), at + 1, above, notes)
        chunks += taken
        left += passed
        if not taken and not passed:
            _refuse_slip(line, position)
        above = line if line.strip() else above
        stop = stop if taken else at + 1
        position += sum(map(len, lines[at:stop])) + stop - at
        at = stop
    if not chunks:
        raise MismatchError(0, notes[0] if notes else NO_FRAME)
    passed_over = f"; {left} other runs prove nothing, and are left" if left else ""
    return Reading(tuple(chunks), f"runs of bytes in {len(lines)} lines{passed_over}", tuple(notes))


def proves_itself(data: bytes, *, numbers: bool = False) -> bool:
    """Return whether a run of bytes in a log is taken, by the first of these rules that holds.

    - Its size prefixes lead from one frame to the next. The last frame may be cut.
    - It begins with the header of a request, with or without a size: a known api and version, and a printable client
      id.
    - It is longer than any hash, and holds a zero byte. With `numbers`, which may be partitions, at least one number
      is also below 0 or above 127.
    """
    if len(data) < LEAST:
        return False
    at = 0
    while (
        len(data) - at >= LEAST
        and (size := says_size(data, at, len(data)) or 0) >= SIZE_BYTES
        and size <= len(data) - at - SIZE_BYTES
    ):
        at += SIZE_BYTES + size
    rest = len(data) - at
    if at and (rest < SIZE_BYTES or len(data) - at - SIZE_BYTES < (says_size(data, at, len(data)) or 0) <= MAX_SIZE):
        return True
    from kwire_cli.source.first_bytes import reads_as_request  # noqa: PLC0415 - start-up counts

    definitions = catalog((), None, ())
    if len(data) > 12 and (
        reads_as_request(definitions, data) or reads_as_request(definitions, len(data).to_bytes(SIZE_BYTES) + data)
    ):
        return True
    return len(data) > LONGEST_HASH and 0 in data and (not numbers or max(data) > 127)


class _Run(NamedTuple):
    """A run in a line that looks like bytes: its place, how it is written, and its bytes if it has any.

    `left` is what the run's writer omitted.
    """

    start: int
    stop: int
    kind: str
    data: bytes | None
    left: str = ""

    @property
    def proved(self) -> bool:
        """Return whether the run is taken."""
        data = self.data or b""
        if self.kind == "base64" and says_size(data, 0, len(data)) != len(data) - SIZE_BYTES:
            return False
        return proves_itself(data, numbers=self.kind == "list")


def _runs(line: str, start: int = 0, stop: int | None = None) -> Iterator[_Run]:
    """All runs in a line, those inside quoted text too."""
    for match in _RUNS.finditer(line, start, len(line) if stop is None else stop):
        kind = "buffer" if match.lastgroup == "left" else match.lastgroup or ""
        data = _bytes(kind, match[kind])
        if kind == "string" and data is None:
            yield from _runs(line, match.start() + 1, match.end() - 1)
        elif kind != "base64" or any(map(str.isdigit, match[0])):
            yield _Run(match.start(), match.end(), kind, data, match["left"] or "")


def _of_line(line: str, place: int, above: str, notes: list[str]) -> tuple[list[Chunk], int]:
    """The chunks in a line, and how many runs in it prove nothing."""
    runs = [*_runs(line)]
    taken = [run for run in runs if run.proved]
    passed = sum(len(run.data or b"") >= LEAST and run.kind != "base64" for run in runs if run not in taken)
    for run in taken:
        if "more" in run.left:
            _note(notes, cut_note(place, len(run.data or b""), run.left.strip(" .")))
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
    return [Chunk(run.data or b"", place, _label(place, words)) for run in taken], passed


def _bytes(kind: str, text: str) -> bytes | None:
    """The bytes of a run; None if it is none."""
    try:
        if kind in {"python", "string"}:
            body = text[1:-1] if kind == "python" else text
            if kind == "string" and "\\x" not in body:
                return None if not re.fullmatch(r"[0-9a-fA-F]{16,}", body) or len(body) % 2 else bytes.fromhex(body)
            return unescape(body, 0, encoding="latin-1", keep_unknown=True)
        if kind == "list":
            values = [number(part.strip(), octal=False) for part in text.split(",")]
            return bytes(value & 255 for value in values if value is not None) if _are_bytes(values) else None
        if kind == "escapes":
            return bytes.fromhex(text.replace("\\x", ""))
        if kind == "base64":
            return b64decode(
                text.rstrip("=").translate({45: "+", 95: "/"}) + "=" * (-len(text.rstrip("=")) % 4), validate=True
            )
        return bytes.fromhex(re.sub("0x|[ :,-]", "", text))
    except (ValueError, Error, MismatchError):
        return None


def _are_bytes(values: list[int | None]) -> bool:
    return len(values) >= LEAST and all(value is not None and -128 <= value <= 255 for value in values)


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


def _list_end(lines: list[str], at: int) -> int:
    """Return the line after the end of a list of numbers that this line begins, or the next line."""
    if not _OPEN_LIST.search(lines[at]):
        return at + 1
    for stop in range(at + 1, len(lines)):
        rest = _REST_OF_LIST.match(lines[stop])
        if rest is None:
            break
        if rest["end"]:
            return stop + 1
        if rest.end() < len(lines[stop]):
            break
    return at + 1


def _dump(rows: list[str]) -> list[bytes] | None:
    """The bytes of a dump between lines; None if no form reads it. Bytes that are too short to be a frame are left."""
    from kwire_cli.source.text.reading import ROW_FORMS, reader  # noqa: PLC0415 - the registry lists this form too

    block = "\n".join(rows)
    for form in ROW_FORMS:
        try:
            return [chunk.data for chunk in reader(form)(block).chunks if len(chunk.data) >= LEAST]
        except MismatchError:
            continue
    return None


def _refuse_slip(line: str, position: int) -> None:
    """MismatchError for a line that is hex but for one or two characters: bytes are lost if it is left."""
    digits = line.strip()
    if len(digits) < 16 or "=" in digits:
        return
    strange = [at for at, character in enumerate(line) if character not in "0123456789abcdefABCDEF \t"]
    if 0 < len(strange) <= 2 and not _WORD.search(digits):
        raise MismatchError(position + strange[0], "expected a hex digit, as nearly all of this line are")


def _words(line: str, runs: Iterable[_Run] | None = None) -> str:
    """A line with `…` in the place of its runs, up to a word behind which a secret may stand."""
    out, at = [], 0
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
