r"""Literals of many languages and tools, each of which holds the same request."""

import json

import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.text.reading import read_input

REQUEST = bytes.fromhex("00000023001200030000000700096b61666b612d636c69000a6b61666b612d636c6904302e3100")
ESCAPED = "".join(chr(byte) if 32 < byte < 127 else f"\\x{byte:02x}" for byte in REQUEST)
OCTAL = "".join(chr(byte) if 32 < byte < 127 else f"\\{byte:03o}" for byte in REQUEST)
LITERALS = {
    "strace, short": r'write(7, "\0\0\0#\0\22\0\3\0\0\0\7\0\tkafka-cli\0\nkafka-cli\0040.1\0", 39) = 39',
    "Haskell": r'"\NUL\NUL\NUL#\NUL\DC2\NUL\ETX\NUL\NUL\NUL\a\NUL\tkafka-cli\NUL\nkafka-cli\EOT0.1\NUL"',
    "Ruby": r'"\u0000\u0000\u0000#\u0000\u0012\u0000\u0003\u0000\u0000\u0000\u0007\u0000\u0009kafka-cli'
    r'\u0000\u000Akafka-cli\u00040.1\u0000"',
    "JSON string, escaped twice": json.dumps({"raw": ESCAPED}),
    "Uint8Array in a console": str({str(index): byte for index, byte in enumerate(REQUEST)}),
    "PHP var_dump of bin2hex": f'string(78) "{REQUEST.hex()}"',
    "PHP, joined": f'$frame = "{ESCAPED[:-14]}" . "{ESCAPED[-14:]}";',
    "Go %v": f"[{' '.join(map(str, REQUEST))}]",
    "Go %#v": f"[]byte{{{', '.join(f'{byte:#x}' for byte in REQUEST)}}}",
    "Rust escape_ascii": f'b"{ESCAPED}"',
    "Kotlin": f"val frame = byteArrayOf({', '.join(map(str, REQUEST))})",
    "Perl": f'"{ESCAPED.replace("x00", "x{0}")}"',
    "Clojure": f"(byte-array [{' '.join(map(str, REQUEST))}])",
    "Elixir, joined": f'<<{", ".join(map(str, REQUEST[:14]))}>> <> "kafka-cli" <> <<0, 10, "kafka-cli", 4, "0.1", 0>>',
    "Erlang tuple": f"{{ok,<<{','.join(map(str, REQUEST))}>>}}",
    "decimals, signed": " ".join(str(byte - 256 if byte > 127 else byte) for byte in REQUEST),
    "escapes without quotes": ESCAPED,
    "repr without quotes": repr(REQUEST)[2:-1],
    "escapes below a comment": f"# sent\n{ESCAPED}\n",
}


@pytest.mark.parametrize("text", LITERALS.values(), ids=LITERALS)
def test_all_literals_hold_the_same_request(text):
    found = read_input(text.encode())
    assert (found.form, [chunk.data for chunk in found.chunks]) == ("literal", [REQUEST])


def test_segments_of_a_binary_have_sizes():
    text = """
    <<
      # correlation_id
      0, 0, 0, 1,
      9::16, "localhost"::binary, 9092::size(32), -1::16, 1:16/little,
      <<7>>::binary
    >>
    """
    data = b"\0\0\0\1\0\x09localhost\0\0\x23\x84\xff\xff\1\0\7"
    assert [chunk.data for chunk in read_input(text.encode()).chunks] == [data]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<<1, name::binary>>", "where a number of 8 bits should be"),
        ("<<256>>", "where a number of 8 bits should be"),
        ("<<1::4>>", "where whole bytes"),
        ("<<1::80000000>>", "where whole bytes"),
        ('b"\\x00" + name', "where a literal after + should be"),
        ('{"0":0,"2":1}', 'where the key "1" should be'),
        ('["\\u0100"]', "exceeds a byte"),
        ("0, 3, 300", "where a number from -128 to 255 should be"),
        ("10 20 3", "1 digit (odd)"),
        ("00 00\n00 2", "1 digit (odd)"),
    ],
)
def test_a_literal_is_read_whole_or_refused(text, says):
    with pytest.raises(InputError) as caught:
        read_input(text.encode())
    assert says in str(caught.value)


def test_what_is_text_for_one_language_is_bytes_where_it_is_named():
    assert [chunk.data for chunk in read_input(b'"abc"', "c").chunks] == [b"abc"]
    assert [chunk.data for chunk in read_input(b"10, 20, 30", "literal").chunks] == [bytes((10, 20, 30))]
    assert [chunk.data for chunk in read_input(rb'"\DEL"', "python").chunks] == [rb"\DEL"]
    assert [chunk.data for chunk in read_input(rb'"\DEL\SOH\200\&1"').chunks] == [b"\x7f\x01\xc81"]


def test_a_byte_among_escapes_is_no_comment():
    assert [chunk.data for chunk in read_input(rb"\x00\x23#\x01").chunks] == [b"\0##\1"]
    assert [chunk.data for chunk in read_input(rb"\x00\x23 # \x01").chunks] == [b"\0#"]


def test_a_string_that_strace_cut_is_noted():
    found = read_input(b'read(7, "\\0\\0\\0#\\0"..., 39) = 39')
    assert found.chunks[0].data == b"\0\0\0#\0"
    assert found.notes == ("line 1: the string was cut when it was printed; strace -s 65535 cuts less",)
