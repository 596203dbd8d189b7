"""Any text and any bytes give an Input or an InputError, soon."""

import pytest
from hypothesis import given, strategies as st

from kwire_cli.errors import InputError
from kwire_cli.source.text.model import Input
from kwire_cli.source.text.reading import FORMS, read_input

# Pieces that forms begin with, continue with, or break at.
PIECES = [
    *"0123456789abcfx \n\t:*#/|><\\\"'`[]{}(),;=+-_.\r\0é",
    *("00000000", "0000010", "000000", "0x0000:", "00000000: ", "00000000  ", "  ", "00 00 ", "0000 ", "\n*\n"),
    *("b'", "\\x0", "\\777", "'''", "/*", "*/", "(byte)", "= ", "AA==", "\ufeff", "ffffffffffffffff"),
    *("<Buffer ", "bytes.fromhex(", "Buffer.from(", "b64decode('", 'parseHex("'),
    *("IP 10.1.1.1 > 10.2.2.2\n", "0x0000:  4500 0028 0000 0000 4006", "Follow: ", '"data":', "\x1b", "٣", "\u2028"),
]
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)).map(str.encode)


def check(data, form):
    try:
        found = read_input(data, form, file="f")
    except InputError as error:
        place = (error.line, error.column)
        named = error.file
    else:
        place, named = (1, 1), "f"
        assert isinstance(found, Input)
        assert found.form in FORMS[1:]
        assert found.chunks
        assert all(chunk.data for chunk in found.chunks)
        assert found.detail
    assert named == "f"
    assert place == (None, None) or min(place) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@given(data=st.one_of(texts, st.binary(max_size=60)))
def test_any_input_is_read_or_refused(form, data):
    check(data, form)


# Each would take longer than a test may if anything were quadratic.
LONG = {
    "digits": b"0" * 100_000,
    "spaces": b" " * 100_000 + b"x",
    "quotes": b'"' * 100_000,
    "escapes": b'"' + b"\\x00" * 50_000,
    "zeros in an escape": b'"\\x' + b"0" * 100_000 + b'"',
    "comments": b"/*" * 100_000,
    "lists": b"[1]," * 20_000,
    "brackets": b"[" * 33_333,
    "rows": b"".join(b"%08x: 0000\n" % (index * 2) for index in range(13_333)),
    "one offset": b"00000000: 00\n" * 13_333,
    "a row": b"00000000: " + b"00 " * 66_666,
    "a hexdump row": b"0000000 " + b"0000 " * 33_333,
    "stars": b"*\n" * 66_666,
    "lines": b"\n" * 100_000,
    "base64 lines": b"AA==\n" * 10_000,
    "buffers": b"<Buffer " * 20_000,
    "calls": b"bytes.fromhex('00') " * 6_666,
    "binaries": b"<<1" * 20_000,
    "names": b"a." * 33_333,
    "numbered": b'{"0":0,' * 13_333,
    "casts": b"[(byte" * 13_333,
    "strings and comments": b'"\\x00" # a\n' * 10_000,
    "decimals": b"0, " * 33_333,
    "escapes without quotes": b"\\x00#" * 20_000,
    "bars": b"0000 | 00 | .\n" * 6_666,
    "characters": b" 00 00  ..\n" * 10_000,
    "gaps before characters": (b"00000000: " + b"00  " * 200 + b"\n") * 300,
    "responses": b"Response F(key: 1, version: 7)" * 3_300 + b'"correlationId":1',
    "summaries": b"a\n" * 66_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_input_takes_linear_time(name):
    check(LONG[name], "auto")  # one that is not linear does not end
