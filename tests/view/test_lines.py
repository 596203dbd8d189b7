import unicodedata

import pytest
from hypothesis import given, strategies as st

from kwire_cli.view.lines import plain, printable, quoted

TURNING = [
    point for point in range(0x3000) if unicodedata.bidirectional(chr(point)) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
]


@pytest.mark.parametrize("point", [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x200E, 0x200F, *TURNING], ids=hex)
def test_what_moves_a_cursor_or_turns_the_text_is_escaped(point):
    assert chr(point) not in quoted(f"a{chr(point)}b")
    assert quoted(f"a{chr(point)}b").isascii()


@given(st.text())
def test_quoted_text_has_nothing_that_moves_a_cursor(text):
    shown = quoted(text)
    assert shown[0] == shown[-1] == '"'
    assert not any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in shown)
    assert len(shown.splitlines()) == 1


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_quoted_text_can_be_read_back(text):
    inner = quoted(text)[1:-1]
    out, at = "", 0
    while at < len(inner):
        if inner[at] != "\\":
            out, at = out + inner[at], at + 1
        elif inner[at + 1] in "xu":
            end = at + (4 if inner[at + 1] == "x" else 6)
            out, at = out + chr(int(inner[at + 2 : end], 16)), end
        else:
            out, at = out + {"n": "\n", "t": "\t", "r": "\r"}.get(inner[at + 1], inner[at + 1]), at + 2
    assert out == text


@given(st.binary())
def test_the_ascii_column_has_one_character_for_each_byte(data):
    shown = printable(data)
    assert len(shown) == len(data)
    assert shown.isascii()
    assert shown.isprintable()
    assert all(character in {chr(byte), "."} for character, byte in zip(shown, data, strict=True))


def test_plain_is_the_text_of_a_line():
    assert plain([("a", "name"), (": ", "dim"), ("1", "number")]) == "a: 1"
