"""The error for a text that no form fits: the form that most of the text is in, what does not fit, and what to try."""

from __future__ import annotations

import re

from kwire_cli.source.text.model import NO_FRAME, WHOLE_TEXT, MismatchError
from kwire_cli.source.text.rows import STYLES

EXAMINED = 1 << 16
"""Characters of a text that are looked at."""
LIKE = 0.7
"""The least share of a text that is in the characters of a form which the text looks like."""
LONGEST_EXCERPT = 32
"""Characters of a text in an error."""
LEAST_BASE64 = 16
"""Characters of a text of one line that looks like base64 and not like a word."""

_HEX = re.compile(r"0x|\\x|[0-9a-fA-F:;,\-]")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]")
_VISIBLE = re.compile(r"\S")
_LITERAL = re.compile(
    r"""<(?:Slow)?Buffer|\bBuffer\.from|\bUint8Array|\bb["']|fromhex|bytearray|unhexlify|b64decode|parseHex
  | [\[{]\s*(?:0x|-?\d+[, ])|<<\s*["\d-]|"\\|\bu8\b|\b(?:byte|char)\b.*[\[*]
  | \A\s*(?:\{\s*"|\[?0\]?[ ]=[ ]|(?:0|[1-9]\d{0,2})\s*,)""",
    re.VERBOSE,
)


def misfit(text: str, failures: list[tuple[str, MismatchError]]) -> MismatchError:
    """Return the error for a text that none of the forms tried fits, given the error of each."""
    errors = dict(failures)
    start = text[:EXAMINED]
    candidates = [form for form in errors if _looks_like(form, start, errors[form].offset)]
    if candidates:
        form = max(candidates, key=lambda form: errors[form].offset)
        name = "a literal of a programming language" if form == "literal" else form
        return MismatchError(errors[form].offset, f"looks like {name}, but {_described(errors[form], text)}")
    log = errors.get("log")
    if log is not None and log.reason != NO_FRAME:
        return MismatchError(log.offset, f"looks like lines of a log, but {_described(log, text)}")
    json = "; kwire encode makes bytes of JSON" if text.lstrip()[:1] == "{" and '"apiKey"' in text else ""
    return MismatchError(
        WHOLE_TEXT,
        "no bytes were recognised in this text; give hex, base64, a hex dump, a literal of a programming language or a "
        f"capture{json}",
    )


def _looks_like(form: str, text: str, misfit_at: int) -> bool:
    """Return whether a text looks like a form by its characters, its rows, or a mark before the first misfit."""
    visible = max(len(_VISIBLE.findall(text)), 1)
    is_hex = sum(map(len, _HEX.findall(text))) / visible >= LIKE
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if form == "hex":
        return is_hex
    if form == "base64":
        words = max(map(len, lines), default=0) >= LEAST_BASE64 and not any(line.isalpha() for line in lines)
        spaced = any(" " in line for line in lines)
        return words and not spaced and not is_hex and len(_BASE64.findall(text)) / visible >= LIKE
    if form in STYLES:
        return sum(bool(STYLES[form].pattern.match(line)) for line in lines) * 2 > len(lines)
    mark = _LITERAL.search(text) if form == "literal" else None
    return mark is not None and mark.start() <= misfit_at


def _described(error: MismatchError, text: str) -> str:
    """Say what stands in a text that does not fit, where, and what to try."""
    at = error.offset
    holder = f"line {text.count(chr(10), 0, at) + 1}" if "\n" in text.strip() else "it"
    character = text[at : at + 1]
    excerpt = _excerpt(text, at)
    if error.reason.startswith("expected "):
        wanted = error.reason.removeprefix("expected ").partition("; ")[0]
        if not text[at:].strip():
            return f"the text ends where {wanted} should be"
        there = "the end of the line" if character == "\n" else repr(character)
        behind = f" in {excerpt}" if excerpt != f'"{character}"' else ""
        comment = "; text that is no bytes may stand behind # or //" if wanted == "a hex digit" else ""
        return f"{holder} has {there}{behind} where {wanted} should be{comment}"
    if error.reason.endswith("(odd)"):
        cut = "; if the text was cut there, leave out the last digit" if not text[at + 1 :].strip() else ""
        return f"{holder} has {error.reason}: {excerpt}{cut}"
    return error.reason


def _excerpt(text: str, at: int) -> str:
    """Return the word at a place of a text in quotes, or the part of a long word around the place."""
    if not text[at : at + 1].strip():
        return ""
    before, after = re.search(r"\S*\Z", text[:at]), re.match(r"\S*", text[at:])
    left, right = before[0] if before else "", after[0] if after else ""
    half = LONGEST_EXCERPT // 2
    return f'"{"…" * (len(left) > half)}{left[-half:]}{right[:half]}{"…" * (len(right) > half)}"'
