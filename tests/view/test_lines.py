import json
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kwire_cli.view.lines import escaped, is_hidden, json_escaped, printable, quoted

TURNING = [
    point
    for point in range(0x3000)
    if unicodedata.bidirectional(chr(point)) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
]


CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
ZERO_WIDTH = [*range(0x200B, 0x2010), *range(0x2060, 0x2070), 0xFEFF]
TAGS = [*range(0xE0000, 0xE0080)]


def test_what_moves_a_cursor_turns_the_text_or_cannot_be_seen_is_escaped():
    for point in (*CONTROLS, *TURNING, *ZERO_WIDTH, *TAGS):
        assert quoted(f"a{chr(point)}b").isascii(), hex(point)


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_quoted_text_can_be_read_back(text):
    inner = quoted(text)[1:-1]
    out, at = "", 0
    while at < len(inner):
        if inner[at] != "\\":
            out, at = out + inner[at], at + 1
        elif inner[at + 1] in "xuU":
            end = at + {"x": 4, "u": 6, "U": 10}[inner[at + 1]]
            out, at = out + chr(int(inner[at + 2 : end], 16)), end
        else:
            out, at = out + {"n": "\n", "t": "\t", "r": "\r"}.get(inner[at + 1], inner[at + 1]), at + 2
    assert out == text


@given(st.text())
def test_escaped_text_is_text_of_what_can_be_seen_and_json_keeps_its_meaning(text):
    assert not any(is_hidden(character) for character in escaped(text))
    assert escaped(escaped(text)) == escaped(text)
    shown = json_escaped(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert not any(is_hidden(character) for character in shown)


@pytest.mark.parametrize("text", ["日本\u3000語", "a\u00a0b", "e\u0301", "שלום"])
def test_text_that_can_be_seen_stays(text):
    assert escaped(text) == text


@given(st.binary())
def test_the_ascii_column_has_one_character_for_each_byte(data):
    shown = printable(data)
    assert len(shown) == len(data)
    assert shown.isascii()
    assert shown.isprintable()
    assert all(character in {chr(byte), "."} for character, byte in zip(shown, data, strict=True))
